//! The hot buckets of this process, and when they roll.
//!
//! There is one open bucket per stream (index, set, lane), and the rolled buckets that are not in the catalog
//! yet: first their rows, then, once the spool has their object, only its description. A bucket is in
//! snapshots from its first event until [`HotStore::remove`], which the uploader calls after the commit to
//! the catalog. So a search that reads the hot buckets first and the catalog second sees every event.

use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use bucket::{HotBucket, HotOwner};
use catalog::{JournalRange, OWN_EPOCH};
use foldhash::HashMap;
use model::{
    BucketEntry, BucketId, EventTime, IndexName, IndexerId, JournalPlace, JournalPosition, Lane,
    StreamId, TimeRange,
};
use parking_lot::{Mutex, RwLock};

use super::attempts::Times;
use super::lanes::OpenLane;
use super::limits::HotLimits;
use super::rows::Rows;
use crate::Error;
use crate::ack::Waiting;
use crate::set::SetId;

/// Text size in bytes above which rows are not joined any further.
const CHUNK_BYTES: usize = 1 << 20;
/// Number of adjacent chunks of similar size that are joined into one.
const JOIN: usize = 8;

/// Why a bucket rolled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum RollReason {
    Size,
    Span,
    Idle,
    Memory,
    Ack,
    Journal,
    Asked,
    Recovery,
}

impl RollReason {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Size => "size",
            Self::Span => "span",
            Self::Idle => "idle",
            Self::Memory => "memory",
            Self::Ack => "ack",
            Self::Journal => "journal",
            Self::Asked => "asked",
            Self::Recovery => "recovery",
        }
    }
}

/// The content of a bucket.
#[derive(Debug)]
pub(crate) struct Filling {
    pub(crate) id: BucketId,
    chunks: Vec<Arc<Rows>>,
    pub(crate) rows: u64,
    pub(crate) raw_bytes: u64,
    /// The size that counts towards limits: see [`Rows::weight`].
    weight: u64,
    pub(crate) first_time: i64,
    pub(crate) last_time: i64,
    /// Position of the first journal record inside.
    pub(crate) from: JournalPosition,
    /// Position of the last journal record inside.
    pub(crate) upto: JournalPosition,
    last_append: EventTime,
    waiting: Vec<Waiting>,
    waiting_since: Option<EventTime>,
}

/// The location of the rows of a rolled bucket.
#[derive(Debug, Clone)]
enum Body {
    Memory(Vec<Arc<Rows>>),
    Spooled(Arc<BucketEntry>),
}

/// A bucket that is closed and waits for its upload.
#[derive(Debug)]
pub(crate) struct RolledBucket {
    pub(crate) stream: StreamId,
    /// The description of the content; the rows have moved to the body.
    pub(crate) content: Filling,
    body: Mutex<Body>,
    waiting: Mutex<Vec<Waiting>>,
    pub(crate) path: String,
    /// The epoch in which this process owns the set.
    epoch: u64,
    pub(crate) rolled_at: std::time::Instant,
}

impl RolledBucket {
    /// Returns all rows as hot rows; none once they are in the spool.
    pub(crate) fn batches(&self) -> Result<Vec<RecordBatch>, Error> {
        let Body::Memory(chunks) = self.body.lock().clone() else { return Ok(Vec::new()) };
        let schema = bucket::hot_schema();
        chunks.iter().map(|rows| rows.columns(&schema)).collect()
    }

    /// Returns the range of journal records that have its events.
    pub(crate) fn journal_range(&self) -> JournalRange {
        let Filling { from, upto, .. } = self.content;
        JournalRange { stream: self.stream.clone(), from: Some(from), upto, epoch: self.epoch }
    }

    fn in_memory(&self) -> bool {
        matches!(*self.body.lock(), Body::Memory(_))
    }

    /// Returns the earliest and latest arrival time; `None` once the rows are in the spool.
    fn arrivals(&self) -> Option<Times> {
        let body = self.body.lock();
        let Body::Memory(chunks) = &*body else { return None };
        span_of(chunks)
    }

    /// Takes the acknowledgements that wait until the bucket is in the catalog.
    pub(crate) fn take_waiting(&self) -> Vec<Waiting> {
        std::mem::take(&mut self.waiting.lock())
    }
}

