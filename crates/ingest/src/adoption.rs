//! Recovering what another indexer has acknowledged with `ackLevel = remote` or `replicated` and not stored,
//! once that indexer is gone.
//!
//! ```text
//! the catalog: owner of the sets = this indexer, in a new epoch   the former owner's commits are refused
//! its logs in other places are sealed                             it acknowledges nothing more
//! <data>/adopted/<indexer>-<epoch>/<set>/   journals of the logs  survive a restart of this process
//! hot buckets under the former owner's streams                    searchable here from now on
//! rolled, uploaded, committed with its journal positions          it replays nothing of them afterwards
//! the catalog: owner of the sets = itself again; logs and folder go
//! ```
//!
//! Until the last step the former owner does not start. Every step can be repeated.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use catalog::{Catalog, Commit, Takeover};
use foldhash::HashMap;
use model::IndexerId;
use object_store::ObjectStore;
use replication::{ReplicaStore, Replicas};
use runtime::{Clock, Shutdown, metrics as names};
use tokio::time::Instant;
use uuid::Uuid;

use crate::channels::Channels;
use crate::hot::recovery::{Before, Destination, Recovered, recover_set};
use crate::hot::roll::roll;
use crate::hot::store::RollReason;
use crate::hot::stored::StoredRecords;
use crate::hot::upload::Sets;
use crate::journal::Ledger;
use crate::orphans::Orphans;
use crate::remote::{self, Existing, FOLDER, Logs, Source};
use crate::set::{SetId, SetState};
use crate::{Error, Settings};

/// How often an adoption looks whether its buckets are stored.
const LOOK: Duration = Duration::from_millis(50);

/// What an adoption works with.
#[derive(Debug)]
pub(crate) struct Adopter {
    pub(crate) store: Arc<dyn ObjectStore>,
    pub(crate) replicas: Option<Arc<Replicas>>,
    pub(crate) catalog: Arc<Catalog>,
    pub(crate) data: PathBuf,
    pub(crate) indexer: IndexerId,
    pub(crate) to: Destination,
    pub(crate) channels: Arc<Channels>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) sets: Arc<Sets>,
    pub(crate) settings: Arc<Settings>,
    pub(crate) shutdown: Shutdown,
}

/// What has been recovered from another indexer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Adopted {
    /// Events that no bucket had.
    pub events: u64,
    /// Time until they were searchable.
    pub searchable_after: Duration,
}

/// The indexers whose log in object storage may have events that are in no bucket.
///
/// # Errors
/// [`Error::Storage`].
pub async fn unrecovered(store: &Arc<dyn ObjectStore>) -> Result<Vec<IndexerId>, Error> {
    let folder = object_store::path::Path::from(FOLDER);
    let listed = store.list_with_delimiter(Some(&folder)).await;
    let listed = listed.map_err(remote::fail("list", &folder))?;
    let names = listed.common_prefixes.iter().filter_map(|path| path.filename());
    Ok(names.filter_map(|name| Uuid::parse_str(name).ok()).map(IndexerId).collect())
}

/// Whether the log of an indexer has records.
///
/// # Errors
/// [`Error::Storage`].
pub async fn has_log(store: &Arc<dyn ObjectStore>, indexer: IndexerId) -> Result<bool, Error> {
    Ok(!Existing::list(store.as_ref(), indexer).await?.with_records.is_empty())
}

/// The sets that have records in the log of an indexer.
///
/// # Errors
/// [`Error::Storage`]; an object is damaged.
pub async fn sets_of_log(
    store: &Arc<dyn ObjectStore>,
    indexer: IndexerId,
) -> Result<BTreeSet<u16>, Error> {
    let existing = Existing::list(store.as_ref(), indexer).await?;
    remote::sets(store, indexer, &existing).await
}

