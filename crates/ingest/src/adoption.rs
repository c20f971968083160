//! Recovery of the events that a lost indexer acknowledged with `ackLevel = remote` or `replicated` and did
//! not store.
//!
//! ```text
//! the catalog: owner of the sets = this indexer, in a new epoch   the former owner's commits are refused
//! its logs in other places are sealed                             it acknowledges nothing more
//! <data>/adopted/<indexer>-<epoch>/<set>/   journals of the logs  survive a restart of this process
//! hot buckets under the former owner's streams                    searchable here from now on
//! rolled, uploaded, committed with its journal positions          it replays nothing of them afterwards
//! the catalog: owner of the sets = itself again                   it may start
//! logs and folder go
//! ```
//!
//! Every step is idempotent. Each process that recovers begins an epoch of its own: a commit of an earlier
//! process is either in the catalog when the positions are read, or is refused.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use catalog::{Catalog, Commit, JournalRange, Takeover};
use foldhash::HashMap;
use model::{IndexerId, JournalPosition};
use object_store::ObjectStore;
use parking_lot::Mutex;
use replication::{NamedCopies, ReplicaStore, Replicas};
use runtime::{Clock, Shutdown, metrics as names};
use tokio::time::Instant;
use uuid::Uuid;

use crate::channels::Channels;
use crate::hot::recovery::{Before, Destination, Recovered, recover_set};
use crate::hot::roll::roll;
use crate::hot::store::RollReason;
use crate::hot::stored::StoredRecords;
use crate::hot::upload::Sets;
use crate::journal::{Ledger, StreamRef};
use crate::orphans::{Orphans, report_kept, without_those_of_buckets};
use crate::remote::{self, Existing, FOLDER, Logs, Source};
use crate::set::{SetId, SetState};
use crate::{Error, Settings, restore};

/// Interval at which an adoption checks whether its buckets are stored.
const LOOK: Duration = Duration::from_millis(50);

/// The components that an adoption uses.
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
    pub(crate) progress: Mutex<Progress>,
}

/// The progress of this process with the indexers that it recovers.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    /// The epochs that this process has begun.
    epochs: HashMap<SetId, u64>,
    /// The epochs in which it sealed logs in object storage, and the numbers of the seals.
    seals: HashMap<IndexerId, (u64, u64)>,
    /// Whether everything is stored that the start of this process took from its disk.
    has_stored_recovered: bool,
}

/// The result of recovering another indexer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Adopted {
    /// Number of recovered events that were in no bucket.
    pub events: u64,
    /// Time until these events were searchable.
    pub searchable_after: Duration,
    /// Number of copies of its journal, if all of them are lost: then records that were only on its disk are
    /// not recovered.
    pub lost_copies: usize,
}

/// The sets of another indexer that this indexer owns, with their epochs.
#[derive(Debug, Default)]
struct Owned {
    epochs: BTreeMap<u16, u64>,
    /// The newest epoch in which this process, or one before it, owned all sets, if no other process has
    /// owned them since.
    before: Option<u64>,
}

impl Owned {
    fn newest(&self) -> u64 {
        self.epochs.values().copied().max().unwrap_or_default()
    }
}

/// The sealed logs of an indexer.
#[derive(Debug)]
struct Sealed {
    /// The objects of the log in object storage.
    existing: Existing,
    /// The copies at other indexers.
    copies: Option<NamedCopies>,
    /// The logs that have records to read.
    sources: Vec<Source>,
    lost_copies: usize,
}

/// Returns the indexers whose log in object storage may have events that are in no bucket.
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

