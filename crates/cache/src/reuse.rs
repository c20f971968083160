//! Estimates of what caches of other sizes would read from the store, by the reuse distances of sampled
//! blocks (SHARDS: Waldspurger et al., FAST 2015).
//!
//! The reuse distance of a lookup is the number of bytes of distinct blocks that were looked up since the
//! previous lookup of the same block. A cache that evicts the least recently used block (LRU) has the block
//! if it holds this number of bytes, so one distance says for every size whether the lookup is a hit.
//!
//! A block is sampled if the hash of its key is below a threshold: all lookups of some blocks are seen, and
//! none of the others. A distance among the sampled blocks is scaled by the sampled share. The threshold
//! falls when more than [`MAX_BLOCKS`] blocks are sampled, and blocks beyond the largest size are dropped,
//! so memory is bounded whatever is read.
//!
//! ```text
//! lookup -> hash of path and number -> threshold? -- above: nothing more
//!                                          |
//!                                          +-- below: lock -> distance -> count of the size that has it
//! ```
//!
//! A lookup that is not sampled takes a multiplication, three shifts and a comparison, and a share of the
//! hash of the path and of one addition to a counter, once per read of an object; it takes no lock. A
//! sampled lookup, at most one of sixteen, takes the lock of its pool, for a time that grows with the
//! logarithm of the number of sampled blocks.
//!
//! Not here: S3-FIFO and the two tiers, which LRU of one size stands for; requests per block, which are
//! counted as they are sent.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hasher};
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;

use crate::Settings;

/// Maximum number of sampled blocks of a pool. About 70 bytes each, with the slots of [`Recency`].
const MAX_BLOCKS: usize = 16_384;

/// The first threshold: one of sixteen blocks is sampled.
const FIRST_THRESHOLD: u64 = u64::MAX >> 4;

/// Number of powers of two among the sizes, and how many of them are beyond the present size.
const POWERS: usize = 16;
const POWERS_BEYOND: u32 = 4;

/// What a pool of the cache would read from the store with other sizes of the cache. All values are those
/// since the start of the process.
#[derive(Debug, Clone, PartialEq)]
pub struct CacheCurve {
    /// The pool: `index` or `data`.
    pub pool: &'static str,
    /// The present size of the whole cache in MiB: that of its larger tier, because blocks in DRAM are also
    /// on NVMe.
    pub capacity_mb: u64,
    /// Number of lookups.
    pub reads: u64,
    /// Number of sampled lookups.
    pub samples: u64,
    /// Requests per block that was fetched from the store; 1 if none was fetched.
    pub requests_per_block: f64,
    /// The estimates, by ascending size. A process has the same sizes until it ends.
    pub points: Vec<CurvePoint>,
}

/// The estimate for one size.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct CurvePoint {
    /// Size of the whole cache in MiB, of which the pool has its share.
    pub size_mb: u64,
    /// Number of lookups of blocks that such a cache would not have.
    pub misses: f64,
    /// The bytes of these blocks.
    pub missed_bytes: f64,
}

/// The sizes of the whole cache that are estimated, in MiB: powers of two around the present size, and the
/// present sizes of DRAM and NVMe.
fn sizes(settings: &Settings) -> Vec<u64> {
    let present = present(settings);
    let top = present.into_iter().fold(1, u64::max).ilog2() + POWERS_BEYOND;
    let powers = (0..=top).rev().take(POWERS).map(|power| 1_u64 << power);
    let mut sizes: Vec<u64> = powers.chain(present.into_iter().filter(|size| *size > 0)).collect();
    sizes.sort_unstable();
    sizes.dedup();
    sizes
}

/// The present sizes of DRAM and NVMe in MiB.
fn present(settings: &Settings) -> [u64; 2] {
    [settings.dram_bytes, settings.nvme_bytes].map(|bytes| bytes as u64 >> 20)
}

/// Samples the lookups of one pool.
#[derive(Debug)]
pub(crate) struct ReuseSampler {
    /// Sizes of the whole cache in MiB.
    sizes_mb: Vec<u64>,
    capacity_mb: u64,
    /// A copy of the threshold of `sampled`, which is read without its lock.
    threshold: AtomicU64,
    reads: AtomicU64,
    fetched_blocks: AtomicU64,
    requests: AtomicU64,
    sampled: Mutex<Sampled>,
}

