//! The parts of an atomic change of the catalog.

use std::collections::HashSet;

use model::{BucketEntry, BucketId, EventTime, IndexerId, JournalPosition, StreamId};
use serde_json::Value;

/// Maximum length of the path of a garbage object.
const MAX_PATH: usize = 1024;

/// An atomic change: buckets to add and remove, and new journal positions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Commit {
    /// Buckets to add. An existing bucket may only change its state.
    pub add: Vec<BucketEntry>,
    /// Buckets to remove; unknown IDs are ignored.
    pub remove: Vec<BucketId>,
    /// Journal records that the commit covers, by stream. Positions never decrease.
    ///
    /// If none of them ends above the known positions, the commit is a repetition. Buckets that it
    /// would add and that do not exist have then been replaced by a merge, and are ignored. If one
    /// ends above the known position and begins at or below it, some of its events are in another
    /// bucket: the commit fails.
    pub ranges: Vec<JournalRange>,
    /// Hot sets that get another owner. From the commit on, buckets of the set with an earlier epoch are
    /// refused.
    pub take_over: Vec<Takeover>,
    /// Buckets that must exist, so that a replacement does not restore deleted events. If one is
    /// missing, the commit fails without changes, unless it is a repetition: the catalog has all that it
    /// adds.
    pub expect: Vec<BucketId>,
    /// Objects without a bucket, which become unused or are about to be written: the garbage collector
    /// deletes them when they are due, also after a crash.
    pub discard: Vec<Discarded>,
    /// Paths of garbage objects that have been deleted, or now belong to a bucket.
    pub forget: Vec<String>,
}

/// Journal records of one stream that are in object storage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JournalRange {
    /// The stream.
    pub stream: StreamId,
    /// Position of the first record in the buckets of the commit; `None` if the commit adds no bucket of
    /// these records.
    pub from: Option<JournalPosition>,
    /// Position of the last record: the stream is in object storage up to here.
    pub upto: JournalPosition,
    /// The epoch in which the committer owns the set of the stream ([`Takeover`]).
    pub epoch: u64,
}

/// A new owner of a hot set of an indexer: the process that commits its buckets from now on. Epochs of a set
/// start at [`OWN_EPOCH`](crate::OWN_EPOCH) and are only raised by takeovers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Takeover {
    /// The indexer that received the events.
    pub indexer: IndexerId,
    /// Its set.
    pub set: u16,
    /// The new epoch, greater than the epoch until now.
    pub epoch: u64,
    /// The indexer that owns the set in this epoch.
    pub owner: IndexerId,
}

/// A garbage object: an object without a bucket.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Discarded {
    /// Its path in the store of buckets.
    pub path: String,
    /// When it may be deleted, because no search reads it any more.
    pub delete_after: EventTime,
}

impl Commit {
    /// Returns the rule that the commit violates regardless of the catalog, if any.
    pub(crate) fn contradiction(&self) -> Option<String> {
        let mut seen = HashSet::new();
        for entry in &self.add {
            if !seen.insert(entry.id) {
                return Some(format!("bucket {} is added twice", entry.id));
            }
        }
        let both = self.remove.iter().find(|id| seen.contains(id));
        if let Some(id) = both {
            return Some(format!("bucket {id} is both added and removed"));
        }
        let mut sets = HashSet::new();
        let twice = self.take_over.iter().find(|taken| !sets.insert((taken.indexer, taken.set)));
        if let Some(Takeover { indexer, set, .. }) = twice {
            return Some(format!("set {set} of indexer {indexer} is taken over twice"));
        }
        let bad = |path: &&str| path.is_empty() || path.len() > MAX_PATH;
        let mut paths =
            self.discard.iter().map(|object| &*object.path).chain(self.forget.iter().map(|p| &**p));
        if let Some(path) = paths.find(bad) {
            return Some(format!("a path has 1 to {MAX_PATH} bytes, and one has {}", path.len()));
        }
        let kept = self.add.iter().find(|b| self.discard.iter().any(|d| d.path == b.path));
        kept.map(|entry| format!("the object of bucket {} is discarded", entry.id))
    }
}

/// A document: kind, name and content; `None` if there is no such document.
pub type NamedDocument = (String, String, Option<Value>);

/// A change of documents.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Documents {
    /// The documents after the change.
    pub after: Vec<NamedDocument>,
    /// The documents that the catalog must have; otherwise nothing is changed.
    pub before: Vec<NamedDocument>,
}

impl From<Vec<NamedDocument>> for Documents {
    fn from(after: Vec<NamedDocument>) -> Self {
        Self { after, before: Vec::new() }
    }
}

/// Returns the rule that kind and name of a document violate, if any.
pub(crate) fn violated_by_name(kind: &str, name: &str) -> Option<&'static str> {
    let bad = |text: &str| text.is_empty() || text.contains('\0') || text.len() > 1024;
    (bad(kind) || bad(name)).then_some("kind and name must have 1 to 1024 bytes and no NUL")
}
