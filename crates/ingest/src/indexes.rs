//! Which indexes exist: those of `indexes.conf` and those created at run time, and what was changed of
//! either at run time.
//!
//! Changes are documents of the catalog. An index that is removed stays a document until its last
//! event is gone, so that a crash in between leaves nothing behind (`removal`).

mod removal;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use catalog::{Catalog, Followed, IndexNames, Snapshot};
use knowledge::{AckLevel, IndexSettings, Knowledge};
use model::IndexName;
use parking_lot::{Mutex, RwLock};
use runtime::Shutdown;
use serde::{Deserialize, Serialize};

pub use self::removal::OtherHot;
use self::removal::{REMOVAL_WAIT, Removals, removal_of};
use crate::{Error, Ingest, Keep};

const KIND: &str = "indexes";
/// The index that a search without `index=` reads (`srchIndexesDefault` of Splunk's roles).
pub const DEFAULT_INDEX: &str = "main";
/// What is shown of `frozenTimePeriodInSecs` and `maxTotalDataSizeMB` if neither `indexes.conf` nor REST sets
/// them: the highest number of the `int` of Splunk's SDKs. Set, it is no limit either.
const UNLIMITED: u64 = 2_147_483_647;

/// What was set of an index at run time.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndexDefinition {
    /// Searches do not read the index, and senders are refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disabled: Option<bool>,
    /// `frozenTimePeriodInSecs`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frozen_seconds: Option<u64>,
    /// `maxTotalDataSizeMB`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_mb: Option<u64>,
    /// `ackLevel`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ack_level: Option<AckLevel>,
    /// Whether `datatype` is `metric`. Points are kept as all events are, but searches of events leave the
    /// index out. Documents of earlier versions have `true`, or nothing where nothing was set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metric: Option<bool>,
    /// It is being removed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    removing: bool,
}

/// An index: its settings in `indexes.conf` and those made at run time, which take precedence.
#[derive(Debug, Clone)]
pub struct KnownIndex {
    /// `indexes.conf`, if it names the index.
    pub configured: Option<IndexSettings>,
    /// What was set at run time.
    pub definition: IndexDefinition,
}

impl KnownIndex {
    /// Whether it is switched off.
    #[must_use]
    pub fn disabled(&self) -> bool {
        let configured = self.configured.as_ref().is_some_and(|index| index.disabled);
        self.definition.disabled.unwrap_or(configured)
    }

    /// Whether its `datatype` is `metric`.
    #[must_use]
    pub fn is_metric(&self) -> bool {
        let configured = self.configured.as_ref().is_some_and(|index| index.metric);
        self.definition.metric.unwrap_or(configured)
    }

    /// `frozenTimePeriodInSecs` in force.
    #[must_use]
    pub fn frozen_seconds(&self) -> u64 {
        let configured = self.configured.as_ref().map(|index| index.frozen_after.as_secs());
        self.definition.frozen_seconds.or(configured).unwrap_or(UNLIMITED)
    }

    /// `maxTotalDataSizeMB` in force.
    #[must_use]
    pub fn total_mb(&self) -> u64 {
        let configured = self.configured.as_ref().map(|index| index.max_total_size >> 20);
        self.definition.total_mb.or(configured).unwrap_or(UNLIMITED)
    }

    /// Whether events of any age are kept, as far as their size allows it.
    #[must_use]
    pub fn is_kept_forever(&self) -> bool {
        self.frozen_seconds() >= UNLIMITED
    }

    /// What ingest has to be told; none if `indexes.conf` says it.
    fn keep(&self) -> Option<Keep> {
        let changed =
            self.definition.frozen_seconds.is_some() || self.definition.total_mb.is_some();
        changed.then(|| Keep {
            period: match self.frozen_seconds() {
                UNLIMITED.. => Duration::MAX,
                seconds => Duration::from_secs(seconds),
            },
            // 0 is no limit.
            total: match self.total_mb() {
                UNLIMITED.. => 0,
                size => size << 20,
            },
        })
    }

    /// Tells ingest what was set at run time.
    fn tell(&self, name: &IndexName, ingest: &Ingest) {
        ingest.set_keep(name, self.keep());
        ingest.set_ack_level(name, self.definition.ack_level);
    }
}

