//! Expressions that are evaluated for a part of the rows, over only the columns that they read.
//!
//! `AND` evaluates its right side for the rows in which its left side is true, and `CASE` evaluates each
//! branch for its own rows. The engine first copies these rows with all columns of the batch. With the
//! add-ons of a large installation, events have hundreds of fields, of which an event type or a calculated
//! field reads a few.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, OnceLock};

use arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions, UInt32Array};
use arrow::compute::take;
use arrow::datatypes::{DataType, FieldRef, Schema};
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode, TreeNodeRecursion};
use datafusion::error::Result;
use datafusion::logical_expr::{ColumnarValue, Operator};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{BinaryExpr, CaseExpr, Column};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::filter::{FilterExec, FilterExecBuilder};
use datafusion::physical_plan::projection::{ProjectionExec, ProjectionExpr};
use hashbrown::HashSet;

use super::branches::Branches;
use super::rewrites::Rewritten;

/// Minimum number of unread columns for which an expression is evaluated over a batch of its own.
const OTHERS: usize = 4;

/// The batch over which an expression is evaluated.
#[derive(Debug, Clone, Copy)]
struct Over {
    /// The number of columns of the batch.
    columns: usize,
    /// Whether the batch has only the columns that an enclosing expression reads.
    is_part: bool,
}

impl Over {
    /// Whether a batch of its own is worthwhile for an expression that reads `own` columns. Within another
    /// part, it must halve the number of columns: each part renumbers the parts within it, so in a chain of
    /// conditions over different columns, a part for every few columns would double the work with each level.
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

/// Returns an expression as the rule rewrites it, for a batch of this number of columns: for operators that
/// evaluate expressions which the rule does not see.
///
/// # Errors
/// If a part of the expression does not accept its rewritten parts.
pub fn over_parts(expr: &Arc<dyn PhysicalExpr>, columns: usize) -> Result<Arc<dyn PhysicalExpr>> {
    let rewritten = in_expression(expr, Over { columns, is_part: false })?;
    Ok(rewritten.unwrap_or_else(|| Arc::clone(expr)))
}

/// The number of columns that an expression reads, and the same for each of its children.
#[derive(Debug)]
struct Reads {
    columns: usize,
    children: Vec<Self>,
}

impl Reads {
    fn of(expr: &Arc<dyn PhysicalExpr>) -> Self {
        Self::with_columns(expr).0
    }

