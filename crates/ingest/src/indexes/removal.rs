//! Removals of indexes: every process stores its hot events of the index, the process that leads deletes.
//!
//! ```text
//! the catalog: the index is being removed      gone for searches and senders, in all processes
//! each process rolls its hot buckets           otherwise they would be events of the next index of the name
//! the leader, once no process has any left     stored buckets go, then the document: the name is free
//! ```
//!
//! Guarantees that no event of a removed index is in an index of the same name that is created later: the
//! document stays until each process of the cluster says that it has no hot events of the index, and until
//! events of lost indexers are recovered. A removal goes on after a crash of any process: it is a document of
//! the catalog, and whoever leads ends it.
//!
//! Leaves to `services` how other processes are asked ([`OtherHot`]).

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use catalog::Snapshot;
use futures::future::BoxFuture;
use model::IndexName;
use runtime::Shutdown;
use serde_json::Value;
use tokio::time::Instant;

use super::{IndexCatalog, IndexDefinition, KIND, refused};
use crate::{Error, Ingest};

/// How long the request to remove an index waits for the end of the removal, which goes on afterwards.
pub(super) const REMOVAL_WAIT: Duration = Duration::from_secs(10);
/// Pauses between two looks at what a removal waits for; each is twice the one before.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// The hot events of the other processes of a cluster.
pub trait OtherHot: Send + Sync + Debug {
    /// Whether no other process has hot events of an index that is being removed, or accepts more of them.
    ///
    /// # Errors
    /// Which processes have some, or may have some, and what helps; for users.
    fn without<'a>(&'a self, index: &'a IndexName) -> BoxFuture<'a, Result<(), String>>;
}

/// What this process has done for the removal of an index.
#[derive(Debug, Default)]
pub(super) struct Removal {
    /// Whether its hot buckets of the index were rolled after the removal began, and are in the catalog.
    is_emptied: AtomicBool,
}

/// The removals that this process knows to be under way.
#[derive(Debug, Default)]
pub(super) struct Removals(BTreeMap<IndexName, Arc<Removal>>);

impl Removals {
    /// Forgets those that have ended. Those that are new, which are known from now on.
    fn follow(&mut self, removing: &BTreeSet<IndexName>) -> Vec<(IndexName, Arc<Removal>)> {
        self.0.retain(|name, _| removing.contains(name));
        let new = removing.iter().filter(|name| !self.0.contains_key(*name));
        let new: Vec<_> = new.map(|name| (name.clone(), Arc::<Removal>::default())).collect();
        self.0.extend(new.iter().cloned());
        new
    }

    pub(super) fn forget(&mut self, name: &IndexName) {
        self.0.remove(name);
    }

    /// Whether it is the removal that is under way, and not one of an earlier index of the name.
    fn is_current(&self, name: &IndexName, removal: &Arc<Removal>) -> bool {
        self.0.get(name).is_some_and(|known| Arc::ptr_eq(known, removal))
    }

    fn emptied(&self) -> Vec<IndexName> {
        let emptied = self.0.iter().filter(|(_, removal)| removal.is_emptied());
        emptied.map(|(name, _)| name.clone()).collect()
    }
}

impl Removal {
    fn is_emptied(&self) -> bool {
        self.is_emptied.load(Ordering::SeqCst)
    }
}

impl IndexCatalog {
    /// The indexes that are being removed and of which this process has no hot events any more; it refuses
    /// new ones.
    #[must_use]
    pub fn emptied(&self, ingest: &Ingest) -> Vec<IndexName> {
        let mut emptied = self.removals.lock().emptied();
        emptied.retain(|name| !ingest.has_hot(name));
        emptied
    }

