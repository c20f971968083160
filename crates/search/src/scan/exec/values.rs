//! Values of computed columns for the rows of a part of a bucket: those that earlier searches have computed,
//! and new ones, which are computed for all rows of their granules so that later searches have them.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, BooleanArray, RecordBatch, RecordBatchOptions};
use arrow::buffer::BooleanBuffer;
use arrow::compute::{concat, filter};
use arrow::datatypes::Schema;
use arrow::error::ArrowError;
use bucket::GranuleSet;
use datafusion::error::Result;
use exprs::compact::{Slack, compact_column};
use futures::stream::{StreamExt, TryStreamExt};

use super::kept::{Kept, Passing};
use super::{Scan, Source, StoredRows};
use crate::readers::unreadable;
use crate::scan::computed::ComputedColumn;
use crate::scan::passed::{Found, OfGranules};
use crate::scan::work::{Origin, ResidualFilters};
use crate::times::Phase;

/// Maximum size of the values that are computed for all rows of a part. They are in memory at once, and do
/// not count as memory of the search.
const MOST_BYTES: usize = 32 << 20;

/// Size of a value in a column of texts, the texts of more than 12 bytes aside.
const VALUE_BYTES: usize = 16;

/// The values of computed columns of a part, before those that are not known are computed.
pub(super) struct Begun {
    /// What is known of each column.
    known: Vec<OfGranules<ArrayRef>>,
    /// The granules of which some value is not known.
    missing: GranuleSet,
    /// The rows of these granules, if there are any.
    rows: Option<StoredRows>,
}

impl Scan {
    /// Looks up the values of the computed columns for passing rows, and starts to read what the others are
    /// computed from; `None` if these are not to be computed for all rows.
    pub(super) async fn begin_values(
        &self,
        source: &Source,
        passing: &Passing,
        kept: &Kept,
        computes_all: bool,
    ) -> Result<Option<Begun>> {
        if kept.columns.is_empty() {
            return Ok(None);
        }
        let mut granules = GranuleSet::none(source.reader.granules());
        some_pass(passing).for_each(|(granule, _)| granules.insert(*granule));
        let bucket = source.header.id;
        let mut missing = GranuleSet::none(source.reader.granules());
        let mut all: Vec<OfGranules<ArrayRef>> = Vec::with_capacity(kept.columns.len());
        for column in &kept.columns {
            let found = self.values.get(&column.description, bucket, &granules);
            let Found { known, missing: unknown } = found;
            missing.union(&unknown);
            all.push(known);
        }
        if missing.is_empty() {
            return Ok(Some(Begun { known: all, missing, rows: None }));
        }
        let count: usize = missing.iter().map(|at| source.reader.granule_rows(at)).sum();
        let is_large = count.saturating_mul(kept.columns.len() * VALUE_BYTES) > MOST_BYTES;
        // A search for the first rows may end before it needs them.
        if is_large || !computes_all || !self.wanted.is_all() || self.limit.is_some() {
            return Ok(None);
        }
        let rows = {
            let place = |name: &str| source.place(name);
            let columns = self.work.stored_columns_of_values(&place, &kept.columns);
            source.reader.read(&columns, &missing, self.batch_rows).await
        };
        let rows = rows.map_err(|error| unreadable(&source.header, error))?;
        let rows = Some(self.report.times.reading(rows));
        Ok(Some(Begun { known: all, missing, rows }))
    }

    /// Returns the values of the computed columns for passing rows; `None` if they are too large to be
    /// computed at once, or if the job closes the valve meanwhile.
    pub(super) async fn values_of(
        &self,
        source: &Source,
        passing: &Passing,
        kept: &Kept,
        begun: Begun,
    ) -> Result<Option<Vec<ArrayRef>>> {
        let Begun { known: mut all, missing, rows } = begun;
        if let Some(rows) = rows {
            let Some(computed) = self.computed(source, kept, &missing, rows).await? else {
                return Ok(None);
            };
            for (known, computed) in all.iter_mut().zip(computed) {
                known.retain(|(granule, _)| !missing.contains(*granule));
                known.extend(computed);
                known.sort_unstable_by_key(|(granule, _)| *granule);
            }
        }
        let mut chosen = Vec::with_capacity(all.len());
        for values in &all {
            let mut parts = Vec::with_capacity(values.len());
            for ((_, values), (_, rows)) in values.iter().zip(some_pass(passing)) {
                parts.push(filter(values, &BooleanArray::new(rows.clone(), None))?);
            }
            chosen.push(joined(&parts)?);
        }
        Ok(Some(chosen))
    }

