//! Settings of `indexes.conf`, a stanza per index.

use std::time::Duration;

use conf::{FromValue, Setting, Type, Value};
use serde::{Deserialize, Serialize};

/// How durable an event is when its acknowledgement is sent (`ackLevel`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AckLevel {
    /// In the indexer's journal, synced to disk.
    #[default]
    Local,
    /// In the journal, synced to disk, and in object storage.
    Remote,
    /// In the journals of several indexers, synced to disk.
    Replicated,
}

impl AckLevel {
    /// The values of the setting.
    pub const NAMES: &'static [&'static str] = &["local", "remote", "replicated"];

    /// Returns the level with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "local" => Some(Self::Local),
            "remote" => Some(Self::Remote),
            "replicated" => Some(Self::Replicated),
            _ => None,
        }
    }

    /// Returns its name, as in `indexes.conf`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Local => "local",
            Self::Remote => "remote",
            Self::Replicated => "replicated",
        }
    }
}

impl FromValue for AckLevel {
    fn from_value(value: Value<'_>) -> Option<Self> {
        match value {
            Value::Text(name) => Self::named(name),
            _ => None,
        }
    }
}

/// `datatype` of indexes of metric data points.
pub(crate) const METRIC: &str = "metric";

/// Returns the type of a setting that is a whole number or `auto`.
const fn or_auto(expected: &'static str) -> Type {
    Type::Form { expected, fits: |text| text == "auto" || text.parse::<u64>().is_ok() }
}

const DATA_SIZE: Type = Type::Form {
    expected: "auto (192 MB), auto_high_volume (1 GB) or a whole number of MB",
    fits: |text| matches!(text, "auto" | "auto_high_volume") || text.parse::<u64>().is_ok(),
};

conf::keys! {
    "indexes"["<index>"] {
        /// Size of the raw text at which a hot bucket rolls.
        MAX_DATA_SIZE: String = "maxDataSize", "auto", DATA_SIZE;
        /// Maximum time span of the events in a hot bucket.
        MAX_HOT_SPAN: Duration = "maxHotSpanSecs", "7776000", Type::seconds(0);
        /// Time without new events after which a hot bucket rolls; 0 for never.
        MAX_HOT_IDLE: Duration = "maxHotIdleSecs", "0", Type::seconds(0);
        /// Maximum number of hot buckets; auto is 3.
        MAX_HOT_BUCKETS: String = "maxHotBuckets", "auto", or_auto("auto (3) or a whole number");
        /// Age at which a bucket is frozen.
        FROZEN_AFTER: Duration = "frozenTimePeriodInSecs", "188697600", Type::seconds(0);
        /// Events older than this go to a quarantine bucket.
        QUARANTINE_PAST: Duration = "quarantinePastSecs", "77760000", Type::seconds(0);
        /// Events further in the future than this go to a quarantine bucket.
        QUARANTINE_FUTURE: Duration = "quarantineFutureSecs", "2592000", Type::seconds(0);
        /// Size of the index above which its oldest buckets are frozen.
        MAX_TOTAL_SIZE: u64 = "maxTotalDataSizeMB", "500000", Type::megabytes(0);
        /// When events are acknowledged: local (after a sync of the journal), remote (after the upload to
        /// object storage) or replicated (after a sync of the journals of replication_factor indexers).
        ACK_LEVEL: AckLevel = "ackLevel", "local", Type::Choice(AckLevel::NAMES);
        /// Archive for frozen buckets: a prefix in object storage, an absolute directory or
        /// s3://bucket/prefix. Default: frozen buckets are deleted.
        COLD_TO_FROZEN: Option<String> = "coldToFrozenDir", "", Type::Text;
        /// What the index holds. Searches of events, tstats, metadata and typeahead leave out an index of
        /// type metric, also the events in it; mstats, mcatalog and mpreview read its data points.
        DATATYPE: String = "datatype", "event", Type::Choice(&["event", METRIC]);
        /// Whether the index is disabled.
        DISABLED: bool = "disabled", "false", Type::Boolean;
    }
}

/// Settings of Splunk's file that have no effect.
pub(crate) const UNUSED: &[Setting] = &conf::without_effect(
    "indexes",
    [
        "bloomHomePath",
        "coldPath",
        "coldPath.maxDataSizeMB",
        "coldToFrozenScript",
        "defaultDatabase",
        "enableDataArchive",
        "enableTsidxReduction",
        "homePath",
        "homePath.maxDataSizeMB",
        "hotlist_recency_secs",
        "journalCompression",
        "maxConcurrentOptimizes",
        "maxDataArchiveRetentionPeriod",
        "maxGlobalDataSizeMB",
        "maxGlobalRawDataSizeMB",
        "maxWarmDBCount",
        "minRawFileSyncSecs",
        "path",
        "queryLanguageDefinition",
        "rawChunkSizeBytes",
        "remotePath",
        "repFactor",
        "serviceMetaPeriod",
        "storageType",
        "summaryHomePath",
        "syncMeta",
        "thawedPath",
        "timePeriodInSecBeforeTsidxReduction",
        "tstatsHomePath",
    ],
);
