//! Sorts whose limit (`fetch`) exceeds the memory of the search.
//!
//! A sort with a limit N (`head`, `tail`, `sort N`) keeps its N rows in memory and cannot spill. This is the
//! best plan if they fit: the scan learns which rows are no longer needed. If N rows of about the smallest
//! size do not fit, such a sort would fail as soon as it has this many rows. So it is replaced by an ordinary
//! sort, which spills, below a limit.

use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::error::Result;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::execution_plan::{ChildrenPropertiesMode, ReplaceChildrenOptions};
use datafusion::physical_plan::limit::GlobalLimitExec;
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::sorts::sort_preserving_merge::SortPreservingMergeExec;
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties};
use exprs::ledger::Ledger;

use super::rewrites::Rewritten;

/// Minimum size in bytes of a kept row in addition to its cells: its key and its entry in the heap.
const ROW: usize = 64;
/// Approximate minimum size of a cell in bytes: that of texts and lists; numbers need half of it.
const CELL: usize = 16;

/// A rule that replaces such sorts.
#[derive(Debug)]
pub(super) struct SpillingSorts;

impl PhysicalOptimizerRule for SpillingSorts {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        config: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let Some(ledger) = Ledger::of(config) else { return Ok(plan) };
        let memory = ledger.limit();
        plan.transform_up(|node| {
            Ok(match spilling(&node, memory)? {
                Some(instead) => Transformed::yes(instead),
                None => Transformed::no(node),
            })
        })
        .data()
    }

    fn name(&self) -> &'static str {
        "spilling_sorts"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

fn spilling(node: &Arc<dyn ExecutionPlan>, memory: usize) -> Rewritten {
    if let Some(sort) = node.downcast_ref::<SortExec>() {
        let Some(fetch) = too_many(sort, memory) else { return Ok(None) };
        // If there are several partitions, the merge above applies the limit.
        if node.output_partitioning().partition_count() > 1 {
            return Ok(None);
        }
        let limited = GlobalLimitExec::new(Arc::new(sort.with_fetch(None)), 0, Some(fetch));
        return Ok(Some(Arc::new(limited)));
    }
    let Some(merge) = node.downcast_ref::<SortPreservingMergeExec>() else { return Ok(None) };
    let Some(sort) = merge.input().downcast_ref::<SortExec>() else { return Ok(None) };
    match (too_many(sort, memory), merge.fetch()) {
        (Some(of_each), Some(of_all)) if of_all <= of_each => {
            let all: Arc<dyn ExecutionPlan> = Arc::new(sort.with_fetch(None));
            let options = ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute);
            Arc::clone(node).replace_children(vec![all], options).map(Some)
        }
        _ => Ok(None),
    }
}

/// Returns the number of rows that a sort keeps, if they do not fit into memory.
fn too_many(sort: &SortExec, memory: usize) -> Option<usize> {
    let row = ROW + CELL * sort.schema().fields().len();
    sort.fetch().filter(|fetch| fetch.saturating_mul(row) > memory)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use arrow::array::RecordBatch;
    use datafusion::physical_plan::displayable;

    use crate::session::{PlanningTime, SearchMemory, Session, SessionSettings};

    #[tokio::test]
    async fn first_rows_that_do_not_fit_into_memory_are_sorted_with_a_limit() {
        let settings = SessionSettings { partitions: 2, ..SessionSettings::default() };
        let session = Session::new(&settings, Vec::new()).unwrap();
        let memory = SearchMemory::at_once(16 << 20);
        let session = session.for_search(memory, &PlanningTime::default()).unwrap();
        for (rows, keeps) in [(1_000, true), (300_000, false)] {
            let query = format!(
                "SELECT value FROM generate_series(1, 400000) ORDER BY value % 1000, value LIMIT {rows}"
            );
            let frame = session.sql("a", "b").sql(&query).await.unwrap();
            let plan = frame.clone().create_physical_plan().await.unwrap();
            let shown = displayable(plan.as_ref()).indent(false).to_string();
            assert_eq!(shown.contains("TopK"), keeps, "{shown}");
            let found = frame.collect().await.unwrap();
            assert_eq!(found.iter().map(RecordBatch::num_rows).sum::<usize>(), rows);
        }
    }
}