    /// Computes the values of all rows of granules, and remembers them; `None` if they are too large, or if
    /// the job closes the valve meanwhile.
    async fn computed(
        &self,
        source: &Source,
        kept: &Kept,
        granules: &GranuleSet,
        mut rows: StoredRows,
    ) -> Result<Option<Vec<OfGranules<ArrayRef>>>> {
        let count: usize = granules.iter().map(|at| source.reader.granule_rows(at)).sum();
        let (mut done, mut bytes) = (0, 0_usize);
        let mut parts: Vec<Vec<ArrayRef>> = vec![Vec::new(); kept.columns.len()];
        loop {
            if !self.control.admit().await? {
                return Ok(None);
            }
            let batch = rows.try_next().await;
            let Some(batch) = batch.map_err(|error| unreadable(&source.header, error))? else {
                break;
            };
            let values = self.computed_batch(source, kept, &batch)?;
            for (part, values) in parts.iter_mut().zip(values) {
                let values = compact_column(&values, Slack::Kept);
                bytes += values.get_array_memory_size();
                part.push(values);
            }
            done += batch.num_rows();
            // If the other rows are like these, it is known after the first batch.
            if done > 0 && (bytes / done).saturating_mul(count.max(done)) > MOST_BYTES {
                return Ok(None);
            }
        }
        let mut all = Vec::with_capacity(parts.len());
        for (part, column) in parts.iter().zip(&kept.columns) {
            let values = joined(part)?;
            let row_bytes = values.get_array_memory_size().div_ceil(values.len().max(1));
            let of_rows = |start, rows| values.slice(start, rows);
            let values = source.of_granules(granules, values.len(), of_rows)?;
            self.values.keep_values(&column.description, source.header.id, &values, row_bytes);
            all.push(values);
        }
        Ok(Some(all))
    }

    fn computed_batch(
        &self,
        source: &Source,
        kept: &Kept,
        batch: &RecordBatch,
    ) -> Result<Vec<ArrayRef>> {
        let _timer = self.report.times.during(Phase::Filter);
        let place = &|name: &str| source.place(name);
        // All columns are stored ones.
        let (may_be_in_texts, sent) = (&|_: &str, _: &str| true, &[]);
        let residual = &ResidualFilters::none();
        let (index, stale) = (&source.header.index, &source.stale);
        let origin = Origin { index, place, stale, may_be_in_texts, sent, residual };
        self.work.values_of(&kept.columns, batch, &origin)
    }
}

/// Returns the granules of which some rows pass, with these.
fn some_pass(passing: &Passing) -> impl Iterator<Item = &(usize, BooleanBuffer)> {
    passing.iter().filter(|(_, rows)| rows.count_set_bits() > 0)
}

/// Joins parts of a column, at least one.
fn joined(parts: &[ArrayRef]) -> Result<ArrayRef> {
    let parts: Vec<&dyn Array> = parts.iter().map(AsRef::as_ref).collect();
    Ok(concat(&parts)?)
}

/// Adds the values of computed columns to stored rows, of which they are the values in their order.
pub(super) fn with_values(
    rows: StoredRows,
    columns: &[Arc<ComputedColumn>],
    values: Vec<ArrayRef>,
) -> StoredRows {
    let named = |column: &Arc<ComputedColumn>| {
        Arc::new(column.field.clone().with_name(&*column.description).with_nullable(true))
    };
    let named: Vec<_> = columns.iter().map(named).collect();
    let mut start = 0;
    let rows = rows.map(move |batch| {
        let batch = batch?;
        let count = batch.num_rows();
        if values.iter().any(|values| values.len() < start + count) {
            let message = "there are more rows than computed values".to_owned();
            return Err(bucket::Error::Test { source: ArrowError::ComputeError(message) });
        }
        let mut fields = batch.schema().fields().to_vec();
        fields.extend(named.iter().cloned());
        let mut arrays = batch.columns().to_vec();
        arrays.extend(values.iter().map(|values| values.slice(start, count)));
        start += count;
        let options = RecordBatchOptions::new().with_row_count(Some(count));
        RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), arrays, &options)
            .map_err(|source| bucket::Error::Test { source })
    });
    rows.boxed()
}
