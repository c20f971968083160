//! The writer of an indexer's log in another place.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use foldhash::HashMap;
use futures::{StreamExt, TryStreamExt, stream};
use inputs::Durability;
use model::{IndexerId, JournalPlace, JournalPosition};
use object_store::path::Path;
use object_store::{ObjectMeta, ObjectStore, ObjectStoreExt, PutMode, PutOptions, PutPayload};
use parking_lot::Mutex;
use replication::Replicas;
use runtime::{Shutdown, metrics as names};
use tokio::sync::{Notify, watch};
use tokio::time::Instant;

use super::{number_of, object, path_of};
use crate::ack::Waiting;
use crate::fence::Fence;
use crate::journal::StreamRef;
use crate::{Error, Settings};

/// Interval at which objects that are no longer needed are deleted.
const CLEAN: Duration = Duration::from_secs(1);
/// Interval at which a stalled place is probed.
const PROBE: Duration = Duration::from_secs(1);
/// Interval at which the log repeats that records are not stored.
const LOG_EVERY: Duration = Duration::from_secs(60);
/// How long a seal is kept, by the clock of the store.
const SEAL_HOURS: i64 = 24;

/// Records of one set that are to be put into the log.
#[derive(Debug, Default)]
pub(crate) struct Shipment {
    pub(crate) records: Vec<Bytes>,
    /// The last position of each stream among them.
    pub(crate) last: HashMap<StreamRef, JournalPosition>,
    /// The acknowledgements that wait for it.
    pub(crate) waiting: Vec<Waiting>,
}

impl Shipment {
    /// Adds a record.
    pub(crate) fn push(&mut self, stream: &StreamRef, position: JournalPosition, record: Bytes) {
        self.records.push(record);
        let last = self.last.entry(stream.clone()).or_default();
        *last = (*last).max(position);
    }
}

/// The objects of an indexer's log in the store.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Existing {
    /// The numbers of objects that have records, in order.
    pub(crate) with_records: Vec<u64>,
    /// The numbers of the seals.
    pub(crate) seals: Vec<u64>,
    /// The numbers of the seals that are old enough to be deleted.
    pub(crate) old_seals: Vec<u64>,
}

impl Existing {
    /// Lists the log of an indexer.
    ///
    /// # Errors
    /// [`Error::Storage`].
    pub(crate) async fn list(store: &dyn ObjectStore, indexer: IndexerId) -> Result<Self, Error> {
        let folder = super::folder(indexer);
        let listed: Result<Vec<_>, _> = store.list(Some(&folder)).try_collect().await;
        let listed = listed.map_err(fail("list", &folder))?;
        let newest = listed.iter().map(|meta| meta.last_modified).max();
        let is_old = |meta: &ObjectMeta| {
            newest.is_some_and(|newest| (newest - meta.last_modified).num_hours() >= SEAL_HOURS)
        };
        let mut existing = Self::default();
        for meta in listed {
            let Some(number) = number_of(&meta.location) else { continue };
            match meta.size {
                0 => {
                    existing.seals.push(number);
                    existing.old_seals.extend(is_old(&meta).then_some(number));
                }
                _ => existing.with_records.push(number),
            }
        }
        existing.with_records.sort_unstable();
        existing.seals.sort_unstable();
        Ok(existing)
    }

    /// Returns the number after the last one.
    pub(crate) fn next(&self) -> u64 {
        let last = self.with_records.last().max(self.seals.last());
        last.map_or(0, |last| last.saturating_add(1))
    }
}

#[derive(Debug, Default)]
struct Gathered {
    sets: BTreeMap<u16, Vec<Bytes>>,
    last: HashMap<(u16, StreamRef), JournalPosition>,
    waiting: Vec<Waiting>,
    bytes: usize,
}

/// An object whose records are not all in buckets.
#[derive(Debug)]
struct Stored {
    number: u64,
    last: HashMap<(u16, StreamRef), JournalPosition>,
}

#[derive(Debug, Default)]
struct State {
    gathered: Gathered,
    /// Number of bytes that are being put.
    under_way: usize,
    /// The number of the next object; `None` until the objects in the store are known.
    next: Option<u64>,
    /// Whether the log has ended and nothing more is put.
    has_ended: bool,
    stored: Vec<Stored>,
    /// Numbers of objects to delete.
    done: Vec<u64>,
    committed: HashMap<(u16, StreamRef), JournalPosition>,
}

