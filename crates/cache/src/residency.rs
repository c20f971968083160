//! The tiers in which the bytes of objects are, for estimates. Nothing is read or marked as used.

use std::sync::Arc;

use crate::block::{BlockKey, Kind};
use crate::counters::Tier;
use crate::store::CachedStore;

/// The number of bytes of objects in each tier, in blocks of rows. The blocks of footers and term indexes
/// are separate and not included.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Residency {
    /// Bytes in memory.
    pub memory: u64,
    /// Bytes on the local disk; slightly too high, because the tier compares hashes only.
    pub disk: u64,
    /// Bytes that are only in the store.
    pub store: u64,
    /// Number of requests that reading the bytes in the store would take.
    pub requests: u64,
}

impl Residency {
    /// Adds the numbers of another object.
    pub fn add(&mut self, other: Self) {
        self.memory += other.memory;
        self.disk += other.disk;
        self.store += other.store;
        self.requests += other.requests;
    }
}

impl CachedStore {
    /// The tiers of the bytes of an object with this path and size.
    #[must_use]
    pub fn residency(&self, path: &str, size: u64) -> Residency {
        let blocks = self.blocks();
        let pool = blocks.pool(Kind::Data);
        let (longest, gap) = (blocks.longest_run(Kind::Data), blocks.gap(Kind::Data));
        let block_bytes = pool.block_bytes as u64;
        let path: Arc<str> = path.into();
        let mut found = Residency::default();
        // The current run of missing blocks that one request would fetch: its first and last block.
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

    /// Whether the cache has the end of an object with this path and size, where its footer is: the block
    /// that opening the bucket reads first.
    #[must_use]
    pub fn has_end(&self, path: &str, size: u64) -> bool {
        let pool = self.blocks().pool(Kind::Index);
        let Some(number) = pool.blocks_of(size).checked_sub(1) else { return false };
        pool.tier_of(&BlockKey { path: path.into(), number }) != Tier::Store
    }

    /// Size of the blocks that the cache has without a gap at the end of an object with this path and size,
    /// where the index data of a bucket is, in bytes.
    #[must_use]
    pub fn end_bytes(&self, path: &str, size: u64) -> u64 {
        let pool = self.blocks().pool(Kind::Index);
        let (block_bytes, path) = (pool.block_bytes as u64, Arc::<str>::from(path));
        let has = |number: &u64| {
            pool.tier_of(&BlockKey { path: Arc::clone(&path), number: *number }) != Tier::Store
        };
        let blocks = (0..pool.blocks_of(size)).rev().take_while(has);
        blocks.map(|number| block_bytes.min(size - number * block_bytes)).sum()
    }
}
