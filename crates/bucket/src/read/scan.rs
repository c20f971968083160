//! Streams rows: fetches the pages that the decoder requests, and decodes them.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use arrow::array::{BooleanArray, RecordBatch};
use arrow::datatypes::Schema;
use arrow::error::ArrowError;
use bytes::Bytes;
use futures::{StreamExt, stream};
use parking_lot::Mutex;
use parquet::DecodeResult;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowPredicateFn, ArrowReaderMetadata, RowFilter, RowSelection,
};
use parquet::arrow::push_decoder::{ParquetPushDecoder, ParquetPushDecoderBuilder};
use parquet::schema::types::SchemaDescriptor;

use super::object::Object;
use super::{BucketReader, EventStream};
use crate::checksums::Checksums;
use crate::{Error, GranuleSet};

/// Maximum number of granules for which all pages are fetched before a test has selected rows: one round of
/// requests instead of two.
const FEW_GRANULES: usize = 4;

/// A test of rows by some columns. The pages of the other columns are decoded only for rows that pass.
#[derive(Clone)]
pub struct RowTest {
    /// The columns that the test needs.
    pub columns: Vec<String>,
    /// The function that returns which rows of a batch of those columns, in any order, pass.
    pub passes: PassesRows,
}

type PassesRows = Arc<dyn Fn(&RecordBatch) -> Result<BooleanArray, ArrowError> + Send + Sync>;

impl fmt::Debug for RowTest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RowTest").field("columns", &self.columns).finish_non_exhaustive()
    }
}

struct Scan {
    object: Object,
    decoder: ParquetPushDecoder,
    checksums: Arc<Checksums>,
    /// Position of each requested column among the decoded ones, which are in file order.
    positions: Vec<usize>,
    /// A result of the decoder that was read ahead.
    ahead: Option<DecodeResult<RecordBatch>>,
    /// Pages to fetch together with the first ones that the decoder requests.
    along: Vec<Range<u64>>,
    /// The error of the row test, of which the decoder returns the text only.
    failed: Failed,
}

type Failed = Arc<Mutex<Option<ArrowError>>>;

impl BucketReader {
    /// Streams the rows of the granules, with the columns in the requested order and at most `batch_rows`
    /// rows per batch. Reads only the pages of those granules (and, once per reader, the page index, unless
    /// all granules are requested). The pages of the first row group have been read when this returns, so
    /// that callers can read ahead. Without columns, batches only have a row count.
    ///
    /// # Errors
    /// [`Error::NoColumn`]; [`Error::Corrupt`] or [`Error::Store`] here or in the stream.
    pub async fn read(
        &self,
        columns: &[&str],
        granules: &GranuleSet,
        batch_rows: usize,
    ) -> Result<EventStream, Error> {
        self.read_where(columns, granules, batch_rows, None).await
    }

    /// As [`Self::read`], but only returns rows that pass a test.
    ///
    /// # Errors
    /// As [`Self::read`]; also [`Error::Test`] if the test fails.
    pub async fn read_where(
        &self,
        columns: &[&str],
        granules: &GranuleSet,
        batch_rows: usize,
        test: Option<RowTest>,
    ) -> Result<EventStream, Error> {
        let wanted = self.positions_of(columns)?;
        if granules.is_empty() {
            return Ok(stream::empty().boxed());
        }
        let pages = match granules.is_all() && test.is_none() {
            true => self.whole_chunks(),
            false => self.single_pages().await?,
        };
        let schema = pages.metadata.parquet_schema();
        let (projection, positions) = projected(schema, &wanted);
        let mut along = Vec::new();
        let failed = Failed::default();
        let test = match test {
            Some(RowTest { columns, passes }) => {
                let names: Vec<&str> = columns.iter().map(String::as_str).collect();
                let tested = ProjectionMask::roots(schema, self.positions_of(&names)?);
                if granules.len() <= FEW_GRANULES {
                    along = self.pages_of(&pages.metadata, &projection, granules);
                }
                let failed = Arc::clone(&failed);
                let passes = move |batch: RecordBatch| {
                    passes(&batch).map_err(|error| {
                        let text = error.to_string();
                        *failed.lock() = Some(error);
                        ArrowError::ComputeError(text)
                    })
                };
                Some(RowFilter::new(vec![Box::new(ArrowPredicateFn::new(tested, passes))]))
            }
            None => None,
        };
        let decoder = self
            .decoder(pages.metadata.clone(), projection, granules, batch_rows, test)
            .map_err(|error| self.object().undecodable("footer", &error))?;
        let checksums = pages.checksums.clone();
        let object = self.object().clone();
        let mut scan = Scan { object, decoder, checksums, positions, ahead: None, along, failed };
        scan.read_ahead().await?;
        Ok(stream::try_unfold(scan, Scan::next).boxed())
    }

