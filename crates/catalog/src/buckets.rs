//! The buckets of a catalog in the two orders in which they are looked for. Snapshots share their parts:
//! a commit copies the part that it changes, not the whole list.

use std::borrow::Borrow;
use std::cmp::Reverse;
use std::collections::HashSet;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use model::{BucketHeader, BucketId, EventTime, TimeRange};

/// Entries of a chunk after it has been split; it is split when it has twice as many. A commit copies
/// one chunk and one pointer per chunk, so both stay small up to millions of buckets.
const CHUNK: usize = 512;
/// Number of hash tables; a commit copies one of them, and the list of them.
const SHARDS: usize = 1024;

/// Neighbours in the order of an index.
#[derive(Debug, Clone)]
struct Chunk {
    /// There is at least one.
    buckets: Vec<Arc<BucketHeader>>,
    /// No event of theirs is earlier.
    first_time: EventTime,
}

impl Chunk {
    fn of(buckets: Vec<Arc<BucketHeader>>) -> Self {
        let first = buckets.iter().map(|bucket| bucket.first_time).min();
        Self { buckets, first_time: first.unwrap_or(EventTime::MAX) }
    }

    /// The time of its newest event.
    fn last_time(&self) -> EventTime {
        self.buckets[0].last_time
    }
}

/// The buckets of one index, newest event first, then by ID.
#[derive(Debug, Clone, Default)]
pub struct Buckets {
    /// None of them is empty.
    chunks: Vec<Arc<Chunk>>,
    len: usize,
    searchable: usize,
}

impl Buckets {
    /// No buckets.
    pub(crate) const EMPTY: Self = Self { chunks: Vec::new(), len: 0, searchable: 0 };

