//! Expressions that are evaluated for some of the rows only, over the columns that they read.
//!
//! `AND` evaluates its right side for the rows that its left side leaves, `CASE` each branch for its own.
//! The engine copies those rows of all columns of the batch first. With the add-ons of an installation events
//! have hundreds of fields, of which an event type or a calculated field reads a few.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions, UInt32Array};
use arrow::compute::take;
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

/// What an expression is evaluated over.
#[derive(Debug, Clone, Copy)]
struct Over {
    /// The columns of the batch.
    columns: usize,
    /// Whether these are the columns that an expression around it reads.
    is_part: bool,
}

impl Over {
    /// Whether an expression that reads so many columns is worth a batch of its own. Within another part it
    /// has to be half of its columns: each part renumbers those within it, so that in a chain of conditions
    /// over other columns each, a part for every few of them would double the work with each of these.
    fn is_wide_for(self, own: usize) -> bool {
        own + OTHERS <= self.columns && (!self.is_part || 2 * own <= self.columns)
    }
}

/// Rewrites the expressions of projections and filters.
pub(super) fn in_operator(node: &Arc<dyn ExecutionPlan>) -> Rewritten {
    if let Some(projection) = node.downcast_ref::<ProjectionExec>() {
        let over = Over { columns: projection.input().schema().fields().len(), is_part: false };
        let mut changed = false;
        let mut exprs = Vec::with_capacity(projection.expr().len());
        for of in projection.expr() {
            let expr = in_expression(&of.expr, over)?;
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
        let over = Over { columns: filter.input().schema().fields().len(), is_part: false };
        let Some(predicate) = in_expression(filter.predicate(), over)? else { return Ok(None) };
        let made = FilterExecBuilder::from(filter).with_predicate(predicate).build()?;
        return Ok(Some(Arc::new(made)));
    }
    Ok(None)
}

/// The expression over a batch; `None` if it stays as it is.
fn in_expression(
    expr: &Arc<dyn PhysicalExpr>,
    over: Over,
) -> Result<Option<Arc<dyn PhysicalExpr>>> {
    if copies(expr) {
        let own = collect_columns(expr).len();
        if over.is_wide_for(own) {
            let inner = in_children(expr, Over { columns: own, is_part: true })?;
            return Ok(Some(Arc::new(Narrow::of(inner.unwrap_or_else(|| Arc::clone(expr)))?)));
        }
    }
    let made = in_children(expr, over)?;
    let now = made.as_ref().unwrap_or(expr);
    let branches = now.downcast_ref().map(|case| Branches::of(now, case)).transpose()?.flatten();
    Ok(branches.map(|branches| Arc::new(branches) as _).or(made))
}

/// The same for what an expression is made of.
fn in_children(expr: &Arc<dyn PhysicalExpr>, over: Over) -> Result<Option<Arc<dyn PhysicalExpr>>> {
    let mut changed = false;
    let mut children = Vec::new();
    for child in expr.children() {
        let made = in_expression(child, over)?;
        changed |= made.is_some();
        children.push(made.unwrap_or_else(|| Arc::clone(child)));
    }
    if changed { Arc::clone(expr).with_new_children(children).map(Some) } else { Ok(None) }
}

/// Whether evaluating an expression copies rows of all columns.
fn copies(expr: &Arc<dyn PhysicalExpr>) -> bool {
    match expr.downcast_ref::<BinaryExpr>() {
        Some(binary) => matches!(binary.op(), Operator::And | Operator::Or),
        // One with a number before its branches becomes a choice.
        None => expr.downcast_ref::<CaseExpr>().is_some_and(|case| case.expr().is_none()),
    }
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

    /// Its values.
    pub(super) fn of_all(&self, batch: &RecordBatch) -> Result<ColumnarValue> {
        self.evaluate(batch, batch.num_rows(), |column| Ok(Arc::clone(column)))
    }

    /// Its values for some of the rows.
    pub(super) fn of_rows(&self, rows: &UInt32Array, batch: &RecordBatch) -> Result<ColumnarValue> {
        self.evaluate(batch, rows.len(), |column| Ok(take(column, rows, None)?))
    }

    fn evaluate(
        &self,
        batch: &RecordBatch,
        rows: usize,
        column: impl Fn(&ArrayRef) -> Result<ArrayRef>,
    ) -> Result<ColumnarValue> {
        let schema = Arc::new(batch.schema_ref().project(&self.columns)?);
        let columns = self.columns.iter().map(|at| column(batch.column(*at)));
        // It may read none.
        let rows = RecordBatchOptions::new().with_row_count(Some(rows));
        let columns = columns.collect::<Result<_>>()?;
        self.expr.evaluate(&RecordBatch::try_new_with_options(schema, columns, &rows)?)
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
        self.part.of_all(batch)
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
    use arrow::array::Int64Array;
    use datafusion::physical_expr::expressions::{case, lit, not};

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

    fn over(columns: usize) -> Over {
        Over { columns, is_part: false }
    }

    /// How deep parts are within each other.
    fn depth(expr: &Arc<dyn PhysicalExpr>) -> usize {
        let within = expr.children().into_iter().map(depth).max().unwrap_or(0);
        within + usize::from(expr.is::<Narrow>())
    }

    #[test]
    fn a_chain_of_conditions_over_many_columns_has_few_parts_within_each_other() {
        for op in [Operator::And, Operator::Or] {
            let conditions = (0..400).map(|at| is(at, Operator::Gt, 1));
            let chain = conditions.reduce(|left, right| both(left, op, right)).unwrap();
            // 2^100 steps, if there was a part for every four of them.
            let narrow = in_expression(&chain, over(500)).unwrap().unwrap();
            assert!((5..10).contains(&depth(&narrow)), "{}", depth(&narrow));
        }
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
            let narrow = in_expression(&condition, over(20)).unwrap().unwrap();
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
        let tests = vec![(rare(), is(3, Operator::Eq, 1)), (is(2, Operator::Eq, 2), rare())];
        let case = case(None, tests, Some(rare())).unwrap();
        let inside =
            in_expression(&not(both(case, Operator::Or, rare())).unwrap(), over(20)).unwrap();
        let inside = format!("{:?}", inside.unwrap());
        assert!(inside.starts_with("NotExpr { arg: Narrow"), "{inside}");
        assert!(
            in_expression(&is(3, Operator::Eq, 3), over(20)).unwrap().is_none(),
            "nothing is copied"
        );
        assert!(in_expression(&rare(), over(4)).unwrap().is_none(), "it reads most columns");
    }
}
