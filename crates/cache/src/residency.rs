//! Where the bytes of objects are, for estimates: nothing is read, and nothing counts as used.

use std::sync::Arc;

use crate::block::{BlockKey, Kind};
use crate::counters::Tier;
use crate::store::CachedStore;

/// Where the bytes of objects are, as rows are read: footers and term indexes have blocks of their own, which
/// are not looked at.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Residency {
    /// Bytes in memory.
    pub memory: u64,
    /// Bytes on the local disk. A few may be taken for such that are not.
    pub disk: u64,
    /// Bytes that only the store has.
    pub store: u64,
    /// Requests that reading those would take.
    pub requests: u64,
}

impl Residency {
    /// Adds that of another object.
    pub fn add(&mut self, other: Self) {
        self.memory += other.memory;
        self.disk += other.disk;
        self.store += other.store;
        self.requests += other.requests;
    }
}

impl CachedStore {
    /// Where the bytes of an object of this path and size are.
    #[must_use]
    pub fn residency(&self, path: &str, size: u64) -> Residency {
        let blocks = self.blocks();
        let pool = blocks.pool(Kind::Data);
        let (longest, gap) = (blocks.longest_run(Kind::Data), blocks.gap(Kind::Data));
        let block_bytes = pool.block_bytes as u64;
        let path: Arc<str> = path.into();
        let mut found = Residency::default();
        // The run of missing blocks that one request brings: its first and its last.
        let mut run: Option<(u64, u64)> = None;
        for number in 0..pool.blocks_of(size) {
            let bytes = block_bytes.min(size - number * block_bytes);
            match pool.tier_of(&BlockKey { path: Arc::clone(&path), number }) {
                Tier::Dram => found.memory += bytes,
                Tier::Nvme => found.disk += bytes,
                Tier::Store => {
                    found.store += bytes;
                    let joins = |(first, last): &(u64, u64)| {
                        number - last <= gap + 1 && number - first < longest
                    };
                    run = match run.filter(joins) {
                        Some((first, _)) => Some((first, number)),
                        None => {
                            found.requests += 1;
                            Some((number, number))
                        }
                    };
                }
            }
        }
        found
    }
}
