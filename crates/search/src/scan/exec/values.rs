//! Values of computed columns for the rows of a part of a bucket: those that earlier searches have computed,
//! and new ones, which are computed for the other rows that pass, and remembered.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, RecordBatch, RecordBatchOptions};
use arrow::buffer::BooleanBuffer;
use arrow::compute::concat;
use arrow::datatypes::Schema;
use arrow::error::ArrowError;
use bucket::GranuleSet;
use datafusion::error::{DataFusionError, Result};
use exprs::compact::{Slack, compact_column};
use futures::stream::StreamExt;

use super::kept::{Kept, Passing};
use super::{Scan, Source, StoredRows};
use crate::scan::computed::ComputedColumn;
use crate::scan::known::KnownValues;
use crate::scan::passed::OfGranules;
use crate::scan::work::{Origin, ResidualFilters};
use crate::times::Phase;

/// Maximum size of the values that are computed for the rows of a part. They are in memory at once, and do
/// not count as memory of the search.
const MOST_BYTES: usize = 32 << 20;

/// Size of a value in a column of texts, the texts of more than 12 bytes aside.
const VALUE_BYTES: usize = 16;

/// The values of computed columns of a part, before those that are not known are computed.
pub(super) struct Begun {
    /// What is known of each column, in the ascending order of granules.
    known: Vec<OfGranules<KnownValues>>,
    /// The rows of which some value is not known, if there are any.
    missing: Option<Missing>,
}

/// Rows of which values are computed.
struct Missing {
    rows: Passing,
    stored: StoredRows,
}

impl Scan {
    /// Looks up the values of the computed columns for passing rows, and starts to read what the others are
    /// computed from; `None` if these are not to be computed for all passing rows.
    pub(super) async fn begin_values(
        &self,
        source: &Source,
        passing: &Passing,
        kept: &Kept,
        computes: bool,
    ) -> Result<Option<Begun>> {
        if kept.columns.is_empty() {
            return Ok(None);
        }
        let mut granules = GranuleSet::none(source.reader.granules());
        some_pass(passing).for_each(|(granule, _)| granules.insert(*granule));
        let of_column = |column: &Arc<ComputedColumn>| {
            let found = self.values.find(&column.description, source.header.id, &granules);
            let mut known = found.known;
            known.retain(|(_, values)| values.are_of(column.field.data_type()));
            known
        };
        let known: Vec<OfGranules<KnownValues>> = kept.columns.iter().map(of_column).collect();
        let rows = unknown(passing, &known);
        self.values.count_known((granules.len() - rows.len()) * kept.columns.len());
        if rows.is_empty() {
            return Ok(Some(Begun { known, missing: None }));
        }
        let count: usize = rows.iter().map(|(_, rows)| rows.count_set_bits()).sum();
        // Those that are known are kept together with new ones.
        let before: usize = known.iter().flatten().map(|(_, values)| values.bytes()).sum();
        let row_bytes = |column: &Arc<ComputedColumn>| {
            self.values.large_row(&column.description, source.header.id).unwrap_or(VALUE_BYTES)
        };
        let row_bytes: usize = kept.columns.iter().map(row_bytes).sum();
        let is_large = before.saturating_add(count.saturating_mul(row_bytes)) > MOST_BYTES;
        // A search for the first rows may end before it needs them.
        if is_large || !computes || !self.wanted.is_all() || self.limit.is_some() {
            return Ok(None);
        }
        let stored = {
            let place = |name: &str| source.place(name);
            let columns = self.work.stored_columns_of_values(&place, &kept.columns);
            self.read_rows(source, &columns, &rows).await?
        };
        Ok(Some(Begun { known, missing: Some(Missing { rows, stored }) }))
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
        let Begun { known: mut all, missing } = begun;
        if let Some(missing) = missing {
            let Some(computed) = self.computed(source, kept, missing).await? else {
                return Ok(None);
            };
            for ((known, more), column) in all.iter_mut().zip(computed).zip(&kept.columns) {
                let more = added(known, more)?;
                self.values.keep_values(&column.description, source.header.id, &more);
                known.retain(|(granule, _)| of_granule(&more, *granule).is_none());
                known.extend(more);
                known.sort_unstable_by_key(|(granule, _)| *granule);
            }
        }
        let mut chosen = Vec::with_capacity(all.len());
        for values in &all {
            let mut parts = Vec::with_capacity(values.len());
            for ((_, values), (_, rows)) in values.iter().zip(some_pass(passing)) {
                parts.push(values.of(rows)?);
            }
            chosen.push(joined(&parts)?);
        }
        Ok(Some(chosen))
    }

