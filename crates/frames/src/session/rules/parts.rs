//! Expressions that are evaluated for some of the rows only, over the columns that they read.
//!
//! `AND` evaluates its right side for the rows that its left side leaves, `CASE` each branch for its own.
//! The engine copies those rows of all columns of the batch first. With the add-ons of an installation events
//! have hundreds of fields, of which an event type or a calculated field reads a few.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::{DataType, FieldRef, Schema};
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::error::Result;
use datafusion::logical_expr::{ColumnarValue, Operator};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{BinaryExpr, CaseExpr, Column};
use datafusion::physical_expr::utils::collect_columns;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::filter::{FilterExec, FilterExecBuilder};
use datafusion::physical_plan::projection::{ProjectionExec, ProjectionExpr};

use super::branches::Branches;
use super::rewrites::Rewritten;

/// Columns besides those that an expression reads from which on it gets batches of its own.
const OTHERS: usize = 4;

/// Rewrites the expressions of projections and filters.
pub(super) fn in_operator(node: &Arc<dyn ExecutionPlan>) -> Rewritten {
    if let Some(projection) = node.downcast_ref::<ProjectionExec>() {
        let columns = projection.input().schema().fields().len();
        let mut changed = false;
        let mut exprs = Vec::with_capacity(projection.expr().len());
        for of in projection.expr() {
            let expr = in_expression(&of.expr, columns)?;
            changed |= expr.is_some();
            let expr = expr.unwrap_or_else(|| Arc::clone(&of.expr));
            exprs.push(ProjectionExpr { expr, alias: of.alias.clone() });
        }
        if !changed {
            return Ok(None);
        }
        let made = ProjectionExec::try_new(exprs, Arc::clone(projection.input()))?;
        return Ok(Some(Arc::new(made)));
    }
    if let Some(filter) = node.downcast_ref::<FilterExec>() {
        let columns = filter.input().schema().fields().len();
        let Some(predicate) = in_expression(filter.predicate(), columns)? else { return Ok(None) };
        let made = FilterExecBuilder::from(filter).with_predicate(predicate).build()?;
        return Ok(Some(Arc::new(made)));
    }
    Ok(None)
}

/// The expression over a batch of so many columns; `None` if it stays as it is.
fn in_expression(
    expr: &Arc<dyn PhysicalExpr>,
    columns: usize,
) -> Result<Option<Arc<dyn PhysicalExpr>>> {
    let mut copies = false;
    let made = Arc::clone(expr).transform_up(|node| {
        let binary = node.downcast_ref::<BinaryExpr>();
        copies |= binary.is_some_and(|of| matches!(of.op(), Operator::And | Operator::Or));
        let Some(case) = node.downcast_ref::<CaseExpr>() else { return Ok(Transformed::no(node)) };
        match Branches::of(&node, case)? {
            Some(branches) => Ok(Transformed::yes(Arc::new(branches) as _)),
            None => {
                copies = true;
                Ok(Transformed::no(node))
            }
        }
    })?;
    let is_new = made.transformed;
    let made = made.data;
    if copies && collect_columns(&made).len() + OTHERS <= columns {
        return Ok(Some(Arc::new(Narrow::of(made)?)));
    }
    Ok(is_new.then_some(made))
}

/// An expression over a batch of the columns that it reads.
#[derive(Debug)]
pub(super) struct Part {
    expr: Arc<dyn PhysicalExpr>,
    columns: Vec<usize>,
}

impl Part {
    pub(super) fn of(expr: &Arc<dyn PhysicalExpr>) -> Result<Self> {
        let mut columns: Vec<usize> = collect_columns(expr).iter().map(Column::index).collect();
        columns.sort_unstable();
        columns.dedup();
        let place = |at: usize| columns.iter().position(|column| *column == at).unwrap_or(at);
        let expr = Arc::clone(expr).transform_up(|node| {
            Ok(match node.downcast_ref::<Column>() {
                Some(column) => {
                    let moved = Column::new(column.name(), place(column.index()));
                    Transformed::yes(Arc::new(moved) as _)
                }
                None => Transformed::no(node),
            })
        });
        Ok(Self { expr: expr.data()?, columns })
    }

    /// The columns that it reads, of those of the whole batch.
    pub(super) fn columns_of(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        Ok(batch.project(&self.columns)?)
    }

    /// Its values for a batch of [`columns_of`](Self::columns_of).
    pub(super) fn evaluate(&self, columns: &RecordBatch) -> Result<ColumnarValue> {
        self.expr.evaluate(columns)
    }

