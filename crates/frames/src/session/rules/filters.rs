//! Filter pushdown with a limit on the size of the pushed conditions.
//!
//! A filter that is pushed below a projection reads the expressions of the projection: `where a!=""` after
//! `eval a=a.a` becomes `a.a!=""`. After sixty such evals, the condition has 2^60 nodes. Here, a condition is
//! pushed down only while it stays small or does not grow; otherwise, it stays above the projection, where
//! the values are computed already.
//!
//! Tests for group keys stay above the projection that computes the keys, too: `stats by` reads the keys, and
//! most rows have them. Below, a key would be computed for the test and again for the group. Other conditions
//! are pushed down, because they may leave few rows, for which further columns are read.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::logical_expr::utils::split_conjunction_owned;
use datafusion::logical_expr::{Expr, Filter, LogicalPlan, Operator, Projection};
use datafusion::optimizer::{ApplyOrder, OptimizerConfig, OptimizerRule};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_optimizer::filter_pushdown::FilterPushdown;
use datafusion::physical_optimizer::{PhysicalOptimizerContext, PhysicalOptimizerRule};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::projection::ProjectionExec;
use exprs::by_origin::hidden_steps;
use exprs::predicate::balanced;
use exprs::present::columns_of_test;

use crate::frame::computed::is_cheap;

/// Maximum number of nodes of a condition that grows when it is pushed down.
const LARGEST: usize = 100;
/// Maximum number of nodes per column of a plan into which filters learned by sorts are pushed down.
const HEAVIEST: usize = 10_000;

/// DataFusion's pushdown rule for filters of logical plans, with a limit. A conjunction of many conditions
/// stays a balanced tree, where DataFusion makes a chain of them, as deep as their number.
#[derive(Debug)]
pub(crate) struct PushFilters(Arc<dyn OptimizerRule + Send + Sync>);

impl PushFilters {
    /// Replaces DataFusion's rule by the limited one.
    pub(crate) fn instead(
        rules: Vec<Arc<dyn OptimizerRule + Send + Sync>>,
    ) -> Vec<Arc<dyn OptimizerRule + Send + Sync>> {
        let each = rules.into_iter();
        each.map(|rule| match rule.name() {
            "push_down_filter" => Arc::new(Self(rule)) as Arc<dyn OptimizerRule + Send + Sync>,
            _ => rule,
        })
        .collect()
    }
}

impl OptimizerRule for PushFilters {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        self.0.apply_order()
    }

    fn rewrite(
        &self,
        plan: LogicalPlan,
        config: &dyn OptimizerConfig,
    ) -> Result<Transformed<LogicalPlan>> {
        let Some((stay, go, below)) = divided(&plan) else {
            return rebalanced(self.0.rewrite(plan, config)?);
        };
        let is_over_filter =
            matches!(&plan, LogicalPlan::Filter(filter) if is_filter(&filter.input));
        let Some(go) = balanced(Operator::And, go) else {
            // Several filters become one: otherwise, the lower one would be pushed down on its own, although
            // its condition stays because of the upper one.
            return match balanced(Operator::And, stay).filter(|_| is_over_filter) {
                Some(stay) => {
                    Ok(Transformed::yes(LogicalPlan::Filter(Filter::try_new(stay, below)?)))
                }
                None => Ok(Transformed::no(plan)),
            };
        };
        let Some(stay) = balanced(Operator::And, stay) else {
            return rebalanced(self.0.rewrite(plan, config)?);
        };
        let lower = LogicalPlan::Filter(Filter::try_new(go, below)?);
        let lower = rebalanced(self.0.rewrite(lower, config)?)?.data;
        let upper = Filter::try_new(stay, Arc::new(lower))?;
        Ok(Transformed::yes(LogicalPlan::Filter(upper)))
    }
}

fn is_filter(plan: &LogicalPlan) -> bool {
    matches!(plan, LogicalPlan::Filter(_))
}

/// Splits the conditions of filters above a projection into those that stay and those that may be pushed
/// below it; also returns the projection.
fn divided(plan: &LogicalPlan) -> Option<(Vec<Expr>, Vec<Expr>, Arc<LogicalPlan>)> {
    let LogicalPlan::Filter(filter) = plan else { return None };
    let mut filters = vec![filter];
    while let LogicalPlan::Filter(next) = filters.last()?.input.as_ref() {
        filters.push(next);
    }
    let below = &filters.last()?.input;
    let LogicalPlan::Projection(projection) = below.as_ref() else { return None };
    let sizes = sizes(projection);
    // The conditions of the lowest filter come first, as in the plan.
    let conditions = filters.iter().rev().map(|filter| filter.predicate.clone());
    let conditions: Vec<Expr> = conditions.flat_map(split_conjunction_owned).collect();
    let keys = computed_keys(&conditions, projection);
    let (go, stay) = conditions.into_iter().partition(|condition| {
        let (now, then) = grown(condition, &sizes);
        then <= now.max(LARGEST) && !is_test_of(condition, &keys)
    });
    Some((stay, go, Arc::clone(below)))
}

