//! Limits and sizes of searching. Names are `limits.conf`'s where Splunk has the setting.

use std::time::Duration;

/// What an operator can set about searching; every limit that cuts something says so in the job.
#[derive(Debug, Clone)]
pub struct Settings {
    /// `batch_search_max_pipeline`: partitions of buckets scanned side by side per search. More
    /// pipelines finish one search sooner and leave less for the others. Default: the cores.
    pub batch_search_max_pipeline: usize,
    /// `base_max_searches` + cores x `max_searches_per_cpu`: searches that run at once; further
    /// ones wait in QUEUED.
    pub max_searches: usize,
    /// Searches that may wait; one more is refused.
    pub max_queued_searches: usize,
    /// `max_count`: newest events an event search keeps, unless the request asks for another number.
    pub max_count: usize,
    /// `maxresultrows`: rows a reporting search keeps.
    pub max_result_rows: usize,
    /// `ttl`: how long a finished job is kept after its last access.
    pub ttl: Duration,
    /// Bytes that the results of all kept jobs may take together; over it new searches are refused
    /// until jobs expire or are deleted (`[search] dispatch_memory`).
    pub kept_result_bytes: usize,
    /// Rows per batch in a plan.
    pub batch_rows: usize,
    /// Open bucket readers (footers and index directories) kept in memory.
    pub open_buckets: usize,
    /// Bytes all running searches together may hold for sorts, joins and groups; over it they
    /// spill to disk.
    pub memory_bytes: usize,
    /// Hot rows looked at to find field names that no catalogue lists yet.
    pub field_discovery_rows: usize,
    /// Distinct values a field summary counts exactly before it says "at least".
    pub field_summary_values: usize,
}

impl Default for Settings {
    fn default() -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Self {
            batch_search_max_pipeline: cores,
            max_searches: 6 + cores,
            max_queued_searches: 1_000,
            max_count: 10_000,
            max_result_rows: 500_000,
            ttl: Duration::from_secs(600),
            kept_result_bytes: 4 << 30,
            batch_rows: 8_192,
            open_buckets: 4_096,
            memory_bytes: 2 << 30,
            field_discovery_rows: 20_000,
            field_summary_values: 10_000,
        }
    }
}
