//! Which indexes exist: those of `indexes.conf` and those created over REST, and what was changed of
//! either over REST.
//!
//! Changes are documents of the catalog. An index that is removed stays a document until its last
//! event is gone, so that a crash in between leaves nothing behind.

use std::collections::BTreeMap;
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::Duration;

use catalog::Catalog;
use ingest::{Ingest, Keep};
use knowledge::{IndexSettings, Knowledge};
use model::IndexName;
use search::IndexNames;
use serde::{Deserialize, Serialize};

use crate::Error;

const KIND: &str = "indexes";
/// What a search without `index=` reads (`srchIndexesDefault` of Splunk's roles).
pub(crate) const DEFAULT: &str = "main";
/// `frozenTimePeriodInSecs` of an index that says nothing.
const FROZEN_SECONDS: u64 = 188_697_600;
/// `maxTotalDataSizeMB` of an index that says nothing.
const TOTAL_MB: u64 = 500_000;

/// What was said of an index over REST.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Definition {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) disabled: Option<bool>,
    /// `frozenTimePeriodInSecs`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) frozen_seconds: Option<u64>,
    /// `maxTotalDataSizeMB`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) total_mb: Option<u64>,
    /// It is being removed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) removing: bool,
}

/// An index and where what is known of it comes from.
#[derive(Debug, Clone)]
pub(crate) struct Known {
    /// `indexes.conf`, if it names the index.
    pub(crate) configured: Option<IndexSettings>,
    pub(crate) definition: Definition,
}

impl Known {
    pub(crate) fn disabled(&self) -> bool {
        let configured = self.configured.as_ref().is_some_and(|index| index.disabled);
        self.definition.disabled.unwrap_or(configured)
    }

    pub(crate) fn frozen_seconds(&self) -> u64 {
        let configured = self.configured.as_ref().map(|index| index.frozen_after.as_secs());
        self.definition.frozen_seconds.or(configured).unwrap_or(FROZEN_SECONDS)
    }

    pub(crate) fn total_mb(&self) -> u64 {
        let configured = self.configured.as_ref().map(|index| index.max_total_size >> 20);
        self.definition.total_mb.or(configured).unwrap_or(TOTAL_MB)
    }

    /// What ingest has to be told; none if `indexes.conf` says it.
    fn keep(&self) -> Option<Keep> {
        let changed =
            self.definition.frozen_seconds.is_some() || self.definition.total_mb.is_some();
        changed.then(|| Keep {
            period: Duration::from_secs(self.frozen_seconds()),
            total: self.total_mb() << 20,
        })
    }
}

/// The names of all indexes.
#[derive(Debug)]
pub struct IndexCatalog {
    catalog: Catalog,
    known: RwLock<BTreeMap<IndexName, Known>>,
}

impl IndexCatalog {
    /// Reads configuration and catalog.
    ///
    /// # Errors
    /// If the catalog cannot be read, or holds a name that is none.
    pub async fn load(catalog: Catalog, knowledge: &Knowledge) -> Result<Self, Error> {
        let mut known = BTreeMap::new();
        for index in knowledge.indexes() {
            let entry =
                Known { configured: Some(index.clone()), definition: Definition::default() };
            known.insert(index.name.clone(), entry);
        }
        for document in catalog.snapshot().documents(KIND) {
            let definition = serde_json::from_value(document.json.as_ref().clone())
                .map_err(|error| Error::document(KIND, &document.name, &error))?;
            let name = IndexName::new(&document.name)?;
            let new = Known { configured: None, definition: Definition::default() };
            known.entry(name).or_insert(new).definition = definition;
        }
        Ok(Self { catalog, known: RwLock::new(known) })
    }

    /// Tells ingest how long indexes are kept, and ends removals that a crash cut short.
    ///
    /// # Errors
    /// If events of a removed index cannot be removed now.
    pub async fn resume(&self, ingest: &Ingest) -> Result<(), Error> {
        let all: Vec<(IndexName, Known)> =
            self.read().iter().map(|(name, known)| (name.clone(), known.clone())).collect();
        for (name, known) in all {
            if known.definition.removing {
                self.finish_removal(&name, ingest).await?;
            } else {
                ingest.set_keep(&name, known.keep());
            }
        }
        Ok(())
    }

    /// Whether events that somebody sends may go to the index: it exists, is switched on and not the audit
    /// trail's.
    ///
    /// # Errors
    /// Why not, for the sender.
    pub fn check_takes(&self, name: &IndexName) -> Result<(), String> {
        name.check_open().map_err(|error| error.to_string())?;
        if self.contains(name) { Ok(()) } else { Err(format!("there is no index \"{name}\"")) }
    }

    /// Whether the index exists and is switched on.
    #[must_use]
    pub fn contains(&self, name: &IndexName) -> bool {
        self.get(name).is_some_and(|known| !known.disabled())
    }

    /// An index, switched on or not.
    pub(crate) fn get(&self, name: &IndexName) -> Option<Known> {
        self.read().get(name).filter(|known| !known.definition.removing).cloned()
    }

    /// All indexes, switched on or not.
    pub(crate) fn all(&self) -> Vec<(IndexName, Known)> {
        let known = self.read();
        let there = known.iter().filter(|(_, known)| !known.definition.removing);
        there.map(|(name, known)| (name.clone(), known.clone())).collect()
    }

    /// Creates an index; false if it exists, or is still being removed.
    ///
    /// # Errors
    /// If the catalog cannot be written.
    pub async fn create(&self, name: IndexName) -> Result<bool, Error> {
        if self.read().contains_key(&name) {
            return Ok(false);
        }
        self.put(&name, Definition::default()).await?;
        Ok(true)
    }

    /// Changes what is said of an index.
    pub(crate) async fn define(
        &self,
        name: &IndexName,
        definition: Definition,
        ingest: &Ingest,
    ) -> Result<(), Error> {
        self.put(name, definition).await?;
        ingest.set_keep(name, self.get(name).and_then(|known| known.keep()));
        Ok(())
    }

    /// Removes an index with its events. It is gone for searches and senders at once.
    pub(crate) async fn remove(&self, name: &IndexName, ingest: &Ingest) -> Result<(), Error> {
        self.put(name, Definition { removing: true, ..Definition::default() }).await?;
        self.finish_removal(name, ingest).await
    }

    async fn finish_removal(&self, name: &IndexName, ingest: &Ingest) -> Result<(), Error> {
        ingest.empty(name).await?;
        ingest.set_keep(name, None);
        self.catalog.delete_document(KIND, name.as_str()).await?;
        self.write().remove(name);
        Ok(())
    }

    async fn put(&self, name: &IndexName, definition: Definition) -> Result<(), Error> {
        let document = serde_json::to_value(&definition)
            .map_err(|error| Error::document(KIND, name.as_str(), &error))?;
        self.catalog.put_document(KIND, name.as_str(), document).await?;
        let new = Known { configured: None, definition: Definition::default() };
        self.write().entry(name.clone()).or_insert(new).definition = definition;
        Ok(())
    }

    fn read(&self) -> RwLockReadGuard<'_, BTreeMap<IndexName, Known>> {
        self.known.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, BTreeMap<IndexName, Known>> {
        self.known.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl IndexNames for IndexCatalog {
    fn names(&self) -> Vec<IndexName> {
        let known = self.read();
        let on = known.iter().filter(|(_, known)| !known.disabled() && !known.definition.removing);
        on.map(|(name, _)| name.clone()).collect()
    }

    fn default_names(&self) -> Vec<IndexName> {
        self.names().into_iter().filter(|name| name.as_str() == DEFAULT).collect()
    }
}