#[derive(Debug, Default)]
struct Stream {
    open: Option<Filling>,
    rolled: Vec<Arc<RolledBucket>>,
}

/// A hot bucket for the status page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HotStatus {
    /// The bucket's stream.
    pub stream: StreamId,
    /// The bucket.
    pub id: BucketId,
    /// Events inside.
    pub rows: u64,
    /// Bytes of their text.
    pub raw_bytes: u64,
    /// Earliest event time.
    pub first_time: EventTime,
    /// Latest event time.
    pub last_time: EventTime,
    /// Whether the bucket is rolled and waits for its upload.
    pub rolled: bool,
}

/// See the module.
pub(crate) struct HotStore {
    schema: SchemaRef,
    streams: RwLock<HashMap<StreamId, Stream>>,
    /// Weight of open and rolled buckets in memory.
    raw_bytes: AtomicU64,
    /// The epochs in which this process owns its sets, except first epochs.
    epochs: Mutex<HashMap<SetId, u64>>,
    /// The other indexers whose recovered events are complete here.
    adopted: RwLock<BTreeMap<IndexerId, Vec<HotOwner>>>,
    /// Whether no bucket is committed any more; written while `streams` is locked.
    has_given_up: AtomicBool,
}

impl fmt::Debug for HotStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HotStore").field("raw_bytes", &self.raw_bytes).finish_non_exhaustive()
    }
}

impl HotStore {
    pub(crate) fn new() -> Self {
        Self {
            schema: bucket::hot_schema(),
            streams: RwLock::default(),
            raw_bytes: AtomicU64::new(0),
            epochs: Mutex::default(),
            adopted: RwLock::default(),
            has_given_up: AtomicBool::new(false),
        }
    }

    /// Sets the epoch in which buckets of the set that roll from now on are committed.
    pub(crate) fn own(&self, set: SetId, epoch: u64) {
        self.epochs.lock().insert(set, epoch);
    }

    /// Returns the epoch in which this process owns a set.
    pub(crate) fn epoch(&self, set: SetId) -> u64 {
        self.epochs.lock().get(&set).copied().unwrap_or(OWN_EPOCH)
    }

    /// Records that all events of another indexer are here, up to the epochs in which this indexer owns its
    /// sets.
    pub(crate) fn adopt(&self, from: IndexerId, epochs: &BTreeMap<u16, u64>) {
        let owned = |(set, epoch): (&u16, &u64)| HotOwner {
            indexer: from,
            set: *set,
            epoch: *epoch,
            is_local: false,
        };
        self.adopted.write().insert(from, epochs.iter().map(owned).collect());
    }

    /// Records that the events of another indexer are no longer here.
    pub(crate) fn abandon(&self, from: IndexerId) {
        self.adopted.write().remove(&from);
    }

    pub(crate) fn adopted_indexers(&self) -> Vec<IndexerId> {
        self.adopted.read().keys().copied().collect()
    }

    /// Removes the streams of a set that another process owns now.
    pub(crate) fn disown(&self, set: SetId) {
        let mut streams = self.streams.write();
        let gone: Vec<_> =
            streams.keys().filter(|stream| SetId::of(stream) == set).cloned().collect();
        for stream in gone {
            let Some(state) = streams.remove(&stream) else { continue };
            let rolled = state.rolled.iter().filter(|bucket| bucket.in_memory());
            let rolled = rolled.map(|bucket| bucket.content.weight);
            let weight = rolled.chain(state.open.iter().map(|open| open.weight)).sum();
            self.raw_bytes.fetch_sub(weight, Ordering::Relaxed);
        }
        self.epochs.lock().remove(&set);
    }