    /// As [`Self::read`], but returns certain rows: ranges of row numbers of the bucket, in ascending order,
    /// none of which overlaps another.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub async fn read_ranges(
        &self,
        columns: &[&str],
        rows: &[Range<usize>],
        batch_rows: usize,
    ) -> Result<EventStream, Error> {
        let wanted = self.positions_of(columns)?;
        let pages = self.single_pages().await?;
        let (groups, selection) = select_ranges(&pages.metadata, rows);
        if groups.is_empty() {
            return Ok(stream::empty().boxed());
        }
        let (projection, positions) = projected(pages.metadata.parquet_schema(), &wanted);
        let decoder = ParquetPushDecoderBuilder::new_with_metadata(pages.metadata.clone())
            .with_projection(projection)
            .with_batch_size(batch_rows.max(1))
            .with_row_groups(groups)
            .with_row_selection(selection)
            .build()
            .map_err(|error| self.object().undecodable("footer", &error))?;
        let (object, checksums) = (self.object().clone(), pages.checksums.clone());
        let (along, failed) = (Vec::new(), Failed::default());
        let mut scan = Scan { object, decoder, checksums, positions, ahead: None, along, failed };
        scan.read_ahead().await?;
        Ok(stream::try_unfold(scan, Scan::next).boxed())
    }

    /// Returns the ranges of the pages of some columns and granules, dictionaries included.
    fn pages_of(
        &self,
        metadata: &ArrowReaderMetadata,
        columns: &ProjectionMask,
        granules: &GranuleSet,
    ) -> Vec<Range<u64>> {
        let (groups, selection) = self.select(metadata, granules);
        let mut rest = selection.unwrap_or_default();
        let metadata = metadata.metadata();
        let mut pages = Vec::new();
        for group in groups {
            let description = metadata.row_group(group);
            let rows = usize::try_from(description.num_rows()).unwrap_or(0);
            let chosen = rest.split_off(rows);
            let indexes = metadata.offset_index().and_then(|groups| groups.get(group));
            for (column, index) in indexes.into_iter().flatten().enumerate() {
                if !columns.leaf_included(column) {
                    continue;
                }
                let locations = index.page_locations();
                let (start, _) = description.column(column).byte_range();
                let first = locations.first().and_then(|page| u64::try_from(page.offset).ok());
                pages.extend(first.filter(|first| start < *first).map(|first| start..first));
                pages.extend(chosen.scan_ranges(locations));
            }
        }
        pages
    }

    fn positions_of(&self, columns: &[&str]) -> Result<Vec<usize>, Error> {
        let position = |name: &&str| {
            self.schema().index_of(name).map_err(|_| Error::NoColumn {
                path: self.object().path(),
                column: (*name).to_owned(),
            })
        };
        columns.iter().map(position).collect()
    }

    fn decoder(
        &self,
        metadata: ArrowReaderMetadata,
        projection: ProjectionMask,
        granules: &GranuleSet,
        batch_rows: usize,
        test: Option<RowFilter>,
    ) -> parquet::errors::Result<ParquetPushDecoder> {
        let (groups, selection) = self.select(&metadata, granules);
        let mut builder = ParquetPushDecoderBuilder::new_with_metadata(metadata)
            .with_projection(projection)
            .with_batch_size(batch_rows.max(1));
        if let Some(test) = test {
            // The columns decoded for the test are not cached: that would fetch adjacent pages too.
            builder = builder.with_row_filter(test).with_max_predicate_cache_size(0);
        }
        if let Some(selection) = selection {
            builder = builder.with_row_groups(groups).with_row_selection(selection);
        }
        builder.build()
    }

    /// Returns the row groups that have some of the granules, and the selection of their rows; no selection
    /// if every granule is requested.
    fn select(
        &self,
        metadata: &ArrowReaderMetadata,
        granules: &GranuleSet,
    ) -> (Vec<usize>, Option<RowSelection>) {
        if granules.is_all() {
            return (Vec::new(), None);
        }
        let per_granule = self.granule_rows(0).max(1);
        let mut groups = Vec::new();
        let mut ranges: Vec<Range<usize>> = Vec::new();
        let mut chosen_rows = 0;
        let mut first_row = 0;
        for (group, description) in metadata.metadata().row_groups().iter().enumerate() {
            let rows = usize::try_from(description.num_rows()).unwrap_or(0);
            let first = first_row / per_granule;
            let end = (first_row + rows).div_ceil(per_granule);
            let before = ranges.len();
            for granule in (first..end).filter(|granule| granules.contains(*granule)) {
                let start = granule * per_granule - first_row;
                let stop = (start + per_granule).min(rows);
                ranges.push(chosen_rows + start..chosen_rows + stop);
            }
            if ranges.len() > before {
                groups.push(group);
                chosen_rows += rows;
            }
            first_row += rows;
        }
        let selection = RowSelection::from_consecutive_ranges(ranges.into_iter(), chosen_rows);
        (groups, Some(selection))
    }
}

