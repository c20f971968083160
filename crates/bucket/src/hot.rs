//! Hot rows: what ingest hands to search and to [`write_bucket`](crate::write_bucket) without either
//! knowing the other.

use std::collections::HashSet;
use std::fmt::Debug;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::{DataType, Field, Schema, SchemaRef, TimeUnit};
use async_trait::async_trait;
use model::{BucketEntry, BucketId, EventTime, IndexName, IndexerId, TimeRange, columns};

/// The seventh column of hot rows: indexed fields of an event as one compact JSON object, values
/// being strings or lists of strings; null when the event has none.
pub const FIELDS: &str = "_fields";

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

/// Names that events have anyway; a column of that name could not be told from the fixed one.
pub(crate) fn is_reserved(name: &str) -> bool {
    use columns::{HOST, INDEX, INDEX_TIME, RAW, SOURCE, SOURCETYPE, TIME};
    [TIME, INDEX_TIME, RAW, HOST, SOURCE, SOURCETYPE, INDEX, FIELDS, ""].contains(&name)
}

/// A snapshot of a bucket that is still being filled. Batches share their memory with the writer's,
/// so that a snapshot costs no copy; rows are in arrival order.
#[derive(Debug, Clone)]
pub struct HotBucket {
    /// Its identity, kept when it becomes an object.
    pub id: BucketId,
    /// The index it belongs to.
    pub index: IndexName,
    /// Earliest event time.
    pub first_time: EventTime,
    /// Latest event time.
    pub last_time: EventTime,
    /// Events so far.
    pub rows: u64,
    /// Bytes of `_raw` so far.
    pub raw_bytes: u64,
    /// The rows, each batch with [`hot_schema`]; none when `stored` has them.
    pub batches: Vec<RecordBatch>,
    /// The finished bucket while it waits for its upload: the indexer's own store serves its path.
    pub stored: Option<Arc<BucketEntry>>,
    /// Who owns its events, if another indexer can recover them from object storage: two processes may show
    /// them for a moment.
    pub recoverable: Option<HotOwner>,
}

/// In which epoch a process owns a set of hot buckets. If the catalog knows a later one, another process has
/// all their events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HotOwner {
    /// The indexer that has received the events.
    pub indexer: IndexerId,
    /// Its set.
    pub set: u16,
    /// The epoch of the process that shows them.
    pub epoch: u64,
}

/// The hot buckets of this process. A search takes this snapshot first and the catalog's second, and ignores
/// hot buckets that the catalog has, so that no event is missed or met twice.
pub trait HotBuckets: Send + Sync + Debug {
    /// The hot buckets of the indexes that may have events in the range.
    fn snapshot(&self, indexes: &[IndexName], range: &TimeRange) -> Vec<HotBucket>;

    /// All buckets whose rows are in memory.
    fn in_memory(&self) -> HashSet<BucketId>;

    /// The indexers that are gone and whose recovered events are here. Asked before
    /// [`snapshot`](Self::snapshot), it promises that they are in it or in the catalog.
    fn adopted(&self) -> Vec<IndexerId> {
        Vec::new()
    }
}

/// Hot buckets of this process, of others, or of both.
#[async_trait]
pub trait HotDirectory: Send + Sync + Debug {
    /// The hot buckets of the indexes that may have events in the range. Never fails: what is not known is
    /// [missing](HotView::missing).
    async fn view(&self, indexes: &[IndexName], range: &TimeRange) -> HotView;

    /// Whether a view costs requests to other processes.
    fn is_remote(&self) -> bool;
}

/// Hot buckets at one moment.
#[derive(Debug, Clone, Default)]
pub struct HotView {
    /// The buckets.
    pub buckets: Vec<HotBucket>,
    /// The number of a write of the catalog. A bucket that had left its indexer before the view was taken
    /// is in the catalog as of this write: a search looks into the catalog once it has it.
    pub floor: u64,
    /// Indexers that did not answer: the view lacks their buckets.
    pub missing: Vec<MissingIndexer>,
    /// The indexers that are gone and whose recovered events are in the view.
    pub adopted: Vec<IndexerId>,
}

/// An indexer that did not answer.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct MissingIndexer {
    /// Its server name.
    pub name: String,
    /// Why.
    pub reason: String,
}

/// The hot buckets of this process only.
#[derive(Debug, Clone)]
pub struct LocalHot(pub Arc<dyn HotBuckets>);

#[async_trait]
impl HotDirectory for LocalHot {
    async fn view(&self, indexes: &[IndexName], range: &TimeRange) -> HotView {
        // What has left is in the catalog of this process already.
        let adopted = self.0.adopted();
        HotView { buckets: self.0.snapshot(indexes, range), adopted, ..HotView::default() }
    }

    fn is_remote(&self) -> bool {
        false
    }
}
