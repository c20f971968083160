//! Every setting of ingest, with unit, default and trade-off.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::Error;
use crate::journal::Codec;

/// How ingest works. Sizes are bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct Settings {
    /// Pipeline sets that run side by side with nothing shared. Each takes up to about two cores
    /// at full speed and has hot buckets of its own, so more sets mean more, smaller buckets.
    pub parallel_ingestion_pipelines: u16,
    /// Bytes that may wait before each stage. Larger queues ride out longer stalls and take memory:
    /// there are five per set.
    pub queue_size: u64,
    /// How long an input waits for room in a full queue before it is refused.
    pub queue_wait: Duration,
    /// Text of one batch inside the pipeline. Larger batches cost less per event, smaller ones
    /// become searchable sooner.
    pub batch_size: usize,
    /// Longest event where `TRUNCATE` is 0 (unlimited) or larger; longer ones are cut here.
    pub max_event_size: usize,
    /// How long the journal waits for more records before it syncs a group. Zero syncs at once;
    /// while a sync runs, the next group gathers by itself.
    pub journal_group_interval: Duration,
    /// A group is synced at this size even if the interval is not over.
    pub journal_group_size: usize,
    /// A journal segment ends at this size; it is deleted as a whole.
    pub journal_segment_size: u64,
    /// Compression of journal records.
    pub journal_codec: Codec,
    /// Raw text at which a hot bucket rolls (Splunk's `maxDataSize`). Larger buckets search and
    /// compress better; a hot bucket lives in memory, one per index, set and quarantine.
    pub max_data_size: u64,
    /// A hot bucket whose events would span more than this rolls first (`maxHotSpanSecs`), unless
    /// it has less than a sixteenth of `maxDataSize`, so that mixed times do not make tiny buckets.
    pub max_hot_span: Duration,
    /// A hot bucket that got nothing for this long rolls (`maxHotIdleSecs`); zero: never.
    pub max_hot_idle: Duration,
    /// Raw text of all hot buckets together; over it the largest of the set rolls.
    pub max_hot_memory: u64,
    /// Events older than this go to the quarantine bucket (`quarantinePastSecs`).
    pub quarantine_past: Duration,
    /// Events further ahead than this go to the quarantine bucket (`quarantineFutureSecs`).
    pub quarantine_future: Duration,
    /// Rolled buckets that may wait in memory for their upload, per set; at the limit the set takes
    /// nothing in until one is committed.
    pub max_rolled_buckets: usize,
    /// Buckets that are encoded and uploaded at the same time; each takes a core while it encodes.
    pub upload_concurrency: usize,
    /// Objects larger than this are uploaded in parts of 16 MiB.
    pub multipart_threshold: u64,
    /// First and longest pause between attempts to upload; the pause doubles, with jitter.
    pub upload_retry: (Duration, Duration),
    /// How long a stream may be silent before its unfinished event is taken as complete.
    pub stream_idle: Duration,
    /// Rows, columns and compression of buckets.
    #[serde(skip)]
    pub bucket: bucket::WriteOptions,
}

impl Default for Settings {
    fn default() -> Self {
        const MIB: u64 = 1 << 20;
        const DAY: u64 = 86_400;
        Self {
            parallel_ingestion_pipelines: 1,
            queue_size: 16 * MIB,
            queue_wait: Duration::from_secs(10),
            batch_size: 1 << 20,
            max_event_size: 64 << 20,
            journal_group_interval: Duration::ZERO,
            journal_group_size: 8 << 20,
            journal_segment_size: 64 * MIB,
            journal_codec: Codec::Zstd,
            max_data_size: 256 * MIB,
            max_hot_span: Duration::from_secs(90 * DAY),
            max_hot_idle: Duration::from_secs(3600),
            max_hot_memory: 2048 * MIB,
            quarantine_past: Duration::from_secs(900 * DAY),
            quarantine_future: Duration::from_secs(30 * DAY),
            max_rolled_buckets: 4,
            upload_concurrency: 2,
            multipart_threshold: 64 * MIB,
            upload_retry: (Duration::from_millis(200), Duration::from_secs(30)),
            stream_idle: Duration::from_secs(3),
            bucket: bucket::WriteOptions::default(),
        }
    }
}

impl Settings {
    /// Checks the relations between the settings.
    ///
    /// # Errors
    /// [`Error::Setting`] names the first that does not fit.
    pub fn validate(&self) -> Result<(), Error> {
        let at_least_one = [
            ("parallelIngestionPipelines", u64::from(self.parallel_ingestion_pipelines)),
            ("queueSize", self.queue_size),
            ("batchSize", self.batch_size as u64),
            ("maxDataSize", self.max_data_size),
            ("maxRolledBuckets", self.max_rolled_buckets as u64),
            ("uploadConcurrency", self.upload_concurrency as u64),
            ("maxEventSize", self.max_event_size as u64),
        ];
        for (name, value) in at_least_one {
            if value == 0 {
                return Err(Error::Setting { name, reason: "must be at least 1".to_owned() });
            }
        }
        let limits = [("batchSize", self.batch_size), ("maxEventSize", self.max_event_size)];
        for (name, value) in limits {
            if value > 1 << 30 {
                return Err(Error::Setting { name, reason: "must be at most 1 GiB".to_owned() });
            }
        }
        Ok(())
    }
}
