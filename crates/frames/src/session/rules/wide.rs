//! DataFusion's rule for projections over many columns, in time linear in their number.
//!
//! The rule drops unused columns and merges adjacent projections. It finds each column that an operator
//! reads, and the type of each value, by a linear search of the columns below: for each projection over the
//! 15,000 fields of `table *`, in each pass. That took a third of the planning time. Here, columns are found
//! by name in an index.
//!
//! The result is the same, with two exceptions. A projection over an equal one is not dropped, as that would
//! be wrong (see [`super::projections`]). Projections do not propagate functional dependencies, nor do the
//! frames of searches, so group keys that depend on other keys are kept.
//!
//! Plans with other operators or expressions are left to DataFusion's rule: those of SQL with joins, grouping
//! sets, or subqueries in expressions, for example.

use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, DFSchema, HashMap, Result, internal_err};
use datafusion::logical_expr::expr::Alias;
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::{
    Aggregate, EmptyRelation, Expr, LogicalPlan, Projection, TableScan, TableScanBuilder, Window,
};
use datafusion::optimizer::optimize_projections::is_projection_unnecessary;

use crate::frame::schemas::{Columns, aggregation, projection};
use crate::session::planning::PlanningTime;

/// Whether a plan has an operator of at least this many columns, and all of its operators and expressions are
/// supported.
pub(super) fn is_for(plan: &LogicalPlan, columns: usize) -> Result<bool> {
    let is_wide = plan.exists(|node| Ok(node.schema().fields().len() >= columns))?;
    Ok(is_wide && !plan.exists(|node| Ok(!is_known(node)?))?)
}

