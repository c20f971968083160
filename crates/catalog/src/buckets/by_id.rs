//! Where a bucket is, by its ID.

use std::sync::Arc;

use hashbrown::HashTable;
use model::{BucketId, EventTime};

/// Number of hash tables; a commit copies one of them, and the list of them.
const SHARDS: usize = 1024;

/// Where a bucket is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    /// The number of its index.
    pub(crate) index: u32,
    /// Its newest event.
    pub(crate) last_time: EventTime,
}

/// A place with a part of the ID: the whole one is there. Different buckets can have equal entries, each of
/// which then stands for any of them.
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

/// The places of buckets. It takes some 26 bytes a bucket.
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

    /// The places at one of which a bucket is, if it is anywhere. There is hardly ever more than one.
    pub(crate) fn places(&self, id: BucketId) -> impl Iterator<Item = Place> {
        let tag = tag(id);
        let found =
            self.shards[shard(id)].iter_hash(hash(tag)).filter(move |found| found.tag == tag);
        found.map(|found| Place { index: found.index, last_time: found.last_time })
    }

    /// Inserts a bucket that is not there.
    pub(crate) fn insert(&mut self, id: BucketId, place: Place) {
        let entry = Entry::of(id, place);
        let shard = Arc::make_mut(&mut self.shards[shard(id)]);
        shard.insert_unique(entry.hash(), entry, Entry::hash);
        self.len += 1;
    }

    /// Removes a bucket that is there.
    pub(crate) fn remove(&mut self, id: BucketId, place: Place) {
        let entry = Entry::of(id, place);
        let shard = Arc::make_mut(&mut self.shards[shard(id)]);
        if let Ok(found) = shard.find_entry(entry.hash(), |other| *other == entry) {
            found.remove();
            self.len -= 1;
        }
    }
}

/// The last bits of an ID are random, the first ones its time.
#[allow(clippy::cast_possible_truncation)]
fn shard(id: BucketId) -> usize {
    (id.0.as_u128() % SHARDS as u128) as usize
}

/// Other bits than those that choose the shard.
#[allow(clippy::cast_possible_truncation)]
fn tag(id: BucketId) -> u32 {
    (id.0.as_u128() / SHARDS as u128) as u32
}

/// The table takes the first and the last bits.
fn hash(tag: u32) -> u64 {
    u64::from(tag).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}
