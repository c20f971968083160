//! The summary of a bucket, which the catalog has without opening it: used to prune, to count, and to plan.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{BucketId, EventTime, IndexName, TimeRange};

/// A distinct value of host, source or source type, with the columns of the `metadata` command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ValueCount {
    /// The value.
    pub value: String,
    /// Number of events with the value.
    pub count: u64,
    /// Earliest time of these events.
    pub first_time: EventTime,
    /// Latest time of these events.
    pub last_time: EventTime,
    /// Latest arrival time of these events.
    pub recent_time: EventTime,
}

/// The type of a field's column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ColumnKind {
    /// Exact text.
    Text,
    /// 64-bit integers whose decimal form is the exact text of every value.
    Integer,
    /// A list of texts.
    Multivalue,
}

/// A field of the events of a bucket.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FieldSummary {
    /// Field name.
    pub name: String,
    /// Number of events with the field.
    pub count: u64,
    /// The type of its column; `None` if it must be extracted from `_raw`.
    pub column: Option<ColumnKind>,
    /// Whether the field was sent with events, not found in their text: its column is the only copy.
    pub indexed: bool,
    /// Whether some event has several values.
    pub multivalue: bool,
    /// Number of distinct texts in its column; `None` if they do not repeat enough to have been counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub distinct: Option<u64>,
}

/// The contents of a bucket. `fields` is complete for the rules in `rules`, unless `fields_complete` is
/// false (more distinct names than the limit, or an event with more fields than `maxcols`): if it is
/// complete, a name not listed does not occur.
/// not occur.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BucketSummary {
    /// Events in the bucket.
    pub rows: u64,
    /// Bytes of `_raw` before compression.
    pub raw_bytes: u64,
    /// Earliest event time.
    pub first_time: EventTime,
    /// Latest event time.
    pub last_time: EventTime,
    /// First arrival time.
    pub first_index_time: EventTime,
    /// Last arrival time.
    pub last_index_time: EventTime,
    /// Distinct hosts.
    pub hosts: Vec<ValueCount>,
    /// Distinct sources.
    pub sources: Vec<ValueCount>,
    /// Distinct source types.
    pub sourcetypes: Vec<ValueCount>,
    /// Field catalogue, sorted by name.
    pub fields: Vec<FieldSummary>,
    /// Whether `fields` has every field that occurs, with all its values counted.
    pub fields_complete: bool,
    /// The fingerprint of the extraction rules used for the columns, per source type; sorted.
    pub rules: Vec<(String, u64)>,
}

impl BucketSummary {
    /// The summary of events between these times, one byte each, without host, source, source type or
    /// fields. A starting point for tests and simulations.
    #[must_use]
    pub const fn bare(rows: u64, first: EventTime, last: EventTime) -> Self {
        Self {
            rows,
            raw_bytes: rows,
            first_time: first,
            last_time: last,
            first_index_time: first,
            last_index_time: last,
            hosts: Vec::new(),
            sources: Vec::new(),
            sourcetypes: Vec::new(),
            fields: Vec::new(),
            fields_complete: true,
            rules: Vec::new(),
        }
    }

    /// The entry of a field in the catalogue.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<&FieldSummary> {
        let found = self.fields.binary_search_by(|field| field.name.as_str().cmp(name));
        found.ok().map(|at| &self.fields[at])
    }

    /// Whether any event may be within the range.
    #[must_use]
    pub fn overlaps(&self, range: &TimeRange) -> bool {
        range.overlaps(self.first_time, self.last_time)
    }
}

/// The state of a bucket in its lifecycle, after it has left the indexer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BucketState {
    /// In object storage and searchable.
    Warm,
    /// Restored from an archive: searchable, and ignored by retention until it is frozen manually.
    Thawed,
    /// Archived or deleted by retention; not searched.
    Frozen,
}

impl BucketState {
    /// Whether searches read it.
    #[must_use]
    pub const fn is_searchable(self) -> bool {
        matches!(self, Self::Warm | Self::Thawed)
    }
}

/// A bucket in the catalog.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BucketEntry {
    /// Its identity.
    pub id: BucketId,
    /// The index it belongs to.
    pub index: IndexName,
    /// Path of its object below the deployment's root.
    pub path: String,
    /// Size of the object in bytes.
    pub size: u64,
    /// Its state in the bucket lifecycle.
    pub state: BucketState,
    /// Its contents.
    pub summary: Arc<BucketSummary>,
}