/// Returns the projection to columns of a file, given by their numbers, and the position of each among the
/// decoded ones.
fn projected(schema: &SchemaDescriptor, wanted: &[usize]) -> (ProjectionMask, Vec<usize>) {
    let mut roots = wanted.to_vec();
    roots.sort_unstable();
    roots.dedup();
    let place = |column: &usize| roots.partition_point(|root| root < column);
    let positions = wanted.iter().map(place).collect();
    (ProjectionMask::roots(schema, roots.iter().copied()), positions)
}

/// Returns the row groups that have some of the rows, and the selection of these rows.
fn select_ranges(
    metadata: &ArrowReaderMetadata,
    rows: &[Range<usize>],
) -> (Vec<usize>, RowSelection) {
    let mut groups = Vec::new();
    let mut chosen: Vec<Range<usize>> = Vec::new();
    let (mut at, mut first_row, mut chosen_rows) = (0, 0, 0);
    for (group, description) in metadata.metadata().row_groups().iter().enumerate() {
        let count = usize::try_from(description.num_rows()).unwrap_or(0);
        let end = first_row + count;
        let before = chosen.len();
        while let Some(range) = rows.get(at).filter(|range| range.start < end) {
            let (start, stop) = (range.start.max(first_row), range.end.min(end));
            if start < stop {
                chosen.push(chosen_rows + start - first_row..chosen_rows + stop - first_row);
            }
            // The rest of the range is in the next group.
            if range.end > end {
                break;
            }
            at += 1;
        }
        if chosen.len() > before {
            groups.push(group);
            chosen_rows += count;
        }
        first_row = end;
    }
    let selection = RowSelection::from_consecutive_ranges(chosen.into_iter(), chosen_rows);
    (groups, selection)
}

impl Scan {
    async fn next(mut self) -> Result<Option<(RecordBatch, Self)>, Error> {
        loop {
            match self.step()? {
                DecodeResult::Finished => return Ok(None),
                DecodeResult::Data(batch) => {
                    let batch = self.arrange(&batch)?;
                    return Ok(Some((batch, self)));
                }
                DecodeResult::NeedsData(ranges) => self.fetch(ranges).await?,
            }
        }
    }

    fn step(&mut self) -> Result<DecodeResult<RecordBatch>, Error> {
        match self.ahead.take() {
            Some(step) => Ok(step),
            None => {
                let step = self.decoder.try_decode();
                step.map_err(|error| match self.failed.lock().take() {
                    Some(source) => Error::Test { source },
                    None => self.object.undecodable("pages", &error),
                })
            }
        }
    }

    /// Fetches the first pages without decoding them.
    async fn read_ahead(&mut self) -> Result<(), Error> {
        match self.step()? {
            DecodeResult::NeedsData(ranges) => self.fetch(ranges).await?,
            other => self.ahead = Some(other),
        }
        Ok(())
    }

    async fn fetch(&mut self, mut ranges: Vec<Range<u64>>) -> Result<(), Error> {
        let along = std::mem::take(&mut self.along);
        ranges.extend(along.into_iter().filter(|page| !ranges.contains(page)).collect::<Vec<_>>());
        let parts = self.object.read_rows(&ranges).await?;
        self.verify(&ranges, &parts)?;
        let pushed = self.decoder.push_ranges(ranges, parts);
        pushed.map_err(|error| self.object.undecodable("pages", &error))
    }

    fn verify(&self, ranges: &[Range<u64>], parts: &[Bytes]) -> Result<(), Error> {
        for (range, part) in ranges.iter().zip(parts) {
            if !self.checksums.verify(range, part) {
                let reason = format!("the checksum of bytes {range:?} does not match");
                return Err(self.object.corrupt("pages", reason));
            }
        }
        Ok(())
    }

    /// Returns the columns in the requested order.
    fn arrange(&self, batch: &RecordBatch) -> Result<RecordBatch, Error> {
        let in_order = self.positions.iter().enumerate().all(|(at, position)| at == *position);
        if in_order && self.positions.len() == batch.num_columns() {
            // The schema metadata of the bucket is dropped, because queries do not use it.
            let schema = Arc::new(Schema::new(batch.schema().fields().clone()));
            return batch.clone().with_schema(schema).map_err(|error| self.unordered(&error));
        }
        batch.project(&self.positions).map_err(|error| self.unordered(&error))
    }

    fn unordered(&self, error: &ArrowError) -> Error {
        self.object.corrupt("pages", error.to_string())
    }
}