    /// Also returns the columns. Smaller sets are merged into the largest one, so that a chain of thousands
    /// of conditions takes almost linear time.
    fn with_columns(expr: &Arc<dyn PhysicalExpr>) -> (Self, HashSet<usize>) {
        let mut columns = HashSet::new();
        columns.extend(expr.downcast_ref::<Column>().map(Column::index));
        let mut children = Vec::new();
        for child in expr.children() {
            let (reads, mut more) = Self::with_columns(child);
            if more.len() > columns.len() {
                std::mem::swap(&mut columns, &mut more);
            }
            columns.extend(more);
            children.push(reads);
        }
        (Self { columns: columns.len(), children }, columns)
    }
}

/// Returns the expression rewritten for a batch; `None` if it does not change.
fn in_expression(
    expr: &Arc<dyn PhysicalExpr>,
    over: Over,
) -> Result<Option<Arc<dyn PhysicalExpr>>> {
    // Most expressions of a projection are plain columns.
    if expr.is::<Column>() {
        return Ok(None);
    }
    rewritten(expr, &Reads::of(expr), over)
}

fn rewritten(
    expr: &Arc<dyn PhysicalExpr>,
    reads: &Reads,
    over: Over,
) -> Result<Option<Arc<dyn PhysicalExpr>>> {
    if over.is_wide_for(reads.columns) && copies(expr) {
        let inner = in_children(expr, reads, Over { columns: reads.columns, is_part: true })?;
        let inner = inner.unwrap_or_else(|| Arc::clone(expr));
        return Ok(Some(Arc::new(Narrow { part: Part::of(&inner) })));
    }
    let made = in_children(expr, reads, over)?;
    let now = made.as_ref().unwrap_or(expr);
    let branches = now.downcast_ref().and_then(|case| Branches::of(now, case));
    Ok(branches.map(|branches| Arc::new(branches) as _).or(made))
}

/// Rewrites the children of an expression.
fn in_children(
    expr: &Arc<dyn PhysicalExpr>,
    reads: &Reads,
    over: Over,
) -> Result<Option<Arc<dyn PhysicalExpr>>> {
    let mut changed = false;
    let mut children = Vec::new();
    for (child, reads) in expr.children().into_iter().zip(&reads.children) {
        let made = rewritten(child, reads, over)?;
        changed |= made.is_some();
        children.push(made.unwrap_or_else(|| Arc::clone(child)));
    }
    if changed { Arc::clone(expr).with_new_children(children).map(Some) } else { Ok(None) }
}

/// Whether evaluating an expression copies rows with all columns.
fn copies(expr: &Arc<dyn PhysicalExpr>) -> bool {
    match expr.downcast_ref::<BinaryExpr>() {
        Some(binary) => matches!(binary.op(), Operator::And | Operator::Or),
        // A `CASE` over a number is replaced by `Branches`.
        None => expr.downcast_ref::<CaseExpr>().is_some_and(|case| case.expr().is_none()),
    }
}

/// An expression that is evaluated over a batch of only the columns that it reads.
#[derive(Debug)]
pub(super) struct Part {
    /// The expression over the columns of the enclosing batch.
    expr: Arc<dyn PhysicalExpr>,
    /// Created on the first evaluation. While expressions are rewritten, their children are rebuilt
    /// repeatedly, for example once by each enclosing `CASE`: if they were renumbered every time, the work
    /// would double with each enclosing part.
    numbered: OnceLock<Numbered>,
}

/// An expression whose column indexes refer to the reduced batch.
#[derive(Debug)]
struct Numbered {
    expr: Arc<dyn PhysicalExpr>,
    /// The indexes of its columns in the enclosing batch, in ascending order.
    columns: Vec<usize>,
}

impl Numbered {
    fn of(expr: &Arc<dyn PhysicalExpr>) -> Result<Self> {
        let mut columns = Vec::<usize>::new();
        expr.apply(|node| {
            columns.extend(node.downcast_ref::<Column>().map(Column::index));
            Ok(TreeNodeRecursion::Continue)
        })?;
        columns.sort_unstable();
        columns.dedup();
        let place = |at: usize| columns.binary_search(&at).unwrap_or(at);
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
}

impl Part {
    pub(super) fn of(expr: &Arc<dyn PhysicalExpr>) -> Self {
        Self { expr: Arc::clone(expr), numbered: OnceLock::new() }
    }

    fn numbered(&self) -> Result<&Numbered> {
        if let Some(numbered) = self.numbered.get() {
            return Ok(numbered);
        }
        let numbered = Numbered::of(&self.expr)?;
        Ok(self.numbered.get_or_init(|| numbered))
    }

    /// Returns its values for all rows.
    pub(super) fn of_all(&self, batch: &RecordBatch) -> Result<ColumnarValue> {
        self.evaluate(batch, batch.num_rows(), |column| Ok(Arc::clone(column)))
    }

    /// Returns its values for the given rows.
    pub(super) fn of_rows(&self, rows: &UInt32Array, batch: &RecordBatch) -> Result<ColumnarValue> {
        self.evaluate(batch, rows.len(), |column| Ok(take(column, rows, None)?))
    }

    fn evaluate(
        &self,
        batch: &RecordBatch,
        rows: usize,
        column: impl Fn(&ArrayRef) -> Result<ArrayRef>,
    ) -> Result<ColumnarValue> {
        let Numbered { expr, columns } = self.numbered()?;
        let schema = Arc::new(batch.schema_ref().project(columns)?);
        let columns = columns.iter().map(|at| column(batch.column(*at)));
        // The expression may read no column, so the number of rows is set explicitly.
        let rows = RecordBatchOptions::new().with_row_count(Some(rows));
        let columns = columns.collect::<Result<_>>()?;
        expr.evaluate(&RecordBatch::try_new_with_options(schema, columns, &rows)?)
    }

