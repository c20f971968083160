//! API tokens: they act for a user (`Authorization: Bearer`) and are created by
//! `/services/authorization/tokens`.
//!
//! A token is a JWT signed with a key of this server (HS512). A static token also has a document in
//! the catalog: it can be listed, disabled and removed, and is then invalid. An ephemeral token is
//! not stored; it lasts some hours at most, and ends when the user's password changes. The document
//! has no secret: the token cannot be reconstructed from the catalog.

use std::collections::HashMap;
use std::net::IpAddr;

use catalog::{Catalog, Followed, Snapshot};
use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, Header, Validation};
use parking_lot::RwLock;
use serde::{Deserialize, Serialize};

use crate::Error;

const KIND: &str = "api_tokens";
/// Maximum number of static tokens.
const MAX_TOKENS: usize = 100_000;
/// Maximum number of static tokens per user.
const MAX_TOKENS_OF_USER: usize = 1_000;
/// Maximum lifetime of an ephemeral token, in seconds.
pub const MAX_EPHEMERAL_SECONDS: i64 = 6 * 3_600;
/// Maximum length of our tokens.
const MAX_TOKEN_BYTES: usize = 4_096;

/// The scope of a token: restricts the rights of its user.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scope {
    /// Allowed capabilities; all of the user's if `None`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capabilities: Option<Vec<String>>,
    /// Allowed indexes (with `*`), among those of the user; all if `None`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub indexes: Option<Vec<String>>,
}

impl Scope {
    /// Whether the scope allows a capability that the user has.
    #[must_use]
    pub fn allows(&self, capability: &str) -> bool {
        self.capabilities.as_ref().is_none_or(|all| all.iter().any(|name| name == capability))
    }
}

/// A static token, without its text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApiToken {
    /// Its ID: `jti` of the JWT.
    pub id: String,
    /// The user it acts for.
    pub user: String,
    /// Its creator.
    pub created_by: String,
    /// Its purpose, as free text.
    pub audience: String,
    /// Creation time; all times are epoch seconds.
    pub created: i64,
    /// Start of its validity.
    pub not_before: i64,
    /// End of its validity.
    pub expires: Option<i64>,
    /// Whether it is enabled.
    pub enabled: bool,
    /// Its scope.
    #[serde(default)]
    pub scope: Scope,
}

/// A token to create.
#[derive(Debug, Clone)]
pub struct NewToken {
    /// The user it acts for.
    pub user: String,
    /// Its creator.
    pub created_by: String,
    /// Its purpose.
    pub audience: String,
    /// Start of its validity; default now.
    pub not_before: Option<i64>,
    /// Until when; default never.
    pub expires: Option<i64>,
    /// Whether it is ephemeral (not stored).
    pub ephemeral: bool,
    /// Its scope.
    pub scope: Scope,
}

/// The claims of a token.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Claims {
    iss: String,
    sub: String,
    aud: String,
    idp: String,
    jti: String,
    iat: i64,
    #[serde(default)]
    exp: i64,
    nbr: i64,
    #[serde(default)]
    ephemeral: bool,
    /// The scope of an ephemeral token; that of a static one is in its document.
    #[serde(default)]
    scope: Scope,
}

/// The bearer of a valid token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bearer {
    /// The token's ID.
    pub id: String,
    /// The user it acts for.
    pub user: String,
    /// Creation time of an ephemeral token, which ends when the user's password changes.
    pub ephemeral_since: Option<i64>,
    /// Its scope.
    pub scope: Scope,
}

/// When and from where a token was last used, since the server started.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Use {
    /// Epoch seconds; 0: never.
    pub at: i64,
    /// Client address.
    pub from: Option<IpAddr>,
}

/// All static tokens, and the signing key.
pub struct ApiTokens {
    catalog: Catalog,
    issuer: String,
    encoding: EncodingKey,
    decoding: DecodingKey,
    known: RwLock<HashMap<String, (ApiToken, Use)>>,
}