    /// Works on all removals that are under way, each in a task of its own until it has ended.
    pub(super) fn attend(self: &Arc<Self>, ingest: &Arc<Ingest>, shutdown: &Shutdown) {
        let new = {
            let known = self.known.read();
            let removing = known.iter().filter(|(_, index)| index.definition.removing);
            let removing = removing.map(|(name, _)| name.clone()).collect();
            // Under the lock of what is known: nobody defines one of them anew in between.
            self.removals.lock().follow(&removing)
        };
        for (name, removal) in new {
            let (indexes, ingest) = (Arc::clone(self), Arc::clone(ingest));
            let task = Task { indexes, ingest, name, removal };
            shutdown.spawn(task.run(shutdown.clone()));
        }
    }

    /// What the removal of an index waits for, for users; `None`: for nothing but its end.
    pub(super) async fn waits_for(&self, name: &IndexName) -> Option<String> {
        let is_emptied = self.removals.lock().0.get(name).is_some_and(|own| own.is_emptied());
        if !is_emptied {
            return Some("this process has not stored its events of the index yet".to_owned());
        }
        if let Some(others) = &self.others
            && let Err(reason) = others.without(name).await
        {
            return Some(reason);
        }
        // Looked at last: a process that had left the list of the cluster, which `others` goes by, has stored
        // its events, or another one is to recover them.
        recovery_under_way(&self.catalog.snapshot())
    }

    /// Deletes what is stored of the index, and frees its name.
    async fn end_removal(&self, name: &IndexName, ingest: &Ingest) -> Result<(), Error> {
        let buckets = ingest.remove_stored(name).await?;
        if let Some(json) = removal_of(&self.catalog.snapshot(), name) {
            let document =
                |json: Option<Value>| vec![(KIND.to_owned(), name.as_str().to_owned(), json)];
            let (before, after) = (document(Some((*json).clone())), document(None));
            match self.catalog.replace_documents(before, after).await {
                // The second: somebody has defined the index anew.
                Ok(()) | Err(catalog::Error::Changed { .. }) => {}
                Err(error) => return Err(refused(error)),
            }
        }
        tracing::info!(index = %name, buckets, "the index is removed");
        self.forget(name);
        Ok(())
    }

    /// Forgets an index whose removal has ended, unless it is being removed once more.
    pub(super) fn forget(&self, name: &IndexName) {
        let mut known = self.known.write();
        if removal_of(&self.catalog.snapshot(), name).is_some() {
            return;
        }
        self.removals.lock().forget(name);
        let Some(index) = known.get_mut(name).filter(|index| index.definition.removing) else {
            return;
        };
        if index.configured.is_some() {
            index.definition = IndexDefinition::default();
        } else {
            known.remove(name);
        }
    }
}

/// The document of an index that is being removed.
pub(super) fn removal_of(snapshot: &Snapshot, name: &IndexName) -> Option<Arc<Value>> {
    snapshot.document(KIND, name.as_str()).filter(|json| json["removing"] == true)
}

/// A recovery of the events of a lost indexer: there may be some of any index.
fn recovery_under_way(snapshot: &Snapshot) -> Option<String> {
    let taken = snapshot.taken_over().find(|taken| taken.owner != taken.indexer)?;
    let (by, from) = (taken.owner, taken.indexer);
    Some(format!("indexer {by} recovers the events of indexer {from} and has not stored them yet"))
}

/// The work of this process on one removal.
struct Task {
    indexes: Arc<IndexCatalog>,
    ingest: Arc<Ingest>,
    name: IndexName,
    removal: Arc<Removal>,
}

