//! Sizes of the cache and what they trade.

use std::path::PathBuf;
use std::time::Duration;

use crate::Error;

/// Settings of the cache. The names in `server.conf`, `[cachemanager]`, are in brackets.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// Paths below this prefix are immutable and cached; all others pass through.
    pub prefix: String,
    /// DRAM for blocks, in bytes (`dram_size`).
    pub dram_bytes: usize,
    /// NVMe for blocks, in bytes; 0 is no NVMe tier (`max_cache_size`). Taken from the file system as it
    /// is written.
    pub nvme_bytes: usize,
    /// Bytes that stay free on the file system of the NVMe tier (`eviction_padding`), at most a twentieth of
    /// it: with less, blocks stay in DRAM only.
    pub nvme_reserve_bytes: usize,
    /// Share of both, in percent, that only footers, directories and term indexes use
    /// (`index_percent`). Those of the buckets that are searched most should fit: reading one costs every
    /// search a request per bucket. Rows have the rest.
    pub index_percent: usize,
    /// Where the NVMe tier lives: a directory of its own, one per process.
    pub directory: PathBuf,
    /// Bytes of one block of rows (`block_size`). Larger means fewer requests for scans, and more
    /// unneeded bytes for point reads. Changing it empties the cache in effect.
    pub block_bytes: usize,
    /// Bytes of one block of footers and term indexes (`index_block_size`): a lookup needs about 5 KB.
    pub index_block_bytes: usize,
    /// Most bytes of one request to the store (`max_request_size`). Larger means fewer requests and
    /// less parallelism.
    pub fetch_bytes: usize,
    /// How many bytes nobody asked for are fetched along rather than making two requests
    /// (`request_gap`).
    pub gap_bytes: usize,
    /// Requests for blocks that run side by side, in the whole process (`max_concurrent_downloads`).
    pub parallel_fetches: usize,
    /// Second requests for blocks that are long in coming, in percent of all requests; 0 for none
    /// (`hedge_percent`). They cost what requests cost, and cut the slowest ones short.
    pub hedge_percent: f64,
    /// The least wait before a second request (`hedge_min_delay_ms`); longer where nineteen of twenty
    /// requests take longer.
    pub hedge_min_delay: Duration,
    /// Bytes waiting to be written to NVMe, in memory, per kind of block (`write_buffer_size`). When it
    /// is full, blocks are kept in DRAM only.
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
            nvme_reserve_bytes: 5120 << 20,
            directory: PathBuf::from("cache"),
            index_percent: 25,
            block_bytes: 256 << 10,
            index_block_bytes: 32 << 10,
            fetch_bytes: 4 << 20,
            gap_bytes: 256 << 10,
            parallel_fetches: 128,
            hedge_percent: 5.0,
            hedge_min_delay: Duration::from_millis(20),
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
        let blocks =
            [("block_size", self.block_bytes), ("index_block_size", self.index_block_bytes)];
        for (name, bytes) in blocks {
            if !bytes.is_power_of_two() || !(4096..=4 << 20).contains(&bytes) {
                return fail(name, "it must be a power of two from 4 KiB to 4 MiB");
            }
            if self.fetch_bytes < bytes || self.fetch_bytes > 256 << 20 {
                return fail("max_request_size", "it must be from the size of a block to 256 MiB");
            }
        }
        if !(5..=95).contains(&self.index_percent) {
            return fail("index_percent", "it must be from 5 to 95");
        }
        let shares = [100 - self.index_percent, self.index_percent];
        for (percent, (_, block)) in shares.into_iter().zip(blocks) {
            if self.dram_bytes / 100 * percent / block < 16 {
                return fail("dram_size", "each share must hold at least 16 blocks");
            }
            if self.nvme_bytes != 0 && region(self.nvme_bytes / 100 * percent) < 2 * block {
                return fail(
                    "max_cache_size",
                    "it must be 0 or hold at least 32 blocks in each share",
                );
            }
        }
        if self.nvme_bytes != 0 && self.nvme_bytes < 64 << 20 {
            return fail("max_cache_size", "it must be 0 or at least 64 MiB");
        }
        if !(0.0..=100.0).contains(&self.hedge_percent) {
            return fail("hedge_percent", "it must be from 0 to 100");
        }
        if self.nvme_buffer_bytes < self.block_bytes * 4 {
            return fail("write_buffer_size", "it must hold at least 4 blocks");
        }
        if self.parallel_fetches == 0 || self.objects == 0 {
            return fail("max_concurrent_downloads", "it must be at least 1");
        }
        if self.prefix.is_empty() || !self.prefix.ends_with('/') {
            return fail("prefix", "it must end with a slash");
        }
        Ok(())
    }
}

/// Unit in which NVMe frees space, as files of this size that are made at start.
pub(crate) fn region(nvme: usize) -> usize {
    let eighth = (nvme / 8).max(1);
    (1 << eighth.ilog2()).min(16 << 20)
}
