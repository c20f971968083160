//! A unit of scanning: one bucket, hot or stored, and how each needed column is had from it.

use std::sync::Arc;

use arrow::array::RecordBatch;
use bucket::{BucketReader, GranuleSet, HotBucket};
use model::{BucketEntry, BucketSummary, ColumnKind, IndexName};

/// One bucket to scan.
#[derive(Debug, Clone)]
pub(super) enum Unit {
    /// Rows in memory.
    Hot(HotBucket),
    /// An object, to be opened.
    Stored(Arc<BucketEntry>),
}

impl Unit {
    /// A hot bucket: its rows, or its file once the indexer has put it aside.
    pub(super) fn of_hot(hot: HotBucket) -> Self {
        match hot.stored {
            Some(entry) => Self::Stored(entry),
            None => Self::Hot(hot),
        }
    }

    /// How many events it has.
    pub(super) fn rows(&self) -> u64 {
        match self {
            Self::Hot(hot) => hot.rows,
            Self::Stored(entry) => entry.summary.rows,
        }
    }

    /// Newest event, for the order in which units are read.
    pub(super) fn last_time(&self) -> model::EventTime {
        match self {
            Self::Hot(hot) => hot.last_time,
            Self::Stored(entry) => entry.summary.last_time,
        }
    }
}

/// A part of a bucket whose candidate rows are known.
#[derive(Debug, Clone)]
pub(super) enum Opened {
    /// A hot batch that may have matching rows.
    Hot(IndexName, RecordBatch),
    /// Granules of an object that may have matching rows.
    Stored(Arc<BucketEntry>, Arc<BucketReader>, GranuleSet),
}

/// Where the values of a field come from in one bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FieldPlace {
    /// A column of the object, made by the rules of today.
    Column(ColumnKind),
    /// It does not occur.
    Absent,
    /// `_raw`, by extraction; and a column of fields sent along, which wins, if `indexed`.
    Raw { indexed: Option<ColumnKind> },
}

impl FieldPlace {
    /// Decides by the bucket's field catalogue. `rules_hold` says whether the rules that made it
    /// are still those of today.
    pub(super) fn of(name: &str, summary: &BucketSummary, rules_hold: bool) -> Self {
        let known = summary.field(name);
        match known {
            // The column holds what senders attached; the text may have the field too.
            Some(field) if field.indexed => Self::Raw { indexed: field.column },
            Some(field) if rules_hold => {
                field.column.map_or(Self::Raw { indexed: None }, Self::Column)
            }
            None if rules_hold && summary.fields_complete => Self::Absent,
            _ => Self::Raw { indexed: None },
        }
    }
}