    /// Adds rows to their stream's open bucket, which is opened if there is none.
    pub(crate) fn append(
        &self,
        stream: &StreamId,
        rows: Rows,
        position: JournalPosition,
        now: EventTime,
    ) {
        let Some((first, last)) = rows.span() else { return };
        let bytes = rows.raw_bytes() as u64;
        let weight = rows.weight();
        let count = rows.rows() as u64;
        let mut streams = self.streams.write();
        let state = match streams.get_mut(stream) {
            Some(state) => state,
            None => streams.entry(stream.clone()).or_default(),
        };
        let open = state.open.get_or_insert_with(|| Filling {
            id: BucketId(runtime::random::time_ordered_uuid()),
            chunks: Vec::new(),
            rows: 0,
            raw_bytes: 0,
            weight: 0,
            first_time: first,
            last_time: last,
            from: position,
            upto: position,
            last_append: now,
            waiting: Vec::new(),
            waiting_since: None,
        });
        open.chunks.push(Arc::new(rows));
        open.rows += count;
        open.raw_bytes += bytes;
        open.weight += weight;
        open.first_time = open.first_time.min(first);
        open.last_time = open.last_time.max(last);
        open.upto = open.upto.max(position);
        open.last_append = now;
        join_small(&mut open.chunks);
        self.raw_bytes.fetch_add(weight, Ordering::Relaxed);
    }

    /// Whether the stream has a bucket that is not in the catalog yet; then its commit also covers a record
    /// up to `position` that is already stored.
    pub(crate) fn covers(&self, stream: &StreamId, position: JournalPosition) -> bool {
        let mut streams = self.streams.write();
        let Some(state) = streams.get_mut(stream) else { return false };
        if let Some(open) = &mut state.open {
            open.upto = open.upto.max(position);
            return true;
        }
        !state.rolled.is_empty()
    }

    /// Holds an acknowledgement until the open bucket of the stream is in the catalog.
    pub(crate) fn wait(&self, stream: &StreamId, waiting: Waiting, now: EventTime) {
        let mut streams = self.streams.write();
        match streams.get_mut(stream).and_then(|state| state.open.as_mut()) {
            // The committer works off its queues after that, too.
            Some(_) if self.has_given_up.load(Ordering::Relaxed) => waiting.give_up(),
            Some(open) => {
                open.waiting_since.get_or_insert(now);
                open.waiting.push(waiting);
            }
            // No event was appended, so there is no bucket to wait for.
            None => waiting.share.complete(waiting.events, waiting.bytes),
        }
    }

    /// Fails the acknowledgements that wait for buckets, now or later: no bucket is committed any more.
    pub(crate) fn give_up(&self) {
        let mut waiting = Vec::new();
        let mut streams = self.streams.write();
        self.has_given_up.store(true, Ordering::Relaxed);
        for state in streams.values_mut() {
            let open = state.open.iter_mut();
            waiting.extend(open.flat_map(|open| std::mem::take(&mut open.waiting)));
            waiting.extend(state.rolled.iter().flat_map(|bucket| bucket.take_waiting()));
        }
        drop(streams);
        waiting.into_iter().for_each(Waiting::give_up);
    }

    /// Returns the open buckets of a set for an index, except the quarantine bucket, in the lanes below
    /// `count` of a place.
    pub(crate) fn open_lanes(
        &self,
        SetId { indexer, set }: SetId,
        index: &IndexName,
        (count, place): (u8, JournalPlace),
    ) -> Vec<OpenLane> {
        let streams = self.streams.read();
        let open = |number: u8| {
            let lane = Lane::number(number).at(place);
            let open = streams.get(&StreamId { indexer, set, index: index.clone(), lane })?;
            let open = open.open.as_ref()?;
            Some(OpenLane {
                number,
                first: open.first_time,
                last: open.last_time,
                raw_bytes: open.raw_bytes,
                used: open.upto,
            })
        };
        (0..count).filter_map(open).collect()
    }

