//! Parts of stored buckets about which earlier searches have left something: costly filters are applied only
//! to granules of which the passing rows are not known, and then these rows are read.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use arrow::array::{BooleanArray, BooleanBufferBuilder, RecordBatch};
use arrow::buffer::BooleanBuffer;
use bucket::GranuleSet;
use datafusion::error::{DataFusionError, Result};
use futures::stream::{self, StreamExt, TryStreamExt};

use super::values::{Begun, with_values};
use super::{Reading, Rows, Scan, Source, StoredRows};
use crate::readers::unreadable;
use crate::scan::computed::ComputedColumn;
use crate::scan::passed::{Found, OfGranules};
use crate::scan::work::{KeptPart, Origin, ResidualFilters};
use crate::times::Phase;

/// Divisor of the rows of a part of which at least as many must pass for values to be computed for all.
const FEW: usize = 4;

/// What is remembered of the rows of a part.
pub(super) struct Kept {
    /// The filters, if the rows that pass them are remembered.
    filters: Option<KeptPart>,
    /// The computed columns of the output, if their values are remembered.
    pub(super) columns: Vec<Arc<ComputedColumn>>,
    /// The filters for the rows that are read.
    rest: ResidualFilters,
}

/// The passing rows of granules.
pub(super) type Passing = OfGranules<BooleanBuffer>;

impl Scan {
    /// Returns what is remembered of the rows of a part; `None` if nothing is.
    pub(super) fn kept(
        &self,
        source: &Source,
        residual: &ResidualFilters,
        sparse: bool,
    ) -> Option<Kept> {
        // The columns of fields must be those of the current rules, and a bucket that is not in the catalog
        // yet will be searched once or twice.
        if !source.stale.is_nothing() || source.header.version == 0 {
            return None;
        }
        let place = |name: &str| source.place(name);
        let filters = match self.passed.is_on() {
            true => self.work.kept(&place, residual, sparse),
            false => None,
        };
        let rest = match &filters {
            Some(filters) => filters.rest.clone(),
            None => residual.after_test(false),
        };
        // Other filters may leave few rows, of which the values are computed.
        let columns = match self.values.is_on() && self.work.are_bounds(&rest) {
            true => self.work.computed_columns(&place),
            false => Vec::new(),
        };
        (filters.is_some() || !columns.is_empty()).then_some(Kept { filters, columns, rest })
    }

    /// Returns the rows of granules that pass the filters.
    pub(super) async fn kept_rows(
        self: Arc<Self>,
        source: Arc<Source>,
        granules: GranuleSet,
        mut kept: Kept,
    ) -> Result<Rows> {
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
            self.passed.keep_rows(&filters.identity, source.header.id, &tested);
            let mut all = known;
            all.extend(tested);
            all.sort_unstable_by_key(|(granule, _)| *granule);
            self.passing_rows(source, all, kept).await
        };
        Ok(stream::once(later).try_flatten().boxed())
    }

    /// Returns which rows of granules pass costly filters; `None` if the job closes the valve meanwhile.
    async fn tested(
        &self,
        source: &Source,
        mut rows: StoredRows,
        granules: &GranuleSet,
        filters: &KeptPart,
    ) -> Result<Option<Passing>> {
        let mut bits = BooleanBufferBuilder::new(0);
        loop {
            if !self.control.admit().await? {
                return Ok(None);
            }
            let batch = rows.try_next().await;
            let Some(batch) = batch.map_err(|error| unreadable(&source.header, error))? else {
                break;
            };
            bits.append_buffer(self.tested_batch(source, filters, &batch)?.values());
        }
        let bits = bits.finish();
        source.of_granules(granules, bits.len(), |start, rows| bits.slice(start, rows)).map(Some)
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
    ) -> Result<Rows> {
        let scanned: usize = passing.iter().map(|(_, rows)| rows.len()).sum();
        let count: usize = passing.iter().map(|(_, rows)| rows.count_set_bits()).sum();
        let rows = if count == 0 {
            stream::empty().boxed()
        } else if self.work.only_needs_count(&kept.rest) {
            self.report.events_matched.fetch_add(count as u64, Relaxed);
            Arc::clone(&self).counted(count as u64)
        } else {
            let many = count >= scanned / FEW;
            let begun = self.begin_values(&source, &passing, &kept, many).await?;
            let reading = self.read_passing(&source, &passing, &kept, begun.is_some()).await?;
            match begun {
                Some(begun) => {
                    let scan = Arc::clone(&self);
                    let later = scan.rows_with_values(source, passing, kept, begun, reading);
                    stream::once(later).try_flatten().boxed()
                }
                None => Arc::clone(&self).processed(source, reading),
            }
        };
        // Only now that no read of the part has to be repeated.
        self.report.events_scanned.fetch_add(scanned as u64, Relaxed);
        Ok(rows)
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
        let all_pass = passing.iter().all(|(_, rows)| rows.count_set_bits() == rows.len());
        let rows = {
            let place = |name: &str| source.place(name);
            let columns = self.work.stored_columns(&place, &source.sent, &residual);
            if all_pass {
                // Whole columns are read without the page index.
                let mut granules = GranuleSet::none(source.reader.granules());
                passing.iter().for_each(|(granule, _)| granules.insert(*granule));
                source.reader.read(&columns, &granules, self.batch_rows).await
            } else {
                let ranges = ranges(passing, source.reader.granule_rows(0));
                source.reader.read_ranges(&columns, &ranges, self.batch_rows).await
            }
        };
        let rows = rows.map_err(|error| unreadable(&source.header, error))?;
        Ok(Reading { rows: self.report.times.reading(rows), residual })
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
