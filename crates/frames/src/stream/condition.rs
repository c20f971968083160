//! A condition on the columns that an operator adds to a row, evaluated row by row.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use arrow::compute::cast;
use arrow::datatypes::{Field, Schema, SchemaRef};
use datafusion::common::tree_node::TreeNode;
use datafusion::common::{DFSchema, ScalarValue};
use datafusion::error::Result;
use datafusion::logical_expr::Expr;
use datafusion::logical_expr::execution_props::ExecutionProps;
use datafusion::logical_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion::optimizer::analyzer::type_coercion::TypeCoercionRewriter;
use datafusion::physical_expr::{PhysicalExpr, create_physical_expr};

/// A condition over arguments of the operator (columns of the input) and over columns that it adds.
#[derive(Debug, Clone)]
pub struct ResultCondition {
    condition: Arc<dyn PhysicalExpr>,
    schema: SchemaRef,
    inputs: usize,
}

/// Compiles a condition over these columns outside of a plan.
///
/// # Errors
/// If it reads another column.
pub(crate) fn over(schema: &SchemaRef, condition: Expr) -> Result<Arc<dyn PhysicalExpr>> {
    let columns = DFSchema::try_from(Arc::clone(schema))?;
    // The optimizer does not process this condition, so type coercion is done here.
    let condition = condition.rewrite(&mut TypeCoercionRewriter::new(&columns))?.data;
    let (props, planning) = (ExecutionProps::new(), PhysicalPlanningContext::default());
    create_physical_expr(&condition, &columns, &props, &planning)
}

impl ResultCondition {
    /// Creates a condition with the input columns that it reads and all columns that the operator adds.
    ///
    /// # Errors
    /// If it reads another column.
    pub fn new(condition: Expr, inputs: &[Field], added: &[Field]) -> Result<Self> {
        let fields: Vec<Field> = inputs.iter().chain(added).cloned().collect();
        let schema = Arc::new(Schema::new(fields));
        let condition = over(&schema, condition)?;
        Ok(Self { condition, schema, inputs: inputs.len() })
    }

    /// Returns the number of input columns that it reads.
    pub(crate) fn inputs(&self) -> usize {
        self.inputs
    }

    /// Whether it is true for a row of the input and the last row of added values.
    pub(crate) fn holds(
        &self,
        inputs: &[ArrayRef],
        row: usize,
        added: &[Vec<ScalarValue>],
    ) -> Result<bool> {
        let mut columns: Vec<ArrayRef> = inputs.iter().map(|input| input.slice(row, 1)).collect();
        for value in added.iter().filter_map(|values| values.last()) {
            columns.push(value.to_array()?);
        }
        let typed = columns.iter().zip(self.schema.fields());
        let typed = typed.map(|(column, field)| cast(column, field.data_type()));
        let typed = typed.collect::<std::result::Result<Vec<_>, _>>()?;
        let batch = RecordBatch::try_new(Arc::clone(&self.schema), typed)?;
        let found = self.condition.evaluate(&batch)?.into_array(1)?;
        let found = found.as_boolean();
        Ok(found.is_valid(0) && found.value(0))
    }
}