impl Task {
    /// Works until the removal has ended.
    async fn run(self, shutdown: Shutdown) {
        let (began, mut pause, mut said) = (Instant::now(), FIRST_PAUSE, String::new());
        while self.is_current() {
            let step = tokio::select! {
                () = shutdown.stopped() => return,
                step = self.step() => step,
            };
            // At first it waits for others that have just heard of it.
            if let Err(reason) = step
                && reason != said
                && began.elapsed() >= REMOVAL_WAIT
            {
                tracing::warn!(index = %self.name, reason, "the removal of an index waits");
                said = reason;
            }
            if !self.is_current() || !shutdown.sleep(pause).await {
                return;
            }
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    fn is_current(&self) -> bool {
        self.indexes.removals.lock().is_current(&self.name, &self.removal)
    }

    /// Does what can be done now.
    async fn step(&self) -> Result<(), String> {
        self.empty().await.map_err(|error| error.to_string())?;
        // One process deletes stored buckets: the one that has the catalog open.
        if self.indexes.catalog.follows() {
            return Ok(());
        }
        if let Some(reason) = self.indexes.waits_for(&self.name).await {
            return Err(reason);
        }
        let ended = self.indexes.end_removal(&self.name, &self.ingest).await;
        ended.map_err(|error| error.to_string())
    }

    /// Rolls the hot buckets of the index; again if there are some later, as from the recovered journal of a
    /// lost indexer.
    async fn empty(&self) -> Result<(), Error> {
        if self.removal.is_emptied() && !self.ingest.has_hot(&self.name) {
            return Ok(());
        }
        let is_emptied = self.ingest.roll_out(&self.name).await?;
        self.removal.is_emptied.store(is_emptied, Ordering::SeqCst);
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use catalog::{Catalog, Commit, Takeover};
    use model::IndexerId;
    use object_store::memory::InMemory;
    use uuid::Uuid;

    use super::*;

    fn name(name: &str) -> IndexName {
        IndexName::new(name).unwrap()
    }

    fn removing(names: &[&str]) -> BTreeSet<IndexName> {
        names.iter().map(|one| name(one)).collect()
    }

    #[test]
    fn each_removal_is_worked_on_once_until_it_has_ended() {
        let mut removals = Removals::default();
        let new = removals.follow(&removing(&["one", "two"]));
        assert_eq!(new.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["one", "two"]);
        assert!(removals.follow(&removing(&["one", "two"])).is_empty());
        assert!(removals.emptied().is_empty());
        let (one, first) = new.into_iter().next().unwrap();
        first.is_emptied.store(true, Ordering::SeqCst);
        assert_eq!(removals.emptied(), std::slice::from_ref(&one));
        assert!(removals.follow(&removing(&["two"])).is_empty());
        assert!(!removals.is_current(&one, &first) && removals.emptied().is_empty());
    }

    #[test]
    fn what_was_done_for_a_former_index_does_not_count_for_the_next_one_of_the_name() {
        let mut removals = Removals::default();
        let (one, first) = removals.follow(&removing(&["one"])).remove(0);
        first.is_emptied.store(true, Ordering::SeqCst);
        // It is created again, and takes events.
        removals.forget(&one);
        let (_, second) = removals.follow(&removing(&["one"])).remove(0);
        assert!(removals.emptied().is_empty(), "its new events are not stored");
        assert!(!removals.is_current(&one, &first) && removals.is_current(&one, &second));
    }

    #[tokio::test]
    async fn a_removal_waits_for_the_events_of_a_lost_indexer() {
        let (store, clock) = (Arc::new(InMemory::new()), Arc::new(runtime::SystemClock));
        let opened = Catalog::open(store, "catalog", catalog::Settings::default(), clock).await;
        let catalog = opened.unwrap();
        let (gone, other) = (IndexerId(Uuid::from_u128(1)), IndexerId(Uuid::from_u128(2)));
        let give = async |epoch, owner| {
            let taken = Takeover { indexer: gone, set: 0, epoch, owner };
            catalog.commit(Commit { take_over: vec![taken], ..Commit::default() }).await.unwrap();
            recovery_under_way(&catalog.snapshot())
        };
        assert_eq!(recovery_under_way(&catalog.snapshot()), None);
        let waits = give(1, other).await.unwrap();
        assert!(waits.contains(&format!("recovers the events of indexer {gone}")), "{waits}");
        // All of them are stored.
        assert_eq!(give(2, gone).await, None);
    }
}
