//! Rows in memory (between two stages, of lookups, from the host), as frames and from batches.

use std::sync::Arc;

use arrow::array::{Array, AsArray, Int64Array};
use arrow::datatypes::{DataType, Field, Schema};
use arrow::record_batch::{RecordBatch, RecordBatchOptions};
use datafusion::common::TableReference;
use datafusion::datasource::{MemTable, provider_as_source};
use datafusion::logical_expr::{Expr, LogicalPlanBuilder};
use exprs::types::ArrowType;
pub use tables::{Column, Record, Rows};
use tables::{array_bytes, typed};

use crate::frame::{Frame, FrameColumn};
use crate::stream::condition;
use crate::{Error, OutputColumn};

/// Collects batches with these columns, without columns that are omitted from the result because no row has a
/// value.
///
/// # Errors
/// If a column is of another type than its kind has.
pub fn collected(columns: &[OutputColumn], batches: &[RecordBatch]) -> Result<Rows, Error> {
    let typed = columns.iter().map(|column| (column.name.clone(), column.value_type));
    let mut rows = Rows::of_batches(typed, batches)?;
    let mut possible = columns.iter().map(|column| column.possible && !column.named);
    rows.columns.retain(|column| {
        let array = &column.array;
        possible.next() != Some(true) || array.logical_null_count() < array.len()
    });
    Ok(rows)
}

/// Returns the minimum size of a batch in bytes: the values of its rows, without unused parts of its buffers.
#[must_use]
pub fn batch_bytes(batch: &RecordBatch) -> usize {
    batch.columns().iter().map(|column| array_bytes(column)).sum()
}

/// Returns the rows that satisfy a condition over their columns, in order. It needs no session, because rows
/// of lookups are read while a search is planned.
///
/// # Errors
/// If the condition reads another column, or cannot be computed.
pub fn filtered(rows: &Rows, condition: Expr) -> Result<Rows, Error> {
    let mut fields = Vec::with_capacity(rows.columns.len());
    let mut arrays = Vec::with_capacity(rows.columns.len());
    for Column { name, kind, array } in &rows.columns {
        fields.push(Field::new(name, kind.data_type(), true));
        arrays.push(typed(array, *kind)?);
    }
    let schema = Arc::new(Schema::new(fields));
    let options = RecordBatchOptions::new().with_row_count(Some(rows.count));
    let batch = RecordBatch::try_new_with_options(Arc::clone(&schema), arrays, &options)?;
    let condition = condition::over(&schema, condition)?;
    let found = condition.evaluate(&batch)?.into_array(rows.count)?;
    let found = found.as_boolean();
    let holds = |row: &usize| found.is_valid(*row) && found.value(*row);
    let kept: Vec<usize> = (0..rows.count).filter(holds).collect();
    Ok(rows.take(&kept)?)
}

impl Frame {
    /// Creates a frame over rows, which keep their order.
    pub fn of_rows(rows: Rows) -> Result<Self, Error> {
        let mut fields = Vec::with_capacity(rows.columns.len() + 1);
        let mut arrays = Vec::with_capacity(rows.columns.len() + 1);
        let mut columns = Vec::with_capacity(rows.columns.len());
        for Column { name, kind, array } in rows.columns {
            fields.push(Field::new(&name, kind.data_type(), true));
            arrays.push(typed(&array, kind)?);
            columns.push(FrameColumn { name, kind });
        }
        fields.push(Field::new("__row", DataType::Int64, false));
        let count = i64::try_from(rows.count).unwrap_or(i64::MAX);
        arrays.push(Arc::new(Int64Array::from_iter_values(0..count)));
        let schema = Arc::new(Schema::new(fields));
        let options = RecordBatchOptions::new().with_row_count(Some(rows.count));
        let batch = RecordBatch::try_new_with_options(Arc::clone(&schema), arrays, &options)?;
        let table = Arc::new(MemTable::try_new(schema, vec![vec![batch]])?);
        let name = TableReference::bare("rows");
        let plan = LogicalPlanBuilder::scan(name, provider_as_source(table), None)?.build()?;
        Self::of_table(plan, "rows", columns, vec![("__row", false)])
    }
}