    /// Sorts buckets of one index.
    pub(crate) fn of(mut entries: Vec<Arc<BucketHeader>>) -> Self {
        // They mostly come in the order of their times, or in its reverse, which the stable sort notices.
        entries.sort_by_key(|entry| order(entry));
        let len = entries.len();
        let searchable = entries.iter().filter(|entry| entry.state.is_searchable()).count();
        let chunks = entries.chunks(CHUNK).map(|chunk| Arc::new(Chunk::of(chunk.to_vec())));
        let chunks = chunks.collect();
        Self { chunks, len, searchable }
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// How many of them searches look into.
    #[must_use]
    pub fn searchable(&self) -> usize {
        self.searchable
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The one with the newest event.
    #[must_use]
    pub fn first(&self) -> Option<&Arc<BucketHeader>> {
        self.chunks.first().and_then(|chunk| chunk.buckets.first())
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<BucketHeader>> + Clone {
        self.chunks.iter().flat_map(|chunk| chunk.buckets.iter())
    }

    /// All of them, for as long as it takes.
    pub(crate) fn all(self: Arc<Self>) -> impl Iterator<Item = Arc<BucketHeader>> + Send + use<> {
        let chunks = self.chunks.clone().into_iter();
        chunks.flat_map(|chunk| {
            (0..chunk.buckets.len()).map(move |at| Arc::clone(&chunk.buckets[at]))
        })
    }

    /// Those that may have events in the range. What lies outside is mostly passed over without a look.
    pub fn overlapping(&self, range: &TimeRange) -> impl Iterator<Item = &Arc<BucketHeader>> {
        let range = *range;
        let begun = self.chunks.iter().take_while(move |chunk| chunk.last_time() >= range.earliest);
        let inside = begun.filter(move |chunk| chunk.first_time < range.latest);
        inside.flat_map(move |chunk| {
            chunk.buckets.iter().filter(move |bucket| bucket.overlaps(&range))
        })
    }

    pub(crate) fn insert(&mut self, entry: Arc<BucketHeader>) {
        self.len += 1;
        self.searchable += usize::from(entry.state.is_searchable());
        let place = order(&entry);
        // The last chunk that begins before the entry; entries before all chunks go into the first one.
        let after = self.chunks.partition_point(|chunk| order(&chunk.buckets[0]) < place);
        let at = after.saturating_sub(1);
        let Some(chunk) = self.chunks.get_mut(at) else {
            self.chunks.push(Arc::new(Chunk::of(vec![entry])));
            return;
        };
        let chunk = Arc::make_mut(chunk);
        let position = chunk.buckets.partition_point(|other| order(other) < place);
        chunk.first_time = chunk.first_time.min(entry.first_time);
        chunk.buckets.insert(position, entry);
        if chunk.buckets.len() >= 2 * CHUNK {
            let rest = Chunk::of(chunk.buckets.split_off(CHUNK));
            *chunk = Chunk::of(std::mem::take(&mut chunk.buckets));
            self.chunks.insert(at + 1, Arc::new(rest));
        }
    }

    /// Removes the entry with the time and ID of this one.
    pub(crate) fn remove(&mut self, entry: &BucketHeader) {
        let place = order(entry);
        let after = self.chunks.partition_point(|chunk| order(&chunk.buckets[0]) <= place);
        let Some(at) = after.checked_sub(1) else { return };
        let found = self.chunks[at].buckets.binary_search_by(|other| order(other).cmp(&place));
        let Ok(position) = found else { return };
        let chunk = Arc::make_mut(&mut self.chunks[at]);
        let removed = chunk.buckets.remove(position);
        self.searchable -= usize::from(removed.state.is_searchable());
        if chunk.buckets.is_empty() {
            self.chunks.remove(at);
        }
        self.len -= 1;
    }
}

fn order(entry: &BucketHeader) -> (Reverse<EventTime>, BucketId) {
    (Reverse(entry.last_time), entry.id)
}

/// A bucket in a table by ID: the table does not hold the ID a second time.
#[derive(Debug, Clone)]
struct Identified(Arc<BucketHeader>);

impl Borrow<BucketId> for Identified {
    fn borrow(&self) -> &BucketId {
        &self.0.id
    }
}

impl Hash for Identified {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.id.hash(state);
    }
}

impl PartialEq for Identified {
    fn eq(&self, other: &Self) -> bool {
        self.0.id == other.0.id
    }
}

impl Eq for Identified {}

/// Buckets by ID.
#[derive(Debug, Clone)]
pub(crate) struct ById {
    shards: Vec<Arc<HashSet<Identified>>>,
    len: usize,
}

impl Default for ById {
    fn default() -> Self {
        Self { shards: vec![Arc::default(); SHARDS], len: 0 }
    }
}

impl ById {
    /// Buckets of different IDs.
    pub(crate) fn of(entries: &[Arc<BucketHeader>]) -> Self {
        // A tenth more than a table has on average, so that few of them grow.
        let each = entries.len() / SHARDS * 11 / 10;
        let mut shards: Vec<HashSet<Identified>> =
            (0..SHARDS).map(|_| HashSet::with_capacity(each)).collect();
        for entry in entries {
            shards[shard(entry.id)].insert(Identified(Arc::clone(entry)));
        }
        Self { shards: shards.into_iter().map(Arc::new).collect(), len: entries.len() }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn get(&self, id: BucketId) -> Option<&Arc<BucketHeader>> {
        self.shards[shard(id)].get(&id).map(|found| &found.0)
    }

    /// Inserts an entry; returns the one that it replaces.
    pub(crate) fn insert(&mut self, entry: Arc<BucketHeader>) -> Option<Arc<BucketHeader>> {
        let old = Arc::make_mut(&mut self.shards[shard(entry.id)]).replace(Identified(entry));
        self.len += usize::from(old.is_none());
        old.map(|old| old.0)
    }

    pub(crate) fn remove(&mut self, id: BucketId) -> Option<Arc<BucketHeader>> {
        let shard = &mut self.shards[shard(id)];
        // Looking first: `make_mut` would copy the shard for nothing.
        shard.get(&id)?;
        let old = Arc::make_mut(shard).take(&id);
        self.len -= usize::from(old.is_some());
        old.map(|old| old.0)
    }
}

/// The last bits of an ID are random, the first ones its time.
#[allow(clippy::cast_possible_truncation)]
fn shard(id: BucketId) -> usize {
    (id.0.as_u128() % SHARDS as u128) as usize
}

#[cfg(test)]
mod tests;