/// The names of all indexes.
#[derive(Debug)]
pub struct IndexCatalog {
    catalog: Catalog,
    known: RwLock<BTreeMap<IndexName, KnownIndex>>,
    /// Locked after `known`.
    removals: Mutex<Removals>,
    /// `None`: there are no other processes.
    others: Option<Arc<dyn OtherHot>>,
}

impl IndexCatalog {
    /// Reads configuration and catalog.
    ///
    /// # Errors
    /// If the catalog cannot be read, or holds a name that is none.
    pub async fn load(catalog: Catalog, knowledge: &Knowledge) -> Result<Self, Error> {
        let mut known = BTreeMap::new();
        for index in knowledge.indexes() {
            let entry = KnownIndex {
                configured: Some(index.clone()),
                definition: IndexDefinition::default(),
            };
            known.insert(index.name.clone(), entry);
        }
        define(&mut known, &catalog.snapshot())?;
        Ok(Self { catalog, known: RwLock::new(known), removals: Mutex::default(), others: None })
    }

    /// The same in a cluster: removals wait for the hot events of the other processes.
    #[must_use]
    pub fn beside(self, others: Option<Arc<dyn OtherHot>>) -> Self {
        Self { others, ..self }
    }

    /// Goes by what `indexes.conf` says now. An index that it does not have any more stays until the next
    /// start.
    pub fn configure(&self, knowledge: &Knowledge, ingest: &Ingest) {
        let mut known = self.known.write();
        for index in knowledge.indexes() {
            let entry = known.entry(index.name.clone()).or_insert_with(|| KnownIndex {
                configured: None,
                definition: IndexDefinition::default(),
            });
            entry.configured = Some(index.clone());
            entry.tell(&index.name, ingest);
        }
    }

    /// What follows the changes that other processes make, tells ingest, and works on removals until the
    /// shutdown.
    #[must_use]
    pub fn followed(
        self: &Arc<Self>,
        ingest: Arc<Ingest>,
        shutdown: Shutdown,
    ) -> Arc<dyn Followed> {
        Arc::new(FollowedIndexes { indexes: Arc::clone(self), ingest, shutdown })
    }