/// Returns the columns that a projection computes and that conditions test as group keys.
fn computed_keys(conditions: &[Expr], projection: &Projection) -> HashSet<String> {
    let tested = conditions.iter().filter_map(columns_of_test).flatten();
    let tested: HashSet<&str> = tested.filter_map(name_of).collect();
    let mut computed = HashSet::new();
    if tested.is_empty() {
        return computed;
    }
    for (field, expr) in projection.schema.fields().iter().zip(&projection.expr) {
        if tested.contains(field.name().as_str()) && !is_cheap(expr) {
            computed.insert(field.name().clone());
        }
    }
    computed
}

/// Whether a condition only tests that columns have values, one of them a computed key.
fn is_test_of(condition: &Expr, keys: &HashSet<String>) -> bool {
    let is_key = |column: &Expr| name_of(column).is_some_and(|name| keys.contains(name));
    match condition {
        _ if keys.is_empty() => false,
        Expr::IsNotNull(column) => is_key(column.as_ref()),
        other => columns_of_test(other).is_some_and(|columns| columns.iter().any(is_key)),
    }
}

fn name_of(column: &Expr) -> Option<&str> {
    match column {
        Expr::Column(column) => Some(&column.name),
        _ => None,
    }
}

/// Returns the computed columns of a projection with their number of nodes.
fn sizes(projection: &Projection) -> HashMap<&str, usize> {
    let columns = projection.schema.fields().iter().zip(&projection.expr);
    let sizes = columns.map(|(field, expr)| (field.name().as_str(), size(expr)));
    sizes.filter(|(_, size)| *size > 1).collect()
}

fn size(expr: &Expr) -> usize {
    let mut steps = 0;
    let _ = expr.apply(|node| {
        steps += usize::from(!matches!(node, Expr::Alias(_))) + hidden_steps(node);
        Ok(TreeNodeRecursion::Continue)
    });
    steps
}

/// Returns the number of nodes of a condition above and below a projection.
fn grown(condition: &Expr, sizes: &HashMap<&str, usize>) -> (usize, usize) {
    let (mut now, mut more) = (0_usize, 0_usize);
    let _ = condition.apply(|node| {
        now += 1;
        if let Expr::Column(column) = node {
            more += sizes.get(column.name.as_str()).map_or(0, |size| size - 1);
        }
        Ok(TreeNodeRecursion::Continue)
    });
    (now, now.saturating_add(more))
}

/// Number of levels below the node to which the rule was applied at which it may have created filters.
const TOUCHED: usize = 3;

/// Returns the plan with the conditions of its filters as balanced trees.
fn rebalanced(plan: Transformed<LogicalPlan>) -> Result<Transformed<LogicalPlan>> {
    if plan.transformed { plan.map_data(|node| flat_down(node, TOUCHED)) } else { Ok(plan) }
}

fn flat_down(node: LogicalPlan, levels: usize) -> Result<LogicalPlan> {
    if levels == 0 {
        return Ok(node);
    }
    let node = match node {
        LogicalPlan::Filter(filter) => flat(filter),
        other => other,
    };
    let inputs = node.map_children(|input| flat_down(input, levels - 1).map(Transformed::yes))?;
    Ok(inputs.data)
}

fn flat(filter: Filter) -> LogicalPlan {
    let Filter { predicate, input, .. } = filter;
    let whole = balanced(Operator::And, split_conjunction_owned(predicate));
    let predicate = whole.unwrap_or_else(|| datafusion::logical_expr::lit(true));
    LogicalPlan::Filter(Filter::new(predicate, input))
}

/// DataFusion's pushdown rule for the filters that sorts learn while they run, applied only if no column of
/// the plan would grow too much.
///
/// The engine runs the rule a second time for static filters. This is skipped: these filters have reached the
/// scan already, and the rule would undo the limit of [`PushFilters`].
#[derive(Debug)]
pub(crate) struct PushLearned(Arc<dyn PhysicalOptimizerRule + Send + Sync>);

impl PushLearned {
    /// Returns the name of DataFusion's rule.
    pub(crate) fn name_of_theirs() -> String {
        FilterPushdown::new_post_optimization().name().to_owned()
    }

    /// Replaces DataFusion's rule by the limited one.
    pub(crate) fn instead(
        rules: &[Arc<dyn PhysicalOptimizerRule + Send + Sync>],
    ) -> Vec<Arc<dyn PhysicalOptimizerRule + Send + Sync>> {
        let fixed = FilterPushdown::new();
        let learned = FilterPushdown::new_post_optimization();
        let left = rules.iter().filter(|rule| rule.name() != fixed.name());
        left.map(|rule| match rule.name() == learned.name() {
            true => {
                Arc::new(Self(Arc::clone(rule))) as Arc<dyn PhysicalOptimizerRule + Send + Sync>
            }
            false => Arc::clone(rule),
        })
        .collect()
    }
}

