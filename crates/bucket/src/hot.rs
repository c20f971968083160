//! Hot rows: the format in which ingest passes rows to search and to [`write_bucket`](crate::write_bucket),
//! so that these crates do not depend on each other.

use std::collections::{HashMap, HashSet};
use std::fmt::Debug;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::{DataType, Field, Schema, SchemaRef, TimeUnit};
use futures::future::BoxFuture;
use model::{BucketEntry, BucketId, EventTime, IndexName, IndexerId, TimeRange, columns};
use parking_lot::Mutex;

/// The seventh column of hot rows: indexed fields of an event as one compact JSON object, values
/// being strings or lists of strings; null when the event has none.
pub const FIELDS: &str = columns::FIELDS;

/// The schema of hot rows: the six fixed columns of every bucket, then [`FIELDS`].
#[must_use]
pub fn hot_schema() -> SchemaRef {
    let mut fields = fixed_fields();
    fields.push(Field::new(FIELDS, DataType::Utf8, true));
    Arc::new(Schema::new(fields))
}

/// The six columns every bucket has.
pub(crate) fn fixed_fields() -> Vec<Field> {
    let time = || DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()));
    let name = || DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8));
    vec![
        Field::new(columns::TIME, time(), false),
        Field::new(columns::INDEX_TIME, time(), false),
        Field::new(columns::RAW, DataType::Utf8View, false),
        Field::new(columns::HOST, name(), false),
        Field::new(columns::SOURCE, name(), false),
        Field::new(columns::SOURCETYPE, name(), false),
    ]
}

/// Whether a name is that of a field that every event has; a column with it could not be told from the fixed
/// column.
pub(crate) fn is_reserved(name: &str) -> bool {
    use columns::{HOST, INDEX, INDEX_TIME, RAW, SOURCE, SOURCETYPE, TIME};
    [TIME, INDEX_TIME, RAW, HOST, SOURCE, SOURCETYPE, INDEX, FIELDS, ""].contains(&name)
}

/// A snapshot of a bucket that is still being filled. Batches share their memory with those of the writer, so
/// that a snapshot costs no copy; rows are in arrival order.
#[derive(Debug, Clone)]
pub struct HotBucket {
    /// Its ID, which is kept when it becomes an object.
    pub id: BucketId,
    /// The index it belongs to.
    pub index: IndexName,
    /// Earliest event time.
    pub first_time: EventTime,
    /// Latest event time.
    pub last_time: EventTime,
    /// Number of events so far.
    pub rows: u64,
    /// Bytes of `_raw` so far.
    pub raw_bytes: u64,
    /// The rows, each batch with [`hot_schema`]; empty if `stored` or `elsewhere` has them.
    pub batches: Vec<RecordBatch>,
    /// The finished bucket while it waits for its upload; the indexer's own store has its path.
    pub stored: Option<Arc<BucketEntry>>,
    /// The owner of its events. For a moment two processes may return the same events: two processes of one
    /// indexer, or an indexer and the one that recovers its events.
    pub owner: Option<HotOwner>,
    /// The location of the rows, if they are in another process.
    pub elsewhere: Option<Elsewhere>,
}

/// A hot bucket whose rows are in the memory of another process.
#[derive(Debug, Clone)]
pub struct Elsewhere {
    /// The view to which it belongs.
    pub view: Arc<dyn RemoteView>,
    /// The source types of its events.
    pub sourcetypes: Arc<[String]>,
}

/// The hot buckets of another process at one moment, which that process keeps until this value is dropped.
pub trait RemoteView: Send + Sync + Debug {
    /// Returns the identity of the process.
    fn indexer(&self) -> &str;

    /// Returns the number of the view in the other process: see [`OpenViews`].
    fn number(&self) -> u64;

    /// Fetches the rows of a bucket.
    ///
    /// # Errors
    /// The process does not answer, or no longer has the view.
    fn rows<'a>(
        &'a self,
        bucket: BucketId,
    ) -> BoxFuture<'a, Result<Vec<RecordBatch>, MissingIndexer>>;
}

/// Snapshots of the hot buckets of this process that other processes read: their rows stay in memory until
/// the last reader is done, even if the buckets are removed.
#[derive(Debug, Clone, Default)]
pub struct OpenViews {
    open: Arc<Mutex<HashMap<u64, Arc<[HotBucket]>>>>,
}

/// A view that stays open until this value is dropped.
#[derive(Debug)]
pub struct OpenView {
    views: OpenViews,
    number: u64,
}

impl OpenViews {
    /// Opens a view of these buckets; returns `None` if `most` views are already open. The number must be
    /// random, so that a view of a former process is not mistaken for it.
    #[must_use]
    pub fn open(&self, number: u64, buckets: &[HotBucket], most: usize) -> Option<OpenView> {
        let mut open = self.open.lock();
        if open.len() >= most || open.contains_key(&number) {
            return None;
        }
        open.insert(number, buckets.into());
        Some(OpenView { views: self.clone(), number })
    }