fn is_known(node: &LogicalPlan) -> Result<bool> {
    let is_known = matches!(
        node,
        LogicalPlan::Projection(_)
            | LogicalPlan::Filter(_)
            | LogicalPlan::Aggregate(_)
            | LogicalPlan::Window(_)
            | LogicalPlan::Sort(_)
            | LogicalPlan::Limit(_)
            | LogicalPlan::Union(_)
            | LogicalPlan::SubqueryAlias(_)
            | LogicalPlan::Extension(_)
            | LogicalPlan::TableScan(_)
            | LogicalPlan::EmptyRelation(_)
            | LogicalPlan::Values(_)
    );
    let mut has_more = false;
    node.apply_expressions(|expr| {
        has_more |= expr.exists(|part| {
            Ok(matches!(
                part,
                Expr::Exists(_)
                    | Expr::InSubquery(_)
                    | Expr::SetComparison(_)
                    | Expr::ScalarSubquery(_)
                    | Expr::OuterReferenceColumn(..)
                    | Expr::GroupingSet(_)
            ))
        })?;
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(is_known && !has_more)
}

/// Returns the plan without unused columns.
pub(super) fn pruned(plan: LogicalPlan, time: Option<&PlanningTime>) -> Result<LogicalPlan> {
    let read = Read::all(&plan);
    of_plan(plan, read, time)
}

/// The columns of an operator that are read above it.
#[derive(Debug, Clone)]
struct Read {
    /// Their distinct indexes, in ascending order.
    places: Vec<usize>,
    /// Whether an operator above benefits from narrower rows.
    narrow: bool,
}

impl Read {
    fn of(places: Vec<usize>) -> Self {
        Self { places: Vec::new(), narrow: false }.and(places)
    }

    fn all(plan: &LogicalPlan) -> Self {
        Self { places: (0..plan.schema().fields().len()).collect(), narrow: false }
    }

    fn and(mut self, more: Vec<usize>) -> Self {
        self.places.extend(more);
        self.places.sort_unstable();
        self.places.dedup();
        self
    }

    /// Splits the columns into those of the left input, which has `first` columns, and those of the right
    /// input, as indexes in that input.
    fn split(mut self, first: usize) -> (Self, Vec<usize>) {
        let rest = self.places.split_off(self.places.partition_point(|at| *at < first));
        (self, rest.into_iter().map(|at| at - first).collect())
    }
}

fn of_plan(plan: LogicalPlan, read: Read, time: Option<&PlanningTime>) -> Result<LogicalPlan> {
    if let Some(time) = time {
        time.check()?;
    }
    match plan {
        LogicalPlan::Projection(of) => of_projection(merged(of)?, &read, time),
        LogicalPlan::Aggregate(of) => of_aggregate(of, read, time),
        LogicalPlan::Window(of) => of_window(of, read, time),
        LogicalPlan::TableScan(of) => of_scan(of, read),
        LogicalPlan::EmptyRelation(_) | LogicalPlan::Values(_) => Ok(plan),
        other => of_inputs(other, &read, time),
    }
}

fn of_projection(of: Projection, read: &Read, time: Option<&PlanningTime>) -> Result<LogicalPlan> {
    let Projection { expr, input, .. } = of;
    let exprs = taken(expr, &read.places);
    let below = Columns::of(input.schema()).read_by(&exprs);
    let input = of_plan(Arc::unwrap_or_clone(input), Read::of(below), time)?;
    if is_projection_unnecessary(&input, &exprs)? {
        return Ok(input);
    }
    projection(exprs, Arc::new(input)).map(LogicalPlan::Projection)
}

fn of_aggregate(of: Aggregate, read: Read, time: Option<&PlanningTime>) -> Result<LogicalPlan> {
    let Aggregate { input, group_expr, aggr_expr, .. } = of;
    let (_, values) = read.split(group_expr.len());
    let values = taken(aggr_expr, &values);
    if group_expr.is_empty() && values.is_empty() {
        let schema = Arc::new(DFSchema::empty());
        return Ok(LogicalPlan::EmptyRelation(EmptyRelation { produce_one_row: true, schema }));
    }
    let below = Columns::of(input.schema()).read_by(group_expr.iter().chain(&values));
    let below = Read::of(below);
    let columns = columns_at(input.schema(), &below.places);
    let input = of_plan(Arc::unwrap_or_clone(input), below, time)?;
    let input = Arc::new(narrowed(input, columns)?);
    aggregation(input, group_expr, values).map(LogicalPlan::Aggregate)
}

fn of_window(of: Window, read: Read, time: Option<&PlanningTime>) -> Result<LogicalPlan> {
    let Window { input, window_expr, .. } = of;
    let (below, windows) = read.split(input.schema().fields().len());
    let windows = taken(window_expr, &windows);
    let below = below.and(Columns::of(input.schema()).read_by(&windows));
    let columns = columns_at(input.schema(), &below.places);
    let input = of_plan(Arc::unwrap_or_clone(input), below, time)?;
    if windows.is_empty() {
        return Ok(input);
    }
    let input = Arc::new(narrowed(input, columns)?);
    Window::try_new(windows, input).map(LogicalPlan::Window)
}

fn of_scan(of: TableScan, read: Read) -> Result<LogicalPlan> {
    let places = match &of.projection {
        Some(known) => read.places.iter().filter_map(|at| known.get(*at).copied()).collect(),
        None => read.places,
    };
    let scan = TableScanBuilder::from(of).with_projection(Some(places)).build()?;
    Ok(LogicalPlan::TableScan(scan))
}

/// Prunes the inputs of an operator that passes their columns on.
fn of_inputs(plan: LogicalPlan, read: &Read, time: Option<&PlanningTime>) -> Result<LogicalPlan> {
    let mut reads = read_of_inputs(&plan, read)?.into_iter();
    let done = plan.map_children(|input| {
        let Some(read) = reads.next() else {
            return internal_err!("an operator has more inputs than before");
        };
        let columns = read.narrow.then(|| columns_at(input.schema(), &read.places));
        let input = of_plan(input, read, time)?;
        Ok(Transformed::yes(match columns {
            Some(columns) => narrowed(input, columns)?,
            None => input,
        }))
    })?;
    done.data.recompute_schema()
}

/// Returns the columns that are read from the inputs of such an operator, by it or above it.
fn read_of_inputs(plan: &LogicalPlan, read: &Read) -> Result<Vec<Read>> {
    let inputs = plan.inputs();
    let above: Vec<Read> = match plan {
        LogicalPlan::Extension(of) => match of.node.necessary_children_exprs(&read.places) {
            Some(each) => each.into_iter().map(Read::of).collect(),
            None => return Ok(inputs.into_iter().map(Read::all).collect()),
        },
        // A limit does not buffer rows, so it does not benefit from narrower ones.
        LogicalPlan::Limit(_) => vec![read.clone(); inputs.len()],
        _ => vec![Read { narrow: true, ..read.clone() }; inputs.len()],
    };
    if above.len() != inputs.len() {
        return internal_err!("an operator does not say what it reads of each input");
    }
    let each = inputs.into_iter().zip(above).map(|(input, above)| -> Result<Read> {
        let columns = Columns::of(input.schema());
        let mut places = Vec::new();
        plan.apply_expressions(|expr| {
            places.extend(columns.read_by([expr]));
            Ok(TreeNodeRecursion::Continue)
        })?;
        Ok(above.and(places))
    });
    each.collect()
}

/// Returns the expressions at these indexes.
fn taken(exprs: Vec<Expr>, places: &[usize]) -> Vec<Expr> {
    let mut places = places.iter().copied().peekable();
    let each = exprs.into_iter().enumerate();
    each.filter(|(at, _)| places.next_if_eq(at).is_some()).map(|(_, expr)| expr).collect()
}

fn columns_at(schema: &DFSchema, places: &[usize]) -> Vec<Expr> {
    let each = places.iter().map(|at| Column::from(schema.qualified_field(*at)));
    each.map(Expr::Column).collect()
}

/// Projects the rows to these columns, if they have others.
fn narrowed(plan: LogicalPlan, columns: Vec<Expr>) -> Result<LogicalPlan> {
    if columns.len() >= plan.schema().fields().len() {
        return Ok(plan);
    }
    projection(columns, Arc::new(plan)).map(LogicalPlan::Projection)
}

/// Merges a projection with those below it, as long as no value is computed twice because of that.
fn merged(mut upper: Projection) -> Result<Projection> {
    loop {
        let Transformed { data, transformed, .. } = merged_once(upper)?;
        if !transformed {
            return Ok(data);
        }
        upper = data;
    }
}

fn merged_once(upper: Projection) -> Result<Transformed<Projection>> {
    let may_be_one = match upper.input.as_ref() {
        LogicalPlan::Projection(lower) => !computes_twice(&upper.expr, lower),
        _ => false,
    };
    if !may_be_one {
        return Ok(Transformed::no(upper));
    }
    let Projection { expr: above, input, .. } = upper;
    let LogicalPlan::Projection(lower) = Arc::unwrap_or_clone(input) else {
        return internal_err!("a projection has become another operator");
    };
    let mut is_other = false;
    let mut exprs = Vec::with_capacity(above.len());
    let below = Columns::of(&lower.schema);
    for expr in above {
        let Transformed { data, transformed, .. } = through(expr, &lower, &below)?;
        is_other |= transformed;
        exprs.push(data);
    }
    drop(below);
    if is_other {
        projection(exprs, lower.input).map(Transformed::yes)
    } else {
        projection(exprs, Arc::new(LogicalPlan::Projection(lower))).map(Transformed::no)
    }
}

/// Whether a value that is computed below is read more than once above.
fn computes_twice(above: &[Expr], lower: &Projection) -> bool {
    let below = Columns::of(&lower.schema);
    let mut reads = HashMap::<&Column, usize>::new();
    above.iter().for_each(|expr| expr.add_column_ref_counts(&mut reads));
    reads.into_iter().filter(|(_, times)| *times > 1).any(|(column, _)| {
        let value = below.place(column).and_then(|at| lower.expr.get(at));
        value.is_some_and(|value| !value.placement().should_push_to_leaves())
    })
}

/// Rewrites an expression over the columns of a projection to one over the projection's input, under the same
/// name.
fn through(expr: Expr, lower: &Projection, below: &Columns<'_>) -> Result<Transformed<Expr>> {
    let named = NamePreserver::new_for_projection().save(&expr);
    let value = match expr {
        Expr::Alias(Alias { expr, relation, name, metadata }) => {
            let value = substituted(*expr, lower, below)?;
            value.update_data(|value| {
                if metadata.is_none() && value.schema_name().to_string() == name {
                    return value;
                }
                Expr::Alias(Alias { expr: Box::new(value), relation, name, metadata })
            })
        }
        other => substituted(other, lower, below)?,
    };
    Ok(value.update_data(|value| named.restore(value)))
}

fn substituted(expr: Expr, lower: &Projection, below: &Columns<'_>) -> Result<Transformed<Expr>> {
    expr.transform_up(|part| match part {
        Expr::Alias(alias) if alias.metadata.as_ref().is_none_or(|of| of.is_empty()) => {
            Ok(Transformed::yes(*alias.expr))
        }
        Expr::Column(column) => {
            let Some(value) = below.place(&column).and_then(|at| lower.expr.get(at)) else {
                return internal_err!("there is no column {column}");
            };
            Ok(Transformed::yes(value.clone().unalias_nested().data))
        }
        other => Ok(Transformed::no(other)),
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use arrow::datatypes::{DataType, Field, Schema};
    use datafusion::functions_aggregate::expr_fn::{count, max};
    use datafusion::functions_window::expr_fn::row_number;
    use datafusion::logical_expr::{Extension, LogicalPlanBuilder, Union, col, lit, table_scan};
    use datafusion::optimizer::optimize_projections::OptimizeProjections;
    use datafusion::optimizer::{OptimizerContext, OptimizerRule};

    use super::*;
    use crate::stream::{StreamNode, Uniq};

    const WIDE: usize = 500;

    fn name(at: usize) -> String {
        format!("c{at}")
    }

    fn scan(columns: usize) -> LogicalPlan {
        let fields = (0..columns).map(|at| Field::new(name(at), DataType::Int64, true));
        let schema = Schema::new(fields.collect::<Vec<_>>());
        table_scan(Some("events"), &schema, None).unwrap().build().unwrap()
    }

    fn over(plan: LogicalPlan, exprs: impl Iterator<Item = Expr>) -> LogicalPlan {
        LogicalPlan::Projection(projection(exprs.collect(), Arc::new(plan)).unwrap())
    }

    /// Returns the columns of a scan, with which frames begin.
    fn events(columns: usize) -> LogicalPlan {
        let column = |name: &String| Expr::Column(Column::new(Some("events"), name));
        let each = (0..columns).map(name);
        over(scan(columns), each.map(|name| column(&name).alias(name)))
    }

    /// Returns all columns, one of them replaced by another value.
    fn set(plan: LogicalPlan, column: usize, value: Expr) -> LogicalPlan {
        let each = (0..plan.schema().fields().len()).map(|at| match at == column {
            true => value.clone().alias(name(at)),
            false => col(name(at)),
        });
        over(plan, each)
    }

    fn first(plan: LogicalPlan, columns: usize) -> LogicalPlan {
        over(plan, (0..columns).map(|at| col(name(at))))
    }

    fn builder(plan: LogicalPlan) -> LogicalPlanBuilder {
        LogicalPlanBuilder::from(plan)
    }

    fn built(plan: LogicalPlanBuilder) -> LogicalPlan {
        plan.build().unwrap()
    }

    fn streamed(plan: LogicalPlan) -> LogicalPlan {
        let (op, order) = (Arc::new(Uniq), vec![col("c4").sort(true, false)]);
        let added = vec![Field::new("added", DataType::Int64, true)];
        let node = StreamNode::try_new(plan, op, vec![col("c3")], order, added).unwrap();
        LogicalPlan::Extension(Extension { node: Arc::new(node) })
    }

    fn projections(plan: &LogicalPlan) -> usize {
        let mut found = 0;
        let counted = plan.apply(|node| {
            found += usize::from(matches!(node, LogicalPlan::Projection(_)));
            Ok(TreeNodeRecursion::Continue)
        });
        counted.unwrap();
        found
    }

    /// Returns plans of nested operators with unused columns.
    fn plans() -> Vec<LogicalPlan> {
        let more = |at: usize| col(name(at)) + lit(1_i64);
        let filtered = || built(builder(events(WIDE)).filter(col("c7").gt(lit(1_i64))).unwrap());
        let computed = || set(filtered(), 3, more(3));
        let counts = || (0..WIDE).map(|at| count(col(name(at))).alias(format!("n{at}")));
        let counted = || builder(computed()).aggregate(vec![col("c1")], counts()).unwrap();
        let most = vec![max(col("c9")), max(col("c8"))];
        let most = builder(computed()).aggregate(Vec::<Expr>::new(), most).unwrap();
        let numbered = || vec![row_number().alias("row")];
        let numbered = || builder(computed()).window(numbered()).unwrap();
        let sorted = builder(first(computed(), 100)).sort(vec![col("c5").sort(true, false)]);
        let both = vec![Arc::new(computed()), Arc::new(filtered())];
        // As SQL names a view.
        let named = |plan: LogicalPlan| built(builder(plan).alias("q").unwrap());
        let chosen = || builder(named(computed())).filter(col("q.c7").gt(lit(1_i64))).unwrap();
        vec![
            events(WIDE),
            built(sorted.unwrap()),
            built(builder(set(events(WIDE), 1, more(1))).limit(1, Some(10)).unwrap()),
            set(set(events(WIDE), 1, more(1)), 2, more(3)),
            // A computed value is read more than once.
            set(computed(), 4, col("c3") * col("c3")),
            over(set(events(WIDE), 0, lit(7_i64)), std::iter::once(lit(1_i64).alias("one"))),
            built(counted()),
            over(built(counted()), ["c1", "n2", "n3"].into_iter().map(col)),
            built(most),
            first(built(numbered()), 20),
            built(numbered().limit(0, Some(3)).unwrap()),
            first(streamed(computed()), 2),
            first(LogicalPlan::Union(Union::try_new(both).unwrap()), 5),
            named(scan(WIDE)),
            built(chosen()),
            first(built(chosen().limit(0, Some(3)).unwrap()), 5),
            over(named(scan(WIDE)), std::iter::once(col("q.c9"))),
        ]
    }

    #[test]
    fn plans_are_what_datafusion_makes_of_them() {
        for plan in plans() {
            let before = plan.display_indent().to_string();
            assert!(is_for(&plan, WIDE).unwrap(), "{before}");
            let rule = OptimizeProjections::new();
            let theirs = rule.rewrite(plan.clone(), &OptimizerContext::new()).unwrap().data;
            let ours = pruned(plan, None).unwrap();
            let [ours, theirs] =
                [ours, theirs].map(|plan| plan.display_indent_schema().to_string());
            assert_eq!(ours, theirs, "{before}");
        }
    }

    #[test]
    fn a_chain_of_projections_over_many_columns_becomes_one() {
        const COLUMNS: usize = 5_000;
        let chain =
            (0..10).fold(events(COLUMNS), |plan, at| set(plan, at, col(name(at)) + lit(1_i64)));
        assert!(is_for(&chain, WIDE).unwrap());
        let plan = pruned(chain, None).unwrap();
        assert_eq!((projections(&plan), plan.schema().fields().len()), (1, COLUMNS));
    }

    #[test]
    fn a_projection_over_an_equal_one_is_not_dropped() {
        let double = || col("c1") + col("c1");
        let plan = set(set(events(WIDE), 1, double()), 1, double());
        assert_eq!(projections(&pruned(plan, None).unwrap()), 2);
    }

    #[test]
    fn planning_ends_between_operators() {
        let time = PlanningTime::default();
        pruned(events(WIDE), Some(&time)).unwrap();
        time.cancel();
        let error = pruned(events(WIDE), Some(&time)).unwrap_err();
        assert!(error.to_string().contains("cancelled"), "{error}");
    }

    #[test]
    fn narrow_plans_and_joins_are_left_to_datafusion() {
        assert!(!is_for(&events(WIDE - 1), WIDE).unwrap());
        let other = built(builder(scan(1)).alias("other").unwrap());
        let joined = builder(scan(WIDE)).cross_join(other).unwrap();
        assert!(!is_for(&built(joined), WIDE).unwrap());
    }
}
