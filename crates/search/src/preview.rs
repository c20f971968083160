//! Previews: the intermediate result of a running search, as if it ended now.
//!
//! ```text
//!   rest of the plan            rest of the plan, once more, over what is kept
//!        |                            |
//!   SlicesExec ---- keeps states ---- memory
//!        |
//!   partial aggregation         NewestExec does the same below a sort that keeps the first N rows:
//!        |                      it keeps those rows.
//!   scan, in slices of time
//! ```
//!
//! Guarantees: no event is read or aggregated twice; the result of the search is the same as without
//! previews. What is kept is bounded (`preview_memory_mb`): over it there are no more previews, and a message
//! says so. A plan in which no such place is found, or whose later stages read events again, has none.

mod newest;
mod place;
mod slices;
mod state;

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use arrow::array::RecordBatch;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::datasource::memory::MemorySourceConfig;
use datafusion::error::{DataFusionError, Result};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::execution_plan::reset_plan_states;
use plan::{Completed, OutputColumn, PlanOf, Session, Stage, Watch};

pub(crate) use place::{place, place_among};
pub(crate) use state::PreviewState;

use crate::scan::BucketScanExec;

/// The operator that gathers the rows of other processes, including the states for previews.
pub(crate) const GATHERED: &str = "GatherExec";

/// Settings of previews.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// Duration of a slice: how long the scan is read before its states are published.
    pub(crate) slice: Duration,
    /// Maximum size of the kept states in bytes.
    pub(crate) bytes: usize,
}

/// A search from whose plan previews can be computed.
#[derive(Debug, Clone)]
pub(crate) struct Preview {
    plan: Arc<dyn ExecutionPlan>,
    stage: Stage,
    kept: Arc<PreviewState>,
}

impl Preview {
    pub(crate) fn new(plan: Arc<dyn ExecutionPlan>, stage: Stage, kept: Arc<PreviewState>) -> Self {
        Self { plan, stage, kept }
    }

    /// Returns the kept state.
    pub(crate) fn kept(&self) -> &Arc<PreviewState> {
        &self.kept
    }

    /// Computes the current intermediate result, with at most this number of rows.
    ///
    /// # Errors
    /// If it cannot be made without reading events again, or some operator fails.
    pub(crate) async fn make(
        &self,
        session: &Session,
        rows: usize,
    ) -> Result<(Completed, Vec<RecordBatch>), plan::Error> {
        let plan = self.plan_over_kept()?;
        let mut batches = Vec::new();
        let mut left = rows;
        let mut keep = |_: &[OutputColumn], batch: RecordBatch| {
            let batch = batch.slice(0, batch.num_rows().min(left));
            left -= batch.num_rows();
            batches.push(batch);
            if left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let completed =
            plan::execute_from(&self.stage, plan, session, &NoEvents, &mut keep).await?;
        Ok((completed, batches))
    }

    fn plan_over_kept(&self) -> Result<Arc<dyn ExecutionPlan>> {
        let known = self.kept.batches();
        let swapped = Arc::clone(&self.plan).transform_down(|node| {
            if !place::is_place(&node) {
                return Ok(Transformed::no(node));
            }
            let memory: Arc<dyn ExecutionPlan> =
                MemorySourceConfig::try_new_exec(&known, node.schema(), None)?;
            Ok(Transformed::new(memory, true, TreeNodeRecursion::Jump))
        })?;
        // State that operators have learned at run time, mainly dynamic filters, stays with the original
        // plan.
        reset_plan_states(swapped.data)
    }
}

/// Rejects plans that read events.
#[derive(Debug)]
struct NoEvents;

impl Watch for NoEvents {
    fn runs(&self, plan: Arc<dyn ExecutionPlan>, _: PlanOf<'_>) -> Result<Arc<dyn ExecutionPlan>> {
        let is_scan =
            |node: &Arc<dyn ExecutionPlan>| Ok(node.downcast_ref::<BucketScanExec>().is_some());
        if plan.exists(is_scan)? {
            let reason = "the rest of the search reads events";
            return Err(DataFusionError::Execution(reason.to_owned()));
        }
        Ok(plan)
    }
}
