//! Values that the plan computes from stored columns, for a scan that computes them itself: a filter over
//! them, or the values as columns.
//!
//! Guarantees: the values are those of the plan, and the same rows pass. Only what is read is computed, each
//! value once. Which values of a plan are moved into the scan is left to `pushed`.

use std::fmt;
use std::sync::Arc;

use arrow::array::{Array, AsArray, BooleanArray, RecordBatch, RecordBatchOptions};
use arrow::compute::prep_null_mask_filter;
use arrow::datatypes::{Field, SchemaRef};
use datafusion::error::{DataFusionError, Result};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::Column;
use exprs::identity::Identity;

/// The name of computed columns in plans, where columns are found by their index.
pub(super) const COMPUTED: &str = "computed";

/// Computations from columns of the table, which several values may share.
#[derive(Debug)]
pub(super) struct Stages {
    /// The indexes of the columns of the table that are read.
    pub(super) reads: Vec<usize>,
    /// These columns.
    pub(super) schema: SchemaRef,
    /// The computations, each over the columns of the one before, and the first one over those of the table.
    pub(super) all: Vec<Stage>,
}

/// The values of a projection that later computations read.
#[derive(Debug)]
pub(super) struct Stage {
    pub(super) exprs: Vec<Arc<dyn PhysicalExpr>>,
    pub(super) schema: SchemaRef,
}

/// A filter over computed values.
#[derive(Debug)]
pub(super) struct ComputedFilter {
    pub(super) stages: Arc<Stages>,
    /// The condition over the columns of the last stage.
    pub(super) condition: Arc<dyn PhysicalExpr>,
    pub(super) identity: Arc<Identity>,
}

/// A computed value as a column of the output.
#[derive(Debug)]
pub(super) struct ComputedColumn {
    pub(super) stages: Arc<Stages>,
    /// The value over the columns of the last stage.
    pub(super) value: Arc<dyn PhysicalExpr>,
    /// What it depends on. It is the name of the column in batches of stored rows.
    pub(super) description: Arc<str>,
    pub(super) field: Field,
}

impl fmt::Display for ComputedFilter {
    /// Writes the condition, and the values that it reads with their names, the last ones first.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.condition)?;
        for stage in self.stages.all.iter().rev() {
            for (expr, field) in stage.exprs.iter().zip(stage.schema.fields()) {
                let column = expr.downcast_ref::<Column>();
                if column.is_none_or(|column| column.name() != field.name()) {
                    write!(f, " where {} is {expr}", field.name())?;
                }
            }
        }
        Ok(())
    }
}

impl Stages {
    /// Returns the columns of the last stage, given the columns of the table that are read.
    pub(super) fn last(&self, mut batch: RecordBatch) -> Result<RecordBatch> {
        for stage in &self.all {
            batch = stage.over(&batch)?;
        }
        Ok(batch)
    }
}

impl Stage {
    fn over(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        let rows = batch.num_rows();
        let mut columns = Vec::with_capacity(self.exprs.len());
        for expr in &self.exprs {
            columns.push(expr.evaluate(batch)?.into_array(rows)?);
        }
        // A value may read no column.
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
