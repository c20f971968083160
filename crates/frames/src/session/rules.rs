//! The optimizer rules: DataFusion's, some of them with limits, and our own. Planning can be aborted before
//! each rule; within a rule, too, if the rule takes long over thousands of columns.

mod branches;
mod compact;
mod filters;
mod first_rows;
mod idle;
mod parts;
mod pieces;
mod projections;
mod rewrites;
mod slices;
mod texts;
mod types;
mod wide;

use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::Transformed;
use datafusion::error::Result;
use datafusion::logical_expr::LogicalPlan;
use datafusion::optimizer::analyzer::{Analyzer, AnalyzerRule};
use datafusion::optimizer::{ApplyOrder, Optimizer, OptimizerConfig, OptimizerRule};
use datafusion::physical_optimizer::optimizer::PhysicalOptimizer;
use datafusion::physical_optimizer::{PhysicalOptimizerContext, PhysicalOptimizerRule};
use datafusion::physical_plan::ExecutionPlan;

use super::planning::PlanningTime;
use filters::{PushFilters, PushLearned};
use first_rows::SpillingSorts;
use projections::Projections;
use rewrites::Rewrites;
use types::Types;

pub use parts::over_parts;
pub(super) use texts::longest as longest_constant;

type Analysis = Arc<dyn AnalyzerRule + Send + Sync>;
type Logical = Arc<dyn OptimizerRule + Send + Sync>;
type Physical = Arc<dyn PhysicalOptimizerRule + Send + Sync>;

/// Returns the analyzer rules, which determine the types of a plan before it is optimized.
pub(crate) fn analysis() -> Vec<Analysis> {
    let rules = Types::instead(Analyzer::new().rules);
    rules.into_iter().map(|rule| Arc::new(WatchedAnalysis(rule)) as Analysis).collect()
}

/// Returns the rules for logical plans. `wide` is the number of columns of an operator from which on a plan
/// is wide.
pub(crate) fn logical(wide: usize) -> Vec<Logical> {
    let rules = PushFilters::instead(Projections::instead(&Optimizer::new().rules, wide));
    let rules = idle::instead(rules);
    rules.into_iter().map(|rule| Arc::new(Watched(rule)) as Logical).collect()
}

/// Returns the rules for physical plans; `more` are additional rules that run near the end.
pub(crate) fn physical(more: Vec<Physical>) -> Vec<Physical> {
    let mut rules = PushLearned::instead(&PhysicalOptimizer::new().rules);
    let learned = rules.iter().position(|rule| rule.name() == PushLearned::name_of_theirs());
    rules.insert(learned.unwrap_or(rules.len()), Arc::new(Rewrites::OF_STREAMS));
    rules.push(Arc::new(SpillingSorts));
    rules.push(Arc::new(Rewrites::OF_OPERATORS));
    rules.extend(more);
    rules.push(Arc::new(Rewrites::OF_EXPRESSIONS));
    rules.into_iter().map(|rule| Arc::new(WatchedPhysical(rule)) as Physical).collect()
}

/// Returns only the rules of [`logical`] that improve projections over a few rows: with all rules, planning
/// hundreds of calculated fields takes longer than computing them.
pub(crate) fn logical_of_projections(wide: usize) -> Vec<Logical> {
    let keep = ["simplify_expressions", "common_sub_expression_eliminate", "optimize_projections"];
    logical(wide).into_iter().filter(|rule| keep.contains(&rule.name())).collect()
}

/// Returns only the rules of [`physical`] that rewrite expressions; DataFusion's rules are for operators that
/// such plans do not contain.
pub(crate) fn physical_of_projections() -> Vec<Physical> {
    vec![Arc::new(WatchedPhysical(Arc::new(Rewrites::OF_EXPRESSIONS)))]
}

fn check(config: &ConfigOptions) -> Result<()> {
    match PlanningTime::of(config) {
        Some(time) => Ok(time.check()?),
        None => Ok(()),
    }
}

#[derive(Debug)]
struct WatchedAnalysis(Analysis);

impl AnalyzerRule for WatchedAnalysis {
    fn analyze(&self, plan: LogicalPlan, config: &ConfigOptions) -> Result<LogicalPlan> {
        check(config)?;
        self.0.analyze(plan, config)
    }

    fn name(&self) -> &str {
        self.0.name()
    }
}

/// A rule before which planning can be aborted; if the rule is applied operator by operator, before each
/// operator.
#[derive(Debug)]
struct Watched(Logical);

impl OptimizerRule for Watched {
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
        check(&config.options())?;
        self.0.rewrite(plan, config)
    }
}

#[derive(Debug)]
struct WatchedPhysical(Physical);

impl PhysicalOptimizerRule for WatchedPhysical {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        config: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        check(config)?;
        self.0.optimize(plan, config)
    }

    fn optimize_with_context(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        context: &dyn PhysicalOptimizerContext,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        check(context.config_options())?;
        self.0.optimize_with_context(plan, context)
    }

    fn name(&self) -> &str {
        self.0.name()
    }

    fn schema_check(&self) -> bool {
        self.0.schema_check()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rules_of_projections_are_found_by_their_names() {
        let names: Vec<String> =
            logical_of_projections(500).iter().map(|rule| rule.name().to_owned()).collect();
        assert_eq!(
            names,
            ["simplify_expressions", "common_sub_expression_eliminate", "optimize_projections"]
        );
    }
}