impl ReuseSampler {
    /// A sampler for a pool that has this percentage of the cache.
    pub(crate) fn new(settings: &Settings, percent: usize) -> Self {
        let sizes_mb = sizes(settings);
        let share = |mb: &u64| (*mb << 20) / 100 * percent as u64;
        let sampled =
            Sampled::new(sizes_mb.iter().map(share).collect(), MAX_BLOCKS, FIRST_THRESHOLD);
        Self {
            sizes_mb,
            capacity_mb: present(settings).into_iter().fold(0, u64::max),
            threshold: AtomicU64::new(sampled.threshold),
            reads: AtomicU64::new(0),
            fetched_blocks: AtomicU64::new(0),
            requests: AtomicU64::new(0),
            sampled: Mutex::new(sampled),
        }
    }

    /// Records lookups of blocks of an object, by their numbers and sizes in bytes.
    pub(crate) fn record(&self, path: &str, blocks: impl Iterator<Item = (u64, u64)>) {
        let mut hasher = DefaultHasher::new();
        hasher.write(path.as_bytes());
        let object = hasher.finish();
        let mut reads = 0;
        for (number, bytes) in blocks {
            reads += 1;
            let hash = block_hash(object, number);
            if hash < self.threshold.load(Ordering::Relaxed) {
                let mut sampled = self.sampled.lock();
                sampled.record(hash, bytes);
                self.threshold.store(sampled.threshold, Ordering::Relaxed);
            }
        }
        self.reads.fetch_add(reads, Ordering::Relaxed);
    }

    /// Records a request to the store for a number of wanted blocks.
    pub(crate) fn fetched(&self, blocks: usize) {
        self.fetched_blocks.fetch_add(blocks as u64, Ordering::Relaxed);
        self.requests.fetch_add(1, Ordering::Relaxed);
    }

    /// The estimates so far.
    #[allow(clippy::cast_precision_loss)]
    pub(crate) fn curve(&self, pool: &'static str) -> CacheCurve {
        let fetched = self.fetched_blocks.load(Ordering::Relaxed);
        let requests = self.requests.load(Ordering::Relaxed);
        let sampled = self.sampled.lock();
        let misses = sampled.misses();
        CacheCurve {
            pool,
            capacity_mb: self.capacity_mb,
            reads: self.reads.load(Ordering::Relaxed),
            samples: sampled.samples,
            requests_per_block: if fetched == 0 { 1.0 } else { requests as f64 / fetched as f64 },
            points: self
                .sizes_mb
                .iter()
                .zip(misses)
                .map(|(size_mb, missed)| CurvePoint {
                    size_mb: *size_mb,
                    misses: missed.lookups,
                    missed_bytes: missed.bytes,
                })
                .collect(),
        }
    }
}

/// The hash of a block, of which each bit depends on all bits of the hash of its object and of its number
/// (the finalizer of SplitMix64).
fn block_hash(object: u64, number: u64) -> u64 {
    let hash = object.wrapping_add(number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    hash ^ (hash >> 31)
}

/// Estimated numbers of lookups and bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Estimate {
    lookups: f64,
    bytes: f64,
}

/// The sampled blocks of one pool, and the counts of their lookups.
#[derive(Debug)]
struct Sampled {
    /// Sizes of the pool in bytes, ascending.
    sizes: Vec<u64>,
    max_blocks: usize,
    /// Hashes below it are sampled.
    threshold: u64,
    /// By hash, so that the last one is dropped when the threshold falls.
    blocks: BTreeMap<u64, Latest>,
    recency: Recency,
    samples: u64,
    /// Lookups by the smallest size that has the block; the last ones are misses at every size.
    found: Vec<Estimate>,
}

/// The latest lookup of a block.
#[derive(Debug, Clone, Copy)]
struct Latest {
    /// Its slot in [`Recency`].
    slot: usize,
    /// The size of the block.
    bytes: u64,
}

impl Sampled {
    fn new(sizes: Vec<u64>, max_blocks: usize, threshold: u64) -> Self {
        Self {
            found: vec![Estimate::default(); sizes.len() + 1],
            sizes,
            max_blocks,
            threshold,
            blocks: BTreeMap::new(),
            // Twice the number of blocks: the slots are renumbered after at least as many lookups.
            recency: Recency::new(2 * max_blocks.max(1)),
            samples: 0,
        }
    }

    /// The number of lookups that one sampled lookup stands for.
    #[allow(clippy::cast_precision_loss)]
    fn scale(&self) -> f64 {
        u64::MAX as f64 / self.threshold.max(1) as f64
    }

