//! The rules that make a plan better: DataFusion's, some of them bounded, and ours. Before each of them
//! planning may end; of those that take long over thousands of columns, within them, too.

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

pub(super) use texts::longest as longest_constant;

type Analysis = Arc<dyn AnalyzerRule + Send + Sync>;
type Logical = Arc<dyn OptimizerRule + Send + Sync>;
type Physical = Arc<dyn PhysicalOptimizerRule + Send + Sync>;

/// Those that find the types of a plan, before it is made better.
pub(crate) fn analysis() -> Vec<Analysis> {
    let rules = Types::instead(Analyzer::new().rules);
    rules.into_iter().map(|rule| Arc::new(WatchedAnalysis(rule)) as Analysis).collect()
}

/// Those of logical plans. Plans with operators of so many columns are wide.
pub(crate) fn logical(wide: usize) -> Vec<Logical> {
    let rules = PushFilters::instead(Projections::instead(&Optimizer::new().rules, wide));
    let rules = idle::instead(rules);
    rules.into_iter().map(|rule| Arc::new(Watched(rule)) as Logical).collect()
}

/// Those of physical plans, with some more at last.
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

/// Those of [`logical`] that projections over a few rows gain from: a plan of hundreds of calculated fields
/// takes longer to plan than to run.
pub(crate) fn logical_of_projections(wide: usize) -> Vec<Logical> {
    let keep = ["simplify_expressions", "common_sub_expression_eliminate", "optimize_projections"];
    logical(wide).into_iter().filter(|rule| keep.contains(&rule.name())).collect()
}

/// Those of [`physical`] that look into expressions; DataFusion's are about operators that such plans do not
/// have.
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

/// A rule before which planning may end: where it goes from operator to operator, before each.
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
