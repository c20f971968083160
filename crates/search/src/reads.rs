//! What the reads of one search cost, by the tier that the bytes came from.

use cache::CacheStats;
use serde::{Deserialize, Serialize};

/// What reads cost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Reads {
    /// From memory.
    pub dram: TierReads,
    /// From the local disk.
    pub nvme: TierReads,
    /// From object storage.
    pub store: TierReads,
    /// Requests to object storage.
    pub store_requests: u64,
}

/// What one tier gave.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct TierReads {
    /// Blocks of the cache.
    pub blocks: u64,
    /// Their bytes, whole blocks rather than what was asked for.
    pub bytes: u64,
    /// Time to get them, summed over what ran side by side.
    pub seconds: f64,
}

impl Reads {
    /// What both cost.
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
            store_requests: stats.store_requests,
        }
    }
}