    /// Returns the index of the column if the expression is a plain column.
    pub(super) fn as_column(&self) -> Option<usize> {
        self.expr.downcast_ref::<Column>().map(Column::index)
    }
}

/// An expression that is evaluated over a batch of only the columns that it reads, in place of the original
/// one.
#[derive(Debug)]
struct Narrow {
    part: Part,
}

impl PartialEq for Narrow {
    fn eq(&self, other: &Self) -> bool {
        self.part.expr.eq(&other.part.expr)
    }
}

impl Eq for Narrow {}

impl Hash for Narrow {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.part.expr.hash(state);
    }
}

impl fmt::Display for Narrow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.part.expr.fmt(f)
    }
}

impl PhysicalExpr for Narrow {
    fn data_type(&self, schema: &Schema) -> Result<DataType> {
        self.part.expr.data_type(schema)
    }

    fn nullable(&self, schema: &Schema) -> Result<bool> {
        self.part.expr.nullable(schema)
    }

    fn return_field(&self, schema: &Schema) -> Result<FieldRef> {
        self.part.expr.return_field(schema)
    }

    fn evaluate(&self, batch: &RecordBatch) -> Result<ColumnarValue> {
        self.part.of_all(batch)
    }

    fn children(&self) -> Vec<&Arc<dyn PhysicalExpr>> {
        vec![&self.part.expr]
    }

    fn with_new_children(
        self: Arc<Self>,
        mut children: Vec<Arc<dyn PhysicalExpr>>,
    ) -> Result<Arc<dyn PhysicalExpr>> {
        match children.pop() {
            Some(expr) => Ok(Arc::new(Self { part: Part::of(&expr) })),
            None => Ok(self),
        }
    }

    fn fmt_sql(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.part.expr.fmt_sql(f)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use arrow::array::Int64Array;
    use datafusion::physical_expr::expressions::{case, lit, not};

    use super::*;

    /// Returns a batch of the columns `c0` to `c19` with different values in each row.
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

    /// Returns the maximum nesting depth of parts.
    fn depth(expr: &Arc<dyn PhysicalExpr>) -> usize {
        let within = expr.children().into_iter().map(depth).max().unwrap_or(0);
        within + usize::from(expr.is::<Narrow>())
    }

    #[test]
    fn a_chain_of_conditions_over_many_columns_has_few_parts_within_each_other() {
        for op in [Operator::And, Operator::Or] {
            let conditions = (0..400).map(|at| is(at, Operator::Gt, 1));
            let chain = conditions.reduce(|left, right| both(left, op, right)).unwrap();
            // 2^100 nodes, if there was a part for every four of them.
            let narrow = in_expression(&chain, over(500)).unwrap().unwrap();
            assert!((5..10).contains(&depth(&narrow)), "{}", depth(&narrow));
        }
    }

    #[test]
    fn choices_deep_within_each_other_are_numbered_once() {
        let column =
            |at: usize| -> Arc<dyn PhysicalExpr> { Arc::new(Column::new(&format!("c{at}"), at)) };
        // 2^40 nodes, if each choice was rebuilt twice with the enclosing one.
        let choice = (0..40_i64).fold(column(1), |inner, at| {
            let tests = vec![(lit(at % 13), column(2)), (lit(at % 7), inner)];
            case(Some(column(0)), tests, Some(column(3))).unwrap()
        });
        let made = in_expression(&choice, over(20)).unwrap().unwrap();
        assert!(made.is::<Branches>());
        let values = |expr: &Arc<dyn PhysicalExpr>| {
            expr.evaluate(&batch()).unwrap().into_array(100).unwrap()
        };
        assert_eq!(&values(&made), &values(&choice));
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
