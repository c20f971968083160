//! One bucket object, opened: its summary, its term index, its rows.

use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use futures::stream::BoxStream;
use model::{BucketSummary, EventTime};
use object_store::ObjectStore;
use object_store::path::Path;

use crate::{Error, GranuleSet, TermHash, TermQuery};

/// Rows of a bucket, ascending by (`_time`, `_indextime`).
pub type EventStream = BoxStream<'static, Result<RecordBatch, Error>>;

/// Where a word occurs in one bucket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Postings {
    /// The granules with a row that has the word.
    pub granules: GranuleSet,
    /// For each granule of the set in ascending order: how many rows have the word in `_raw`
    /// (0: only in `host`, `source`, `sourcetype` or a field).
    pub rows: Vec<u32>,
    /// Whether this is surely about the asked word and no other: then `rows` are exact counts. If
    /// not, another word may share its fingerprint (about 1 in 1,000 absent words): the granules
    /// are still a superset.
    pub exact: bool,
}

/// An open bucket. Cheap to share; holds the decoded footer, directory and summary.
#[derive(Debug)]
pub struct BucketReader {}

impl BucketReader {
    /// Opens an object of known size, usually with one range read of its end.
    ///
    /// # Errors
    /// [`Error::Corrupt`] where the bytes are not a bucket, [`Error::Version`] where it is newer,
    /// [`Error::Store`] where the store fails.
    pub async fn open(
        _store: Arc<dyn ObjectStore>,
        _path: &Path,
        _size: u64,
    ) -> Result<Self, Error> {
        todo!()
    }

    /// What is in the bucket.
    #[must_use]
    pub fn summary(&self) -> &BucketSummary {
        todo!()
    }

    /// The columns: six fixed ones, then fields by name.
    #[must_use]
    pub fn schema(&self) -> &SchemaRef {
        todo!()
    }

    /// How many granules the bucket has.
    #[must_use]
    pub fn granules(&self) -> usize {
        todo!()
    }

    /// How many rows the granule has: the same for all but the last.
    #[must_use]
    pub fn granule_rows(&self, _granule: usize) -> usize {
        todo!()
    }

    /// Per granule the first and last `_time`, both inside.
    #[must_use]
    pub fn granule_times(&self) -> &[(EventTime, EventTime)] {
        todo!()
    }

    /// Granules that may have a row in the range.
    #[must_use]
    pub fn granules_in(&self, _range: &model::TimeRange) -> GranuleSet {
        todo!()
    }

    /// Where the words occur, in one batched round of small range reads.
    ///
    /// # Errors
    /// [`Error::Corrupt`] or [`Error::Store`].
    pub async fn lookup(&self, _terms: &[TermHash]) -> Result<Vec<Postings>, Error> {
        todo!()
    }

    /// Granules that may have a row that satisfies the query: a superset, in at most two rounds of
    /// range reads (the vocabulary once, when the query has wildcards; then the index blocks).
    ///
    /// # Errors
    /// [`Error::Corrupt`] or [`Error::Store`].
    pub async fn candidates(&self, _query: &TermQuery) -> Result<GranuleSet, Error> {
        todo!()
    }

    /// Streams the rows of the granules with the columns in the order asked for, at most
    /// `batch_rows` rows a batch. Reads only the pages of those granules; repeats of a column are an
    /// error of the caller.
    ///
    /// # Errors
    /// [`Error::NoColumn`]; [`Error::Corrupt`] or [`Error::Store`] here or in the stream.
    pub async fn read(
        &self,
        _columns: &[&str],
        _granules: &GranuleSet,
        _batch_rows: usize,
    ) -> Result<EventStream, Error> {
        todo!()
    }
}