    /// Returns the streams of the set whose open bucket must roll now. `journal` is the size of its journal.
    pub(crate) fn due(
        &self,
        set: SetId,
        now: EventTime,
        limits: &HotLimits,
        journal: u64,
    ) -> Vec<(StreamId, RollReason)> {
        let streams = self.streams.read();
        let since = |time: EventTime| i128::from(now.0) - i128::from(time.0);
        let open = || {
            let mine = streams.iter().filter(|(stream, _)| SetId::of(stream) == set);
            mine.filter_map(|(stream, state)| Some((stream, state.open.as_ref()?)))
        };
        let mut due: Vec<_> = open()
            .filter_map(|(stream, filling)| {
                let silent = since(filling.last_append);
                let idle = to_micros(limits.max_hot_idle(&stream.index));
                let acks = to_micros(limits.remote_ack_interval());
                if filling.waiting_since.is_some_and(|begin| since(begin) >= acks) {
                    Some((stream.clone(), RollReason::Ack))
                } else if filling.weight >= limits.max_data_size(&stream.index) {
                    Some((stream.clone(), RollReason::Size))
                } else if idle > 0 && silent >= idle {
                    Some((stream.clone(), RollReason::Idle))
                } else {
                    None
                }
            })
            .collect();
        if due.is_empty() && self.raw_bytes() > limits.max_hot_memory() {
            let largest = open().max_by_key(|(_, filling)| filling.weight);
            due.extend(largest.map(|(stream, _)| (stream.clone(), RollReason::Memory)));
        }
        if due.is_empty() && journal > limits.max_journal_size() {
            due.extend(oldest(&streams, set).map(|stream| (stream, RollReason::Journal)));
        }
        due
    }

    /// Returns the stream of the set whose open bucket retains the most of the journal at a place.
    pub(crate) fn oldest_at(&self, set: SetId, place: JournalPlace) -> Option<StreamId> {
        let streams = self.streams.read();
        let mine = streams
            .iter()
            .filter(|(stream, _)| SetId::of(stream) == set && stream.lane.place() == place);
        let open = mine.filter_map(|(stream, state)| Some((state.open.as_ref()?.from, stream)));
        open.min_by_key(|(from, _)| *from).map(|(_, stream)| stream.clone())
    }

    /// Returns the streams of the set that have an open bucket, of one index or of all.
    pub(crate) fn open_streams(&self, set: SetId, index: Option<&IndexName>) -> Vec<StreamId> {
        let streams = self.streams.read();
        let wanted = |(stream, state): &(&StreamId, &Stream)| {
            SetId::of(stream) == set
                && state.open.is_some()
                && index.is_none_or(|index| stream.index == *index)
        };
        streams.iter().filter(wanted).map(|(stream, _)| stream.clone()).collect()
    }

    /// Returns the arrival times of the open bucket of a stream.
    pub(crate) fn open_arrivals(&self, stream: &StreamId) -> Option<Times> {
        span_of(&self.streams.read().get(stream)?.open.as_ref()?.chunks)
    }

    /// Returns the arrival times of each bucket that is not encoded yet.
    pub(crate) fn arrivals(&self) -> Vec<(StreamId, Times)> {
        let streams = self.streams.read();
        let mut found = Vec::new();
        for (stream, state) in streams.iter() {
            let rolled = state.rolled.iter().filter_map(|bucket| bucket.arrivals());
            let open = state.open.as_ref().and_then(|open| span_of(&open.chunks));
            found.extend(rolled.chain(open).map(|times| (stream.clone(), times)));
        }
        found
    }

    /// Closes the open bucket of the stream; it stays in snapshots.
    pub(crate) fn roll(&self, stream: &StreamId) -> Option<Arc<RolledBucket>> {
        let mut streams = self.streams.write();
        let state = streams.get_mut(stream)?;
        let mut content = state.open.take()?;
        let chunks = std::mem::take(&mut content.chunks);
        let waiting = std::mem::take(&mut content.waiting);
        let day = EventTime(content.last_time).day();
        let epoch = self.epoch(SetId::of(stream));
        let rolled = Arc::new(RolledBucket {
            path: content.id.object_path(&stream.index, &day),
            stream: stream.clone(),
            content,
            epoch,
            body: Mutex::new(Body::Memory(chunks)),
            waiting: Mutex::new(waiting),
            rolled_at: std::time::Instant::now(),
        });
        state.rolled.push(Arc::clone(&rolled));
        Some(rolled)
    }

    /// Replaces the rows of a bucket in memory by its object in the spool, which searches read from now on.
    pub(crate) fn spooled(&self, rolled: &RolledBucket, entry: Arc<BucketEntry>) {
        let before = std::mem::replace(&mut *rolled.body.lock(), Body::Spooled(entry));
        if matches!(before, Body::Memory(_)) {
            self.raw_bytes.fetch_sub(rolled.content.weight, Ordering::Relaxed);
        }
    }

