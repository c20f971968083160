//! Sizes of the cache and what they trade.

use std::path::PathBuf;
use std::time::Duration;

use conf::{Type, Unit};

use crate::Error;

conf::settings! {
    /// Settings of the cache.
    #[derive(Debug, Clone, PartialEq)]
    pub struct Settings {
        "server"["cachemanager"] {
            /// Size of the NVMe cache for blocks; 0 to disable it. Space is allocated as it is written.
            /// Splunk: 0, for no limit.
            "max_cache_size" => pub nvme_bytes: usize = "4096", Type::megabytes(0);
            /// Space to keep free on the file system of the NVMe tier, at most 5 % of it. With less free
            /// space, blocks are kept in DRAM only.
            "eviction_padding" => pub nvme_reserve_bytes: usize = "5120", Type::megabytes(0);
            /// Size of the DRAM cache for blocks.
            "dram_size" => pub dram_bytes: usize = "512", Type::megabytes(0);
            /// Share of DRAM and NVMe reserved for footers, directories and term indexes. Those of the most
            /// frequently searched buckets should fit, because otherwise each search needs an additional
            /// request per bucket. The rest is for rows.
            "index_percent" => pub index_percent: usize = "25", Type::of(Unit::Percent, 5, 95);
            /// Size of one block of rows, a power of two from 4 KB to 4 MB. Larger blocks need fewer
            /// requests for scans, but read more unneeded bytes in point reads. A change effectively
            /// empties the cache.
            "block_size" => pub block_bytes: usize = "256KB", Type::size(4096);
            /// Size of one block of footers and term indexes. A lookup needs about 5 KB.
            "index_block_size" => pub index_block_bytes: usize = "32KB", Type::size(4096);
            /// Maximum number of bytes per request to the object store. Larger requests are fewer, but less
            /// parallel.
            "max_request_size" => pub fetch_bytes: usize = "4MB", Type::size(4096);
            /// Maximum number of unneeded bytes between two ranges that are read with one request instead
            /// of two.
            "request_gap" => pub gap_bytes: usize = "256KB", Type::size(0);
            /// Maximum number of concurrent requests for blocks in the whole process. Splunk: 8.
            "max_concurrent_downloads" => pub parallel_fetches: usize = "128", Type::number(1);
            /// Maximum percentage of hedged requests: second requests for blocks whose first request is
            /// slow. 0 for none. They shorten the slowest reads, at the price of more requests.
            "hedge_percent" => pub hedge_percent: f64 = "5", Type::Decimal { least: 0.0, most: 100.0 };
            /// Minimum delay before a hedged request; longer if the 95th percentile of the request times is
            /// longer.
            "hedge_min_delay_ms" => pub hedge_min_delay: Duration = "20", Type::milliseconds(0);
            /// Memory for blocks waiting to be written to NVMe, per kind of block. When it is full, blocks
            /// are kept in DRAM only.
            "write_buffer_size" => pub nvme_buffer_bytes: usize = "64MB", Type::size(0);
        }
        fixed {
            /// Paths below this prefix are immutable and cached; all others pass through.
            pub prefix: String = "buckets/".to_owned();
            /// Where the NVMe tier lives: a directory of its own, one per process.
            pub directory: PathBuf = PathBuf::from("cache");
            /// How many objects' sizes and etags are remembered (about 200 bytes each).
            pub objects: usize = 100_000;
        }
    }
}

impl Settings {
    /// The defaults without an NVMe tier.
    #[must_use]
    pub fn in_memory() -> Self {
        Self { nvme_bytes: 0, ..Self::default() }
    }

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
