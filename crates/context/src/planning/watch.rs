//! Who sees the stages of a search when they run, and what a run hands over.

use std::fmt::Debug;
use std::ops::ControlFlow;
use std::sync::Arc;

use arrow::record_batch::RecordBatch;
use datafusion::error::Result as PlanResult;
use datafusion::physical_plan::ExecutionPlan;

use super::{LookedUp, StagePlan};
use crate::plan_context::PlanContext;
use frames::{Message, MessageLog, OutputColumn, ResultKind};

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
    /// A plan is about to run.
    ///
    /// # Errors
    /// If the plan that is to run in its place cannot be made; the search fails.
    fn runs(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        of: PlanOf<'_>,
    ) -> PlanResult<Arc<dyn ExecutionPlan>>;

    /// The plan of a stage has only looked something up, as the first and the last time of the events: the
    /// next stage reads its events again, and counts them.
    fn reads_again(&self, _: &LookedUp) {}
}

/// What a plan gives the rows of.
#[derive(Debug, Clone, Copy)]
pub enum PlanOf<'p> {
    /// A stage of the search.
    Stage(&'p Stage),
    /// A search within the search, as that of `append`.
    Inner(&'p InnerSearch<'p>),
    /// A command that reads the input of its stage again, as `timechart` does for OTHER. Its events replace
    /// those that the stage has counted.
    Again,
    /// A command that works on rows of its own.
    Command,
}

impl<'p> PlanOf<'p> {
    /// The stage, if it is one of the search itself.
    #[must_use]
    pub fn stage(self) -> Option<&'p Stage> {
        match self {
            Self::Stage(stage) => Some(stage),
            _ => None,
        }
    }
}

/// A search within a search: what others need to plan its stage that is about to run.
#[derive(Debug)]
pub struct InnerSearch<'p> {
    /// It, as it was understood.
    pub text: &'p str,
    /// The commands that its rows go through afterwards, as the text of a search; `None` if its rows end
    /// there.
    pub tail: Option<&'p str>,
    /// What it was planned against.
    pub context: &'p PlanContext,
    /// What the stages before have looked up.
    pub looked_up: &'p [LookedUp],
    /// Where its operators leave messages.
    pub log: &'p MessageLog,
}

/// A stage of a search with all that follows it.
#[derive(Debug, Clone)]
pub struct Stage {
    pub stage: StagePlan,
}
