//! The buckets of a catalog in the two orders in which they are looked for. Snapshots share their parts:
//! a commit copies the part that it changes, not the whole list.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::Arc;

use model::{BucketEntry, BucketId, EventTime};

/// Entries of a chunk after it has been split; it is split when it has twice as many. A commit copies
/// one chunk and one pointer per chunk, so both stay small up to millions of buckets.
const CHUNK: usize = 512;
/// Number of hash tables; a commit copies one of them, and the list of them.
const SHARDS: usize = 1024;

type Chunk = Vec<Arc<BucketEntry>>;

/// The buckets of one index, newest event first, then by ID.
#[derive(Debug, Clone, Default)]
pub struct Buckets {
    /// None of them is empty.
    chunks: Vec<Arc<Chunk>>,
    len: usize,
}

impl Buckets {
    /// No buckets.
    pub(crate) const EMPTY: Self = Self { chunks: Vec::new(), len: 0 };

    /// Sorts buckets of one index.
    pub(crate) fn of(mut entries: Vec<Arc<BucketEntry>>) -> Self {
        entries.sort_unstable_by_key(|entry| order(entry));
        let len = entries.len();
        let chunks = entries.chunks(CHUNK).map(|chunk| Arc::new(chunk.to_vec())).collect();
        Self { chunks, len }
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The one with the newest event.
    #[must_use]
    pub fn first(&self) -> Option<&Arc<BucketEntry>> {
        self.chunks.first().and_then(|chunk| chunk.first())
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<BucketEntry>> + Clone {
        self.chunks.iter().flat_map(|chunk| chunk.iter())
    }

    /// Those whose newest event is at this time or later.
    pub fn since(&self, earliest: EventTime) -> impl Iterator<Item = &Arc<BucketEntry>> {
        let chunks = self.chunks.iter();
        let begun = chunks.take_while(move |chunk| {
            chunk.first().is_some_and(|newest| newest.summary.last_time >= earliest)
        });
        begun.flat_map(move |chunk| {
            let cut = chunk.partition_point(|entry| entry.summary.last_time >= earliest);
            chunk[..cut].iter()
        })
    }

    pub(crate) fn insert(&mut self, entry: Arc<BucketEntry>) {
        self.len += 1;
        let place = order(&entry);
        // The last chunk that begins before the entry; entries before all chunks go into the first one.
        let after = self.chunks.partition_point(|chunk| order(&chunk[0]) < place);
        let at = after.saturating_sub(1);
        let Some(chunk) = self.chunks.get_mut(at) else {
            self.chunks.push(Arc::new(vec![entry]));
            return;
        };
        let chunk = Arc::make_mut(chunk);
        let position = chunk.partition_point(|other| order(other) < place);
        chunk.insert(position, entry);
        if chunk.len() >= 2 * CHUNK {
            let rest = chunk.split_off(CHUNK);
            self.chunks.insert(at + 1, Arc::new(rest));
        }
    }

    /// Removes the entry with the time and ID of this one.
    pub(crate) fn remove(&mut self, entry: &BucketEntry) {
        let place = order(entry);
        let after = self.chunks.partition_point(|chunk| order(&chunk[0]) <= place);
        let Some(at) = after.checked_sub(1) else { return };
        let found = self.chunks[at].binary_search_by(|other| order(other).cmp(&place));
        let Ok(position) = found else { return };
        let chunk = Arc::make_mut(&mut self.chunks[at]);
        chunk.remove(position);
        if chunk.is_empty() {
            self.chunks.remove(at);
        }
        self.len -= 1;
    }
}

fn order(entry: &BucketEntry) -> (Reverse<EventTime>, BucketId) {
    (Reverse(entry.summary.last_time), entry.id)
}

/// Buckets by ID.
#[derive(Debug, Clone)]
pub(crate) struct ById {
    shards: Vec<Arc<HashMap<BucketId, Arc<BucketEntry>>>>,
    len: usize,
}

impl Default for ById {
    fn default() -> Self {
        Self { shards: vec![Arc::default(); SHARDS], len: 0 }
    }
}

impl ById {
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn get(&self, id: BucketId) -> Option<&Arc<BucketEntry>> {
        self.shards[shard(id)].get(&id)
    }

    /// Inserts an entry; returns the one that it replaces.
    pub(crate) fn insert(&mut self, entry: Arc<BucketEntry>) -> Option<Arc<BucketEntry>> {
        let old = Arc::make_mut(&mut self.shards[shard(entry.id)]).insert(entry.id, entry);
        self.len += usize::from(old.is_none());
        old
    }

    pub(crate) fn remove(&mut self, id: BucketId) -> Option<Arc<BucketEntry>> {
        let shard = &mut self.shards[shard(id)];
        // Looking first: `make_mut` would copy the shard for nothing.
        shard.get(&id)?;
        let old = Arc::make_mut(shard).remove(&id);
        self.len -= usize::from(old.is_some());
        old
    }
}

/// The last bits of an ID are random, the first ones its time.
#[allow(clippy::cast_possible_truncation)]
fn shard(id: BucketId) -> usize {
    (id.0.as_u128() % SHARDS as u128) as usize
}

#[cfg(test)]
mod tests;
