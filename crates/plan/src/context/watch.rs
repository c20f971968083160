//! Who sees the stages of a search when they run, and what a run hands over.

use std::fmt::Debug;
use std::ops::ControlFlow;
use std::sync::Arc;

use arrow::record_batch::RecordBatch;
use datafusion::error::Result as PlanResult;
use datafusion::physical_plan::ExecutionPlan;

use super::StagePlan;
use crate::{Message, OutputColumn, ResultKind};

/// What is known of a result once its last row is there.
#[derive(Debug, Clone)]
pub struct Completed {
    /// What the rows are.
    pub kind: ResultKind,
    /// The columns of the batches, in order.
    pub columns: Vec<OutputColumn>,
    /// Messages of planning and running.
    pub messages: Vec<Message>,
}

/// Receives the rows of a result in order; [`ControlFlow::Break`] ends the search.
pub type OnBatch<'a> = dyn FnMut(&[OutputColumn], RecordBatch) -> ControlFlow<()> + Send + 'a;

/// Sees the plans of a search when they are about to run, and may have others run in their place.
pub trait Watch: Debug + Send + Sync {
    /// A plan is about to run. It gives the rows of `stage`, unless it is part of one that reads other
    /// events, as `append` does.
    ///
    /// # Errors
    /// If the plan that is to run in its place cannot be made; the search fails.
    fn runs(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        stage: Option<&Stage>,
    ) -> PlanResult<Arc<dyn ExecutionPlan>>;

    /// The plan of a stage has only looked something up, as the first and the last time of the events: the
    /// next stage reads its events again, and counts them.
    fn reads_again(&self, _: &LookedUp) {}
}

/// A stage of a search with all that follows it.
#[derive(Debug, Clone)]
pub struct Stage {
    pub(crate) stage: StagePlan,
}
