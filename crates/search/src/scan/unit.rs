//! A unit of scanning: one bucket, hot or stored, and how each needed column is had from it.

use std::sync::Arc;

use arrow::array::{AsArray, RecordBatch};
use arrow::datatypes::TimestampMicrosecondType;
use bucket::{BucketReader, GranuleSet, HotBucket};
use model::{BucketEntry, BucketSummary, ColumnKind, EventTime, IndexName, columns};

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

    /// Oldest and newest event.
    pub(super) fn span(&self) -> (EventTime, EventTime) {
        match self {
            Self::Hot(hot) => (hot.first_time, hot.last_time),
            Self::Stored(entry) => (entry.summary.first_time, entry.summary.last_time),
        }
    }
}

/// A part of a bucket whose candidate rows are known.
#[derive(Debug, Clone)]
pub(super) enum Opened {
    /// A hot batch that may have matching rows.
    Hot(IndexName, RecordBatch),
    /// Granules of an object that may have matching rows.
    Stored(StoredPart),
    /// So many rows match, and nobody wants to see them.
    Counted(u64),
}

/// Granules of a stored bucket.
#[derive(Debug, Clone)]
pub(super) struct StoredPart {
    pub(super) entry: Arc<BucketEntry>,
    pub(super) reader: Arc<BucketReader>,
    pub(super) granules: GranuleSet,
    /// Whether few of their rows match, as far as the term index knows.
    pub(super) sparse: bool,
}

impl Opened {
    /// First and last time of what may match; `None` where that does not matter.
    pub(super) fn span(&self) -> Option<(EventTime, EventTime)> {
        match self {
            Self::Hot(_, batch) => span_of(batch),
            Self::Stored(part) => span_of_granules(&part.reader, &part.granules),
            Self::Counted(_) => None,
        }
    }
}

/// First and last time of granules; `None` without granules.
pub(super) fn span_of_granules(
    reader: &BucketReader,
    granules: &GranuleSet,
) -> Option<(EventTime, EventTime)> {
    let times = granules.iter().map(|granule| reader.granule_times()[granule]);
    times.reduce(|(first, last), (from, to)| (first.min(from), last.max(to)))
}

/// First and last time of rows; `None` without rows.
pub(super) fn span_of(batch: &RecordBatch) -> Option<(EventTime, EventTime)> {
    let times = batch.column_by_name(columns::TIME)?;
    let times = times.as_primitive_opt::<TimestampMicrosecondType>()?;
    let (first, last) = (arrow::compute::min(times)?, arrow::compute::max(times)?);
    Some((EventTime(first), EventTime(last)))
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
