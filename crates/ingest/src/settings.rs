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
            /// Pipeline sets that run side by side with nothing shared. Each takes up to about two cores at
            /// full speed and has hot buckets of its own, so more sets mean more, smaller buckets.
            "parallelIngestionPipelines" => pub parallel_ingestion_pipelines: u16 = "1", Type::number(1);
        }
        "server"["queue"] {
            /// Bytes that may wait before each stage. Larger queues ride out longer stalls and take memory:
            /// there are five per set.
            "maxSize" => pub queue_size: u64 = "16MB", Type::size(1);
        }
        "server"["diskUsage"] {
            /// Free space of the data directory's file system below which nothing is taken in; on small
            /// disks at most a twentieth of the disk.
            "minFreeSpace" => pub min_free_space: u64 = "5000", Type::megabytes(0);
        }
        "server"["license"] {
            /// Combinations of index, source type, source and host whose events are counted on their own in
            /// each interval of the server's own events; further ones are counted without source and host.
            "squash_threshold" => pub squash_threshold: usize = "2000", Type::number(1);
        }
        "server"["ingest"] {
            /// How long an input waits for room in a full queue before it is refused.
            "queueWaitSecs" => pub queue_wait: Duration = "10", Type::seconds(0);
            /// Most bytes of one event, its indexed fields included. Requests with a larger one are
            /// refused; text that is cut into events here is cut at this length where `TRUNCATE` is 0
            /// (unlimited) or larger.
            "maxEventSize" => pub max_event_size: usize = "10MB", Type::size(1);
            /// Bytes in `data/rejected` above which only the first 64 KB of an event that is set aside are
            /// kept.
            "maxRejectedSize" => pub max_rejected_size: u64 = "1GB", Type::size(0);
            /// Most indexed fields of one event, one for each value.
            "maxEventFields" => pub max_event_fields: usize = "1000", Type::number(1);
            /// Longest name of an indexed field.
            "maxFieldNameSize" => pub max_field_name_size: usize = "1KB", Type::size(1);
            /// How deep objects and lists may lie in each other in events that are JSON.
            "maxEventDepth" => pub max_event_depth: usize = "200", Type::number(1);
            /// How long the journal waits for more records before it syncs a group. Zero syncs at once;
            /// while a sync runs, the next group gathers by itself.
            "journalGroupIntervalMs" => pub journal_group_interval: Duration = "0", Type::milliseconds(0);
            /// A group is synced at this size even if the interval is not over.
            "journalGroupSize" => pub journal_group_size: usize = "8MB", Type::size(0);
            /// A journal segment ends at this size; it is deleted as a whole.
            "journalSegmentSize" => pub journal_segment_size: u64 = "64MB", Type::size(0);
            /// Compression of journal records.
            "journalCodec" => pub journal_codec: Codec = "lz4", Type::Choice(&["lz4", "zstd", "none"]);
            /// Journal of one set above which the hot bucket that keeps the most of it rolls, so that an
            /// index with few events does not keep the journal of all others.
            "maxJournalSize" => pub max_journal_size: u64 = "2GB", Type::size(0);
            /// Most raw text at which a hot bucket rolls, whatever the index's `maxDataSize` says: hot
            /// buckets live in memory.
            "maxBucketSize" => pub max_data_size: u64 = "1GB", Type::size(1);
            /// Raw text of all hot buckets together; over it the largest of the set rolls.
            "maxHotMemory" => pub max_hot_memory: u64 = "2GB", Type::size(0);
            /// Time between two objects of the journal in object storage, which acknowledgements of indexes
            /// with `ackLevel = remote` wait for. Shorter answers senders sooner and makes more requests:
            /// 250 ms are at most four a second.
            "remoteJournalIntervalMs" => pub remote_journal_interval: Duration = "250", Type::milliseconds(0);
            /// Journal records that may wait for object storage, and for other indexers. While there are
            /// more, acknowledgements of further events wait for their buckets
            /// (`remoteAckIntervalSecs`).
            "maxRemoteJournalQueue" => pub max_remote_journal_queue: usize = "64MB", Type::size(0);
            /// Journal objects at which the hot bucket that keeps the most of them rolls: a recovery reads
            /// them all.
            "maxRemoteJournalObjects" => pub max_remote_journal_objects: usize = "2000", Type::number(2);
            /// How long events of an index with `ackLevel = remote` or `replicated` that are only in the
            /// journal of this indexer wait in a hot bucket before it rolls. Shorter answers senders
            /// sooner and makes more, smaller buckets for merging to join.
            "remoteAckIntervalSecs" => pub remote_ack_interval: Duration = "5", Type::seconds(0);
            /// Time between two groups of journal records that copies at other indexers get, which
            /// acknowledgements of indexes with `ackLevel = replicated` wait for. A group is also synced
            /// there: longer takes less of the disks.
            "replicatedJournalIntervalMs" => pub replicated_journal_interval: Duration = "5", Type::milliseconds(0);
            /// Finished buckets that may wait on the disk for object storage; over it nothing more is let
            /// in. 0: as much as `minFreeSpace` allows.
            "maxSpoolSize" => pub max_spool_size: u64 = "0", Type::megabytes(0);
            /// Buckets that are encoded at the same time; each takes a core and about three times the
            /// bucket's text in memory.
            "encodeConcurrency" => pub encode_concurrency: usize = "2", Type::number(1);
            /// Buckets that are uploaded at the same time.
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
