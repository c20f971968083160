//! Every setting of merging, retention and archives, with unit, default and trade-off.

use std::time::Duration;

use conf::{Type, Unit};

conf::settings! {
    /// How buckets live after they have left the indexer. Sizes are bytes.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct LifecycleSettings {
        "indexes"["default"] {
            /// Interval between the checks for buckets to be frozen, merged or deleted.
            "rotatePeriodInSecs" => pub rotate_period: Duration = "60", Type::seconds(1);
        }
        "server"["ingest"] {
            /// Number of concurrent merges; each has the rows of its buckets in memory. 0 is not allowed:
            /// see `mergeMaxBytes`.
            "mergeConcurrency" => pub merge_concurrency: usize = "1", Type::number(1);
            /// Maximum share of one core for each concurrent merge.
            "mergeCpuPercent" => pub merge_cpu_percent: u32 = "25", Type::of(Unit::Percent, 1, 100);
            /// Maximum size of raw text that one merge combines, regardless of `maxDataSize`, because it is
            /// in memory during the merge. 0: buckets are not merged.
            "mergeMaxBytes" => pub merge_max_bytes: u64 = "256MB", Type::size(0);
            /// Minimum number of buckets to merge, unless together they are at least half the size of a
            /// full bucket.
            "mergeMinBuckets" => pub merge_min_buckets: usize = "4", Type::number(0);
            /// Minimum age of a bucket in the catalog before it may be merged, so that no search still
            /// reads it as hot.
            "mergeMinAgeSecs" => pub merge_min_age: Duration = "30", Type::seconds(0);
            /// Time for which objects that no bucket refers to are kept for running searches.
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