    /// Removes a bucket that is in the catalog.
    pub(crate) fn remove(&self, rolled: &RolledBucket) {
        let mut streams = self.streams.write();
        if let Some(state) = streams.get_mut(&rolled.stream) {
            state.rolled.retain(|bucket| bucket.content.id != rolled.content.id);
            if state.rolled.is_empty() && state.open.is_none() {
                streams.remove(&rolled.stream);
            }
            if rolled.in_memory() {
                self.raw_bytes.fetch_sub(rolled.content.weight, Ordering::Relaxed);
            }
        }
    }

    /// Returns the number of rolled buckets of a set that are still in memory.
    pub(crate) fn rolled_count(&self, set: SetId) -> usize {
        let streams = self.streams.read();
        let mine = streams.iter().filter(|(stream, _)| SetId::of(stream) == set);
        let in_memory = |state: &Stream| state.rolled.iter().filter(|b| b.in_memory()).count();
        mine.map(|(_, state)| in_memory(state)).sum()
    }

    /// Whether a bucket is still here, although the catalog may already have it.
    pub(crate) fn has(&self, index: &IndexName, id: BucketId) -> bool {
        let streams = self.streams.read();
        let mut states = streams.iter().filter(|(stream, _)| stream.index == *index);
        states.any(|(_, state)| state.rolled.iter().any(|bucket| bucket.content.id == id))
    }

    /// Whether an index has buckets that are not in the catalog yet.
    pub(crate) fn has_any(&self, index: &IndexName) -> bool {
        let streams = self.streams.read();
        let mut states = streams.iter().filter(|(stream, _)| stream.index == *index);
        states.any(|(_, state)| state.open.is_some() || !state.rolled.is_empty())
    }

    /// Whether every bucket of a set is in the catalog.
    pub(crate) fn is_stored(&self, set: SetId) -> bool {
        let streams = self.streams.read();
        let mut mine = streams.iter().filter(|(stream, _)| SetId::of(stream) == set);
        mine.all(|(_, state)| state.open.is_none() && state.rolled.is_empty())
    }

    /// Returns the bytes of text of the open buckets of a set.
    pub(crate) fn open_bytes(&self, set: SetId) -> u64 {
        let streams = self.streams.read();
        let mine = streams.iter().filter(|(stream, _)| SetId::of(stream) == set);
        mine.filter_map(|(_, state)| state.open.as_ref()).map(|open| open.raw_bytes).sum()
    }

    pub(crate) fn raw_bytes(&self) -> u64 {
        self.raw_bytes.load(Ordering::Relaxed)
    }

    pub(crate) fn status(&self) -> Vec<HotStatus> {
        let streams = self.streams.read();
        let mut status = Vec::new();
        for (stream, state) in streams.iter() {
            let rolled = state.rolled.iter().map(|bucket| (&bucket.content, true));
            for (content, rolled) in rolled.chain(state.open.iter().map(|open| (open, false))) {
                status.push(HotStatus {
                    stream: stream.clone(),
                    id: content.id,
                    rows: content.rows,
                    raw_bytes: content.raw_bytes,
                    first_time: EventTime(content.first_time),
                    last_time: EventTime(content.last_time),
                    rolled,
                });
            }
        }
        status.sort_by(|a, b| (&a.stream, a.id).cmp(&(&b.stream, b.id)));
        status
    }
}

