//! A unit of scanning: one bucket, hot or stored, and the place of each needed column in it.

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
    /// An object that must be opened.
    Stored(Stored),
}

/// A stored bucket. If planning has not read its summary, the object contains it.
#[derive(Debug, Clone)]
pub(super) struct Stored {
    pub(super) header: Arc<BucketHeader>,
    pub(super) summary: Option<Arc<BucketSummary>>,
    /// The view of another process, if the bucket waits for its upload there.
    pub(super) view: Option<Arc<dyn RemoteView>>,
}

impl Stored {
    /// Creates the unit of a bucket of the catalog.
    pub(super) fn of(header: &Arc<BucketHeader>) -> Self {
        Self { header: Arc::clone(header), summary: None, view: None }
    }

    pub(super) fn known(&self) -> Known<'_> {
        Known { header: &self.header, summary: self.summary.as_deref() }
    }
}

/// Facts about a stored bucket before its rows are read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Known<'a> {
    pub(super) header: &'a BucketHeader,
    pub(super) summary: Option<&'a BucketSummary>,
}

impl<'a> Known<'a> {
    /// Whether the test holds for all source types of its events; `None` if only an unread summary lists
    /// them.
    pub(super) fn all_sourcetypes(self, test: impl Fn(&str) -> bool) -> Option<bool> {
        match &self.header.shape {
            Some(shape) => Some(shape.sourcetypes.iter().all(|name| test(name))),
            None => Some(self.summary?.sourcetypes.iter().all(|known| test(&known.value))),
        }
    }

    /// Returns the rules with which its columns were made.
    pub(super) fn rules(self) -> Option<&'a [(String, u64)]> {
        match self.summary {
            Some(summary) => Some(&summary.rules),
            None => self.header.shape.as_deref().map(|shape| shape.rules.as_slice()),
        }
    }
}

impl Unit {
    /// Creates the unit of a hot bucket: its rows, or its file once the indexer has spooled it.
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

    /// Returns the bucket id.
    pub(super) fn id(&self) -> BucketId {
        match self {
            Self::Hot(hot) => hot.id,
            Self::Stored(stored) => stored.header.id,
        }
    }

    /// Returns the view of another process, if the bucket has stayed there.
    pub(super) fn view(&self) -> Option<&Arc<dyn RemoteView>> {
        match self {
            Self::Hot(hot) => hot.elsewhere.as_ref().map(|elsewhere| &elsewhere.view),
            Self::Stored(stored) => stored.view.as_ref(),
        }
    }

    /// Returns the header if the bucket is in the catalog, so that any process can read it.
    pub(super) fn header(&self) -> Option<&Arc<BucketHeader>> {
        match self {
            // A bucket that waits for its upload has no version in the catalog.
            Self::Stored(stored) if stored.header.version > 0 => Some(&stored.header),
            _ => None,
        }
    }

    /// Returns the number of events.
    pub(super) fn rows(&self) -> u64 {
        match self {
            Self::Hot(hot) => hot.rows,
            Self::Stored(stored) => stored.header.rows,
        }
    }

    /// Returns the times of the oldest and the newest event.
    pub(super) fn span(&self) -> (EventTime, EventTime) {
        match self {
            Self::Hot(hot) => (hot.first_time, hot.last_time),
            Self::Stored(stored) => (stored.header.first_time, stored.header.last_time),
        }
    }
}

/// A part of a bucket with known candidate rows.
#[derive(Debug, Clone)]
pub(super) enum Opened {
    /// Hot rows that may match.
    Hot(HotPart),
    /// Granules of an object that may have matching rows.
    Stored(StoredPart),
    /// A number of matching rows whose contents are not needed.
    Counted(u64),
}

/// Rows of a hot batch.
#[derive(Debug, Clone)]
pub(super) struct HotPart {
    pub(super) index: IndexName,
    pub(super) rows: RecordBatch,
    /// The times of the oldest and the newest row.
    pub(super) span: Option<(EventTime, EventTime)>,
    /// Whether these are all rows of the batch, of which no word filters could be used.
    pub(super) is_unfiltered: bool,
}

/// Granules of a stored bucket.
#[derive(Debug, Clone)]
pub(super) struct StoredPart {
    pub(super) header: Arc<BucketHeader>,
    pub(super) reader: Arc<BucketReader>,
    pub(super) granules: GranuleSet,
    pub(super) sparse: Sparse,
}

/// Whether few rows of a bucket match, according to its term index. For the words of host, source and source
/// type, it has the granules, but no numbers of rows: a source type of all rows counts as one row of each.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Sparse {
    /// Whether few rows have all words.
    pub(super) rows: bool,
    /// Whether few rows have the words that their texts must have.
    pub(super) texts: bool,
}

impl Opened {
    /// Returns the first and last time of rows that may match; `None` if it does not matter.
    pub(super) fn span(&self) -> Option<(EventTime, EventTime)> {
        match self {
            Self::Hot(part) => part.span,
            Self::Stored(part) => span_of_granules(&part.reader, &part.granules),
            Self::Counted(_) => None,
        }
    }
}

/// Returns the first and last time of granules; `None` if there are none.
pub(super) fn span_of_granules(
    reader: &BucketReader,
    granules: &GranuleSet,
) -> Option<(EventTime, EventTime)> {
    let times = granules.iter().map(|granule| reader.granule_times()[granule]);
    times.reduce(|(first, last), (from, to)| (first.min(from), last.max(to)))
}

/// Returns the first and last time of rows; `None` if there are none.
pub(super) fn span_of(batch: &RecordBatch) -> Option<(EventTime, EventTime)> {
    let times = batch.column_by_name(columns::TIME)?;
    let times = times.as_primitive_opt::<TimestampMicrosecondType>()?;
    let (first, last) = (arrow::compute::min(times)?, arrow::compute::max(times)?);
    Some((EventTime(first), EventTime(last)))
}

/// The place of the values of a field in one bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FieldPlace {
    /// A column of the object, made with the current rules.
    Column(ColumnKind),
    /// The field does not occur.
    Absent,
    /// A column of the object for source types with unchanged rules; extraction from `_raw` for the others.
    Partly(ColumnKind),
    /// Extraction from `_raw`; and, if `indexed`, a column of indexed values, which take precedence.
    Raw { indexed: Option<ColumnKind> },
}

impl FieldPlace {
    /// Determines the place from the bucket's field catalogue.
    pub(super) fn of(name: &str, summary: &BucketSummary, stale: &Stale) -> Self {
        let known = summary.field(name);
        match known {
            // The column holds indexed values; the text may have the field too.
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

    /// Whether the text of some event of a source type may have a value of the field that is in no column.
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
            // If the text of any other event had the field, it would be in the catalogue.
            Self::Raw { indexed: None } if summary.field(name).is_none() => {
                !summary.fields_complete
            }
            _ => reader.may_be_in_texts(name, sourcetype),
        }
    }
}
