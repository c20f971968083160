//! Which indexes exist: those of `indexes.conf` and those created over REST.

use std::collections::BTreeSet;
use std::sync::{PoisonError, RwLock};

use catalog::Catalog;
use knowledge::Knowledge;
use model::IndexName;
use search::IndexNames;
use serde_json::json;

use crate::Error;

const KIND: &str = "indexes";
/// What a search without `index=` reads (`srchIndexesDefault` of Splunk's roles).
const DEFAULT: &str = "main";

/// The names of all indexes.
#[derive(Debug)]
pub struct IndexCatalog {
    catalog: Catalog,
    names: RwLock<BTreeSet<IndexName>>,
}

impl IndexCatalog {
    /// Reads configuration and catalog.
    ///
    /// # Errors
    /// If the catalog cannot be read, or holds a name that is none.
    pub async fn load(catalog: Catalog, knowledge: &Knowledge) -> Result<Self, Error> {
        let configured = knowledge.indexes().iter().filter(|index| !index.disabled);
        let mut names: BTreeSet<IndexName> = configured.map(|index| index.name.clone()).collect();
        for document in catalog.snapshot().documents(KIND) {
            names.insert(IndexName::new(&document.name)?);
        }
        Ok(Self { catalog, names: RwLock::new(names) })
    }

    /// Whether the index exists.
    #[must_use]
    pub fn contains(&self, name: &IndexName) -> bool {
        self.names.read().unwrap_or_else(PoisonError::into_inner).contains(name)
    }

    /// Creates an index; false if it exists.
    ///
    /// # Errors
    /// If the catalog cannot be written.
    pub async fn create(&self, name: IndexName) -> Result<bool, Error> {
        if self.contains(&name) {
            return Ok(false);
        }
        self.catalog.put_document(KIND, name.as_str(), json!({})).await?;
        self.names.write().unwrap_or_else(PoisonError::into_inner).insert(name);
        Ok(true)
    }
}

impl IndexNames for IndexCatalog {
    fn names(&self) -> Vec<IndexName> {
        self.names.read().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }

    fn default_names(&self) -> Vec<IndexName> {
        self.names().into_iter().filter(|name| name.as_str() == DEFAULT).collect()
    }
}
