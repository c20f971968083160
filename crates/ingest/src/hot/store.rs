//! Which hot buckets there are, and when they roll.
//!
//! One open bucket per stream (index, set, quarantine), and the rolled ones that are not in the
//! catalog yet. A bucket is in a snapshot from its first event until [`HotStore::remove`], which
//! the uploader calls after the catalog's commit, so a search that looks here first and into the
//! catalog second meets every event.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::Duration;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use bucket::HotBucket;
use foldhash::HashMap;
use model::{BucketId, EventTime, IndexName, JournalPosition, StreamId, TimeRange};

use super::limits::HotLimits;
use super::rows::Rows;
use crate::Error;

/// Rows above this text size are not joined any further.
const CHUNK_BYTES: usize = 1 << 20;
/// So many neighbours of similar size are joined into one.
const JOIN: usize = 8;

/// Why a bucket rolled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum RollReason {
    Size,
    Span,
    Idle,
    Memory,
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
            Self::Asked => "asked",
            Self::Recovery => "recovery",
        }
    }
}

/// What fills a bucket.
#[derive(Debug)]
pub(crate) struct Filling {
    pub(crate) id: BucketId,
    chunks: Vec<Arc<Rows>>,
    pub(crate) rows: u64,
    pub(crate) raw_bytes: u64,
    pub(crate) first_time: i64,
    pub(crate) last_time: i64,
    /// Position of the last journal record inside.
    pub(crate) upto: JournalPosition,
    last_append: EventTime,
}

/// A bucket that takes no more events and waits for its upload.
#[derive(Debug)]
pub(crate) struct RolledBucket {
    pub(crate) stream: StreamId,
    pub(crate) content: Filling,
    pub(crate) path: String,
    pub(crate) rolled_at: std::time::Instant,
}