impl State {
    fn is_committed(&self, last: &HashMap<(u16, StreamRef), JournalPosition>) -> bool {
        last.iter().all(|(stream, last)| self.committed.get(stream) >= Some(last))
    }

    /// Whether there are records that are in no bucket.
    fn is_needed(&self) -> bool {
        self.stored.iter().any(|object| !self.is_committed(&object.last))
    }

    /// Marks objects whose records are all in buckets for deletion, except the newest one.
    fn release(&mut self) {
        let newest = self.next.unwrap_or_default().saturating_sub(1);
        let committed = &self.committed;
        let is_done = |object: &Stored| {
            object.number != newest
                && object.last.iter().all(|(stream, last)| committed.get(stream) >= Some(last))
        };
        let (done, stored) =
            std::mem::take(&mut self.stored).into_iter().partition::<Vec<_>, _>(is_done);
        self.stored = stored;
        self.done.extend(done.into_iter().map(|object| object.number));
    }
}

/// The outcome of putting an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    /// The object is in the store.
    Put,
    /// Its records are in buckets meanwhile, so it was given up.
    InBuckets,
    /// The process stops, or another process owns the log.
    Stopped,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct RemoteLog {
    store: Arc<dyn ObjectStore>,
    /// The store, if it consists of the disks of other indexers.
    replicas: Option<Arc<Replicas>>,
    indexer: IndexerId,
    fence: Arc<Fence>,
    interval: Duration,
    most: usize,
    retry: (Duration, Duration),
    state: Mutex<State>,
    wake: Notify,
    /// Number of bytes that are not in the store.
    waiting: watch::Sender<usize>,
}

impl RemoteLog {
    pub(crate) fn new(
        (store, replicas): (Arc<dyn ObjectStore>, Option<Arc<Replicas>>),
        indexer: IndexerId,
        fence: Arc<Fence>,
        settings: &Settings,
    ) -> Self {
        let (interval, retry) = match &replicas {
            Some(_) => (settings.replicated_journal_interval, settings.replica_retry),
            None => (settings.remote_journal_interval, settings.upload_retry),
        };
        Self {
            store,
            replicas,
            indexer,
            fence,
            interval,
            most: settings.max_remote_journal_queue,
            retry,
            state: Mutex::default(),
            wake: Notify::new(),
            waiting: watch::Sender::new(0),
        }
    }

    /// Returns the place of the log.
    pub(crate) fn place(&self) -> JournalPlace {
        match self.replicas {
            Some(_) => JournalPlace::Replicated,
            None => JournalPlace::Remote,
        }
    }

    pub(crate) fn store(&self) -> &Arc<dyn ObjectStore> {
        &self.store
    }