impl bucket::HotBuckets for HotStore {
    fn snapshot(&self, indexes: &[IndexName], range: &TimeRange) -> Vec<HotBucket> {
        // The lock is held only to take references; columns are made after it.
        let mut found = Vec::new();
        for (stream, state) in self.streams.read().iter() {
            if !indexes.contains(&stream.index) {
                continue;
            }
            let rolled = state.rolled.iter().map(|bucket| (&bucket.content, Some(bucket)));
            for (content, rolled) in rolled.chain(state.open.iter().map(|open| (open, None))) {
                let first_time = EventTime(content.first_time);
                let last_time = EventTime(content.last_time);
                if range.overlaps(first_time, last_time) {
                    let body = rolled.map(|rolled| rolled.body.lock().clone());
                    let (chunks, stored) = match body {
                        None => (content.chunks.clone(), None),
                        Some(Body::Memory(chunks)) => (chunks, None),
                        Some(Body::Spooled(entry)) => (Vec::new(), Some(entry)),
                    };
                    let epoch =
                        rolled.map_or_else(|| self.epoch(SetId::of(stream)), |rolled| rolled.epoch);
                    let owner = HotOwner {
                        indexer: stream.indexer,
                        set: stream.set,
                        epoch,
                        is_local: !stream.lane.is_recoverable(),
                    };
                    let bucket = HotBucket {
                        id: content.id,
                        index: stream.index.clone(),
                        first_time,
                        last_time,
                        rows: content.rows,
                        raw_bytes: content.raw_bytes,
                        batches: Vec::new(),
                        stored,
                        owner: Some(owner),
                        elsewhere: None,
                    };
                    found.push((bucket, chunks));
                }
            }
        }
        let columns = |(mut bucket, chunks): (HotBucket, Vec<Arc<Rows>>)| {
            let batches: Result<_, Error> =
                chunks.iter().map(|rows| rows.columns(&self.schema)).collect();
            match batches {
                Ok(batches) => bucket.batches = batches,
                // Only a defect leads here. It is logged, because a bucket that claims rows and has none
                // would silently be missing from results.
                Err(error) => {
                    tracing::error!(bucket = %bucket.id, %error, "hot rows are unreadable")
                }
            }
            bucket
        };
        found.into_iter().map(columns).collect()
    }

    fn adopted(&self) -> Vec<HotOwner> {
        self.adopted.read().values().flatten().copied().collect()
    }

    fn in_memory(&self) -> HashSet<BucketId> {
        let streams = self.streams.read();
        let ids = |state: &Stream| {
            let rolled = state.rolled.iter().filter(|bucket| bucket.in_memory());
            let rolled = rolled.map(|bucket| bucket.content.id);
            rolled.chain(state.open.as_ref().map(|open| open.id)).collect::<Vec<_>>()
        };
        streams.values().flat_map(ids).collect()
    }
}

/// Returns the earliest and latest arrival time of chunks; `None` without rows.
fn span_of(chunks: &[Arc<Rows>]) -> Option<Times> {
    let spans = || chunks.iter().filter_map(|rows| rows.arrivals());
    let (first, last) = (spans().map(|(first, _)| first), spans().map(|(_, last)| last));
    Some(first.min()?..=last.max()?)
}

/// Joins the last chunks while [`JOIN`] of them have a similar size, so that many small appends copy each row
/// only a few times and leave few chunks.
fn join_small(chunks: &mut Vec<Arc<Rows>>) {
    let class = |rows: &Arc<Rows>| rows.rows().max(1).ilog2() / JOIN.ilog2();
    loop {
        let Some(last) = chunks.last().map(class) else { return };
        let small = |rows: &&Arc<Rows>| rows.raw_bytes() < CHUNK_BYTES && class(rows) <= last;
        let run = chunks.iter().rev().take_while(small).count();
        if run < JOIN {
            return;
        }
        let joined = Rows::join(&chunks[chunks.len() - run..]);
        chunks.truncate(chunks.len() - run);
        chunks.push(Arc::new(joined));
    }
}

/// Returns the stream whose open bucket retains the most of the journal, unless a rolled bucket retains more.
fn oldest(streams: &HashMap<StreamId, Stream>, set: SetId) -> Option<StreamId> {
    let mine = || streams.iter().filter(|(stream, _)| SetId::of(stream) == set);
    let rolled = mine().flat_map(|(_, state)| &state.rolled).map(|bucket| bucket.content.from);
    let open = mine().filter_map(|(stream, state)| Some((state.open.as_ref()?.from, stream)));
    let (from, stream) = open.min_by_key(|(from, _)| *from)?;
    rolled.min().is_none_or(|rolled| from < rolled).then(|| stream.clone())
}

fn to_micros(duration: Duration) -> i128 {
    i128::try_from(duration.as_micros()).unwrap_or(i128::MAX)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
