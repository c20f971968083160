//! The header of a bucket, which the catalog keeps in memory: enough to find it by time, to merge and to
//! freeze it.
//!
//! A catalog has millions of buckets, so that a header is small and has no list that grows with the data.
//! Counts by host, source, source type and field are in the [`BucketSummary`], which is read when it is
//! needed.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{
    BucketEntry, BucketId, BucketState, BucketSummary, EventTime, IndexName, TimeRange, columns,
};

/// The part of a header that planning reads for every bucket. Many buckets have equal shapes, which they
/// share.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct BucketShape {
    /// The source types of its events, in the order of the summary.
    pub sourcetypes: Vec<String>,
    /// Per source type, the fingerprint of the extraction rules, as in [`BucketSummary::rules`].
    pub rules: Vec<(String, u64)>,
    /// Fields that have several values in some event.
    pub multivalue: Vec<String>,
}

impl BucketShape {
    /// The shape of a summary.
    #[must_use]
    pub fn of(summary: &BucketSummary) -> Self {
        let sourcetypes = summary.sourcetypes.iter().map(|known| known.value.clone());
        let multivalue = summary.fields.iter().filter(|field| field.multivalue);
        Self {
            sourcetypes: sourcetypes.collect(),
            rules: summary.rules.clone(),
            multivalue: multivalue.map(|field| field.name.clone()).collect(),
        }
    }
}

/// A bucket of the catalog without its summary. Serialised, it has no shape, because shapes are shared.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BucketHeader {
    /// Its identity.
    pub id: BucketId,
    /// The index it belongs to.
    pub index: IndexName,
    /// The path of its object, if it cannot be derived from index, ID and time.
    pub other_path: Option<Box<str>>,
    /// Size of the object in bytes.
    pub size: u64,
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
    /// Number of the catalog write that added the bucket or changed its state; 0 if the bucket is not in
    /// the catalog, or was added before writes were numbered.
    pub version: u64,
    /// Fingerprint of the summary; 0 if the bucket is not in the catalog.
    pub fingerprint: u64,
    /// Source types, rules and multivalue fields; `None` if they are too large to be kept in memory: then
    /// they are in the summary only.
    #[serde(skip)]
    pub shape: Option<Arc<BucketShape>>,
    /// Its state in the bucket lifecycle.
    pub state: BucketState,
    /// Whether the field catalogue of the summary has every field that occurs.
    pub fields_complete: bool,
    /// Whether some events are rows of a summary index ([`columns::SUMMARY_VERSION`]).
    pub summary_rows: bool,
}

impl BucketHeader {
    /// The header of a bucket with a known summary.
    #[must_use]
    pub fn of(entry: &BucketEntry) -> Self {
        let summary = &entry.summary;
        let mut header = Self {
            id: entry.id,
            index: entry.index.clone(),
            other_path: None,
            size: entry.size,
            rows: summary.rows,
            raw_bytes: summary.raw_bytes,
            first_time: summary.first_time,
            last_time: summary.last_time,
            first_index_time: summary.first_index_time,
            last_index_time: summary.last_index_time,
            version: 0,
            fingerprint: 0,
            shape: Some(Arc::new(BucketShape::of(summary))),
            state: entry.state,
            fields_complete: summary.fields_complete,
            summary_rows: summary.field(columns::SUMMARY_VERSION).is_some(),
        };
        if header.path() != entry.path {
            header.other_path = Some(entry.path.as_str().into());
        }
        header
    }

    /// Path of its object below the deployment's root.
    #[must_use]
    pub fn path(&self) -> String {
        match &self.other_path {
            Some(path) => path.to_string(),
            None => self.id.object_path(&self.index, &self.last_time.day()),
        }
    }

    /// Whether any event may be within the range.
    #[must_use]
    pub fn overlaps(&self, range: &TimeRange) -> bool {
        range.overlaps(self.first_time, self.last_time)
    }

    /// Combines the header and its summary.
    #[must_use]
    pub fn with_summary(&self, summary: Arc<BucketSummary>) -> BucketEntry {
        BucketEntry {
            id: self.id,
            index: self.index.clone(),
            path: self.path(),
            size: self.size,
            state: self.state,
            summary,
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn entry(path: &str, last: i64) -> BucketEntry {
        let time = EventTime(last);
        let summary = BucketSummary { raw_bytes: 2, ..BucketSummary::bare(1, time, time) };
        BucketEntry {
            id: BucketId(uuid::Uuid::from_u128(7)),
            index: IndexName::new("main").unwrap(),
            path: path.to_owned(),
            size: 3,
            state: BucketState::Warm,
            summary: Arc::new(summary),
        }
    }

    #[test]
    fn a_path_that_follows_from_the_rest_is_not_kept() {
        let usual = "buckets/main/20261124/00000000000000000000000000000007.parquet";
        for (path, is_kept) in [(usual, false), ("buckets/main/other.parquet", true)] {
            let entry = entry(path, 1_795_564_799_000_000);
            let header = BucketHeader::of(&entry);
            assert_eq!(header.other_path.is_some(), is_kept);
            assert_eq!(header.path(), path);
            assert_eq!(header.with_summary(Arc::clone(&entry.summary)), entry);
        }
    }
}