    /// Returns the place of the log as text for users.
    pub(crate) fn where_it_is(&self) -> &'static str {
        match self.replicas {
            Some(_) => "the indexers that have copies of the journal",
            None => "object storage",
        }
    }

    /// Ends unfinished puts of former processes of this indexer. Copies refuse these themselves.
    ///
    /// # Errors
    /// [`Error::Storage`].
    pub(crate) async fn begin(&self) -> Result<(), Error> {
        match self.replicas {
            Some(_) => Ok(()),
            None => super::begin(self.store.as_ref(), self.indexer).await,
        }
    }

    /// Returns the number of copies, if all of them are lost.
    pub(crate) async fn lost(&self) -> Option<usize> {
        let lost = self.replicas.as_ref()?.lost(self.indexer).await?;
        Some(lost.len())
    }

    fn note_needed(&self, state: &State) {
        if let Some(replicas) = &self.replicas {
            replicas.note_needed(state.is_needed());
        }
    }

    /// Whether the place has not confirmed a put for too long, so that its records should rather be stored in
    /// buckets.
    pub(crate) fn is_stalled(&self) -> bool {
        self.replicas.as_ref().is_some_and(|replicas| replicas.is_stalled())
    }

    /// Continues after the objects of an earlier process of this indexer; `last` has the last position of
    /// each stream in its journal.
    pub(crate) fn resume(
        &self,
        existing: Existing,
        last: &HashMap<(u16, StreamRef), JournalPosition>,
    ) {
        let mut state = self.state.lock();
        let newest = existing.next().saturating_sub(1);
        // A copy that does not answer now may have other objects with the following numbers: deleting those
        // would delete new objects in the copies that answer.
        let least = self.replicas.as_ref().map_or(0, |replicas| replicas.first_number());
        state.next = Some(existing.next().max(least));
        state.done.extend(existing.old_seals);
        state.done.retain(|number| *number != newest);
        let stored = existing.with_records.into_iter();
        state.stored.extend(stored.map(|number| Stored { number, last: last.clone() }));
        state.release();
        self.note_needed(&state);
        self.replicas.iter().for_each(|replicas| replicas.note_resumed());
    }

    /// Whether the log accepts more records. If not, the store does not keep up, and the records of its
    /// indexes go to other lanes, whose acknowledgements wait for their buckets.
    pub(crate) fn has_room(&self) -> bool {
        *self.waiting.borrow() < self.most && self.state.lock().next.is_some() && !self.is_stalled()
    }

    /// Accepts records of a set that are in its journal.
    pub(crate) fn ship(&self, set: u16, shipment: Shipment) {
        let Shipment { records, last, waiting } = shipment;
        let bytes: usize = records.iter().map(Bytes::len).sum();
        let mut state = self.state.lock();
        if state.next.is_none() {
            // Before the objects in the store are known, only notes of rolls arrive.
            return;
        }
        if state.has_ended {
            // The records are in the journal on disk only, because the log has ended.
            drop(state);
            give_up(waiting);
            return;
        }
        let gathered = &mut state.gathered;
        gathered.sets.entry(set).or_default().extend(records);
        for (stream, position) in last {
            let known = gathered.last.entry((set, stream)).or_default();
            *known = (*known).max(position);
        }
        gathered.bytes += bytes;
        gathered.waiting.extend(waiting);
        let waiting = state.gathered.bytes + state.under_way;
        drop(state);
        self.waiting.send_replace(waiting);
        self.wake.notify_one();
    }

    /// Records that the catalog has the stream up to `position`.
    pub(crate) fn release(&self, set: u16, stream: &StreamRef, position: JournalPosition) {
        if stream.1.place() != self.place() {
            return;
        }
        let mut state = self.state.lock();
        let known = state.committed.entry((set, stream.clone())).or_default();
        *known = (*known).max(position);
        state.release();
        self.note_needed(&state);
    }

    /// Returns the number of objects whose records are not all in buckets.
    pub(crate) fn objects(&self) -> usize {
        self.state.lock().stored.len()
    }

    /// Waits until the store has everything.
    pub(crate) async fn idle(&self) {
        // The sender lives in `self`, so it cannot be dropped.
        let _ = self.waiting.subscribe().wait_for(|waiting| *waiting == 0).await;
    }

    /// Puts records until the shutdown signal, or until another process owns the log. Records that are not
    /// put by then, or arrive later, fail their inputs.
    pub(crate) async fn run(self: Arc<Self>, shutdown: Shutdown) {
        let under_way = self.put_what_comes(&shutdown).await;
        let mut state = self.state.lock();
        state.has_ended = true;
        let gathered = std::mem::take(&mut state.gathered);
        drop(state);
        give_up(under_way.into_iter().chain(gathered.waiting));
    }

    /// Puts records as they arrive. Returns the acknowledgements that wait for an unfinished put.
    async fn put_what_comes(&self, shutdown: &Shutdown) -> Vec<Waiting> {
        let mut last = Instant::now().checked_sub(self.interval).unwrap_or_else(Instant::now);
        loop {
            tokio::select! {
                biased;
                () = shutdown.stopped() => return Vec::new(),
                () = self.wake.notified() => {}
                () = tokio::time::sleep(PROBE), if self.is_stalled() => {
                    if let Some(replicas) = &self.replicas {
                        replicas.probe().await;
                    }
                    continue;
                }
            }
            tokio::select! {
                biased;
                () = shutdown.stopped() => return Vec::new(),
                () = tokio::time::sleep_until(last + self.interval) => {}
            }
            last = Instant::now();
            let (number, gathered) = {
                let mut state = self.state.lock();
                let gathered = std::mem::take(&mut state.gathered);
                let Some(number) = state.next.filter(|_| !gathered.sets.is_empty()) else {
                    continue;
                };
                state.under_way = gathered.bytes;
                (number, gathered)
            };
            let Gathered { sets, last: positions, waiting, bytes } = gathered;
            let payload = PutPayload::from_iter(object::encode(sets));
            let durability = match self.put_again(number, &payload, &positions, shutdown).await {
                Outcome::Stopped => return waiting,
                Outcome::InBuckets => {
                    self.is_not_needed(number);
                    Durability::Remote
                }
                Outcome::Put => {
                    self.count(last.elapsed(), bytes);
                    self.is_put(number, positions);
                    if self.replicas.is_some() {
                        Durability::Replicated
                    } else {
                        Durability::Remote
                    }
                }
            };
            for Waiting { share, events, bytes } in waiting {
                share.complete_as(durability, events, bytes);
            }
        }
    }

    fn count(&self, took: Duration, bytes: usize) {
        if self.replicas.is_some() {
            metrics::histogram!(names::REPLICAS_SECONDS).record(took.as_secs_f64());
            metrics::counter!(names::REPLICAS_BYTES).increment(bytes as u64);
        } else {
            metrics::histogram!(names::JOURNAL_REMOTE).record(took.as_secs_f64());
            metrics::counter!(names::JOURNAL_REMOTE_OBJECTS).increment(1);
            metrics::counter!(names::JOURNAL_REMOTE_BYTES).increment(bytes as u64);
        }
    }

    /// Gives up an object. Its number is not reused, because an attempt that is still in progress could take
    /// its place.
    fn is_not_needed(&self, number: u64) {
        let mut state = self.state.lock();
        state.next = Some(number + 1);
        state.under_way = 0;
        let waiting = state.gathered.bytes;
        drop(state);
        self.waiting.send_replace(waiting);
    }

    fn is_put(&self, number: u64, last: HashMap<(u16, StreamRef), JournalPosition>) {
        let mut state = self.state.lock();
        state.next = Some(number + 1);
        state.under_way = 0;
        state.stored.push(Stored { number, last });
        state.release();
        self.note_needed(&state);
        let waiting = state.gathered.bytes;
        drop(state);
        self.waiting.send_replace(waiting);
    }

    /// Retries the put of an object until it succeeds.
    async fn put_again(
        &self,
        number: u64,
        payload: &PutPayload,
        last: &HashMap<(u16, StreamRef), JournalPosition>,
        shutdown: &Shutdown,
    ) -> Outcome {
        let (mut pause, longest) = self.retry;
        let mut logged: Option<Instant> = None;
        loop {
            let put = tokio::select! {
                biased;
                () = shutdown.stopped() => return Outcome::Stopped,
                put = self.put(number, payload) => put,
            };
            match put {
                Ok(true) => return Outcome::Put,
                Ok(false) => {
                    let reason: Arc<str> = Error::LogTaken { number }.to_string().into();
                    if self.fence.close(&reason) {
                        tracing::error!(reason = &*reason, "intake stops permanently");
                    }
                    return Outcome::Stopped;
                }
                Err(error) => {
                    let failures = match self.replicas {
                        Some(_) => names::REPLICAS_FAILURES,
                        None => names::JOURNAL_REMOTE_FAILURES,
                    };
                    metrics::counter!(failures).increment(1);
                    // A process that has just started appears in the others' list a moment later.
                    let lasts = self.replicas.is_none() || self.is_stalled();
                    if lasts && logged.is_none_or(|at| at.elapsed() >= LOG_EVERY) {
                        logged = Some(Instant::now());
                        tracing::warn!(%error, again_in = ?pause, "journal records are not stored yet");
                    }
                }
            }
            if !shutdown.sleep(pause).await {
                return Outcome::Stopped;
            }
            // In object storage every number is used, so that a seal collides with the next object.
            if self.replicas.is_some() && self.state.lock().is_committed(last) {
                return Outcome::InBuckets;
            }
            pause = (pause * 2).min(longest);
        }
    }

    /// Puts an object once; returns `false` if another object with this number exists.
    async fn put(&self, number: u64, payload: &PutPayload) -> Result<bool, Error> {
        let path = path_of(self.indexer, number);
        let options = PutOptions::from(PutMode::Create);
        match self.store.put_opts(&path, payload.clone(), options).await {
            Ok(_) => Ok(true),
            // A copy is sealed: copies accept the same object twice, so nothing else causes this error.
            Err(object_store::Error::AlreadyExists { .. }) if self.replicas.is_some() => Ok(false),
            // The object may be from an earlier attempt whose response was lost.
            Err(object_store::Error::AlreadyExists { .. }) => {
                let there = self.store.get(&path).await.map_err(fail("read", &path))?;
                let there = there.bytes().await.map_err(fail("read", &path))?;
                Ok(is_same(&there, payload))
            }
            Err(error) => Err(fail("put", &path)(error)),
        }
    }

    /// Deletes objects whose records are in buckets, until the shutdown signal.
    pub(crate) async fn clean(self: Arc<Self>, shutdown: Shutdown) {
        while shutdown.sleep(CLEAN).await {
            let done = std::mem::take(&mut self.state.lock().done);
            self.delete(done).await;
        }
    }

    /// Seals the log, because everything is in buckets and nothing needs to be recovered from it.
    pub(crate) async fn end(&self) {
        if let Some(replicas) = &self.replicas {
            if let Err(error) = replicas.forget(&replicas.named(self.indexer)).await {
                tracing::debug!(%error, "copies of the journal stay at other indexers");
            }
            return;
        }
        let (next, done) = {
            let mut state = self.state.lock();
            let stored = std::mem::take(&mut state.stored);
            state.done.extend(stored.into_iter().map(|object| object.number));
            (state.next, std::mem::take(&mut state.done))
        };
        let Some(next) = next.filter(|_| !done.is_empty()) else { return };
        match self.put(next, &PutPayload::new()).await {
            Ok(_) => self.delete(done).await,
            Err(error) => {
                tracing::debug!(%error, "the last objects of the journal in object storage are kept")
            }
        }
    }

    async fn delete(&self, numbers: Vec<u64>) {
        if !numbers.is_empty() {
            delete(&self.store, self.indexer, numbers).await;
        }
    }
}