    /// Tells ingest how long indexes are kept, and goes on with removals that are under way, in the
    /// background.
    pub fn resume(self: &Arc<Self>, ingest: &Arc<Ingest>, shutdown: &Shutdown) {
        for (name, known) in self.all() {
            known.tell(&name, ingest);
        }
        self.attend(ingest, shutdown);
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

    /// An index, switched on or not; `None` if there is none, or it is being removed.
    #[must_use]
    pub fn get(&self, name: &IndexName) -> Option<KnownIndex> {
        self.known.read().get(name).filter(|known| !known.definition.removing).cloned()
    }

    /// All indexes, switched on or not.
    #[must_use]
    pub fn all(&self) -> Vec<(IndexName, KnownIndex)> {
        let known = self.known.read();
        let there = known.iter().filter(|(_, known)| !known.definition.removing);
        there.map(|(name, known)| (name.clone(), known.clone())).collect()
    }

    /// Creates an index; false if it exists.
    ///
    /// # Errors
    /// [`Error::Removing`]; or the catalog cannot be written.
    pub async fn create(&self, name: IndexName) -> Result<bool, Error> {
        self.check_not_removing(&name).await?;
        let is_known = |known: &KnownIndex| !known.definition.removing;
        if self.known.read().get(&name).is_some_and(is_known) {
            return Ok(false);
        }
        self.put(&name, IndexDefinition::default()).await?;
        Ok(true)
    }

    /// Changes the run-time settings of an index.
    ///
    /// # Errors
    /// [`Error::Removing`]; or the catalog cannot be written.
    pub async fn define(
        &self,
        name: &IndexName,
        definition: IndexDefinition,
        ingest: &Ingest,
    ) -> Result<(), Error> {
        self.check_not_removing(name).await?;
        self.put(name, definition).await?;
        ingest.set_keep(name, self.get(name).and_then(|known| known.keep()));
        ingest.set_ack_level(name, self.get(name).and_then(|known| known.definition.ack_level));
        Ok(())
    }

    /// Removes an index with its events. It is gone for searches and senders at once. Its name is free when
    /// all its events are gone: this waits some seconds for that, and the removal goes on in the background.
    ///
    /// # Errors
    /// If the catalog cannot be written.
    pub async fn remove(
        self: &Arc<Self>,
        name: &IndexName,
        ingest: &Arc<Ingest>,
        shutdown: &Shutdown,
    ) -> Result<(), Error> {
        self.put(name, IndexDefinition { removing: true, ..IndexDefinition::default() }).await?;
        ingest.set_keep(name, None);
        ingest.set_ack_level(name, None);
        self.attend(ingest, shutdown);
        let mut snapshots = self.catalog.subscribe();
        let ended = snapshots.wait_for(|snapshot| removal_of(snapshot, name).is_none());
        let ended = tokio::time::timeout(REMOVAL_WAIT, ended).await;
        if ended.is_ok_and(|ended| ended.is_ok()) {
            // The name is free for the next request at once.
            self.forget(name);
        }
        Ok(())
    }

    async fn check_not_removing(&self, name: &IndexName) -> Result<(), Error> {
        // The catalog has it first: this process forgets an index a moment after the end of its removal.
        if removal_of(&self.catalog.snapshot(), name).is_none() {
            return Ok(());
        }
        let reason = self.waits_for(name).await;
        let reason = reason.unwrap_or_else(|| "its stored events are being removed".to_owned());
        Err(Error::Removing { index: name.clone(), reason })
    }

    async fn put(&self, name: &IndexName, definition: IndexDefinition) -> Result<(), Error> {
        let document =
            serde_json::to_value(&definition).map_err(|error| damaged(name.as_str(), &error))?;
        self.catalog.put_document(KIND, name.as_str(), document.clone()).await.map_err(refused)?;
        let mut known = self.known.write();
        let newest = self.catalog.snapshot().document(KIND, name.as_str());
        if newest.is_none_or(|newest| *newest != document) {
            // Another process has changed it again since, which may be followed already.
            return Ok(());
        }
        if !definition.removing {
            self.removals.lock().forget(name);
        }
        let new = KnownIndex { configured: None, definition: IndexDefinition::default() };
        known.entry(name.clone()).or_insert(new).definition = definition;
        Ok(())
    }
}

impl IndexNames for IndexCatalog {
    fn names(&self) -> Vec<IndexName> {
        let known = self.known.read();
        let on = known.iter().filter(|(_, known)| !known.disabled() && !known.definition.removing);
        on.map(|(name, _)| name.clone()).collect()
    }

    fn default_names(&self) -> Vec<IndexName> {
        self.names().into_iter().filter(|name| name.as_str() == DEFAULT_INDEX).collect()
    }

    fn metric_names(&self) -> Vec<IndexName> {
        let known = self.known.read();
        let metric = known.iter().filter(|(_, known)| known.is_metric());
        metric.map(|(name, _)| name.clone()).collect()
    }

    fn disabled_names(&self) -> Vec<IndexName> {
        let known = self.known.read();
        let off = known.iter().filter(|(_, known)| known.disabled() && !known.definition.removing);
        off.map(|(name, _)| name.clone()).collect()
    }
}

struct FollowedIndexes {
    indexes: Arc<IndexCatalog>,
    ingest: Arc<Ingest>,
    shutdown: Shutdown,
}

impl Followed for FollowedIndexes {
    fn kind(&self) -> &'static str {
        KIND
    }

    fn reload(&self) -> Result<(), String> {
        let told: Vec<_> = {
            let mut known = self.indexes.known.write();
            let mut now = known.clone();
            now.retain(|_, index| index.configured.is_some());
            now.values_mut().for_each(|index| index.definition = IndexDefinition::default());
            define(&mut now, &self.indexes.catalog.snapshot())
                .map_err(|error| error.to_string())?;
            *known = now;
            known.iter().map(|(name, index)| (name.clone(), index.clone())).collect()
        };
        for (name, index) in told {
            index.tell(&name, &self.ingest);
        }
        self.indexes.attend(&self.ingest, &self.shutdown);
        Ok(())
    }
}

/// Adds what the catalog says of indexes.
fn define(known: &mut BTreeMap<IndexName, KnownIndex>, snapshot: &Snapshot) -> Result<(), Error> {
    for document in snapshot.documents(KIND) {
        let definition = serde_json::from_value(document.json.as_ref().clone())
            .map_err(|error| damaged(&document.name, &error))?;
        let name =
            IndexName::new(&document.name).map_err(|error| damaged(&document.name, &error))?;
        let new = KnownIndex { configured: None, definition: IndexDefinition::default() };
        known.entry(name).or_insert(new).definition = definition;
    }
    Ok(())
}