impl std::fmt::Debug for ApiTokens {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ApiTokens").field("issuer", &self.issuer).finish_non_exhaustive()
    }
}

impl Followed for ApiTokens {
    fn kind(&self) -> &'static str {
        KIND
    }

    fn reload(&self) -> Result<(), String> {
        let mut known = self.known.write();
        let read = Self::read(&self.catalog.snapshot()).map_err(|error| error.to_string())?;
        // The uses of the tokens that this process has seen are kept.
        let mut before = std::mem::take(&mut *known);
        for token in read {
            let used = before.remove(&token.id).map(|(_, used)| used).unwrap_or_default();
            known.insert(token.id.clone(), (token, used));
        }
        Ok(())
    }
}

impl ApiTokens {
    /// Size of a key in bytes.
    pub const KEY_BYTES: usize = 32;

    /// Reads the tokens from the catalog. `issuer` identifies this server in tokens.
    ///
    /// # Errors
    /// If a token document is unreadable.
    pub fn load(
        catalog: Catalog,
        issuer: &str,
        key: &[u8; Self::KEY_BYTES],
    ) -> Result<Self, Error> {
        let read = Self::read(&catalog.snapshot())?.into_iter();
        let known = read.map(|token| (token.id.clone(), (token, Use::default()))).collect();
        Ok(Self {
            catalog,
            issuer: issuer.to_owned(),
            encoding: EncodingKey::from_secret(key),
            decoding: DecodingKey::from_secret(key),
            known: RwLock::new(known),
        })
    }

    fn read(snapshot: &Snapshot) -> Result<Vec<ApiToken>, Error> {
        let documents = snapshot.documents(KIND).into_iter();
        let token = |document: catalog::Document| {
            serde_json::from_value(document.json.as_ref().clone())
                .map_err(|error| Error::document(KIND, &document.name, &error))
        };
        documents.map(token).collect()
    }

    /// Creates a token; returns its ID and its text, which is not stored.
    ///
    /// # Errors
    /// If the catalog cannot be written, or the limit is reached.
    pub async fn create(&self, now: i64, new: NewToken) -> Result<(String, String), Error> {
        let id = runtime::random::uuid().simple().to_string();
        let token = ApiToken {
            id: id.clone(),
            user: new.user,
            created_by: new.created_by,
            audience: new.audience,
            created: now,
            not_before: new.not_before.unwrap_or(now),
            expires: new.expires,
            enabled: true,
            scope: new.scope,
        };
        let text = self.signed(&token, new.ephemeral)?;
        if !new.ephemeral {
            self.check_room(&token.user)?;
            self.keep(token).await?;
        }
        Ok((id, text))
    }

    fn signed(&self, token: &ApiToken, ephemeral: bool) -> Result<String, Error> {
        let claims = Claims {
            iss: format!("{} from {}", token.created_by, self.issuer),
            sub: token.user.clone(),
            aud: token.audience.clone(),
            idp: "Splunk".to_owned(),
            jti: token.id.clone(),
            iat: token.created,
            exp: token.expires.unwrap_or(0),
            nbr: token.not_before,
            ephemeral,
            scope: if ephemeral { token.scope.clone() } else { Scope::default() },
        };
        jsonwebtoken::encode(&Header::new(Algorithm::HS512), &claims, &self.encoding)
            .map_err(|error| Error::Internal(format!("cannot sign a token: {error}")))
    }

    fn check_room(&self, user: &str) -> Result<(), Error> {
        let known = self.known.read();
        let own = known.values().filter(|(token, _)| token.user == user).count();
        if known.len() >= MAX_TOKENS {
            return Err(Error::TooMany { what: "API tokens", limit: MAX_TOKENS });
        }
        if own >= MAX_TOKENS_OF_USER {
            return Err(Error::TooMany {
                what: "API tokens of the user",
                limit: MAX_TOKENS_OF_USER,
            });
        }
        Ok(())
    }