impl RolledBucket {
    /// All rows as hot rows.
    pub(crate) fn batches(&self) -> Result<Vec<RecordBatch>, Error> {
        let schema = bucket::hot_schema();
        self.content.chunks.iter().map(|rows| rows.columns(&schema)).collect()
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
    /// Whether it waits for its upload.
    pub rolled: bool,
}

/// See the module.
pub(crate) struct HotStore {
    schema: SchemaRef,
    streams: RwLock<HashMap<StreamId, Stream>>,
    /// Raw bytes in open and rolled buckets.
    raw_bytes: AtomicU64,
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
        }
    }

    fn read(&self) -> RwLockReadGuard<'_, HashMap<StreamId, Stream>> {
        self.streams.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, HashMap<StreamId, Stream>> {
        self.streams.write().unwrap_or_else(PoisonError::into_inner)
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
        let count = rows.rows() as u64;
        let mut streams = self.write();
        let state = match streams.get_mut(stream) {
            Some(state) => state,
            None => streams.entry(stream.clone()).or_default(),
        };
        let open = state.open.get_or_insert_with(|| Filling {
            id: BucketId(uuid::Uuid::now_v7()),
            chunks: Vec::new(),
            rows: 0,
            raw_bytes: 0,
            first_time: first,
            last_time: last,
            upto: position,
            last_append: now,
        });
        open.chunks.push(Arc::new(rows));
        open.rows += count;
        open.raw_bytes += bytes;
        open.first_time = open.first_time.min(first);
        open.last_time = open.last_time.max(last);
        open.upto = open.upto.max(position);
        open.last_append = now;
        join_small(&mut open.chunks);
        self.raw_bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Whether the open bucket has to roll before it takes rows with this span.
    pub(crate) fn would_stretch(
        &self,
        stream: &StreamId,
        (first, last): (i64, i64),
        limits: &HotLimits,
    ) -> bool {
        if stream.quarantine {
            return false;
        }
        let streams = self.read();
        let Some(open) = streams.get(stream).and_then(|state| state.open.as_ref()) else {
            return false;
        };
        let span = open.last_time.max(last).saturating_sub(open.first_time.min(first));
        open.raw_bytes >= limits.max_data_size(&stream.index) / 16
            && i128::from(span) > to_micros(limits.max_hot_span(&stream.index))
    }

    /// The set's streams whose open bucket has to roll now.
    pub(crate) fn due(
        &self,
        set: u16,
        now: EventTime,
        limits: &HotLimits,
    ) -> Vec<(StreamId, RollReason)> {
        let streams = self.read();
        let open = || {
            let mine = streams.iter().filter(|(stream, _)| stream.set == set);
            mine.filter_map(|(stream, state)| Some((stream, state.open.as_ref()?)))
        };
        let mut due: Vec<_> = open()
            .filter_map(|(stream, filling)| {
                let silent = i128::from(now.0) - i128::from(filling.last_append.0);
                let idle = to_micros(limits.max_hot_idle(&stream.index));
                if filling.raw_bytes >= limits.max_data_size(&stream.index) {
                    Some((stream.clone(), RollReason::Size))
                } else if idle > 0 && silent >= idle {
                    Some((stream.clone(), RollReason::Idle))
                } else {
                    None
                }
            })
            .collect();
        if due.is_empty() && self.raw_bytes() > limits.max_hot_memory() {
            let largest = open().max_by_key(|(_, filling)| filling.raw_bytes);
            due.extend(largest.map(|(stream, _)| (stream.clone(), RollReason::Memory)));
        }
        due
    }

    /// The set's streams that have an open bucket, of one index or of all.
    pub(crate) fn open_streams(&self, set: u16, index: Option<&IndexName>) -> Vec<StreamId> {
        let streams = self.read();
        let wanted = |(stream, state): &(&StreamId, &Stream)| {
            stream.set == set
                && state.open.is_some()
                && index.is_none_or(|index| stream.index == *index)
        };
        streams.iter().filter(wanted).map(|(stream, _)| stream.clone()).collect()
    }

    /// Closes the stream's open bucket; it stays in snapshots.
    pub(crate) fn roll(&self, stream: &StreamId) -> Option<Arc<RolledBucket>> {
        let mut streams = self.write();
        let state = streams.get_mut(stream)?;
        let content = state.open.take()?;
        let day = day_of(content.last_time);
        let rolled = Arc::new(RolledBucket {
            path: content.id.object_path(&stream.index, &day),
            stream: stream.clone(),
            content,
            rolled_at: std::time::Instant::now(),
        });
        state.rolled.push(Arc::clone(&rolled));
        Some(rolled)
    }

    /// Forgets a bucket that is in the catalog.
    pub(crate) fn remove(&self, rolled: &RolledBucket) {
        let mut streams = self.write();
        if let Some(state) = streams.get_mut(&rolled.stream) {
            state.rolled.retain(|bucket| bucket.content.id != rolled.content.id);
            if state.rolled.is_empty() && state.open.is_none() {
                streams.remove(&rolled.stream);
            }
            self.raw_bytes.fetch_sub(rolled.content.raw_bytes, Ordering::Relaxed);
        }
    }

    /// How many rolled buckets of a set wait for their commit.
    pub(crate) fn rolled_count(&self, set: u16) -> usize {
        let streams = self.read();
        let mine = streams.iter().filter(|(stream, _)| stream.set == set);
        mine.map(|(_, state)| state.rolled.len()).sum()
    }

    pub(crate) fn raw_bytes(&self) -> u64 {
        self.raw_bytes.load(Ordering::Relaxed)
    }

    pub(crate) fn status(&self) -> Vec<HotStatus> {
        let streams = self.read();
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
        // Under the lock only references are taken; columns are made after it.
        let mut found = Vec::new();
        for (stream, state) in self.read().iter() {
            if !indexes.contains(&stream.index) {
                continue;
            }
            let rolled = state.rolled.iter().map(|bucket| &bucket.content);
            for content in rolled.chain(&state.open) {
                let first_time = EventTime(content.first_time);
                let last_time = EventTime(content.last_time);
                if range.overlaps(first_time, last_time) {
                    let bucket = HotBucket {
                        id: content.id,
                        index: stream.index.clone(),
                        first_time,
                        last_time,
                        rows: content.rows,
                        raw_bytes: content.raw_bytes,
                        batches: Vec::new(),
                    };
                    found.push((bucket, content.chunks.clone()));
                }
            }
        }
        let columns = |(mut bucket, chunks): (HotBucket, Vec<Arc<Rows>>)| {
            let batches: Result<_, Error> =
                chunks.iter().map(|rows| rows.columns(&self.schema)).collect();
            match batches {
                Ok(batches) => bucket.batches = batches,
                // Only a defect leads here; a bucket that claims rows and has none would be a
                // silent hole, so it is said.
                Err(error) => {
                    tracing::error!(bucket = %bucket.id, %error, "hot rows are unreadable")
                }
            }
            bucket
        };
        found.into_iter().map(columns).collect()
    }
}

/// Joins the last chunks while there are [`JOIN`] of similar size, so that many small appends cost
/// each row a few copies and leave few chunks.
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

fn to_micros(duration: Duration) -> i128 {
    i128::try_from(duration.as_micros()).unwrap_or(i128::MAX)
}

/// The UTC day of a time, `yyyymmdd`; the nearest one that the calendar has.
fn day_of(micros: i64) -> String {
    let last = jiff::Timestamp::MAX.as_microsecond();
    let first = jiff::Timestamp::MIN.as_microsecond();
    let time = jiff::Timestamp::from_microsecond(micros.clamp(first, last)).unwrap_or_default();
    time.strftime("%Y%m%d").to_string()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
