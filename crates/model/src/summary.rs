//! What the catalog knows of a bucket without opening it: enough to prune, to count, and to plan.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{BucketId, EventTime, IndexName, TimeRange};

/// A distinct value of host, source or sourcetype, with what `metadata` reports of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ValueCount {
    /// The value.
    pub value: String,
    /// Events that have it.
    pub count: u64,
    /// Earliest event time among them.
    pub first_time: EventTime,
    /// Latest event time among them.
    pub last_time: EventTime,
    /// Latest arrival among them.
    pub recent_time: EventTime,
}

/// How a field is stored as a column of its own.
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

/// A field that indexing saw in the bucket.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FieldSummary {
    /// Field name.
    pub name: String,
    /// Events that have it.
    pub count: u64,
    /// How it is shredded, or `None` where it must be extracted from `_raw`.
    pub column: Option<ColumnKind>,
    /// Sent along with events rather than found in their text: the column is the only copy.
    pub indexed: bool,
    /// Whether some event has several values.
    pub multivalue: bool,
    /// How many different texts its column has, where they repeat enough to have been counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub distinct: Option<u64>,
}

/// What is in a bucket. `fields` is complete for the rules in `rules`, unless `fields_complete` is false
/// (more distinct names than the limit, or an event with more fields than `maxcols`): a name not listed does
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
    /// First arrival.
    pub first_index_time: EventTime,
    /// Last arrival.
    pub last_index_time: EventTime,
    /// Distinct hosts.
    pub hosts: Vec<ValueCount>,
    /// Distinct sources.
    pub sources: Vec<ValueCount>,
    /// Distinct source types.
    pub sourcetypes: Vec<ValueCount>,
    /// Field catalogue, sorted by name.
    pub fields: Vec<FieldSummary>,
    /// Whether `fields` names every field that occurs, with all its values counted.
    pub fields_complete: bool,
    /// Per sourcetype, the fingerprint of the extraction rules the columns were made with (sorted).
    pub rules: Vec<(String, u64)>,
}

impl BucketSummary {
    /// The summary of events between these times, one byte each, that have no host, source, source type or
    /// field. Tests and simulations begin with it.
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

    /// The catalogue's word on a field.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<&FieldSummary> {
        let found = self.fields.binary_search_by(|field| field.name.as_str().cmp(name));
        found.ok().map(|at| &self.fields[at])
    }

    /// Whether any event may lie in the range.
    #[must_use]
    pub fn overlaps(&self, range: &TimeRange) -> bool {
        range.overlaps(self.first_time, self.last_time)
    }
}

/// Where a bucket is in its life, once it has left the indexer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BucketState {
    /// In object storage and searchable.
    Warm,
    /// Brought back from an archive: searchable, and left alone by retention until it is frozen by
    /// hand.
    Thawed,
    /// Archived or deleted by retention; not searched.
    Frozen,
}

impl BucketState {
    /// Whether searches look into it.
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
    /// Where it is in its life.
    pub state: BucketState,
    /// What is in it.
    pub summary: Arc<BucketSummary>,
}