/// Returns the sets that have records in the log of an indexer.
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
        let mut owned = self.own(from).await?;
        let name = |epoch: u64| self.data.join("adopted").join(format!("{}-{epoch}", from.0));
        let (directory, before) = (name(owned.newest()), owned.before.map(name));
        let is_fetched = self.prepare(&directory, before, from).await?;
        let sealed = self.seal(from, owned.newest(), is_fetched).await?;
        let has_records = |source: &Source| !source.existing.with_records.is_empty();
        if !is_fetched && sealed.sources.iter().any(has_records) {
            remote::fetch(&sealed.sources, from, &directory).await?;
        }
        // The log may have records of sets that the catalog does not list.
        let found = sets_below(&directory).into_iter();
        let unlisted: Vec<u16> = found.filter(|set| !owned.epochs.contains_key(set)).collect();
        owned.epochs.extend(self.take(from, unlisted).await?.epochs);
        let epochs = owned.epochs;
        let mut adopted = Adopted { lost_copies: sealed.lost_copies, ..Adopted::default() };
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
        // If copies are lost, records may be missing that only its disk has: then searches stay incomplete.
        if sealed.lost_copies == 0 {
            self.to.hot.adopt(from, &epochs);
        }
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
        if let Err(error) = self.stored(from, &epochs, &states).await {
            return Err(self.give_up(from, &epochs, error).await);
        }
        drop(states);
        if let Err(error) = self.hand_back(from, &epochs).await {
            return Err(self.give_up(from, &epochs, error).await);
        }
        self.forget(from, &epochs);
        self.clear(from, sealed).await;
        let done = move || match fs::remove_dir_all(&directory) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(Error::journal_write(&directory, error))
            }
            _ => Ok(()),
        };
        if let Err(error) = remote::blocking(done).await {
            tracing::warn!(indexer = %from, %error, "what was read of its journal stays on the disk");
        }
        tracing::info!(
            indexer = %from, seconds = began.elapsed().as_secs_f64(),
            "events of another indexer are stored"
        );
        Ok(adopted)
    }

    /// Whether events from this process's own journal must be stored before an indexer is recovered: they may
    /// be that indexer's. That is so over a rebuilt catalog, where a directory may have got a new id.
    pub(crate) fn stores_recovered_first(&self, from: IndexerId) -> bool {
        !self.progress.lock().has_stored_recovered
            && restore::is_rebuilt(&self.catalog.snapshot(), from)
    }

    /// Notes that they are stored.
    pub(crate) fn note_recovered_stored(&self) {
        self.progress.lock().has_stored_recovered = true;
    }

    /// Returns which records of a journal are in buckets, although the positions of the catalog do not say
    /// so: those of a rebuilt catalog may be too low, and the same records may have been on the disk of a
    /// directory that has got a new id since, which may be that of the lost indexer.
    async fn stored_records(
        &self,
        id: SetId,
        journal: &Path,
        committed: &HashMap<StreamRef, JournalPosition>,
    ) -> Result<StoredRecords, Error> {
        let Some(upto) = restore::to_verify_of(&self.catalog.snapshot(), id) else {
            return Ok(StoredRecords::default());
        };
        let among = (&self.store, &*self.catalog, self.replicas.is_none());
        StoredRecords::of_journal(among, journal, committed, upto).await
    }

    /// Returns the sets that this indexer owns, after taking over those that the former owner still has.
    async fn own(&self, from: IndexerId) -> Result<Owned, Error> {
        let snapshot = self.catalog.snapshot();
        let known = snapshot.taken_over().filter(|taken| taken.indexer == from);
        let mut sets: Vec<u16> = known.map(|taken| taken.set).collect();
        if sets.is_empty() {
            // The indexer has run without a cluster: the catalog does not list its sets.
            let existing = Existing::list(self.store.as_ref(), from).await?;
            sets.extend(remote::sets(&self.store, from, &existing).await?);
        }
        self.take(from, sets).await
    }

    /// Takes the ownership of sets, in epochs that this process has begun.
    async fn take(&self, from: IndexerId, sets: Vec<u16>) -> Result<Owned, Error> {
        let snapshot = self.catalog.snapshot();
        let mut commit = Commit::default();
        let (mut owned, mut before) = (Owned::default(), Some(0));
        for set in sets {
            let (epoch, owner) = snapshot.owner(from, set);
            if owner != self.indexer && owner != from {
                return Err(Error::TakenOver { set, by: owner, epoch });
            }
            let begun = self.progress.lock().epochs.get(&SetId { indexer: from, set }).copied();
            let is_own = owner == self.indexer;
            before = before.filter(|_| is_own).map(|before| before.max(epoch));
            let own = if is_own && begun == Some(epoch) { epoch } else { epoch + 1 };
            if own != epoch {
                let taken = Takeover { indexer: from, set, epoch: own, owner: self.indexer };
                commit.take_over.push(taken);
            }
            owned.epochs.insert(set, own);
        }
        if !commit.take_over.is_empty() {
            let taken = self.catalog.commit(commit).await;
            taken.map_err(|error| Error::Catalog(Arc::new(error)))?;
        }
        let of_set = |(set, epoch): (&u16, &u64)| (SetId { indexer: from, set: *set }, *epoch);
        self.progress.lock().epochs.extend(owned.epochs.iter().map(of_set));
        owned.before = before.filter(|before| *before > 0);
        Ok(owned)
    }

    /// Seals the logs of an indexer in an epoch. If they have already been read (`is_fetched`), only lists
    /// the log in object storage.
    async fn seal(&self, from: IndexerId, epoch: u64, is_fetched: bool) -> Result<Sealed, Error> {
        let existing = match is_fetched {
            true => Existing::list(self.store.as_ref(), from).await?,
            false => self.seal_stored(from, epoch).await?,
        };
        let sources = vec![Source { store: Arc::clone(&self.store), existing: existing.clone() }];
        let mut sealed = Sealed { existing, copies: None, sources, lost_copies: 0 };
        let Some(replicas) = self.replicas.as_ref().filter(|known| known.has_copies(from)) else {
            return Ok(sealed);
        };
        sealed.copies = Some(replicas.named(from));
        if is_fetched {
            // The logs may have been read without the lost copies.
            sealed.lost_copies = replicas.lost(from).await.map_or(0, |lost| lost.len());
            return Ok(sealed);
        }
        let store: Arc<dyn ObjectStore> = Arc::new(ReplicaStore(Arc::clone(replicas)));
        match remote::seal(store.as_ref(), from).await {
            Ok(existing) => sealed.sources.push(Source { store, existing }),
            Err(error) => {
                let Some(lost) = replicas.lost(from).await else { return Err(error) };
                sealed.lost_copies = lost.len();
                tracing::error!(
                    indexer = %from, copies_at = join(&lost),
                    "acknowledged events of an indexer may be lost: every indexer that had a copy of its journal \
                     has lost its disk, or was removed from the cluster"
                );
            }
        }
        Ok(sealed)
    }

    /// Seals the log in object storage, once in an epoch.
    async fn seal_stored(&self, from: IndexerId, epoch: u64) -> Result<Existing, Error> {
        let known = self.progress.lock().seals.get(&from).copied();
        if let Some((_, seal)) = known.filter(|(of, _)| *of == epoch) {
            let existing = Existing::list(self.store.as_ref(), from).await?;
            if existing.seals.last() == Some(&seal) && existing.with_records.last() < Some(&seal) {
                return Ok(existing);
            }
        }
        let existing = remote::seal(self.store.as_ref(), from).await?;
        if let Some(seal) = existing.seals.last() {
            self.progress.lock().seals.insert(from, (epoch, *seal));
        }
        Ok(existing)
    }

    /// Removes the files of earlier adoptions of the indexer, except what was read in the epoch `before`.
    /// Returns whether such files exist.
    async fn prepare(
        &self,
        directory: &Path,
        before: Option<PathBuf>,
        from: IndexerId,
    ) -> Result<bool, Error> {
        let (root, directory) = (self.data.join("adopted"), directory.to_owned());
        remote::blocking(move || {
            let fail = |error| Error::journal_write(&root, error);
            fs::create_dir_all(&root).map_err(fail)?;
            if let Some(before) = before.filter(|before| before.exists() && !directory.exists()) {
                fs::rename(before, &directory).map_err(fail)?;
            }
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
        let stored = self.stored_records(id, &journal, &committed).await?;
        let keep = restore::kept(&self.catalog.snapshot(), id);
        let states = directory.join("state");
        let segment = self.settings.journal_segment_size;
        let (clock, channels) = (Arc::clone(&self.clock), Arc::clone(&self.channels));
        let to = self.to.clone();
        let (state, events, (mut orphans, kept)) = remote::blocking(move || {
            let (ledger, known) = Ledger::open(&states, id.set, id.indexer)?;
            let committed_before = committed.clone();
            let before = Before {
                ledger,
                known,
                committed: committed_before,
                stored,
                keep,
                may_repeat: true,
            };
            let with = (&channels, clock.now());
            let found = recover_set(&journal, segment, id, before, &to, with)?;
            let Recovered { journal, last_position, events, orphans, kept, .. } = found;
            let next = (last_position + 1, Logs::default());
            let state = SetState::new(id, clock, channels, journal, committed, next);
            Ok((Arc::new(state), events, (orphans, kept)))
        })
        .await?;
        self.sets.add(Arc::clone(&state));
        // Commits during the recovery did not release journal segments; this does.
        for (stream, position) in self.catalog.positions(id.indexer).await {
            if stream.set == id.set {
                state.release(&stream, position);
            }
        }
        without_those_of_buckets(&mut orphans, &self.catalog.snapshot());
        report_kept(kept, &self.catalog.snapshot());
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

    /// Waits until all events of the sets are in the catalog.
    async fn stored(
        &self,
        from: IndexerId,
        epochs: &BTreeMap<u16, u64>,
        states: &[Arc<SetState>],
    ) -> Result<(), Error> {
        let is_stored = |state: &Arc<SetState>| state.journal().segment_count() == 0;
        loop {
            // Checked before the buckets: only commits in these epochs count.
            self.check_owner(from, epochs)?;
            if states.iter().all(is_stored) {
                return Ok(());
            }
            if states.iter().all(|state| self.to.hot.is_stored(state.id)) {
                self.store_rest(epochs, states).await;
            }
            if !self.shutdown.sleep(LOOK).await {
                return Err(Error::Closed);
            }
        }
    }

    /// Commits the last positions of the journals: if all events of the last records were set aside, no
    /// bucket has these positions.
    async fn store_rest(&self, epochs: &BTreeMap<u16, u64>, states: &[Arc<SetState>]) {
        let mut ranges = Vec::new();
        for state in states {
            let epoch = epochs.get(&state.id.set).copied().unwrap_or_default();
            for ((index, lane), upto) in state.journal().last_positions() {
                let stream = state.id.stream(&index, lane);
                ranges.push(JournalRange { stream, from: None, upto, epoch });
            }
        }
        let commit = Commit { ranges: ranges.clone(), ..Commit::default() };
        if let Err(error) = self.catalog.commit(commit).await {
            return tracing::warn!(%error, "whether everything of a journal is stored is not known yet");
        }
        for state in states {
            for range in ranges.iter().filter(|range| SetId::of(&range.stream) == state.id) {
                state.release(&range.stream, range.upto);
            }
        }
    }

    fn check_owner(&self, from: IndexerId, epochs: &BTreeMap<u16, u64>) -> Result<(), Error> {
        let snapshot = self.catalog.snapshot();
        for (set, own) in epochs {
            let (epoch, by) = snapshot.owner(from, *set);
            if (epoch, by) != (*own, self.indexer) {
                return Err(Error::TakenOver { set: *set, by, epoch });
            }
        }
        Ok(())
    }

    /// Gives the sets back to their indexer, for when it returns. Retries until the outcome is known: a
    /// second recovery would take the sets from an indexer that has returned.
    async fn hand_back(&self, from: IndexerId, epochs: &BTreeMap<u16, u64>) -> Result<(), Error> {
        let returned = |(set, epoch): (&u16, &u64)| Takeover {
            indexer: from,
            set: *set,
            epoch: epoch + 1,
            owner: from,
        };
        let take_over: Vec<Takeover> = epochs.iter().map(returned).collect();
        let (mut pause, longest) = self.settings.upload_retry;
        loop {
            let commit = Commit { take_over: take_over.clone(), ..Commit::default() };
            let error = match self.catalog.commit(commit).await {
                Ok(()) => return Ok(()),
                // An earlier attempt succeeded, and the indexer has been started since.
                Err(catalog::Error::OldEpoch { owner, .. }) if owner == from => return Ok(()),
                Err(error) => error,
            };
            if error.kind() != model::ErrorKind::Unavailable {
                return Err(Error::Catalog(Arc::new(error)));
            }
            tracing::warn!(indexer = %from, %error, "whether its sets are given back is not known yet");
            if !self.shutdown.sleep(pause).await {
                return Err(Error::Closed);
            }
            pause = (pause * 2).min(longest);
        }
    }

    /// Deletes logs whose records are all in buckets. If some objects remain, a later recovery reads them
    /// again and finds that they are stored.
    async fn clear(&self, from: IndexerId, sealed: Sealed) {
        let Sealed { existing, copies, lost_copies, .. } = sealed;
        // The newest seal stays: it marks the end of the log.
        let Existing { with_records, old_seals, .. } = existing;
        let gone: Vec<u64> = with_records.into_iter().chain(old_seals).collect();
        remote::delete(&self.store, from, gone).await;
        // The catalog keeps the names of lost copies, so that a later recovery learns that they are lost.
        if let (Some(replicas), Some(copies)) = (&self.replicas, &copies)
            && lost_copies == 0
            && let Err(error) = replicas.forget(copies).await
        {
            tracing::warn!(indexer = %from, %error, "copies of its journal stay");
        }
    }

    /// Discards the state of a failed recovery; the next attempt reads the logs again. Before that, buckets
    /// of this attempt that are being uploaded must be in the catalog.
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

/// Returns the sets that have a journal below a directory.
fn sets_below(directory: &Path) -> Vec<u16> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

fn join(indexers: &[IndexerId]) -> String {
    let texts: Vec<String> = indexers.iter().map(ToString::to_string).collect();
    texts.join(", ")
}
