//! The direction of scans: oldest rows first below a sort that keeps the first rows by ascending `_time`
//! (`tail`, `reverse | head`, `sort _time | head`, `ORDER BY _time LIMIT`).
//!
//! Such a sort learns the latest time that it still needs ([`super::wanted`]). From the newest rows it would
//! learn nothing that excludes older ones. The order of the result is that of the sort, in both directions.

use std::collections::HashSet;
use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode, TreeNodeRecursion};
use datafusion::error::Result;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::sorts::sort::SortExec;

use super::exec::BucketScanExec;

/// The optimizer rule; see the module documentation. It follows the rule that gives scans the filters of
/// sorts, because the direction of a sort is not in its filter before it has seen rows.
#[derive(Debug)]
pub(crate) struct OldestFirst;

impl PhysicalOptimizerRule for OldestFirst {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let ascending = learned_by_ascending_sorts(&plan)?;
        if ascending.is_empty() {
            return Ok(plan);
        }
        plan.transform_down(|node| {
            let scan = node.downcast_ref::<BucketScanExec>();
            let turned = scan.filter(|scan| scan.learns_time(&ascending)).map(|scan| {
                let turned: Arc<dyn ExecutionPlan> = Arc::new(scan.oldest_first());
                turned
            });
            Ok(turned.map_or_else(|| Transformed::no(node), Transformed::yes))
        })
        .data()
    }

    fn name(&self) -> &'static str {
        "oldest_first"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// Returns the ids of the filters that sorts with a limit learn, if their first key is ascending.
fn learned_by_ascending_sorts(plan: &Arc<dyn ExecutionPlan>) -> Result<HashSet<u64>> {
    let mut learned = HashSet::new();
    plan.apply(|node| {
        if let Some(sort) = node.downcast_ref::<SortExec>()
            && sort.fetch().is_some()
            && !sort.expr().first().options.descending
        {
            let filters = sort.dynamic_expressions_produced();
            learned.extend(filters.iter().filter_map(|filter| filter.expression_id()));
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(learned)
}