impl PhysicalOptimizerRule for PushLearned {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        config: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        match weights(&plan)? {
            Some(_) => self.0.optimize(plan, config),
            None => Ok(plan),
        }
    }

    fn optimize_with_context(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        context: &dyn PhysicalOptimizerContext,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        match weights(&plan)? {
            Some(_) => self.0.optimize_with_context(plan, context),
            None => Ok(plan),
        }
    }

    fn name(&self) -> &str {
        self.0.name()
    }

    fn schema_check(&self) -> bool {
        self.0.schema_check()
    }
}

/// Returns the number of nodes of each column of a plan, computed down to the first operator with several
/// inputs; `None` if a column has too many.
fn weights(plan: &Arc<dyn ExecutionPlan>) -> Result<Option<Vec<usize>>> {
    let mut inputs = Vec::new();
    for input in plan.children() {
        let Some(found) = weights(input)? else { return Ok(None) };
        inputs.push(found);
    }
    let columns = plan.schema().fields().len();
    let [input] = inputs.as_slice() else { return Ok(Some(vec![1; columns])) };
    let Some(projection) = plan.downcast_ref::<ProjectionExec>() else {
        // The mapping of output to input columns is unknown, so the maximum is used.
        let heaviest = input.iter().max().copied().unwrap_or(1);
        let same = input.len() == columns;
        return Ok(Some(if same { input.clone() } else { vec![heaviest; columns] }));
    };
    let mut found = Vec::with_capacity(columns);
    for column in projection.expr() {
        let weight = weight(&column.expr, input)?;
        if weight > HEAVIEST {
            return Ok(None);
        }
        found.push(weight);
    }
    Ok(Some(found))
}

fn weight(expr: &Arc<dyn PhysicalExpr>, columns: &[usize]) -> Result<usize> {
    let mut steps = 0_usize;
    expr.apply(|node| {
        let more = node.downcast_ref::<Column>().and_then(|column| columns.get(column.index()));
        steps = steps.saturating_add(*more.unwrap_or(&1));
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(steps)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use arrow::datatypes::{DataType, Field, Schema};
    use datafusion::functions_aggregate::expr_fn::count;
    use datafusion::logical_expr::{col, lit, table_scan};
    use datafusion::optimizer::{Optimizer, OptimizerContext};
    use exprs::Typed;
    use exprs::types::ValueType;

    use super::*;
    use crate::frame::{Frame, FrameColumn};

    /// Rows with a column of the table under another name, and two computed columns.
    fn frame() -> Frame {
        let fields = ["a", "b"].map(|name| Field::new(name, DataType::Int64, true));
        let schema = Schema::new(fields.to_vec());
        let scan = table_scan(Some("events"), &schema, None).unwrap();
        let made = vec![
            col("b").alias("plain"),
            (col("a") + lit(1_i64)).alias("one"),
            (col("a") + lit(2_i64)).alias("two"),
        ];
        let plan = scan.project(made).unwrap().build().unwrap();
        let column = |name: &str| FrameColumn { name: name.to_owned(), kind: ValueType::Integer };
        Frame::new(plan, ["plain", "one", "two"].map(column).to_vec())
    }

    /// Returns the optimized plan of counts by these keys.
    fn counted(frame: Frame, keys: &[&str]) -> String {
        let frame = frame.with_keys(keys.iter().copied()).unwrap();
        let groups = keys.iter().map(|name| ((*name).to_owned(), frame.field(name))).collect();
        let rows = Typed::new(count(lit(1_i64)), ValueType::Integer);
        let frame = frame.aggregate(groups, vec![("n".to_owned(), rows)]).unwrap();
        let optimizer = Optimizer::with_rules(PushFilters::instead(Optimizer::new().rules));
        let plan = frame.plan().clone();
        let plan = optimizer.optimize(plan, &OptimizerContext::new(), |_, _| {}).unwrap();
        plan.display_indent().to_string()
    }

    fn times(plan: &str, text: &str) -> usize {
        plan.matches(text).count()
    }

    #[test]
    fn a_computed_group_key_is_computed_once() {
        let plan = counted(frame(), &["one", "two", "plain"]);
        assert_eq!(times(&plan, "+ Int64(1)"), 1, "{plan}");
        assert_eq!(times(&plan, "+ Int64(2)"), 1, "{plan}");
        assert_eq!(times(&plan, "events.b IS NOT NULL"), 1, "a column may exclude buckets: {plan}");
    }

    #[test]
    fn a_search_for_rows_with_the_key_is_left_above_as_well() {
        let searched = frame().filter(col("one").is_not_null()).unwrap();
        let plan = counted(searched, &["one"]);
        assert_eq!(times(&plan, "+ Int64(1)"), 1, "{plan}");
    }

    #[test]
    fn other_conditions_on_computed_columns_are_pushed_down() {
        let chosen = frame().filter(col("two").gt(lit(5_i64))).unwrap();
        let plan = counted(chosen, &["one"]);
        assert_eq!((times(&plan, "+ Int64(1)"), times(&plan, "+ Int64(2)")), (1, 1), "{plan}");
        let present = frame().filter(col("two").is_not_null()).unwrap();
        let plan = counted(present, &["one"]);
        // The value is not part of the result, so it is only computed for the condition.
        assert!(plan.contains("full_filters=[events.a + Int64(2) IS NOT NULL]"), "{plan}");
    }
}