/// Deletes objects of a log. An object that cannot be deleted is not needed, and is deleted after the next
/// start.
pub(crate) async fn delete(
    store: &Arc<dyn ObjectStore>,
    indexer: IndexerId,
    numbers: impl IntoIterator<Item = u64, IntoIter: Send + 'static>,
) {
    let paths = numbers.into_iter().map(move |number| Ok(path_of(indexer, number)));
    let mut deleted = store.delete_stream(stream::iter(paths).boxed());
    while let Some(result) = deleted.next().await {
        match result {
            Ok(_) | Err(object_store::Error::NotFound { .. }) => {}
            Err(error) => tracing::debug!(%error, "a journal object is not deleted"),
        }
    }
}

/// Fails inputs whose events are only in the journal of this process.
fn give_up(waiting: impl IntoIterator<Item = Waiting>) {
    waiting.into_iter().for_each(Waiting::give_up);
}

fn is_same(there: &Bytes, payload: &PutPayload) -> bool {
    let mut rest = &there[..];
    for part in payload {
        let Some(after) = rest.strip_prefix(&part[..]) else { return false };
        rest = after;
    }
    rest.is_empty()
}

pub(crate) fn fail(
    operation: &'static str,
    path: &Path,
) -> impl FnOnce(object_store::Error) -> Error {
    let path = path.to_string();
    move |source| Error::Storage { operation, path, source: Arc::new(source) }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use inputs::Acknowledgement;
    use object_store::memory::InMemory;

    use super::*;
    use crate::ack::AckShare;

    /// Sends an event that waits for the log.
    fn shipped(log: &RemoteLog) -> Acknowledgement {
        let (share, outcome) = AckShare::new();
        let waiting = vec![Waiting { share, events: 1, bytes: 1 }];
        let records = vec![Bytes::from_static(b"record")];
        log.ship(0, Shipment { records, waiting, ..Shipment::default() });
        outcome
    }

    #[tokio::test]
    async fn nobody_waits_for_a_log_that_takes_nothing_any_more() {
        let store: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
        let indexer = IndexerId(uuid::Uuid::nil());
        let log = RemoteLog::new((store, None), indexer, Arc::default(), &Settings::default());
        let log = Arc::new(log);
        log.resume(Existing::default(), &HashMap::default());
        let before = shipped(&log);
        let shutdown = Shutdown::new();
        shutdown.stop();
        Arc::clone(&log).run(shutdown).await;
        let after = shipped(&log);
        let outcomes = async { (before.wait().await, after.wait().await) };
        let outcomes = tokio::time::timeout(Duration::from_secs(20), outcomes).await.unwrap();
        for outcome in [outcomes.0, outcomes.1] {
            assert!(matches!(outcome, Err(inputs::Error::Unacknowledged)), "{outcome:?}");
        }
        let state = log.state.lock();
        assert!(state.gathered.sets.is_empty(), "records are kept that nobody puts");
    }
}