    /// Returns the buckets of a view; `None` if it is not open.
    #[must_use]
    pub fn get(&self, number: u64) -> Option<Arc<[HotBucket]>> {
        self.open.lock().get(&number).map(Arc::clone)
    }

    /// Returns the number of open views.
    #[must_use]
    pub fn count(&self) -> usize {
        self.open.lock().len()
    }
}

impl OpenView {
    /// Returns the number for [`OpenViews::get`].
    #[must_use]
    pub fn number(&self) -> u64 {
        self.number
    }
}

impl Drop for OpenView {
    fn drop(&mut self) {
        // The rows are freed after the lock is released.
        let closed = self.views.open.lock().remove(&self.number);
        drop(closed);
    }
}

/// The epoch in which a process owns a set of hot buckets. If the catalog has a later epoch, another process
/// has all their events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HotOwner {
    /// The indexer that received the events.
    pub indexer: IndexerId,
    /// Its set.
    pub set: u16,
    /// The epoch of the process that returns them.
    pub epoch: u64,
    /// Whether they are only on its disk, so that no other indexer can recover them.
    pub is_local: bool,
}

/// The hot buckets of this process. A search takes this snapshot before that of the catalog, and ignores hot
/// buckets that are in the catalog, so that no event is missed or returned twice.
pub trait HotBuckets: Send + Sync + Debug {
    /// Returns the hot buckets of the indexes that may have events in the range.
    fn snapshot(&self, indexes: &[IndexName], range: &TimeRange) -> Vec<HotBucket>;

    /// Returns all buckets whose rows are in memory.
    fn in_memory(&self) -> HashSet<BucketId>;

    /// Returns the sets of lost indexers whose recovered events are here, with the epochs in which they were
    /// recovered. If it is called before [`snapshot`](Self::snapshot), their events are guaranteed to be in
    /// the snapshot or in the catalog.
    fn adopted(&self) -> Vec<HotOwner> {
        Vec::new()
    }
}

/// A source of hot buckets: of this process, of others, or of both.
pub trait HotDirectory: Send + Sync + Debug {
    /// Returns the hot buckets of the indexes that may have events in the range. Never fails: indexers that
    /// do not answer are listed as [missing](HotView::missing).
    fn view<'a>(&'a self, indexes: &'a [IndexName], range: &'a TimeRange)
    -> BoxFuture<'a, HotView>;

    /// Whether a view requires requests to other processes.
    fn is_remote(&self) -> bool;

    /// Whether each process that has hot buckets now was asked for this view. A process that has joined since
    /// may have acknowledged events that are not in it.
    fn has_asked_all(&self, _view: &HotView) -> bool {
        true
    }
}

/// Hot buckets at one moment.
#[derive(Debug, Clone, Default)]
pub struct HotView {
    /// The buckets.
    pub buckets: Vec<HotBucket>,
    /// The minimum number of the catalog write that a search must wait for. A bucket that had left its
    /// indexer before the view was taken is in the catalog as of this write.
    pub floor: u64,
    /// Indexers that did not answer: the view lacks their buckets.
    pub missing: Vec<MissingIndexer>,
    /// Indexers that did not answer and whose events have been recovered by others: the view lacks events
    /// unless the recovery was in the [newest](Self::adopted) epochs.
    pub covered: Vec<(IndexerId, MissingIndexer)>,
    /// The identities of the indexers that did not answer: each is in `missing` or in `covered`, with its
    /// name.
    pub silent: Vec<IndexerId>,
    /// The sets of lost indexers whose recovered events are in the view, with their epochs. There may be
    /// other events in later epochs.
    pub adopted: Vec<HotOwner>,
    /// The other processes that were asked: the identity of each, and what it was known as.
    pub asked: Vec<(String, String)>,
}

/// An indexer that did not answer.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct MissingIndexer {
    /// Its server name.
    pub name: String,
    /// Why it did not answer.
    pub reason: String,
}

/// The hot buckets of this process only.
#[derive(Debug, Clone)]
pub struct LocalHot(pub Arc<dyn HotBuckets>);

impl HotDirectory for LocalHot {
    fn view<'a>(
        &'a self,
        indexes: &'a [IndexName],
        range: &'a TimeRange,
    ) -> BoxFuture<'a, HotView> {
        Box::pin(async move {
            // Buckets that have left the process are already in its own catalog.
            let adopted = self.0.adopted();
            HotView { buckets: self.0.snapshot(indexes, range), adopted, ..HotView::default() }
        })
    }

    fn is_remote(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_view_is_open_until_it_is_dropped_and_there_are_not_too_many() {
        let views = OpenViews::default();
        let first = views.open(7, &[], 2);
        let second = views.open(8, &[], 2);
        assert!(first.is_some() && second.is_some());
        assert!(views.open(9, &[], 2).is_none(), "two are open");
        assert!(views.get(7).is_some() && views.get(9).is_none());
        drop(first);
        assert!(views.get(7).is_none());
        assert!(views.open(8, &[], 2).is_none(), "the number is taken");
        assert_eq!(views.count(), 1);
    }
}
