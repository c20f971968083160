//! Parts of stored buckets about which earlier searches have left something: costly filters, and those before
//! computed values, are applied only to granules of which the passing rows are not known, and then these rows
//! are read.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use arrow::array::{BooleanArray, BooleanBufferBuilder, RecordBatch, RecordBatchOptions};
use arrow::buffer::BooleanBuffer;
use arrow::datatypes::Schema;
use bucket::{BucketReader, GranuleSet, TermQuery};
use datafusion::error::{DataFusionError, Result};
use futures::stream::{self, StreamExt, TryStreamExt};
use model::BucketHeader;

use super::values::{Begun, with_values};
use super::{PartRows, Reading, Rows, Scan, Source, StoredRows, place_in};
use crate::readers::unreadable;
use crate::scan::computed::ComputedColumn;
use crate::scan::passed::{FEW, Found, OfGranules};
use crate::scan::selectivity::are_few;
use crate::scan::stale::Stale;
use crate::scan::unit::{FieldPlace, Known};
use crate::scan::work::{KeptPart, Origin, ResidualFilters};
use crate::times::Phase;

/// What is remembered of the rows of a part.
pub(super) struct Kept {
    /// The filters, if the rows that pass them are remembered.
    filters: Option<KeptPart>,
    /// The computed columns of the output, if their values are remembered.
    pub(super) columns: Vec<Arc<ComputedColumn>>,
    /// The filters for the rows that are read.
    rest: ResidualFilters,
    /// Whether these are only bounds of the time: other filters may leave few rows, of which the values are
    /// computed.
    computes: bool,
}

/// The passing rows of granules.
pub(super) type Passing = OfGranules<BooleanBuffer>;

impl Scan {
    /// Returns what is remembered of the rows of a part; `None` if nothing is.
    pub(super) fn kept(
        &self,
        source: &Source,
        granules: &GranuleSet,
        residual: &ResidualFilters,
        sparse: bool,
    ) -> Option<Kept> {
        if !is_constant(&source.header, &source.stale) {
            return None;
        }
        let place = |name: &str| source.place(name);
        let mut columns = self.columns_of_values(&place);
        let filters = self.kept_filters(&place, residual, sparse, !columns.is_empty());
        // A search for the first rows may end before it needs to know which of the others pass.
        let filters = filters.filter(|filters| {
            let bucket = source.header.id;
            self.limit.is_none() || self.passed.has_all(&filters.identity, bucket, granules)
        });
        let rest = match &filters {
            Some(filters) => filters.rest.clone(),
            None => residual.after_test(false),
        };
        let computes = self.work.are_bounds(&rest);
        if filters.is_none() && !computes {
            columns.clear();
        }
        let is_some = filters.is_some() || !columns.is_empty();
        is_some.then_some(Kept { filters, columns, rest, computes })
    }

    /// Returns the computed columns of the output, if their values are remembered.
    fn columns_of_values(&self, place: &dyn Fn(&str) -> FieldPlace) -> Vec<Arc<ComputedColumn>> {
        if self.values.is_on() { self.work.computed_columns(place) } else { Vec::new() }
    }

    /// Returns the filters of a part, if the rows that pass them are remembered.
    fn kept_filters(
        &self,
        place: &dyn Fn(&str) -> FieldPlace,
        residual: &ResidualFilters,
        sparse: bool,
        has_columns: bool,
    ) -> Option<KeptPart> {
        if !self.passed.is_on() {
            return None;
        }
        // A search for few rows, or for the first ones, computes their values faster than it tests all rows.
        let for_values = has_columns && !sparse && self.wanted.is_all() && self.limit.is_none();
        self.work.kept(place, residual, sparse, for_values)
    }

    /// Whether it is known which rows of granules pass all filters but bounds of the time. Then the term
    /// index cannot exclude anything that is read.
    pub(super) fn are_known(
        &self,
        header: &BucketHeader,
        reader: &BucketReader,
        stale: &Stale,
        granules: &GranuleSet,
    ) -> bool {
        if !is_constant(header, stale) {
            return false;
        }
        let known = Known { header, summary: Some(reader.summary()) };
        let Some(residual) = self.work.residual(&header.index, Some(known), false) else {
            return false;
        };
        let place = |name: &str| place_in(reader, name, stale);
        let has_columns = !self.columns_of_values(&place).is_empty();
        let filters = self.kept_filters(&place, &residual, false, has_columns);
        filters.is_some_and(|filters| {
            self.work.are_bounds(&filters.rest)
                && self.passed.has_all(&filters.identity, header.id, granules)
        })
    }

    /// Whether few rows have the words that their texts must have, given that few seem to have all `terms`.
    /// Only searches of which something may be remembered need to know; others look up no more words.
    pub(super) async fn has_few_texts(
        &self,
        header: &BucketHeader,
        reader: &BucketReader,
        stale: &Stale,
        terms: &TermQuery,
    ) -> Result<bool> {
        if !self.work.may_be_kept() {
            return Ok(true);
        }
        let texts = self.pruning.text_terms(stale);
        if texts == TermQuery::All || texts == *terms {
            return Ok(texts == *terms);
        }
        let _timer = self.report.times.during(Phase::Terms);
        let found = reader.find_rows(&texts).await;
        Ok(are_few(&found.map_err(|error| unreadable(header, error))?))
    }

