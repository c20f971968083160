//! HEC tokens: permitted indexes and defaults of senders. Stored as documents in the catalog.

use std::collections::HashMap;
use std::sync::Arc;

use catalog::{Catalog, Followed, Snapshot};
use model::IndexName;
use parking_lot::RwLock;
use serde::{Deserialize, Serialize};

use crate::Error;

const KIND: &str = "hec_tokens";

/// A token of `inputs.conf`'s `[http://name]`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HecToken {
    /// Display name.
    pub name: String,
    /// The secret.
    pub token: String,
    /// Default index.
    pub index: IndexName,
    /// Permitted indexes; empty means all.
    #[serde(default)]
    pub indexes: Vec<IndexName>,
    /// Default sourcetype.
    #[serde(default)]
    pub sourcetype: Option<String>,
    /// Default source.
    #[serde(default)]
    pub source: Option<String>,
    /// Default host; the sender's address if unset.
    #[serde(default)]
    pub host: Option<String>,
    /// If set, all requests are rejected.
    #[serde(default)]
    pub disabled: bool,
    /// `useACK`: senders poll `/services/collector/ack` for acknowledgements.
    #[serde(default)]
    pub use_ack: bool,
    /// `allowQueryStringAuth`: the token may be sent as a query parameter.
    #[serde(default)]
    pub allow_query_string_auth: bool,
}

impl HecToken {
    /// A token for all indexes.
    #[must_use]
    pub fn new(name: &str, token: &str, index: IndexName) -> Self {
        Self {
            name: name.to_owned(),
            token: token.to_owned(),
            index,
            indexes: Vec::new(),
            sourcetype: None,
            source: None,
            host: None,
            disabled: false,
            use_ack: false,
            allow_query_string_auth: false,
        }
    }

    /// Whether the token permits the index.
    #[must_use]
    pub fn allows(&self, index: &IndexName) -> bool {
        self.indexes.is_empty() || self.indexes.contains(index) || *index == self.index
    }
}

/// All tokens, by secret.
#[derive(Debug)]
pub struct HecTokens {
    catalog: Catalog,
    known: RwLock<Known>,
}

#[derive(Debug)]
struct Known {
    by_secret: HashMap<String, Arc<HecToken>>,
    /// `max_number_of_tokens`.
    limit: usize,
}

impl Followed for HecTokens {
    fn kind(&self) -> &'static str {
        KIND
    }

    fn reload(&self) -> Result<(), String> {
        let mut known = self.known.write();
        known.by_secret =
            Self::read(&self.catalog.snapshot()).map_err(|error| error.to_string())?;
        Ok(())
    }
}

impl HecTokens {
    /// Reads the tokens from the catalog.
    ///
    /// # Errors
    /// If the catalog cannot be read.
    pub async fn load(catalog: Catalog) -> Result<Self, Error> {
        let known = Known { by_secret: Self::read(&catalog.snapshot())?, limit: usize::MAX };
        Ok(Self { catalog, known: RwLock::new(known) })
    }

    fn read(snapshot: &Snapshot) -> Result<HashMap<String, Arc<HecToken>>, Error> {
        let mut tokens = HashMap::new();
        for document in snapshot.documents(KIND) {
            let token: HecToken = serde_json::from_value(document.json.as_ref().clone())
                .map_err(|error| Error::document(KIND, &document.name, &error))?;
            tokens.insert(token.token.clone(), Arc::new(token));
        }
        Ok(tokens)
    }

    /// Sets the maximum number of tokens.
    pub fn limit(&self, limit: usize) {
        self.known.write().limit = limit;
    }

    /// Whether there are no tokens.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.known.read().by_secret.is_empty()
    }

    /// Creates a token, or replaces the one of the same name.
    ///
    /// # Errors
    /// If the catalog cannot be written; if its secret is already used, or the limit is reached.
    pub async fn put(&self, token: HecToken) -> Result<(), Error> {
        self.check(&token)?;
        let document = serde_json::to_value(&token)
            .map_err(|error| Error::document(KIND, &token.name, &error))?;
        self.catalog.put_document(KIND, &token.name, document).await?;
        let mut known = self.known.write();
        known.by_secret.retain(|_, other| other.name != token.name);
        known.by_secret.insert(token.token.clone(), Arc::new(token));
        Ok(())
    }

    fn check(&self, token: &HecToken) -> Result<(), Error> {
        let known = self.known.read();
        if let Some(other) = known.by_secret.get(&token.token).filter(|o| o.name != token.name) {
            return Err(Error::SecretTaken { name: other.name.clone() });
        }
        let is_new = !known.by_secret.values().any(|other| other.name == token.name);
        if is_new && known.by_secret.len() >= known.limit {
            return Err(Error::TooManyTokens { limit: known.limit });
        }
        Ok(())
    }

    /// Removes a token; false if it does not exist.
    ///
    /// # Errors
    /// If the catalog cannot be written.
    pub async fn remove(&self, name: &str) -> Result<bool, Error> {
        if self.named(name).is_none() {
            return Ok(false);
        }
        self.catalog.delete_document(KIND, name).await?;
        self.known.write().by_secret.retain(|_, known| known.name != name);
        Ok(true)
    }

    /// The token with that secret.
    #[must_use]
    pub fn by_secret(&self, secret: &str) -> Option<Arc<HecToken>> {
        self.known.read().by_secret.get(secret).cloned()
    }

    /// The token of that name.
    #[must_use]
    pub fn named(&self, name: &str) -> Option<Arc<HecToken>> {
        self.all().into_iter().find(|token| token.name == name)
    }

    /// Every token, by name.
    #[must_use]
    pub fn all(&self) -> Vec<Arc<HecToken>> {
        let mut tokens: Vec<_> = self.known.read().by_secret.values().cloned().collect();
        tokens.sort_by(|a, b| a.name.cmp(&b.name));
        tokens
    }
}
