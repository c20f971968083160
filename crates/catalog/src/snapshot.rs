//! An immutable, shared snapshot of the catalog.
//!
//! Taking one is a pointer copy. A commit builds the next snapshot from the previous one and shares
//! every index that it does not change.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use model::{
    BucketEntry, BucketId, EventTime, IndexName, IndexerId, JournalPosition, StreamId, TimeRange,
};
use serde_json::Value;

/// A small named JSON document.
#[derive(Debug, Clone, PartialEq)]
pub struct Document {
    /// Its name, unique within its kind.
    pub name: String,
    /// Its content.
    pub json: Arc<Value>,
}

/// Buckets of one index, newest event first, then by id.
type Buckets = Arc<Vec<Arc<BucketEntry>>>;

/// The consistent state of the catalog after a commit.
#[derive(Debug, Clone, Default)]
pub struct Snapshot {
    pub(crate) indexes: HashMap<IndexName, Buckets>,
    pub(crate) positions: Arc<BTreeMap<StreamId, JournalPosition>>,
    pub(crate) documents: Arc<BTreeMap<(String, String), Arc<Value>>>,
    pub(crate) discarded: Arc<BTreeMap<String, EventTime>>,
    pub(crate) count: usize,
    pub(crate) number: u64,
    pub(crate) changed: EventTime,
}

impl Snapshot {
    /// Indexes that have buckets, unordered.
    pub fn indexes(&self) -> impl Iterator<Item = &IndexName> {
        self.indexes.keys()
    }

    /// The buckets of an index in every state, newest event first.
    #[must_use]
    pub fn buckets(&self, index: &IndexName) -> &[Arc<BucketEntry>] {
        self.indexes.get(index).map_or(&[], |buckets| buckets.as_slice())
    }

    /// Whether the index has the bucket, in any state.
    #[must_use]
    pub fn contains(&self, index: &IndexName, id: BucketId) -> bool {
        self.buckets(index).iter().any(|bucket| bucket.id == id)
    }

    /// How many buckets there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether there are no buckets.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Whether nothing has ever been written: no bucket, no document, no position.
    #[must_use]
    pub fn is_blank(&self) -> bool {
        self.is_empty()
            && self.documents.is_empty()
            && self.positions.is_empty()
            && self.discarded.is_empty()
    }

    /// The indexers that have positions.
    #[must_use]
    pub fn indexers(&self) -> std::collections::BTreeSet<IndexerId> {
        self.positions.keys().map(|stream| stream.indexer).collect()
    }

    /// A version number that increases with every change; within one open catalog, equal numbers
    /// mean equal content.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.number
    }

    /// When this process last changed the catalog, or opened it if it has not changed it.
    #[must_use]
    pub fn changed(&self) -> EventTime {
        self.changed
    }

    /// Buckets of the indexes (all if the list is empty) that may contain events of the range,
    /// newest event first within each index. Includes frozen buckets.
    pub fn overlapping<'a>(
        &'a self,
        indexes: &'a [IndexName],
        range: &'a TimeRange,
    ) -> impl Iterator<Item = &'a Arc<BucketEntry>> {
        let wanted = self
            .indexes
            .iter()
            .filter(move |(name, _)| indexes.is_empty() || indexes.contains(name));
        wanted.flat_map(move |(_, buckets)| {
            // Sorted by last event: everything after the cut ended before the range begins.
            let cut = buckets.partition_point(|b| b.summary.last_time >= range.earliest);
            buckets[..cut].iter().filter(move |bucket| bucket.summary.overlaps(range))
        })
    }

    /// The journal positions of the streams of an indexer.
    #[must_use]
    pub fn positions(&self, indexer: IndexerId) -> Vec<(StreamId, JournalPosition)> {
        let own = self.positions.iter().filter(|(stream, _)| stream.indexer == indexer);
        own.map(|(stream, position)| (stream.clone(), *position)).collect()
    }

    /// Garbage objects, and when each may be deleted.
    pub fn discarded(&self) -> impl Iterator<Item = (&str, EventTime)> {
        self.discarded.iter().map(|(path, time)| (path.as_str(), *time))
    }

    /// One document.
    #[must_use]
    pub fn document(&self, kind: &str, name: &str) -> Option<Arc<Value>> {
        self.documents.get(&(kind.to_owned(), name.to_owned())).cloned()
    }

    /// Documents of a kind, by name.
    #[must_use]
    pub fn documents(&self, kind: &str) -> Vec<Document> {
        let from = (kind.to_owned(), String::new());
        let own = self.documents.range(from..).take_while(|((other, _), _)| other == kind);
        own.map(|((_, name), json)| Document { name: name.clone(), json: Arc::clone(json) })
            .collect()
    }

    /// Inserts or replaces a bucket.
    pub(crate) fn insert(&mut self, entry: Arc<BucketEntry>, old: Option<&Arc<BucketEntry>>) {
        if let Some(old) = old {
            self.remove(old);
        }
        let buckets = Arc::make_mut(self.indexes.entry(entry.index.clone()).or_default());
        let at = buckets.partition_point(|other| order(other) < order(&entry));
        buckets.insert(at, entry);
        self.count += 1;
    }

    /// Removes a bucket.
    pub(crate) fn remove(&mut self, entry: &BucketEntry) {
        let Some(shared) = self.indexes.get_mut(&entry.index) else { return };
        let buckets = Arc::make_mut(shared);
        let before = buckets.len();
        buckets.retain(|other| other.id != entry.id);
        self.count -= before - buckets.len();
        if buckets.is_empty() {
            self.indexes.remove(&entry.index);
        }
    }

    /// Builds a snapshot from all entries at once, sorting each index once.
    pub(crate) fn fill(&mut self, entries: impl Iterator<Item = Arc<BucketEntry>>) {
        let mut indexes: HashMap<IndexName, Vec<Arc<BucketEntry>>> = HashMap::new();
        for entry in entries {
            indexes.entry(entry.index.clone()).or_default().push(entry);
            self.count += 1;
        }
        for (name, mut buckets) in indexes {
            buckets.sort_unstable_by_key(|bucket| order(bucket));
            self.indexes.insert(name, Arc::new(buckets));
        }
    }
}

fn order(entry: &BucketEntry) -> impl Ord + use<> {
    (std::cmp::Reverse(entry.summary.last_time), entry.id)
}