impl Adopter {
    /// See [`Ingest::adopt`](crate::Ingest::adopt).
    pub(crate) async fn adopt(&self, from: IndexerId) -> Result<Adopted, Error> {
        let began = Instant::now();
        let existing = remote::seal(self.store.as_ref(), from).await?;
        let epochs = self.own(from, &existing).await?;
        let mut sources =
            vec![Source { store: Arc::clone(&self.store), existing: existing.clone() }];
        if let Some(replicas) = self.replicas.as_ref().filter(|known| known.has_copies(from)) {
            let store: Arc<dyn ObjectStore> = Arc::new(ReplicaStore(Arc::clone(replicas)));
            let existing = remote::seal(store.as_ref(), from).await?;
            sources.push(Source { store, existing });
        }
        let newest = epochs.values().copied().max().unwrap_or_default();
        let directory = self.data.join("adopted").join(format!("{}-{newest}", from.0));
        let is_fetched = self.prepare(&directory, from).await?;
        let has_records = |source: &Source| !source.existing.with_records.is_empty();
        if !is_fetched && sources.iter().any(has_records) {
            remote::fetch(&sources, from, &directory).await?;
        }
        let mut adopted = Adopted::default();
        let mut states = Vec::new();
        for (set, epoch) in &epochs {
            let id = SetId { indexer: from, set: *set };
            let path = directory.join(set.to_string());
            if !path.exists() {
                continue;
            }
            let recovered = self.recover((id, *epoch), &directory, path).await;
            let (state, events) = match recovered {
                Ok(recovered) => recovered,
                Err(error) => return Err(self.give_up(from, &epochs, error).await),
            };
            adopted.events += events;
            states.push(state);
        }
        self.to.hot.adopt(from);
        adopted.searchable_after = began.elapsed();
        tracing::info!(
            indexer = %from, events = adopted.events, seconds = began.elapsed().as_secs_f64(),
            "events of another indexer are recovered and searchable"
        );
        metrics::counter!(names::ADOPTED_EVENTS).increment(adopted.events);
        for state in &states {
            for stream in self.to.hot.open_streams(state.id, None) {
                roll(state, &self.to.hot, &self.to.uploads, &stream, RollReason::Recovery);
            }
        }
        if let Err(error) = self.stored(from, &states).await {
            return Err(self.give_up(from, &epochs, error).await);
        }
        drop(states);
        self.hand_back(from, &epochs, &existing).await?;
        self.forget(from, &epochs);
        let done = move || match fs::remove_dir_all(&directory) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(Error::journal_write(&directory, error))
            }
            _ => Ok(()),
        };
        remote::blocking(done).await?;
        tracing::info!(
            indexer = %from, seconds = began.elapsed().as_secs_f64(),
            "events of another indexer are stored"
        );
        Ok(adopted)
    }

    /// The sets that are this indexer's, with their epochs. Those of its former owner are taken over.
    async fn own(&self, from: IndexerId, existing: &Existing) -> Result<BTreeMap<u16, u64>, Error> {
        let snapshot = self.catalog.snapshot();
        let known = snapshot.taken_over().filter(|taken| taken.indexer == from);
        let mut sets: BTreeMap<u16, (u64, IndexerId)> =
            known.map(|taken| (taken.set, (taken.epoch, taken.owner))).collect();
        if sets.is_empty() {
            // It has run without a cluster: its sets are in no list.
            for set in remote::sets(&self.store, from, existing).await? {
                sets.insert(set, snapshot.owner(from, set));
            }
        }
        let mut commit = Commit::default();
        let mut epochs = BTreeMap::new();
        for (set, (epoch, owner)) in sets {
            if owner != self.indexer && owner != from {
                return Err(Error::TakenOver { set, by: owner, epoch });
            }
            let own = if owner == self.indexer { epoch } else { epoch + 1 };
            if own != epoch {
                let taken = Takeover { indexer: from, set, epoch: own, owner: self.indexer };
                commit.take_over.push(taken);
            }
            epochs.insert(set, own);
        }
        if !commit.take_over.is_empty() {
            let taken = self.catalog.commit(commit).await;
            taken.map_err(|error| Error::Catalog(Arc::new(error)))?;
        }
        Ok(epochs)
    }

    /// Removes what is left of earlier adoptions of the indexer; whether this one has been fetched.
    async fn prepare(&self, directory: &Path, from: IndexerId) -> Result<bool, Error> {
        let (root, directory) = (self.data.join("adopted"), directory.to_owned());
        remote::blocking(move || {
            let fail = |error| Error::journal_write(&root, error);
            fs::create_dir_all(&root).map_err(fail)?;
            let prefix = format!("{}-", from.0);
            for entry in fs::read_dir(&root).map_err(fail)? {
                let path = entry.map_err(fail)?.path();
                let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
                if name.starts_with(&prefix) && path != directory {
                    fs::remove_dir_all(&path).map_err(fail)?;
                }
            }
            Ok(directory.exists())
        })
        .await
    }

    async fn recover(
        &self,
        (id, epoch): (SetId, u64),
        directory: &Path,
        journal: PathBuf,
    ) -> Result<(Arc<SetState>, u64), Error> {
        self.to.hot.own(id, epoch);
        let mut committed = HashMap::default();
        for (stream, position) in self.catalog.positions(id.indexer).await {
            if stream.set == id.set {
                committed.insert((stream.index, stream.lane), position);
            }
        }
        let states = directory.join("state");
        let segment = self.settings.journal_segment_size;
        let (clock, channels) = (Arc::clone(&self.clock), Arc::clone(&self.channels));
        let to = self.to.clone();
        let (state, events, orphans) = remote::blocking(move || {
            let (ledger, known) = Ledger::open(&states, id.set, id.indexer)?;
            let stored = StoredRecords::default();
            let committed_before = committed.clone();
            let before =
                Before { ledger, known, committed: committed_before, stored, may_repeat: true };
            let with = (&channels, clock.now());
            let found = recover_set(&journal, segment, id, before, &to, with)?;
            let Recovered { journal, last_position, events, orphans, .. } = found;
            let next = (last_position + 1, Logs::default());
            let state = SetState::new(id, clock, channels, journal, committed, next);
            Ok((Arc::new(state), events, orphans))
        })
        .await?;
        self.sets.add(Arc::clone(&state));
        // What was committed during the recovery has released nothing yet.
        for (stream, position) in self.catalog.positions(id.indexer).await {
            if stream.set == id.set {
                state.release(&stream, position);
            }
        }
        let deleting = Orphans {
            store: Arc::clone(&self.store),
            catalog: Arc::clone(&self.catalog),
            clock: Arc::clone(&self.clock),
            retry: self.settings.upload_retry,
            shutdown: self.shutdown.clone(),
        };
        self.shutdown.spawn(deleting.delete(orphans));
        Ok((state, events))
    }

    /// Waits until everything of the sets is in the catalog.
    async fn stored(&self, from: IndexerId, states: &[Arc<SetState>]) -> Result<(), Error> {
        let is_stored = |state: &Arc<SetState>| state.journal().segment_count() == 0;
        while !states.iter().all(is_stored) {
            let snapshot = self.catalog.snapshot();
            for state in states {
                let (epoch, owner) = snapshot.owner(from, state.id.set);
                if owner != self.indexer {
                    return Err(Error::TakenOver { set: state.id.set, by: owner, epoch });
                }
            }
            if !self.shutdown.sleep(LOOK).await {
                return Err(Error::Closed);
            }
        }
        Ok(())
    }

    /// Deletes the logs, and gives the sets back to the indexer that had them, for when it returns.
    async fn hand_back(
        &self,
        from: IndexerId,
        epochs: &BTreeMap<u16, u64>,
        existing: &Existing,
    ) -> Result<(), Error> {
        // The seal stays: it tells where the log ends.
        let newest = existing.next().saturating_sub(1);
        let seals = existing.seals.iter().filter(|number| **number != newest);
        let gone: Vec<u64> = existing.with_records.iter().chain(seals).copied().collect();
        remote::delete(&self.store, from, gone).await;
        if let Some(replicas) = &self.replicas {
            let forgotten = replicas.forget(from).await;
            forgotten.map_err(|error| Error::Catalog(Arc::new(error)))?;
        }
        let returned = |(set, epoch): (&u16, &u64)| Takeover {
            indexer: from,
            set: *set,
            epoch: epoch + 1,
            owner: from,
        };
        let take_over = epochs.iter().map(returned).collect();
        let commit = Commit { take_over, ..Commit::default() };
        let returned = self.catalog.commit(commit).await;
        returned.map_err(|error| Error::Catalog(Arc::new(error)))
    }

    /// Forgets everything of a recovery that has failed: another attempt reads it again. Buckets of this
    /// attempt that are on their way must be in the catalog by then.
    async fn give_up(&self, from: IndexerId, epochs: &BTreeMap<u16, u64>, error: Error) -> Error {
        self.forget(from, epochs);
        tokio::select! {
            () = self.to.uploads.idle() => {}
            () = self.shutdown.stopped() => {}
        }
        error
    }

    fn forget(&self, from: IndexerId, epochs: &BTreeMap<u16, u64>) {
        self.to.hot.abandon(from);
        for set in epochs.keys() {
            let id = SetId { indexer: from, set: *set };
            self.sets.remove(id);
            self.to.hot.disown(id);
        }
    }
}