    /// The place of a column, if it is no more than that.
    pub(super) fn as_column(&self) -> Option<usize> {
        self.expr.is::<Column>().then(|| self.columns[0])
    }
}

/// An expression that is evaluated over its own columns.
#[derive(Debug)]
struct Narrow {
    expr: Arc<dyn PhysicalExpr>,
    part: Part,
}

impl Narrow {
    fn of(expr: Arc<dyn PhysicalExpr>) -> Result<Self> {
        Ok(Self { part: Part::of(&expr)?, expr })
    }
}

impl PartialEq for Narrow {
    fn eq(&self, other: &Self) -> bool {
        self.expr.eq(&other.expr)
    }
}

impl Eq for Narrow {}

impl Hash for Narrow {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.expr.hash(state);
    }
}

impl fmt::Display for Narrow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.expr.fmt(f)
    }
}

impl PhysicalExpr for Narrow {
    fn data_type(&self, schema: &Schema) -> Result<DataType> {
        self.expr.data_type(schema)
    }

    fn nullable(&self, schema: &Schema) -> Result<bool> {
        self.expr.nullable(schema)
    }

    fn return_field(&self, schema: &Schema) -> Result<FieldRef> {
        self.expr.return_field(schema)
    }

    fn evaluate(&self, batch: &RecordBatch) -> Result<ColumnarValue> {
        self.part.evaluate(&self.part.columns_of(batch)?)
    }

    fn children(&self) -> Vec<&Arc<dyn PhysicalExpr>> {
        vec![&self.expr]
    }

    fn with_new_children(
        self: Arc<Self>,
        mut children: Vec<Arc<dyn PhysicalExpr>>,
    ) -> Result<Arc<dyn PhysicalExpr>> {
        match children.pop() {
            Some(expr) => Ok(Arc::new(Self::of(expr)?)),
            None => Ok(self),
        }
    }

    fn fmt_sql(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.expr.fmt_sql(f)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use arrow::array::{ArrayRef, Int64Array};
    use datafusion::physical_expr::expressions::lit;

    use super::*;

    /// A batch of the columns `c0` to `c19`, of which each row has other values.
    fn batch() -> RecordBatch {
        let column = |at: i64| -> ArrayRef {
            Arc::new(Int64Array::from_iter(
                (0..100_i64).map(|row| (row % (at + 2) != 0).then_some(row * (at + 1) % 13)),
            ))
        };
        let columns = (0..20).map(|at| (format!("c{at}"), column(at), true));
        RecordBatch::try_from_iter_with_nullable(columns).unwrap()
    }

    fn is(at: usize, op: Operator, value: i64) -> Arc<dyn PhysicalExpr> {
        let column = Arc::new(Column::new(&format!("c{at}"), at));
        Arc::new(BinaryExpr::new(column, op, lit(value)))
    }

    fn both(
        left: Arc<dyn PhysicalExpr>,
        op: Operator,
        right: Arc<dyn PhysicalExpr>,
    ) -> Arc<dyn PhysicalExpr> {
        Arc::new(BinaryExpr::new(left, op, right))
    }

    #[test]
    fn a_condition_on_its_own_columns_has_the_same_truths() {
        let rare = || both(is(17, Operator::Eq, 3), Operator::And, is(4, Operator::Lt, 6));
        let conditions = [
            rare(),
            both(rare(), Operator::Or, is(19, Operator::Gt, 10)),
            both(rare(), Operator::And, rare()),
        ];
        for condition in conditions {
            let narrow = in_expression(&condition, 20).unwrap().unwrap();
            assert!(narrow.is::<Narrow>());
            let truths = |expr: &Arc<dyn PhysicalExpr>| {
                expr.evaluate(&batch()).unwrap().into_array(100).unwrap()
            };
            assert_eq!(&truths(&narrow), &truths(&condition), "{condition}");
            let schema = batch().schema();
            assert_eq!(narrow.data_type(&schema).unwrap(), DataType::Boolean);
            let same = Arc::clone(&narrow).with_new_children(vec![condition]).unwrap();
            assert!(same.eq(&narrow));
        }
        assert!(in_expression(&is(3, Operator::Eq, 3), 20).unwrap().is_none(), "nothing is copied");
        assert!(in_expression(&rare(), 4).unwrap().is_none(), "it reads most columns");
    }
}
