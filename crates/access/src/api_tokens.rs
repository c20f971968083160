//! Tokens that stand for a user: `Authorization: Bearer`, made by `/services/authorization/tokens`.
//!
//! A token is a JWT signed with a key of this server (HS512). A static one is a document of the catalog
//! as well: it can be listed, disabled and removed, and is good for nothing once it is. An ephemeral
//! one is kept nowhere, lives some hours at most, and ends with the user's password. The document holds
//! no secret: whoever reads the catalog cannot make the token from it.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{PoisonError, RwLock};

use catalog::Catalog;
use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, Header, Validation};
use serde::{Deserialize, Serialize};

use crate::Error;

const KIND: &str = "api_tokens";
/// Static tokens there may be.
const MAX_TOKENS: usize = 100_000;
/// Static tokens of one user.
const MAX_TOKENS_OF_USER: usize = 1_000;
/// Longest life of an ephemeral token, in seconds.
pub const MAX_EPHEMERAL_SECONDS: i64 = 6 * 3_600;
/// A longer text is no token of ours.
const MAX_TOKEN_BYTES: usize = 4_096;

/// What a token may do at most; it never does more than its user.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scope {
    /// Capabilities; all of the user's if none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capabilities: Option<Vec<String>>,
    /// Indexes, with `*`, of those the user may search; all of them if none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub indexes: Option<Vec<String>>,
}

impl Scope {
    /// Whether the token may use a capability, if its user may.
    #[must_use]
    pub fn allows(&self, capability: &str) -> bool {
        self.capabilities.as_ref().is_none_or(|all| all.iter().any(|name| name == capability))
    }
}

/// A static token, without its text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApiToken {
    /// Names it; `jti` of the token.
    pub id: String,
    /// For whom it stands.
    pub user: String,
    /// Who made it.
    pub created_by: String,
    /// What it is for, in its maker's words.
    pub audience: String,
    /// When it was made; epoch seconds, as all times here.
    pub created: i64,
    /// From when on it is good.
    pub not_before: i64,
    /// Until when.
    pub expires: Option<i64>,
    /// Whether it is good for anything.
    pub enabled: bool,
    /// What it may do at most.
    #[serde(default)]
    pub scope: Scope,
}

/// A token to make.
#[derive(Debug, Clone)]
pub struct NewToken {
    /// For whom.
    pub user: String,
    /// By whom.
    pub created_by: String,
    /// What for.
    pub audience: String,
    /// From when on; now if none.
    pub not_before: Option<i64>,
    /// Until when; for ever if none.
    pub expires: Option<i64>,
    /// Whether it is kept nowhere.
    pub ephemeral: bool,
    /// What it may do at most.
    pub scope: Scope,
}

/// What a token says.
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
    /// Of an ephemeral token; that of a static one is in its document.
    #[serde(default)]
    scope: Scope,
}

/// Who came with a token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bearer {
    /// The token's name.
    pub id: String,
    /// For whom it stands.
    pub user: String,
    /// When it was made, if it is ephemeral: it ends with the user's password.
    pub ephemeral_since: Option<i64>,
    /// What it may do at most.
    pub scope: Scope,
}

/// When and from where a token was last used, since the server started.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Use {
    /// Epoch seconds; 0: never.
    pub at: i64,
    /// From where.
    pub from: Option<IpAddr>,
}

/// All static tokens, and the key of all.
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

impl ApiTokens {
    /// Bytes of a key.
    pub const KEY_BYTES: usize = 32;

    /// Reads the tokens from the catalog. `issuer` names this server in them.
    ///
    /// # Errors
    /// If the catalog holds one that cannot be read.
    pub fn load(
        catalog: Catalog,
        issuer: &str,
        key: &[u8; Self::KEY_BYTES],
    ) -> Result<Self, Error> {
        let mut known = HashMap::new();
        for document in catalog.snapshot().documents(KIND) {
            let token: ApiToken = serde_json::from_value(document.json.as_ref().clone())
                .map_err(|error| Error::document(KIND, &document.name, &error))?;
            known.insert(token.id.clone(), (token, Use::default()));
        }
        Ok(Self {
            catalog,
            issuer: issuer.to_owned(),
            encoding: EncodingKey::from_secret(key),
            decoding: DecodingKey::from_secret(key),
            known: RwLock::new(known),
        })
    }

    /// Makes a token: its name and its text, which is told this once.
    ///
    /// # Errors
    /// If the catalog cannot be written, or there are too many.
    pub async fn create(&self, now: i64, new: NewToken) -> Result<(String, String), Error> {
        let id = uuid::Uuid::new_v4().simple().to_string();
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
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
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
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        let used = known.get(&token.id).map(|(_, used)| *used).unwrap_or_default();
        known.insert(token.id.clone(), (token, used));
        Ok(())
    }

    /// Who comes with a text; none if it is no token, or not good now. Whether its user still exists is
    /// for others to find out.
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
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
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
        // Times are compared by `bearer`, with the server's clock.
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
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        let mut all: Vec<(ApiToken, Use)> = known.values().cloned().collect();
        all.sort_by(|(a, _), (b, _)| (b.created, &b.id).cmp(&(a.created, &a.id)));
        all
    }

    /// A static token by its name.
    #[must_use]
    pub fn get(&self, id: &str) -> Option<(ApiToken, Use)> {
        self.known.read().unwrap_or_else(PoisonError::into_inner).get(id).cloned()
    }

    /// Makes a token good or not; false if there is none.
    ///
    /// # Errors
    /// If the catalog cannot be written.
    pub async fn enable(&self, id: &str, enabled: bool) -> Result<bool, Error> {
        let Some((token, _)) = self.get(id) else { return Ok(false) };
        self.keep(ApiToken { enabled, ..token }).await?;
        Ok(true)
    }

    /// Removes a token for good; false if there is none.
    ///
    /// # Errors
    /// If the catalog cannot be written.
    pub async fn remove(&self, id: &str) -> Result<bool, Error> {
        if self.get(id).is_none() {
            return Ok(false);
        }
        self.catalog.delete_document(KIND, id).await?;
        self.known.write().unwrap_or_else(PoisonError::into_inner).remove(id);
        Ok(true)
    }

    /// Removes all tokens of a user that is gone.
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

/// Whether a text looks like a token (of ours or of an OIDC provider) rather than a session's key.
#[must_use]
pub fn looks_like_jwt(text: &str) -> bool {
    text.len() > 20 && text.bytes().filter(|byte| *byte == b'.').count() == 2
}
