//! A unit of scanning: one bucket, hot or stored, and how each needed column is had from it.

use std::sync::Arc;

use arrow::array::{AsArray, RecordBatch};
use arrow::datatypes::TimestampMicrosecondType;
use bucket::{BucketReader, GranuleSet, HotBucket, RemoteView};
use model::{BucketHeader, BucketId, BucketSummary, ColumnKind, EventTime, IndexName, columns};

use super::stale::Stale;

/// One bucket to scan.
#[derive(Debug, Clone)]
pub(super) enum Unit {
    /// Rows in memory.
    Hot(HotBucket),
    /// An object, to be opened.
    Stored(Stored),
}

/// A stored bucket, with its summary if planning has read it. Without, its object has the same summary.
#[derive(Debug, Clone)]
pub(super) struct Stored {
    pub(super) header: Arc<BucketHeader>,
    pub(super) summary: Option<Arc<BucketSummary>>,
    /// The view of another process that it is part of, while it waits for its upload there.
    pub(super) view: Option<Arc<dyn RemoteView>>,
}

impl Stored {
    /// A bucket of the catalog, as it is in memory.
    pub(super) fn of(header: &Arc<BucketHeader>) -> Self {
        Self { header: Arc::clone(header), summary: None, view: None }
    }

    pub(super) fn known(&self) -> Known<'_> {
        Known { header: &self.header, summary: self.summary.as_deref() }
    }
}

/// What is known of a stored bucket before its rows are read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Known<'a> {
    pub(super) header: &'a BucketHeader,
    pub(super) summary: Option<&'a BucketSummary>,
}

impl<'a> Known<'a> {
    /// Whether the test holds for all source types of its events; `None` if only the summary has them, and it
    /// has not been read.
    pub(super) fn all_sourcetypes(self, test: impl Fn(&str) -> bool) -> Option<bool> {
        match &self.header.shape {
            Some(shape) => Some(shape.sourcetypes.iter().all(|name| test(name))),
            None => Some(self.summary?.sourcetypes.iter().all(|known| test(&known.value))),
        }
    }

    /// The rules that its columns were made with.
    pub(super) fn rules(self) -> Option<&'a [(String, u64)]> {
        match self.summary {
            Some(summary) => Some(&summary.rules),
            None => self.header.shape.as_deref().map(|shape| shape.rules.as_slice()),
        }
    }
}

impl Unit {
    /// A hot bucket: its rows, or its file once the indexer has put it aside.
    pub(super) fn of_hot(hot: HotBucket) -> Self {
        match hot.stored {
            Some(entry) => Self::Stored(Stored {
                header: Arc::new(BucketHeader::of(&entry)),
                summary: Some(Arc::clone(&entry.summary)),
                view: hot.elsewhere.map(|elsewhere| elsewhere.view),
            }),
            None => Self::Hot(hot),
        }
    }

    /// Its identity.
    pub(super) fn id(&self) -> BucketId {
        match self {
            Self::Hot(hot) => hot.id,
            Self::Stored(stored) => stored.header.id,
        }
    }

    /// The view of another process that it is part of, if it has stayed there.
    pub(super) fn view(&self) -> Option<&Arc<dyn RemoteView>> {
        match self {
            Self::Hot(hot) => hot.elsewhere.as_ref().map(|elsewhere| &elsewhere.view),
            Self::Stored(stored) => stored.view.as_ref(),
        }
    }

    /// Its header, if it is in the catalog: any process can read it.
    pub(super) fn header(&self) -> Option<&Arc<BucketHeader>> {
        match self {
            // A bucket that waits for its upload is in no write of the catalog.
            Self::Stored(stored) if stored.header.version > 0 => Some(&stored.header),
            _ => None,
        }
    }

    /// How many events it has.
    pub(super) fn rows(&self) -> u64 {
        match self {
            Self::Hot(hot) => hot.rows,
            Self::Stored(stored) => stored.header.rows,
        }
    }

    /// Oldest and newest event.
    pub(super) fn span(&self) -> (EventTime, EventTime) {
        match self {
            Self::Hot(hot) => (hot.first_time, hot.last_time),
            Self::Stored(stored) => (stored.header.first_time, stored.header.last_time),
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
    pub(super) header: Arc<BucketHeader>,
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
    /// A column of the object for events of source types whose rules are those of today; `_raw`, by
    /// extraction, for the others.
    Partly(ColumnKind),
    /// `_raw`, by extraction; and a column of fields sent along, which wins, if `indexed`.
    Raw { indexed: Option<ColumnKind> },
}

impl FieldPlace {
    /// Decides by the bucket's field catalogue.
    pub(super) fn of(name: &str, summary: &BucketSummary, stale: &Stale) -> Self {
        let known = summary.field(name);
        match known {
            // The column holds what senders attached; the text may have the field too.
            Some(field) if field.indexed => Self::Raw { indexed: field.column },
            Some(field) => match (stale, field.column) {
                (Stale::Nothing, Some(kind)) => Self::Column(kind),
                (Stale::Some(_), Some(kind)) => Self::Partly(kind),
                _ => Self::Raw { indexed: None },
            },
            None if stale.is_nothing() && summary.fields_complete => Self::Absent,
            None => Self::Raw { indexed: None },
        }
    }

    /// Whether the text of some event of a source type may have a value of the field that no column has.
    pub(super) fn may_be_in_texts(
        reader: &BucketReader,
        stale: &Stale,
        name: &str,
        sourcetype: &str,
    ) -> bool {
        if stale.has(sourcetype) {
            return true;
        }
        let summary = reader.summary();
        match Self::of(name, summary, stale) {
            Self::Partly(_) => false,
            // It is in the catalogue if the text of any other event has it.
            Self::Raw { indexed: None } if summary.field(name).is_none() => {
                !summary.fields_complete
            }
            _ => reader.may_be_in_texts(name, sourcetype),
        }
    }
}