    async fn keep(&self, token: ApiToken) -> Result<(), Error> {
        let document = serde_json::to_value(&token)
            .map_err(|error| Error::document(KIND, &token.id, &error))?;
        self.catalog.put_document(KIND, &token.id, document).await?;
        let mut known = self.known.write();
        let used = known.get(&token.id).map(|(_, used)| *used).unwrap_or_default();
        known.insert(token.id.clone(), (token, used));
        Ok(())
    }

    /// The bearer of a token; `None` if the text is not a valid token. Does not check whether its
    /// user still exists.
    #[must_use]
    pub fn bearer(&self, now: i64, text: &str, from: Option<IpAddr>) -> Option<Bearer> {
        let claims = self.claims(text)?;
        let is_good = |not_before: i64, expires: Option<i64>| {
            now >= not_before && expires.is_none_or(|expires| now < expires)
        };
        if claims.ephemeral {
            let good = is_good(claims.nbr, Some(claims.exp));
            let since = Some(claims.iat);
            let (id, user, scope) = (claims.jti, claims.sub, claims.scope);
            return good.then_some(Bearer { id, user, ephemeral_since: since, scope });
        }
        let mut known = self.known.write();
        let (token, used) = known.get_mut(&claims.jti)?;
        if !token.enabled || token.user != claims.sub || !is_good(token.not_before, token.expires) {
            return None;
        }
        *used = Use { at: now, from };
        let (id, user, scope) = (claims.jti, claims.sub, token.scope.clone());
        Some(Bearer { id, user, ephemeral_since: None, scope })
    }

    fn claims(&self, text: &str) -> Option<Claims> {
        if text.len() > MAX_TOKEN_BYTES {
            return None;
        }
        // `bearer` compares times with the server's clock.
        let mut validation = Validation::new(Algorithm::HS512);
        validation.required_spec_claims.clear();
        validation.validate_exp = false;
        validation.validate_aud = false;
        let decoded = jsonwebtoken::decode::<Claims>(text, &self.decoding, &validation);
        decoded.ok().map(|decoded| decoded.claims)
    }

    /// All static tokens with their last use, newest first.
    #[must_use]
    pub fn all(&self) -> Vec<(ApiToken, Use)> {
        let known = self.known.read();
        let mut all: Vec<(ApiToken, Use)> = known.values().cloned().collect();
        all.sort_by(|(a, _), (b, _)| (b.created, &b.id).cmp(&(a.created, &a.id)));
        all
    }

    /// A static token by its ID.
    #[must_use]
    pub fn get(&self, id: &str) -> Option<(ApiToken, Use)> {
        self.known.read().get(id).cloned()
    }

    /// Enables or disables a token; false if it does not exist.
    ///
    /// # Errors
    /// If the catalog cannot be written.
    pub async fn enable(&self, id: &str, enabled: bool) -> Result<bool, Error> {
        let Some((token, _)) = self.get(id) else { return Ok(false) };
        self.keep(ApiToken { enabled, ..token }).await?;
        Ok(true)
    }

    /// Removes a token; false if it does not exist.
    ///
    /// # Errors
    /// If the catalog cannot be written.
    pub async fn remove(&self, id: &str) -> Result<bool, Error> {
        if self.get(id).is_none() {
            return Ok(false);
        }
        self.catalog.delete_document(KIND, id).await?;
        self.known.write().remove(id);
        Ok(true)
    }

    /// Removes all tokens of a removed user.
    ///
    /// # Errors
    /// If the catalog cannot be written.
    pub async fn remove_all_of(&self, user: &str) -> Result<(), Error> {
        for (token, _) in self.all() {
            if token.user == user {
                self.remove(&token.id).await?;
            }
        }
        Ok(())
    }
}

/// Whether a text looks like a token (ours or of an OIDC provider) rather than a session key.
#[must_use]
pub fn looks_like_jwt(text: &str) -> bool {
    text.len() > 20 && text.bytes().filter(|byte| *byte == b'.').count() == 2
}
