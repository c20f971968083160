//! Every setting of ingest, with unit, default and trade-off.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::Error;
use crate::journal::Codec;

mod lifecycle;

pub use lifecycle::{Keep, LifecycleSettings};

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
    /// Most bytes of one event, its indexed fields included. Requests with a larger one are refused; text
    /// that is cut into events here is cut at this length where `TRUNCATE` is 0 (unlimited) or larger.
    pub max_event_size: usize,
    /// Bytes in `data/rejected` above which only the beginning of an event that is set aside is kept.
    pub max_rejected_size: u64,
    /// Most indexed fields of one event, one for each value.
    pub max_event_fields: usize,
    /// Longest name of an indexed field, in bytes.
    pub max_field_name_size: usize,
    /// How deep objects and lists may lie in each other in events that senders cut.
    pub max_event_depth: usize,
    /// How long the journal waits for more records before it syncs a group. Zero syncs at once;
    /// while a sync runs, the next group gathers by itself.
    pub journal_group_interval: Duration,
    /// A group is synced at this size even if the interval is not over.
    pub journal_group_size: usize,
    /// A journal segment ends at this size; it is deleted as a whole.
    pub journal_segment_size: u64,
    /// Compression of journal records.
    pub journal_codec: Codec,
    /// Journal of one set above which the hot bucket that keeps the most of it rolls, so that an
    /// index with few events does not keep the journal of all others.
    pub max_journal_size: u64,
    /// Most raw text at which a hot bucket rolls, whatever the index's `maxDataSize` says: hot
    /// buckets live in memory.
    pub max_data_size: u64,
    /// Most event time that a hot bucket spans, where the index does not say (`maxHotSpanSecs`).
    pub max_hot_span: Duration,
    /// Hot buckets of an index and set at a time, the quarantine apart, where the index does not say
    /// (`maxHotBuckets`). Events that would stretch all of them roll the least recently used one,
    /// unless it has less than a sixteenth of `maxDataSize`: mixed times should not make tiny
    /// buckets.
    pub max_hot_buckets: usize,
    /// A hot bucket that got nothing for this long rolls (`maxHotIdleSecs`); zero: never.
    pub max_hot_idle: Duration,
    /// Raw text of all hot buckets together; over it the largest of the set rolls.
    pub max_hot_memory: u64,
    /// Events older than this go to the quarantine bucket (`quarantinePastSecs`).
    pub quarantine_past: Duration,
    /// Events further ahead than this go to the quarantine bucket (`quarantineFutureSecs`).
    pub quarantine_future: Duration,
    /// How long events of an index with `ackLevel = remote` wait in a hot bucket before it rolls.
    /// Shorter answers senders sooner and makes more, smaller buckets for merging to join.
    pub remote_ack_interval: Duration,
    /// Rolled buckets that may wait in memory to be encoded, per set; at the limit large inputs wait until
    /// one is on the disk, and small ones too once the open buckets hold 64 MiB or two more have rolled.
    pub max_rolled_buckets: usize,
    /// Bytes of finished buckets that may wait on the disk for object storage; over it nothing more
    /// is let in. 0: as much as `minFreeSpace` allows.
    pub max_spool_size: u64,
    /// Free bytes of the data directory's file system below which nothing is taken in
    /// (`minFreeSpace`); on small disks at most a twentieth of the disk.
    pub min_free_space: u64,
    /// Buckets that are encoded at the same time; each takes a core and about three times the
    /// bucket's text in memory.
    pub encode_concurrency: usize,
    /// Buckets that are uploaded at the same time.
    pub upload_concurrency: usize,
    /// Objects larger than this are uploaded in parts of 16 MiB.
    pub multipart_threshold: u64,
    /// First and longest pause between attempts to upload; the pause doubles, with jitter.
    pub upload_retry: (Duration, Duration),
    /// How long a stream may be silent before its unfinished event is taken as complete.
    pub stream_idle: Duration,
    /// Forwarders' channels whose batches are remembered, so that a batch sent again is recognised;
    /// each takes about a hundred bytes.
    pub max_forwarded_channels: usize,
    /// How long a silent channel is remembered. A forwarder that was cut off for longer, with
    /// batches whose acknowledgement it never saw, may have them kept twice.
    pub forwarded_channel_idle: Duration,
    /// Merging, retention, archives.
    pub lifecycle: LifecycleSettings,
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
            max_event_size: 10 << 20,
            max_rejected_size: 1024 * MIB,
            max_event_fields: 1_000,
            max_field_name_size: 1_024,
            max_event_depth: 200,
            journal_group_interval: Duration::ZERO,
            journal_group_size: 8 << 20,
            journal_segment_size: 64 * MIB,
            journal_codec: Codec::Lz4,
            max_journal_size: 2048 * MIB,
            max_data_size: 1024 * MIB,
            max_hot_span: Duration::from_secs(90 * DAY),
            max_hot_buckets: 3,
            max_hot_idle: Duration::from_secs(3600),
            max_hot_memory: 2048 * MIB,
            quarantine_past: Duration::from_secs(900 * DAY),
            quarantine_future: Duration::from_secs(30 * DAY),
            remote_ack_interval: Duration::from_secs(5),
            max_rolled_buckets: 2,
            max_spool_size: 0,
            min_free_space: 5000 * MIB,
            encode_concurrency: 2,
            upload_concurrency: 2,
            multipart_threshold: 64 * MIB,
            upload_retry: (Duration::from_millis(200), Duration::from_secs(30)),
            stream_idle: Duration::from_secs(3),
            lifecycle: LifecycleSettings::default(),
            max_forwarded_channels: 100_000,
            forwarded_channel_idle: Duration::from_secs(30 * DAY),
            bucket: bucket::WriteOptions::default(),
        }
    }
}

impl Settings {
    /// What one event may be.
    #[must_use]
    pub fn event_limits(&self) -> inputs::EventLimits {
        inputs::EventLimits {
            event_bytes: self.max_event_size,
            fields: self.max_event_fields,
            field_name_bytes: self.max_field_name_size,
            depth: self.max_event_depth,
            memory: usize::MAX,
        }
    }

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
            ("encodeConcurrency", self.encode_concurrency as u64),
            ("uploadConcurrency", self.upload_concurrency as u64),
            ("maxHotBuckets", self.max_hot_buckets as u64),
            ("mergeConcurrency", self.lifecycle.merge_concurrency as u64),
            ("maxEventSize", self.max_event_size as u64),
            ("maxEventFields", self.max_event_fields as u64),
            ("maxFieldNameSize", self.max_field_name_size as u64),
            ("maxEventDepth", self.max_event_depth as u64),
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
