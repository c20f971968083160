//! An index of buckets by ID.

use std::sync::Arc;

use hashbrown::HashTable;
use model::{BucketId, EventTime};

/// Number of hash tables; a commit copies only one of them, and the list.
const SHARDS: usize = 1024;

/// The place of a bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    /// The number of its index.
    pub(crate) index: u32,
    /// Its newest event time.
    pub(crate) last_time: EventTime,
}

/// A place with a part of the ID; the whole ID is stored at the place. Different buckets can have equal
/// entries, which are interchangeable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Entry {
    last_time: EventTime,
    tag: u32,
    index: u32,
}

impl Entry {
    fn of(id: BucketId, Place { index, last_time }: Place) -> Self {
        Self { last_time, tag: tag(id), index }
    }

    fn hash(&self) -> u64 {
        hash(self.tag)
    }
}

/// The places of buckets, at about 26 bytes per bucket.
#[derive(Debug, Clone)]
pub(crate) struct ById {
    shards: Vec<Arc<HashTable<Entry>>>,
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

    /// Returns the places where the bucket may be, if it exists; almost always at most one.
    pub(crate) fn places(&self, id: BucketId) -> impl Iterator<Item = Place> {
        let tag = tag(id);
        let found =
            self.shards[shard(id)].iter_hash(hash(tag)).filter(move |found| found.tag == tag);
        found.map(|found| Place { index: found.index, last_time: found.last_time })
    }

    /// Inserts a bucket that must not be present.
    pub(crate) fn insert(&mut self, id: BucketId, place: Place) {
        let entry = Entry::of(id, place);
        let shard = Arc::make_mut(&mut self.shards[shard(id)]);
        shard.insert_unique(entry.hash(), entry, Entry::hash);
        self.len += 1;
    }

    /// Removes a bucket that must be present.
    pub(crate) fn remove(&mut self, id: BucketId, place: Place) {
        let entry = Entry::of(id, place);
        let shard = Arc::make_mut(&mut self.shards[shard(id)]);
        if let Ok(found) = shard.find_entry(entry.hash(), |other| *other == entry) {
            found.remove();
            self.len -= 1;
        }
    }
}

/// Returns the shard from the last bits of the ID, which are random; the first ones are its time.
#[allow(clippy::cast_possible_truncation)]
fn shard(id: BucketId) -> usize {
    (id.0.as_u128() % SHARDS as u128) as usize
}

/// Returns other bits than those that select the shard.
#[allow(clippy::cast_possible_truncation)]
fn tag(id: BucketId) -> u32 {
    (id.0.as_u128() / SHARDS as u128) as u32
}

/// Spreads the tag over all bits, because the hash table uses the first and the last ones.
fn hash(tag: u32) -> u64 {
    u64::from(tag).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}
