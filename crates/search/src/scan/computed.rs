//! A filter over values that the plan computes from stored columns, for a scan that applies it itself.
//!
//! Guarantees: the same rows pass as those that pass the filter of the plan. Only what the filter reads is
//! computed, each value once. Which filters of a plan are moved into the scan is left to `pushed`.

use std::sync::Arc;

use arrow::array::{Array, AsArray, BooleanArray, RecordBatch, RecordBatchOptions};
use arrow::compute::prep_null_mask_filter;
use arrow::datatypes::SchemaRef;
use datafusion::error::{DataFusionError, Result};
use datafusion::physical_expr::PhysicalExpr;
use exprs::identity::Identity;

/// The filter; see the module documentation.
#[derive(Debug)]
pub(super) struct ComputedFilter {
    /// The indexes of the columns of the table that it reads.
    pub(super) reads: Vec<usize>,
    /// These columns.
    pub(super) schema: SchemaRef,
    /// The computations, each over the columns of the one before, and the first one over those of the table.
    pub(super) stages: Vec<Stage>,
    /// The condition over the columns of the last computation.
    pub(super) condition: Arc<dyn PhysicalExpr>,
    pub(super) identity: Identity,
}

/// The values of a projection that later computations read.
#[derive(Debug)]
pub(super) struct Stage {
    pub(super) exprs: Vec<Arc<dyn PhysicalExpr>>,
    pub(super) schema: SchemaRef,
}

impl ComputedFilter {
    /// Returns which rows pass, given the columns of the table that the filter reads; `None` if all do.
    pub(super) fn mask(&self, mut batch: RecordBatch) -> Result<Option<BooleanArray>> {
        for stage in &self.stages {
            batch = stage.over(&batch)?;
        }
        passing(&self.condition, &batch)
    }
}

impl Stage {
    fn over(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        let rows = batch.num_rows();
        let mut columns = Vec::with_capacity(self.exprs.len());
        for expr in &self.exprs {
            columns.push(expr.evaluate(batch)?.into_array(rows)?);
        }
        // A condition may read no column.
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        Ok(RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options)?)
    }
}

/// Returns which rows satisfy a condition; `None` if all do.
pub(super) fn passing(
    condition: &Arc<dyn PhysicalExpr>,
    batch: &RecordBatch,
) -> Result<Option<BooleanArray>> {
    let value = condition.evaluate(batch)?.into_array(batch.num_rows())?;
    let mask = value.as_boolean_opt().ok_or_else(|| {
        DataFusionError::Internal(format!("the filter {condition} is not a condition"))
    })?;
    let mask = match mask.null_count() {
        0 => mask.clone(),
        // A condition that is null is not satisfied.
        _ => prep_null_mask_filter(mask),
    };
    Ok((mask.true_count() < mask.len()).then_some(mask))
}
