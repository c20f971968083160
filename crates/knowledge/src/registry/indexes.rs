//! Settings of `indexes.conf`.

use super::{Setting, unused, used};

pub(super) const SETTINGS: &[Setting] = &[
    used(
        "maxDataSize",
        "raw size at which a hot bucket rolls: auto (192 MB), auto_high_volume (1 GB) or MB",
    ),
    used("maxHotSpanSecs", "seconds of event time a hot bucket may span; default 7776000"),
    used(
        "maxHotIdleSecs",
        "seconds without events after which a hot bucket rolls, 0 for never; default 0",
    ),
    used("maxHotBuckets", "hot buckets at a time: auto (3) or a number"),
    used("frozenTimePeriodInSecs", "seconds after which a bucket is frozen; default 188697600"),
    used(
        "quarantinePastSecs",
        "events older than this many seconds go to a quarantine bucket; default 77760000",
    ),
    used(
        "quarantineFutureSecs",
        "events further ahead than this many seconds go to a quarantine bucket; default 2592000",
    ),
    used(
        "maxTotalDataSizeMB",
        "size of the index above which its oldest buckets freeze; default 500000",
    ),
    used(
        "ackLevel",
        "when senders get their acknowledgement: local (synced in the journal; the default) or remote (in object storage)",
    ),
    used(
        "coldToFrozenDir",
        "where frozen buckets are kept: a prefix in object storage, a directory (absolute) or s3://bucket/prefix; default: none, they are deleted",
    ),
    used(
        "rotatePeriodInSecs",
        "[default]: seconds between looks at what is to be frozen, merged or deleted; default 60",
    ),
    used("disabled", "whether the index is switched off; default false"),
    used(
        "remote.s3.max_count.max_retries_per_part",
        "[default]: how often a failed request to S3 is sent again; default 10 (Splunk: 9)",
    ),
    used(
        "remote.s3.retry_timeout",
        "[default]: ms that all tries of one request to S3 may take together; default 180000",
    ),
    used("remote.s3.timeout.connect", "[default]: ms to connect to S3; default 5000"),
    used(
        "remote.s3.timeout.read",
        "[default]: ms that one try of a request to S3 may take, body included; default 60000",
    ),
    unused("homePath"),
    unused("coldPath"),
    unused("thawedPath"),
    unused("remotePath"),
    unused("tstatsHomePath"),
    unused("summaryHomePath"),
    unused("bloomHomePath"),
    unused("coldToFrozenScript"),
    unused("datatype"),
    unused("repFactor"),
    unused("defaultDatabase"),
    unused("queryLanguageDefinition"),
    unused("maxWarmDBCount"),
    unused("maxConcurrentOptimizes"),
    unused("minRawFileSyncSecs"),
    unused("rawChunkSizeBytes"),
    unused("syncMeta"),
    unused("serviceMetaPeriod"),
    unused("homePath.maxDataSizeMB"),
    unused("coldPath.maxDataSizeMB"),
    unused("journalCompression"),
    unused("enableTsidxReduction"),
    unused("timePeriodInSecBeforeTsidxReduction"),
    unused("enableDataArchive"),
    unused("maxDataArchiveRetentionPeriod"),
    unused("maxGlobalDataSizeMB"),
    unused("maxGlobalRawDataSizeMB"),
    unused("hotlist_recency_secs"),
    unused("path"),
    unused("storageType"),
];