    /// Returns the rows of granules that pass the filters.
    pub(super) async fn kept_rows(
        self: Arc<Self>,
        source: Arc<Source>,
        granules: GranuleSet,
        mut kept: Kept,
    ) -> Result<PartRows> {
        let Some(filters) = kept.filters.take() else {
            let all = |granule| BooleanBuffer::new_set(source.reader.granule_rows(granule));
            let passing = granules.iter().map(|granule| (granule, all(granule))).collect();
            return self.passing_rows(source, passing, kept).await;
        };
        let Found { known, missing } =
            self.passed.get(&filters.identity, source.header.id, &granules);
        if missing.is_empty() {
            return self.passing_rows(source, known, kept).await;
        }
        let rows = {
            let place = |name: &str| source.place(name);
            let columns = self.work.stored_columns_of_filters(&place, &filters.own);
            source.reader.read(&columns, &missing, self.batch_rows).await
        };
        let rows = rows.map_err(|error| unreadable(&source.header, error))?;
        let rows = self.report.times.reading(rows);
        // The first pages have arrived. The rest waits until the rows are requested.
        let later = async move {
            let Some(tested) = self.tested(&source, rows, &missing, &filters).await? else {
                return Ok(stream::empty().boxed());
            };
            let (bucket, is_costly) = (source.header.id, filters.is_costly);
            self.passed.keep_rows(&filters.identity, bucket, &tested, is_costly);
            let mut all = known;
            all.extend(tested);
            all.sort_unstable_by_key(|(granule, _)| *granule);
            self.passing_rows(source, all, kept).await?.begun().await
        };
        Ok(PartRows::Later(Box::pin(later)))
    }

    /// Returns which rows of granules pass costly filters; `None` if the job closes the valve meanwhile.
    async fn tested(
        &self,
        source: &Source,
        rows: StoredRows,
        granules: &GranuleSet,
        filters: &KeptPart,
    ) -> Result<Option<Passing>> {
        let mut bits = BooleanBufferBuilder::new(0);
        let test = |batch: &RecordBatch| -> Result<bool> {
            bits.append_buffer(self.tested_batch(source, filters, batch)?.values());
            Ok(true)
        };
        if !self.each_batch(source, rows, test).await? {
            return Ok(None);
        }
        let bits = bits.finish();
        source.of_granules(granules, bits.len(), |start, rows| bits.slice(start, rows)).map(Some)
    }

    /// Passes each batch of stored rows to a function, until that returns false. Returns false then, and if
    /// the job closes the valve meanwhile.
    pub(super) async fn each_batch(
        &self,
        source: &Source,
        mut rows: StoredRows,
        mut goes_on: impl FnMut(&RecordBatch) -> Result<bool> + Send,
    ) -> Result<bool> {
        loop {
            if !self.control.admit().await? {
                return Ok(false);
            }
            let batch = rows.try_next().await;
            let Some(batch) = batch.map_err(|error| unreadable(&source.header, error))? else {
                return Ok(true);
            };
            if !goes_on(&batch)? {
                return Ok(false);
            }
        }
    }

    fn tested_batch(
        &self,
        source: &Source,
        filters: &KeptPart,
        batch: &RecordBatch,
    ) -> Result<BooleanArray> {
        let _timer = self.report.times.during(Phase::Filter);
        let place = &|name: &str| source.place(name);
        // All columns are stored ones.
        let (may_be_in_texts, sent) = (&|_: &str, _: &str| true, &[]);
        let (index, stale, residual) = (&source.header.index, &source.stale, &filters.own);
        let origin = Origin { index, place, stale, may_be_in_texts, sent, residual };
        self.work.rows_that_pass(batch, &origin)
    }

    /// Reads the rows that pass costly filters, and applies the others to them. The first pages have arrived
    /// when it returns; values that are not known are computed when the rows are requested.
    async fn passing_rows(
        self: Arc<Self>,
        source: Arc<Source>,
        passing: Passing,
        kept: Kept,
    ) -> Result<PartRows> {
        let scanned = scanned(&passing);
        let count: usize = passing.iter().map(|(_, rows)| rows.count_set_bits()).sum();
        let rows = if count == 0 {
            stream::empty().boxed()
        } else if self.work.only_needs_count(&kept.rest) {
            self.report.events_matched.fetch_add(count as u64, Relaxed);
            Arc::clone(&self).counted(count as u64)
        } else {
            let computes = kept.computes && count as u64 >= scanned / FEW as u64;
            let begun = self.begin_values(&source, &passing, &kept, computes).await?;
            let reading = self.read_passing(&source, &passing, &kept, begun.is_some()).await?;
            if let Some(begun) = begun {
                let later = self.rows_with_values(source, passing, kept, begun, reading);
                return Ok(PartRows::Later(Box::pin(later)));
            }
            Arc::clone(&self).processed(source, reading)
        };
        // Only now that no read of the part has to be repeated.
        self.report.events_scanned.fetch_add(scanned, Relaxed);
        Ok(PartRows::Reading(rows))
    }

