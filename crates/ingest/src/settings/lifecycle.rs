//! Every setting of merging, retention and archives, with unit, default and trade-off.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// How buckets live after they have left the indexer. Sizes are bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct LifecycleSettings {
    /// How often buckets are looked at (`rotatePeriodInSecs`).
    pub rotate_period: Duration,
    /// Merges at a time; each has its buckets' rows in memory. 0 is not allowed: see `mergeMaxBytes`.
    pub merge_concurrency: usize,
    /// Share of one core that merging may take, in percent, for each merge at a time.
    pub merge_cpu_percent: u32,
    /// Most raw text that one merge joins, whatever `maxDataSize` says: it is in memory meanwhile.
    /// 0: buckets are not merged.
    pub merge_max_bytes: u64,
    /// Fewest buckets that are worth a merge, unless they are already half of a full one.
    pub merge_min_buckets: usize,
    /// How long a bucket is in the catalog before it may be merged, so that nobody holds it as hot.
    pub merge_min_age: Duration,
    /// How long objects that no bucket refers to any more are kept for searches that still run.
    pub merge_delete_grace: Duration,
    /// How stores of archives (`coldToFrozenDir = s3://...`) are reached.
    #[serde(skip)]
    pub archive_options: runtime::store::Options,
}

impl Default for LifecycleSettings {
    fn default() -> Self {
        Self {
            rotate_period: Duration::from_secs(60),
            merge_concurrency: 1,
            merge_cpu_percent: 25,
            merge_max_bytes: 256 << 20,
            merge_min_buckets: 4,
            merge_min_age: Duration::from_secs(30),
            merge_delete_grace: Duration::from_secs(600),
            archive_options: runtime::store::Options::default(),
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
