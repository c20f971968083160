//! Every setting of merging, retention and archives, with unit, default and trade-off.

use std::time::Duration;

use conf::{Type, Unit};

conf::settings! {
    /// How buckets live after they have left the indexer. Sizes are bytes.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct LifecycleSettings {
        "indexes"["default"] {
            /// How often buckets are looked at, for what is to be frozen, merged or deleted.
            "rotatePeriodInSecs" => pub rotate_period: Duration = "60", Type::seconds(1);
        }
        "server"["ingest"] {
            /// Merges at a time; each has its buckets' rows in memory. 0 is not allowed: see `mergeMaxBytes`.
            "mergeConcurrency" => pub merge_concurrency: usize = "1", Type::number(1);
            /// Share of one core that merging may take, for each merge at a time.
            "mergeCpuPercent" => pub merge_cpu_percent: u32 = "25", Type::of(Unit::Percent, 1, 100);
            /// Most raw text that one merge joins, whatever `maxDataSize` says: it is in memory meanwhile.
            /// 0: buckets are not merged.
            "mergeMaxBytes" => pub merge_max_bytes: u64 = "256MB", Type::size(0);
            /// Fewest buckets that are worth a merge, unless they are already half of a full one.
            "mergeMinBuckets" => pub merge_min_buckets: usize = "4", Type::number(0);
            /// How long a bucket is in the catalog before it may be merged, so that nobody holds it as hot.
            "mergeMinAgeSecs" => pub merge_min_age: Duration = "30", Type::seconds(0);
            /// How long objects that no bucket refers to any more are kept for searches that still run.
            "mergeDeleteGraceSecs" => pub merge_delete_grace: Duration = "600", Type::seconds(0);
        }
        fixed {
            /// How stores of archives (`coldToFrozenDir = s3://...`) are reached.
            pub archive_options: runtime::store::Options = runtime::store::Options::default();
        }
    }
}

/// How long and how much of an index is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Keep {
    /// `frozenTimePeriodInSecs`, by the newest event of a bucket.
    pub period: Duration,
    /// `maxTotalDataSizeMB`: bytes in object storage; 0 is no limit.
    pub total: u64,
}
