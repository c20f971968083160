//! HEC tokens: who may send, to which indexes, with which defaults. Documents of the catalog.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use catalog::Catalog;
use model::IndexName;
use serde::{Deserialize, Serialize};

use crate::Error;

const KIND: &str = "hec_tokens";

/// A token of `inputs.conf`'s `[http://name]`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HecToken {
    /// Name for people.
    pub name: String,
    /// The secret.
    pub token: String,
    /// Where events go that name no index.
    pub index: IndexName,
    /// Indexes events may go to; empty means all.
    #[serde(default)]
    pub indexes: Vec<IndexName>,
    /// Sourcetype of events that name none.
    #[serde(default)]
    pub sourcetype: Option<String>,
    /// Source of events that name none.
    #[serde(default)]
    pub source: Option<String>,
    /// Host of events that name none; the sender's address if unset.
    #[serde(default)]
    pub host: Option<String>,
    /// Refuses everything while set.
    #[serde(default)]
    pub disabled: bool,
}

impl HecToken {
    /// A token for everything.
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
        }
    }

    pub(crate) fn allows(&self, index: &IndexName) -> bool {
        self.indexes.is_empty() || self.indexes.contains(index) || *index == self.index
    }
}

/// All tokens, by secret.
#[derive(Debug)]
pub struct HecTokens {
    catalog: Catalog,
    by_secret: RwLock<HashMap<String, Arc<HecToken>>>,
}

impl HecTokens {
    /// Reads the tokens from the catalog.
    ///
    /// # Errors
    /// If the catalog cannot be read.
    pub async fn load(catalog: Catalog) -> Result<Self, Error> {
        let mut tokens = HashMap::new();
        for document in catalog.snapshot().documents(KIND) {
            let token: HecToken = serde_json::from_value(document.json.as_ref().clone())
                .map_err(|error| Error::document(KIND, &document.name, &error))?;
            tokens.insert(token.token.clone(), Arc::new(token));
        }
        Ok(Self { catalog, by_secret: RwLock::new(tokens) })
    }

    /// Whether nobody may send.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.by_secret.read().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    /// Creates a token, or replaces the one of the same name.
    ///
    /// # Errors
    /// If the catalog cannot be written.
    pub async fn put(&self, token: HecToken) -> Result<(), Error> {
        let document = serde_json::to_value(&token)
            .map_err(|error| Error::document(KIND, &token.name, &error))?;
        self.catalog.put_document(KIND, &token.name, document).await?;
        let mut tokens = self.by_secret.write().unwrap_or_else(PoisonError::into_inner);
        tokens.retain(|_, known| known.name != token.name);
        tokens.insert(token.token.clone(), Arc::new(token));
        Ok(())
    }

    /// Removes a token; false if there is none of that name.
    ///
    /// # Errors
    /// If the catalog cannot be written.
    pub async fn remove(&self, name: &str) -> Result<bool, Error> {
        if self.named(name).is_none() {
            return Ok(false);
        }
        self.catalog.delete_document(KIND, name).await?;
        let mut tokens = self.by_secret.write().unwrap_or_else(PoisonError::into_inner);
        tokens.retain(|_, known| known.name != name);
        Ok(true)
    }

    pub(crate) fn by_secret(&self, secret: &str) -> Option<Arc<HecToken>> {
        self.by_secret.read().unwrap_or_else(PoisonError::into_inner).get(secret).cloned()
    }

    pub(crate) fn named(&self, name: &str) -> Option<Arc<HecToken>> {
        self.all().into_iter().find(|token| token.name == name)
    }

    pub(crate) fn all(&self) -> Vec<Arc<HecToken>> {
        let tokens = self.by_secret.read().unwrap_or_else(PoisonError::into_inner);
        let mut tokens: Vec<_> = tokens.values().cloned().collect();
        tokens.sort_by(|a, b| a.name.cmp(&b.name));
        tokens
    }
}