    /// Computes the values of rows, for each column; `None` if they are too large, or if the job closes the
    /// valve meanwhile.
    async fn computed(
        &self,
        source: &Source,
        kept: &Kept,
        missing: Missing,
    ) -> Result<Option<Vec<OfGranules<KnownValues>>>> {
        let Missing { rows, stored } = missing;
        let count: usize = rows.iter().map(|(_, rows)| rows.count_set_bits()).sum();
        let (mut done, mut bytes) = (0, 0_usize);
        let mut is_large = false;
        let mut parts: Vec<Vec<ArrayRef>> = vec![Vec::new(); kept.columns.len()];
        let compute = |batch: &RecordBatch| -> Result<bool> {
            let values = self.computed_batch(source, kept, batch)?;
            for (part, values) in parts.iter_mut().zip(values) {
                let values = compact_column(&values, Slack::Kept);
                bytes += values.get_array_memory_size();
                part.push(values);
            }
            done += batch.num_rows();
            // If the other rows are like these, it is known after the first batch.
            is_large = done > 0 && (bytes / done).saturating_mul(count.max(done)) > MOST_BYTES;
            Ok(!is_large)
        };
        if !self.each_batch(source, stored, compute).await? {
            if is_large {
                self.keep_large(source, kept, &parts, done);
            }
            return Ok(None);
        }
        let mut all = Vec::with_capacity(parts.len());
        for part in &parts {
            all.push(divided(&joined(part)?, &rows, source)?);
        }
        Ok(Some(all))
    }

    /// Remembers that values of a bucket are too large, given those of its first rows, so that neither its
    /// other parts nor later searches find this out again.
    fn keep_large(&self, source: &Source, kept: &Kept, parts: &[Vec<ArrayRef>], rows: usize) {
        for (part, column) in parts.iter().zip(&kept.columns) {
            let bytes: usize = part.iter().map(|values| values.get_array_memory_size()).sum();
            // Rounded up: their sum must not be less than what was too large.
            let row_bytes = bytes.div_ceil(rows);
            self.values.keep_large(&column.description, source.header.id, row_bytes);
        }
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

/// Returns what is known of a granule.
fn of_granule<V>(known: &OfGranules<V>, granule: usize) -> Option<&V> {
    let at = known.binary_search_by_key(&granule, |(at, _)| *at).ok()?;
    Some(&known[at].1)
}

/// Returns the passing rows of which some column has no known value, of the granules that have such rows.
fn unknown(passing: &Passing, known: &[OfGranules<KnownValues>]) -> Passing {
    let mut missing = Passing::new();
    for (granule, rows) in some_pass(passing) {
        let mut left = BooleanBuffer::new_unset(rows.len());
        for of_column in known {
            left = match of_granule(of_column, *granule) {
                Some(known) => &left | &known.unknown(rows),
                None => rows.clone(),
            };
        }
        if left.count_set_bits() > 0 {
            missing.push((*granule, left));
        }
    }
    missing
}

/// Divides the values of rows among their granules.
///
/// # Errors
/// If there are not as many values as rows.
fn divided(values: &ArrayRef, rows: &Passing, source: &Source) -> Result<OfGranules<KnownValues>> {
    let count: usize = rows.iter().map(|(_, rows)| rows.count_set_bits()).sum();
    if values.len() != count {
        let (bucket, found) = (source.header.id, values.len());
        let message = format!("bucket {bucket}: {found} values are not those of {count} rows");
        return Err(DataFusionError::Internal(message));
    }
    let row_bytes = values.get_array_memory_size().div_ceil(count.max(1));
    let mut start = 0;
    let part = |(granule, rows): &(usize, BooleanBuffer)| {
        let count = rows.count_set_bits();
        let part = values.slice(start, count);
        start += count;
        (*granule, KnownValues::new(rows.clone(), part, count * row_bytes))
    };
    Ok(rows.iter().map(part).collect())
}

/// Returns new values of granules together with those of other rows that were known before.
fn added(
    known: &OfGranules<KnownValues>,
    more: OfGranules<KnownValues>,
) -> Result<OfGranules<KnownValues>> {
    let mut all = Vec::with_capacity(more.len());
    for (granule, more) in more {
        let both = match of_granule(known, granule) {
            Some(before) => before.and(&more)?,
            None => more,
        };
        all.push((granule, both));
    }
    Ok(all)
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