    /// Starts to read passing rows, without the columns that only values need if these are known.
    async fn read_passing(
        &self,
        source: &Source,
        passing: &Passing,
        kept: &Kept,
        has_values: bool,
    ) -> Result<Reading> {
        let residual = kept.rest.after_test(has_values);
        let rows = {
            let place = |name: &str| source.place(name);
            let columns = self.work.stored_columns(&place, &source.sent, &residual);
            self.read_rows(source, &columns, passing).await?
        };
        Ok(Reading { rows, residual })
    }

    /// Starts to read columns of rows; the first pages have arrived when it returns.
    pub(super) async fn read_rows(
        &self,
        source: &Source,
        columns: &[&str],
        rows: &Passing,
    ) -> Result<StoredRows> {
        if columns.is_empty() {
            let count = rows.iter().map(|(_, rows)| rows.count_set_bits()).sum();
            return Ok(without_columns(count, self.batch_rows));
        }
        let are_all = rows.iter().all(|(_, rows)| rows.count_set_bits() == rows.len());
        let stored = if are_all {
            // Whole columns are read without the page index.
            let mut granules = GranuleSet::none(source.reader.granules());
            rows.iter().for_each(|(granule, _)| granules.insert(*granule));
            source.reader.read(columns, &granules, self.batch_rows).await
        } else {
            let ranges = ranges(rows, source.reader.granule_rows(0));
            source.reader.read_ranges(columns, &ranges, self.batch_rows).await
        };
        let stored = stored.map_err(|error| unreadable(&source.header, error))?;
        Ok(self.report.times.reading(stored))
    }

    /// Returns passing rows with the values of computed columns.
    async fn rows_with_values(
        self: Arc<Self>,
        source: Arc<Source>,
        passing: Passing,
        kept: Kept,
        begun: Begun,
        reading: Reading,
    ) -> Result<Rows> {
        let reading = match self.values_of(&source, &passing, &kept, begun).await? {
            Some(values) => {
                let rows = with_values(reading.rows, &kept.columns, values);
                Reading { rows, ..reading }
            }
            None if self.control.is_closed() => return Ok(stream::empty().boxed()),
            // The values are computed for one batch after another.
            None => self.read_passing(&source, &passing, &kept, false).await?,
        };
        self.report.events_scanned.fetch_add(scanned(&passing), Relaxed);
        Ok(self.processed(source, reading))
    }
}

impl Source {
    /// Divides something about the rows of granules among them; `of_rows` returns the part from a row on, of
    /// a number of rows.
    ///
    /// # Errors
    /// If there are not as many rows as the granules have.
    pub(super) fn of_granules<V>(
        &self,
        granules: &GranuleSet,
        count: usize,
        of_rows: impl Fn(usize, usize) -> V,
    ) -> Result<OfGranules<V>> {
        let rows = |granule| self.reader.granule_rows(granule);
        if granules.iter().map(rows).sum::<usize>() != count {
            let bucket = self.header.id;
            let message = format!("bucket {bucket}: {count} rows are not those of its granules");
            return Err(DataFusionError::Internal(message));
        }
        let mut start = 0;
        let part = |granule| {
            let first = start;
            start += rows(granule);
            (granule, of_rows(first, start - first))
        };
        Ok(granules.iter().map(part).collect())
    }
}

/// Whether something can be remembered of the rows of a bucket: the columns of fields must be those of the
/// current rules, and a bucket that is not in the catalog yet will be searched once or twice.
fn is_constant(header: &BucketHeader, stale: &Stale) -> bool {
    stale.is_nothing() && header.version != 0
}

/// Returns the number of rows of granules, of which some pass.
fn scanned(passing: &Passing) -> u64 {
    passing.iter().map(|(_, rows)| rows.len() as u64).sum()
}

/// Returns batches of a number of rows, none of whose columns is read.
fn without_columns(count: usize, batch_rows: usize) -> StoredRows {
    let (schema, size) = (Arc::new(Schema::empty()), batch_rows.max(1));
    let batch = move |start: usize| {
        let options = RecordBatchOptions::new().with_row_count(Some(size.min(count - start)));
        RecordBatch::try_new_with_options(Arc::clone(&schema), Vec::new(), &options)
            .map_err(|source| bucket::Error::Test { source })
    };
    stream::iter((0..count).step_by(size)).map(batch).boxed()
}

/// Returns the ranges of row numbers of passing rows. `per_granule` is the number of rows of each granule but
/// the last.
fn ranges(passing: &Passing, per_granule: usize) -> Vec<Range<usize>> {
    let mut ranges = Vec::new();
    for (granule, rows) in passing {
        let first = granule * per_granule;
        ranges.extend(rows.set_slices().map(|(start, end)| first + start..first + end));
    }
    ranges
}
