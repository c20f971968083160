//! Filter pushdown with a limit on the size of the pushed conditions.
//!
//! A filter that is pushed below a projection reads the expressions of the projection: `where a!=""` after
//! `eval a=a.a` becomes `a.a!=""`. After sixty such evals, the condition has 2^60 nodes. Here, a condition is
//! pushed down only while it stays small or does not grow; otherwise, it stays above the projection, where
//! the values are computed already.

use std::collections::HashMap;
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
        let Some(go) = balanced(Operator::And, go) else { return Ok(Transformed::no(plan)) };
        let Some(stay) = balanced(Operator::And, stay) else {
            return rebalanced(self.0.rewrite(plan, config)?);
        };
        let lower = LogicalPlan::Filter(Filter::try_new(go, below)?);
        let lower = rebalanced(self.0.rewrite(lower, config)?)?.data;
        let upper = Filter::try_new(stay, Arc::new(lower))?;
        Ok(Transformed::yes(LogicalPlan::Filter(upper)))
    }
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
    let (go, stay) = conditions.flat_map(split_conjunction_owned).partition(|condition| {
        let (now, then) = grown(condition, &sizes);
        then <= now.max(LARGEST)
    });
    Some((stay, go, Arc::clone(below)))
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