fn refused(error: catalog::Error) -> Error {
    Error::Catalog(Arc::new(error))
}

fn damaged(name: &str, reason: &dyn std::fmt::Display) -> Error {
    let (name, reason) = (name.to_owned(), reason.to_string());
    Error::Document { kind: KIND, name, reason }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn known(disabled: bool, definition: IndexDefinition) -> KnownIndex {
        let text = format!(
            "[web]\ndisabled = {disabled}\nfrozenTimePeriodInSecs = 60\nmaxTotalDataSizeMB = 7\n"
        );
        let layers = conf::Layers::builtin().with(conf::Layer::SystemLocal, "indexes", &text);
        let settings =
            Knowledge::new(layers).indexes().iter().find(|i| i.name.as_str() == "web").cloned();
        KnownIndex { configured: Some(settings.unwrap()), definition }
    }

    #[test]
    fn settings_made_at_run_time_take_precedence_over_indexes_conf() {
        let configured = known(true, IndexDefinition::default());
        assert!(configured.disabled() && configured.keep().is_none());
        assert_eq!((configured.frozen_seconds(), configured.total_mb()), (60, 7));
        let changed = IndexDefinition {
            disabled: Some(false),
            frozen_seconds: Some(90),
            ..IndexDefinition::default()
        };
        let changed = known(true, changed);
        assert!(!changed.disabled());
        assert_eq!((changed.frozen_seconds(), changed.total_mb()), (90, 7));
        let keep = changed.keep().unwrap();
        assert_eq!((keep.period, keep.total), (Duration::from_secs(90), 7 << 20));
    }

    #[test]
    fn a_size_beyond_all_numbers_is_no_limit() {
        let definition =
            IndexDefinition { total_mb: Some((1 << 44) + 1), ..IndexDefinition::default() };
        assert_eq!(known(false, definition).keep().unwrap().total, 0);
    }

    #[test]
    fn a_level_is_part_of_the_document_that_all_processes_follow() {
        let level = Some(AckLevel::Replicated);
        let definition = IndexDefinition { ack_level: level, ..IndexDefinition::default() };
        let document = serde_json::to_value(&definition).unwrap();
        assert_eq!(document, serde_json::json!({ "ack_level": "replicated" }));
        assert_eq!(serde_json::from_value::<IndexDefinition>(document).unwrap(), definition);
    }

    #[test]
    fn a_datatype_can_be_taken_back() {
        let text = "[web]\ndatatype = metric\n";
        let layers = conf::Layers::builtin().with(conf::Layer::SystemLocal, "indexes", text);
        let knowledge = Knowledge::new(layers);
        let settings = knowledge.indexes().iter().find(|index| index.name.as_str() == "web");
        let of = |metric: Option<bool>| KnownIndex {
            configured: settings.cloned(),
            definition: IndexDefinition { metric, ..IndexDefinition::default() },
        };
        assert!(of(None).is_metric() && of(Some(true)).is_metric());
        assert!(!of(Some(false)).is_metric());
        let document = serde_json::to_value(of(Some(false)).definition).unwrap();
        assert_eq!(document, serde_json::json!({ "metric": false }));
        let read = |document: serde_json::Value| {
            serde_json::from_value::<IndexDefinition>(document).unwrap().metric
        };
        assert_eq!(read(document), Some(false));
        // As earlier versions have stored it.
        assert_eq!(read(serde_json::json!({ "metric": true })), Some(true));
        assert_eq!(read(serde_json::json!({})), None);
    }

    #[test]
    fn an_index_without_settings_keeps_its_events() {
        let known = KnownIndex { configured: None, definition: IndexDefinition::default() };
        assert!(!known.disabled());
        assert_eq!((known.frozen_seconds(), known.total_mb()), (UNLIMITED, UNLIMITED));
        assert_eq!(known.keep(), None);
        // Setting what is shown changes nothing.
        let definition = IndexDefinition { frozen_seconds: Some(UNLIMITED), ..Default::default() };
        let keep = KnownIndex { configured: None, definition }.keep().unwrap();
        assert_eq!((keep.period, keep.total), (Duration::MAX, 0));
    }
}