    #[allow(clippy::cast_precision_loss)]
    fn record(&mut self, hash: u64, bytes: u64) {
        // The threshold may have fallen since the caller compared it.
        if hash >= self.threshold {
            return;
        }
        let scale = self.scale();
        let smallest = match self.blocks.remove(&hash) {
            None => self.sizes.len(),
            Some(block) => {
                let newer = self.recency.remove(block);
                let distance = newer as f64 * scale + bytes as f64;
                self.sizes.partition_point(|size| (*size as f64) < distance)
            }
        };
        self.samples += 1;
        self.found[smallest].lookups += scale;
        self.found[smallest].bytes += scale * bytes as f64;
        if self.recency.is_full() {
            self.recency.renumber(&mut self.blocks);
        }
        let slot = self.recency.push(hash, bytes);
        self.blocks.insert(hash, Latest { slot, bytes });
        while self.blocks.len() > self.max_blocks
            && let Some((last, block)) = self.blocks.pop_last()
        {
            self.threshold = last;
            self.recency.remove(block);
        }
        self.drop_beyond_largest();
    }

    /// Drops the oldest blocks whose next lookup is a miss at every size.
    #[allow(clippy::cast_precision_loss)]
    fn drop_beyond_largest(&mut self) {
        let largest = self.sizes.last().copied().unwrap_or_default() as f64;
        let scale = self.scale();
        while let Some((slot, hash)) = self.recency.oldest() {
            match self.blocks.get(&hash).copied().filter(|block| block.slot == slot) {
                // The block was looked up again or dropped.
                None => self.recency.skip_oldest(),
                Some(block) => {
                    let newer = self.recency.bytes - block.bytes;
                    if newer as f64 * scale + block.bytes as f64 <= largest {
                        return;
                    }
                    self.blocks.remove(&hash);
                    self.recency.remove(block);
                }
            }
        }
    }

    /// The misses at each size.
    fn misses(&self) -> Vec<Estimate> {
        let mut beyond = Estimate::default();
        let mut misses: Vec<_> = self
            .found
            .iter()
            .skip(1)
            .rev()
            .map(|found| {
                beyond.lookups += found.lookups;
                beyond.bytes += found.bytes;
                beyond
            })
            .collect();
        misses.reverse();
        misses
    }
}

/// The order in which blocks were last looked up, and the bytes of those after each: a Fenwick tree over
/// slots, of which each lookup takes the next one.
#[derive(Debug)]
struct Recency {
    /// Of each slot up to `next`, the hash of the block that took it.
    hashes: Vec<u64>,
    /// The tree: each place has the bytes of a range of slots that ends with it.
    sums: Vec<u64>,
    /// The bytes of all blocks.
    bytes: u64,
    next: usize,
    /// No block has a slot before this one.
    oldest: usize,
}

impl Recency {
    fn new(slots: usize) -> Self {
        Self { hashes: vec![0; slots], sums: vec![0; slots], bytes: 0, next: 0, oldest: 0 }
    }

    fn is_full(&self) -> bool {
        self.next == self.hashes.len()
    }

    /// Takes the next slot for a block.
    fn push(&mut self, hash: u64, bytes: u64) -> usize {
        let slot = self.next;
        self.next += 1;
        self.hashes[slot] = hash;
        self.add(slot, bytes);
        slot
    }

    fn add(&mut self, slot: usize, bytes: u64) {
        self.bytes += bytes;
        let mut place = slot + 1;
        while place <= self.sums.len() {
            self.sums[place - 1] += bytes;
            place += place & place.wrapping_neg();
        }
    }

    /// Removes a block, and returns the bytes of the blocks that were looked up after it.
    fn remove(&mut self, block: Latest) -> u64 {
        let newer = self.bytes - self.through(block.slot);
        self.bytes -= block.bytes;
        let mut place = block.slot + 1;
        while place <= self.sums.len() {
            self.sums[place - 1] -= block.bytes;
            place += place & place.wrapping_neg();
        }
        newer
    }

    /// The bytes of the slots up to and including this one.
    fn through(&self, slot: usize) -> u64 {
        let mut place = slot + 1;
        let mut sum = 0;
        while place > 0 {
            sum += self.sums[place - 1];
            place &= place - 1;
        }
        sum
    }

    /// The oldest slot that may have a block, and the hash of the block that took it.
    fn oldest(&self) -> Option<(usize, u64)> {
        (self.oldest < self.next).then(|| (self.oldest, self.hashes[self.oldest]))
    }

    fn skip_oldest(&mut self) {
        self.oldest += 1;
    }

    /// Gives the blocks the first slots, in the same order.
    fn renumber(&mut self, blocks: &mut BTreeMap<u64, Latest>) {
        let mut kept: Vec<_> = blocks.iter_mut().collect();
        kept.sort_unstable_by_key(|(_, block)| block.slot);
        self.sums.fill(0);
        (self.bytes, self.next, self.oldest) = (0, 0, 0);
        for (hash, block) in kept {
            block.slot = self.push(*hash, block.bytes);
        }
    }
}

#[cfg(test)]
mod tests;
