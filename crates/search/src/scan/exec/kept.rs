//! Parts of stored buckets whose passing rows are remembered: costly filters are applied only to granules of
//! which no earlier search knows the rows, and then the passing rows are read.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use arrow::array::{BooleanArray, BooleanBufferBuilder, RecordBatch};
use bucket::GranuleSet;
use datafusion::error::{DataFusionError, Result};
use futures::stream::{self, StreamExt, TryStreamExt};

use super::{Reading, Rows, Scan, Source, StoredRows};
use crate::readers::unreadable;
use crate::scan::passed::{Found, OfGranules};
use crate::scan::work::{KeptPart, Origin, ResidualFilters};
use crate::times::Phase;

impl Scan {
    /// Returns the filters of a part of a bucket, if the rows that pass some of them are remembered.
    pub(super) fn kept(&self, source: &Source, residual: &ResidualFilters) -> Option<KeptPart> {
        // The columns of fields must be those of the current rules, and a bucket that is not in the catalog
        // yet will be searched once or twice.
        let is_fixed = source.stale.is_nothing() && source.header.version > 0;
        if !is_fixed || !self.passed.is_on() {
            return None;
        }
        self.work.kept(&|name: &str| source.place(name), residual)
    }

    /// Returns the rows of granules that pass the filters.
    pub(super) async fn kept_rows(
        self: Arc<Self>,
        source: Arc<Source>,
        granules: GranuleSet,
        kept: KeptPart,
    ) -> Result<Rows> {
        let Found { known, missing } = self.passed.get(&kept.identity, source.header.id, &granules);
        if missing.is_empty() {
            return self.passing_rows(source, known, kept.rest).await;
        }
        let rows = {
            let place = |name: &str| source.place(name);
            let columns = self.work.stored_columns_of_filters(&place, &kept.own);
            source.reader.read(&columns, &missing, self.batch_rows).await
        };
        let rows = rows.map_err(|error| unreadable(&source.header, error))?;
        let rows = self.report.times.reading(rows);
        // The first pages have arrived. The rest waits until the rows are requested.
        let later = async move {
            let Some(tested) = self.tested(&source, rows, &missing, &kept).await? else {
                return Ok(stream::empty().boxed());
            };
            self.passed.keep(&kept.identity, source.header.id, &tested);
            let mut all = known;
            all.extend(tested);
            all.sort_unstable_by_key(|(granule, _)| *granule);
            self.passing_rows(source, all, kept.rest).await
        };
        Ok(stream::once(later).try_flatten().boxed())
    }

    /// Returns which rows of granules pass costly filters; `None` if the job closes the valve meanwhile.
    async fn tested(
        &self,
        source: &Source,
        mut rows: StoredRows,
        granules: &GranuleSet,
        kept: &KeptPart,
    ) -> Result<Option<OfGranules>> {
        let mut bits = BooleanBufferBuilder::new(0);
        loop {
            if !self.control.admit().await? {
                return Ok(None);
            }
            let batch = rows.try_next().await;
            let Some(batch) = batch.map_err(|error| unreadable(&source.header, error))? else {
                break;
            };
            bits.append_buffer(self.tested_batch(source, kept, &batch)?.values());
        }
        let bits = bits.finish();
        let mut found = OfGranules::with_capacity(granules.len());
        let mut start = 0;
        for granule in granules.iter() {
            let rows = source.reader.granule_rows(granule);
            if start + rows > bits.len() {
                break;
            }
            found.push((granule, bits.slice(start, rows)));
            start += rows;
        }
        if found.len() < granules.len() || start < bits.len() {
            let (count, bucket) = (bits.len(), source.header.id);
            let message = format!("bucket {bucket}: {count} rows are not those of its granules");
            return Err(DataFusionError::Internal(message));
        }
        Ok(Some(found))
    }

    fn tested_batch(
        &self,
        source: &Source,
        kept: &KeptPart,
        batch: &RecordBatch,
    ) -> Result<BooleanArray> {
        let _timer = self.report.times.during(Phase::Filter);
        let place = &|name: &str| source.place(name);
        // All columns are stored ones.
        let (may_be_in_texts, sent) = (&|_: &str, _: &str| true, &[]);
        let (index, stale, residual) = (&source.header.index, &source.stale, &kept.own);
        let origin = Origin { index, place, stale, may_be_in_texts, sent, residual };
        self.work.rows_that_pass(batch, &origin)
    }

    /// Reads the rows that pass costly filters, and applies the others to them.
    async fn passing_rows(
        self: Arc<Self>,
        source: Arc<Source>,
        passing: OfGranules,
        rest: ResidualFilters,
    ) -> Result<Rows> {
        let scanned: usize = passing.iter().map(|(_, rows)| rows.len()).sum();
        let count: usize = passing.iter().map(|(_, rows)| rows.count_set_bits()).sum();
        let rows = if count == 0 {
            stream::empty().boxed()
        } else if self.work.only_needs_count(&rest) {
            self.report.events_matched.fetch_add(count as u64, Relaxed);
            Arc::clone(&self).counted(count as u64)
        } else {
            let ranges = ranges(&passing, source.reader.granule_rows(0));
            let rows = {
                let place = |name: &str| source.place(name);
                let columns = self.work.stored_columns(&place, &source.sent, &rest);
                source.reader.read_ranges(&columns, &ranges, self.batch_rows).await
            };
            let rows = rows.map_err(|error| unreadable(&source.header, error))?;
            let rows = self.report.times.reading(rows);
            Arc::clone(&self).processed(source, Reading { rows, residual: rest })
        };
        // Only now that no read of the part has to be repeated.
        self.report.events_scanned.fetch_add(scanned as u64, Relaxed);
        Ok(rows)
    }
}

/// Returns the ranges of row numbers of passing rows. `per_granule` is the number of rows of each granule but
/// the last.
fn ranges(passing: &OfGranules, per_granule: usize) -> Vec<Range<usize>> {
    let mut ranges = Vec::new();
    for (granule, rows) in passing {
        let first = granule * per_granule;
        ranges.extend(rows.set_slices().map(|(start, end)| first + start..first + end));
    }
    ranges
}
