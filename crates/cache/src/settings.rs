//! Sizes of the cache and what they trade.

use std::path::PathBuf;

use crate::Error;

/// Unit in which the NVMe tier frees space; files of this size are made at start.
pub(crate) const NVME_REGION: usize = 16 << 20;

/// Settings of the cache.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Paths below this prefix are immutable and cached; all others pass through.
    pub prefix: String,
    /// DRAM for blocks, in bytes. Footers and term indexes of hot buckets should fit.
    pub dram_bytes: usize,
    /// NVMe for blocks, in bytes; 0 is no NVMe tier. Taken from the file system at start.
    pub nvme_bytes: usize,
    /// Where the NVMe tier lives: a directory of its own, one per process.
    pub directory: PathBuf,
    /// Bytes of one block. Larger means fewer requests for scans, and more unneeded bytes for point
    /// reads. Changing it empties the cache in effect.
    pub block_bytes: usize,
    /// Most bytes of one request to the store. Larger means fewer requests and less parallelism.
    pub fetch_bytes: usize,
    /// How many blocks nobody asked for are fetched along rather than making two requests.
    pub gap_blocks: u64,
    /// Requests for blocks that run side by side, in the whole process.
    pub parallel_fetches: usize,
    /// Bytes waiting to be written to NVMe, in memory. When it is full, blocks are kept in DRAM only.
    pub nvme_buffer_bytes: usize,
    /// How many objects' sizes and etags are remembered (about 200 bytes each).
    pub objects: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            prefix: "buckets/".to_owned(),
            dram_bytes: 512 << 20,
            nvme_bytes: 0,
            directory: PathBuf::from("cache"),
            block_bytes: 256 << 10,
            fetch_bytes: 4 << 20,
            gap_blocks: 1,
            parallel_fetches: 32,
            nvme_buffer_bytes: 64 << 20,
            objects: 100_000,
        }
    }
}

impl Settings {
    /// Checks the relations between settings.
    ///
    /// # Errors
    /// [`Error::Setting`] names the first that cannot work.
    pub fn validate(&self) -> Result<(), Error> {
        let fail = |name, reason: &str| Err(Error::Setting { name, reason: reason.to_owned() });
        if !self.block_bytes.is_power_of_two() || !(4096..=4 << 20).contains(&self.block_bytes) {
            return fail("block_bytes", "it must be a power of two from 4 KiB to 4 MiB");
        }
        if self.fetch_bytes < self.block_bytes || self.fetch_bytes > 256 << 20 {
            return fail("fetch_bytes", "it must be from block_bytes to 256 MiB");
        }
        if self.dram_bytes / self.block_bytes < 64 {
            return fail("dram_bytes", "it must hold at least 64 blocks");
        }
        if self.nvme_bytes != 0 && self.nvme_bytes < NVME_REGION * 4 {
            return fail("nvme_bytes", "it must be 0 or at least 64 MiB");
        }
        if self.nvme_buffer_bytes < self.block_bytes * 4 {
            return fail("nvme_buffer_bytes", "it must hold at least 4 blocks");
        }
        if self.parallel_fetches == 0 || self.objects == 0 {
            return fail("parallel_fetches and objects", "they must be at least 1");
        }
        if self.prefix.is_empty() || !self.prefix.ends_with('/') {
            return fail("prefix", "it must end with a slash");
        }
        Ok(())
    }
}
