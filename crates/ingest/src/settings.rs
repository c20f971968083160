//! Every setting of ingest, with unit, default and trade-off.

use std::time::Duration;

use conf::{FromValue, Setting, Type, Value};

use crate::Error;
use crate::journal::Codec;

mod lifecycle;
mod preview;

pub use lifecycle::{Keep, LifecycleSettings};
pub use preview::PreviewSettings;

impl FromValue for Codec {
    fn from_value(value: Value<'_>) -> Option<Self> {
        match value {
            Value::Text("none") => Some(Self::None),
            Value::Text("lz4") => Some(Self::Lz4),
            Value::Text("zstd") => Some(Self::Zstd),
            _ => None,
        }
    }
}

const DAY: Duration = Duration::from_secs(86_400);

conf::settings! {
    /// How ingest works. Sizes are bytes.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Settings {
        "server"["general"] {
            /// Number of pipeline sets, which run in parallel and share nothing. Each set uses up to about
            /// two cores at full speed and has its own hot buckets, so more sets result in more and smaller
            /// buckets.
            "parallelIngestionPipelines" => pub parallel_ingestion_pipelines: u16 = "1", Type::number(1);
        }
        "server"["queue"] {
            /// Maximum size of the queue before each stage. Larger queues bridge longer stalls, but need
            /// more memory: each set has five queues.
            "maxSize" => pub queue_size: u64 = "16MB", Type::size(1);
        }
        "server"["diskUsage"] {
            /// Free space of the data directory's file system below which no events are accepted; at most 5
            /// % of small disks.
            "minFreeSpace" => pub min_free_space: u64 = "5000", Type::megabytes(0);
        }
        "server"["license"] {
            /// Maximum number of combinations of index, source type, source and host that are counted
            /// separately in each interval of the server's own events. Further combinations are counted
            /// without source and host.
            "squash_threshold" => pub squash_threshold: usize = "2000", Type::number(1);
        }
        "server"["ingest"] {
            /// Time that an input waits for space in a full queue before it is refused.
            "queueWaitSecs" => pub queue_wait: Duration = "10", Type::seconds(0);
            /// Maximum size of one event, including its indexed fields. Requests with a larger event are
            /// refused. Text that is split into events on this server is truncated at this length if
            /// `TRUNCATE` is 0 (unlimited) or larger.
            "maxEventSize" => pub max_event_size: usize = "10MB", Type::size(1);
            /// Size of `data/rejected` above which only the first 64 KB of a rejected event are kept.
            "maxRejectedSize" => pub max_rejected_size: u64 = "1GB", Type::size(0);
            /// Maximum number of indexed fields of one event; each value counts as one.
            "maxEventFields" => pub max_event_fields: usize = "1000", Type::number(1);
            /// Maximum length of the name of an indexed field.
            "maxFieldNameSize" => pub max_field_name_size: usize = "1KB", Type::size(1);
            /// Maximum nesting depth of objects and lists in JSON events.
            "maxEventDepth" => pub max_event_depth: usize = "200", Type::number(1);
            /// Time that the journal waits for more records before it syncs a group. 0 syncs immediately;
            /// the next group accumulates while a sync is running.
            "journalGroupIntervalMs" => pub journal_group_interval: Duration = "0", Type::milliseconds(0);
            /// A group is synced at this size even if the interval is not over.
            "journalGroupSize" => pub journal_group_size: usize = "8MB", Type::size(0);
            /// A journal segment ends at this size; it is deleted as a whole.
            "journalSegmentSize" => pub journal_segment_size: u64 = "64MB", Type::size(0);
            /// Compression of journal records.
            "journalCodec" => pub journal_codec: Codec = "lz4", Type::Choice(&["lz4", "zstd", "none"]);
            /// Journal size of one set above which the hot bucket that retains most of it rolls, so that an
            /// index with few events does not retain the journal of all other indexes.
            "maxJournalSize" => pub max_journal_size: u64 = "2GB", Type::size(0);
            /// Maximum size of raw text at which a hot bucket rolls, regardless of the index's
            /// `maxDataSize`, because hot buckets are in memory.
            "maxBucketSize" => pub max_data_size: u64 = "1GB", Type::size(1);
            /// Maximum size of the raw text of all hot buckets; above it, the largest hot bucket of the set
            /// rolls.
            "maxHotMemory" => pub max_hot_memory: u64 = "2GB", Type::size(0);
            /// Interval between journal objects in object storage, for which acknowledgements of indexes
            /// with `ackLevel = remote` wait. A shorter interval acknowledges sooner, but makes more
            /// requests: 250 ms means at most four requests per second.
            "remoteJournalIntervalMs" => pub remote_journal_interval: Duration = "250", Type::milliseconds(0);
            /// Maximum size of journal records waiting for object storage, and of those waiting for other
            /// indexers. Above it, acknowledgements of further events wait for their buckets
            /// (`remoteAckIntervalSecs`).
            "maxRemoteJournalQueue" => pub max_remote_journal_queue: usize = "64MB", Type::size(0);
            /// Number of journal objects at which the hot bucket that retains most of them rolls, because a
            /// recovery reads all of them.
            "maxRemoteJournalObjects" => pub max_remote_journal_objects: usize = "2000", Type::number(2);
            /// Time after which a hot bucket rolls if it has events of an index with `ackLevel = remote` or
            /// `replicated` that are only in the journal of this indexer. A shorter time acknowledges
            /// sooner, but creates more and smaller buckets to merge.
            "remoteAckIntervalSecs" => pub remote_ack_interval: Duration = "5", Type::seconds(0);
            /// Interval between groups of journal records that are sent to other indexers, for which
            /// acknowledgements of indexes with `ackLevel = replicated` wait. Each group is also synced
            /// there, so a longer interval reduces the load of the disks.
            "replicatedJournalIntervalMs" => pub replicated_journal_interval: Duration = "5", Type::milliseconds(0);
            /// Maximum size of rolled buckets that wait on disk for object storage; above it, no events are
            /// accepted. 0: limited only by `minFreeSpace`.
            "maxSpoolSize" => pub max_spool_size: u64 = "0", Type::megabytes(0);
            /// Number of buckets that are encoded concurrently. Each needs one core, and memory of about
            /// three times the bucket's text.
            "encodeConcurrency" => pub encode_concurrency: usize = "2", Type::number(1);
            /// Number of buckets that are uploaded concurrently.
            "uploadConcurrency" => pub upload_concurrency: usize = "2", Type::number(1);
            /// Objects larger than this are uploaded in parts of 16 MB.
            "multipartThreshold" => pub multipart_threshold: u64 = "64MB", Type::size(0);
        }
        fixed {
            /// Text of one batch inside the pipeline. Larger batches cost less per event, smaller ones
            /// become searchable sooner.
            pub batch_size: usize = 1 << 20;
            /// Most event time that a hot bucket spans, where the index does not say (`maxHotSpanSecs`).
            pub max_hot_span: Duration = 90 * DAY;
            /// Hot buckets of an index and set at a time, the quarantine apart, where the index does not say
            /// (`maxHotBuckets`). Events that would stretch all of them roll the least recently used one,
            /// unless it has less than a sixteenth of `maxDataSize`: mixed times should not make tiny
            /// buckets.
            pub max_hot_buckets: usize = 3;
            /// A hot bucket that got nothing for this long rolls (`maxHotIdleSecs`); zero: never.
            pub max_hot_idle: Duration = Duration::from_secs(3600);
            /// Events older than this go to the quarantine bucket (`quarantinePastSecs`).
            pub quarantine_past: Duration = 900 * DAY;
            /// Events further ahead than this go to the quarantine bucket (`quarantineFutureSecs`).
            pub quarantine_future: Duration = 30 * DAY;
            /// Rolled buckets that may wait in memory to be encoded, per set; at the limit large inputs
            /// wait until one is on the disk, and small ones too once the open buckets hold 64 MiB or two
            /// more have rolled.
            pub max_rolled_buckets: usize = 2;
            /// First and longest pause between attempts to upload; the pause doubles, with jitter.
            pub upload_retry: (Duration, Duration) = (Duration::from_millis(200), Duration::from_secs(30));
            /// First and longest pause between attempts to give journal records to copies.
            pub replica_retry: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(1));
            /// How long a stream may be silent before its unfinished event is taken as complete.
            pub stream_idle: Duration = Duration::from_secs(3);
            /// Forwarders' channels whose batches are remembered, so that a batch sent again is recognised;
            /// each takes about a hundred bytes.
            pub max_forwarded_channels: usize = 100_000;
            /// How long a silent channel is remembered. A forwarder that was cut off for longer, with
            /// batches whose acknowledgement it never saw, may have them kept twice.
            pub forwarded_channel_idle: Duration = 30 * DAY;
            /// Rows, columns and compression of buckets.
            pub bucket: bucket::WriteOptions = bucket::WriteOptions::default();
        }
        nested {
            /// Merging, retention, archives.
            pub lifecycle: LifecycleSettings;
            /// Previews of data.
            pub preview: PreviewSettings;
        }
    }
}

/// All declarations of this crate.
pub const DECLARED: &[&[Setting]] =
    &[Settings::SETTINGS, LifecycleSettings::SETTINGS, PreviewSettings::SETTINGS];

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
            ("maxSize", self.queue_size),
            ("batchSize", self.batch_size as u64),
            ("maxBucketSize", self.max_data_size),
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
