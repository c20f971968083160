//! The cost of the reads of one search, per cache tier.

use cache::CacheStats;
use serde::{Deserialize, Serialize};

/// The cost of reads.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Reads {
    /// Reads from memory.
    pub dram: TierReads,
    /// Reads from the local disk.
    pub nvme: TierReads,
    /// Reads from object storage.
    pub store: TierReads,
    /// Number of requests to object storage, as charged: including retries and hedged requests.
    pub store_requests: u64,
}

/// Reads from one tier.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct TierReads {
    /// Number of cache blocks.
    pub blocks: u64,
    /// Bytes of whole blocks, not of the requested ranges.
    pub bytes: u64,
    /// Duration in seconds, summed over parallel reads.
    pub seconds: f64,
}

impl Reads {
    /// Returns the sum of both.
    pub(crate) fn plus(&self, other: &Self) -> Self {
        let tier = |one: TierReads, two: TierReads| TierReads {
            blocks: one.blocks + two.blocks,
            bytes: one.bytes + two.bytes,
            seconds: one.seconds + two.seconds,
        };
        Self {
            dram: tier(self.dram, other.dram),
            nvme: tier(self.nvme, other.nvme),
            store: tier(self.store, other.store),
            store_requests: self.store_requests + other.store_requests,
        }
    }

    #[allow(clippy::cast_precision_loss)]
    pub(crate) fn of(stats: &CacheStats) -> Self {
        let tier = |blocks, bytes, micros: u64| {
            let seconds = micros as f64 / 1e6;
            TierReads { blocks, bytes, seconds }
        };
        Self {
            dram: tier(stats.dram_hits, stats.dram_bytes, stats.dram_micros),
            nvme: tier(stats.nvme_hits, stats.nvme_bytes, stats.nvme_micros),
            store: tier(stats.store_reads, stats.store_bytes, stats.store_micros),
            store_requests: stats.store_requests + stats.store_retries + stats.store_hedges,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retries_and_hedged_requests_are_charged_as_well() {
        let stats = CacheStats {
            store_reads: 12,
            store_requests: 4,
            store_retries: 2,
            store_hedges: 1,
            ..CacheStats::default()
        };
        let reads = Reads::of(&stats);
        assert_eq!((reads.store.blocks, reads.store_requests), (12, 7));
    }
}
