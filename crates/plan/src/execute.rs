//! Running a planned search to its end, stage by stage, so that callers see one stream of rows.

use std::fmt::Debug;
use std::ops::ControlFlow;
use std::sync::Arc;

use arrow::record_batch::RecordBatch;
use datafusion::error::Result as PlanResult;
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_plan::{ExecutionPlan, execute_stream};
use futures::StreamExt;
use tables::array_bytes;

use crate::pipeline::{Planning, PlanningContext, StagePlan, plan_stage};
use crate::stage::{Rows, collected};
use crate::{Error, Message, MessageLog, OutputColumn, PlannedSearch, ResultKind, Session};

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
}

/// A stage of a search with all that follows it.
#[derive(Debug, Clone)]
pub struct Stage {
    stage: StagePlan,
}

impl Stage {
    /// Runs the search from here on, with this plan for the stage, as if its rows were all there are.
    /// `watch` sees the plans that follow. What operators have to say is not kept: it is said again when
    /// the search itself runs.
    ///
    /// # Errors
    /// As [`execute`].
    pub async fn run(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        session: &Session,
        watch: &dyn Watch,
        on_batch: &mut OnBatch<'_>,
    ) -> Result<Completed, Error> {
        let log = MessageLog::default();
        let run = Run { session, log: &log, watch: Some(watch), dry_run: true };
        run.stages(self.stage.clone(), Some(plan), on_batch).await
    }
}

/// Runs a search and hands over its rows in order, batch by batch.
///
/// # Errors
/// If events cannot be read, a value breaks an operator, or a limit is reached.
pub async fn execute(
    planned: &PlannedSearch,
    session: &Session,
    on_batch: &mut OnBatch<'_>,
) -> Result<Completed, Error> {
    execute_watched(planned, session, None, on_batch).await
}

/// As [`execute`], with somebody who sees the plans.
///
/// # Errors
/// As [`execute`].
pub async fn execute_watched(
    planned: &PlannedSearch,
    session: &Session,
    watch: Option<&dyn Watch>,
    on_batch: &mut OnBatch<'_>,
) -> Result<Completed, Error> {
    let run = Run { session, log: &planned.log, watch, dry_run: false };
    let mut completed = run.stages(planned.stage(), None, on_batch).await?;
    let mut messages = planned.messages.clone();
    for message in completed.messages {
        if !messages.contains(&message) {
            messages.push(message);
        }
    }
    completed.messages = messages;
    Ok(completed)
}

/// Where a search runs.
struct Run<'r> {
    session: &'r Session,
    log: &'r MessageLog,
    watch: Option<&'r dyn Watch>,
    /// Whether this is a preview.
    dry_run: bool,
}

impl Run<'_> {
    /// Runs a stage, from a plan where there is one already, and those that follow.
    async fn stages(
        &self,
        mut stage: StagePlan,
        mut ready: Option<Arc<dyn ExecutionPlan>>,
        on_batch: &mut OnBatch<'_>,
    ) -> Result<Completed, Error> {
        loop {
            let plan = match ready.take() {
                Some(plan) => plan,
                None => {
                    let seen = self.watch.map(|_| Stage { stage: stage.clone() });
                    prepare(&stage.plan, self.session, self.watch, seen.as_ref()).await?
                }
            };
            let Some(rest) = stage.rest.take() else {
                stream(plan, &stage.columns, self.session, on_batch).await?;
                let (kind, columns, messages) = (stage.kind, stage.columns, self.log.all());
                return Ok(Completed { kind, columns, messages });
            };
            let env = PlanningContext::new(&rest.context, self.log, Some(self.session));
            let env = env.watched(self.watch).dry_run(self.dry_run);
            let rows = rows_of(plan, &stage.columns, &env).await?;
            let frame = rest.frame(rows, &env).await?;
            stage = plan_stage(frame, &rest.commands, &env).await?;
        }
    }
}

/// Runs all stages of a search within another and collects its rows.
pub(crate) fn run_to_rows<'p>(
    stage: StagePlan,
    env: &'p PlanningContext<'_>,
) -> Planning<'p, Rows> {
    Box::pin(run_stages(stage, env))
}

async fn run_stages(mut stage: StagePlan, env: &PlanningContext<'_>) -> Result<Rows, Error> {
    loop {
        // Formats are for who looks at the result of the whole search.
        let (plan, columns) = stage.unformatted.take().unwrap_or((stage.plan, stage.columns));
        let rows = collect(&plan, &columns, env).await?;
        let Some(rest) = stage.rest.take() else {
            return Ok(rows);
        };
        let inner = env.within(&rest.context);
        let frame = rest.frame(rows, &inner).await?;
        stage = plan_stage(frame, &rest.commands, &inner).await?;
    }
}

/// The plan as it will run.
async fn prepare(
    plan: &LogicalPlan,
    session: &Session,
    watch: Option<&dyn Watch>,
    stage: Option<&Stage>,
) -> Result<Arc<dyn ExecutionPlan>, Error> {
    let plan = session.physical_plan(plan).await?;
    Ok(match watch {
        Some(watch) => watch.runs(plan, stage)?,
        None => plan,
    })
}

async fn stream(
    plan: Arc<dyn ExecutionPlan>,
    columns: &[OutputColumn],
    session: &Session,
    on_batch: &mut OnBatch<'_>,
) -> Result<(), Error> {
    let mut batches = execute_stream(plan, session.task())?;
    while let Some(batch) = batches.next().await {
        let batch = batch?;
        if batch.num_rows() > 0 && on_batch(columns, batch).is_break() {
            break;
        }
    }
    Ok(())
}

/// All rows of a plan, within the limit of a stage.
pub(crate) async fn collect(
    plan: &LogicalPlan,
    columns: &[OutputColumn],
    env: &PlanningContext<'_>,
) -> Result<Rows, Error> {
    let plan = prepare(plan, env.session()?, env.watch(), None).await?;
    rows_of(plan, columns, env).await
}

async fn rows_of(
    plan: Arc<dyn ExecutionPlan>,
    columns: &[OutputColumn],
    env: &PlanningContext<'_>,
) -> Result<Rows, Error> {
    env.context.planning.paused(Box::pin(rows_within(plan, columns, env))).await
}

async fn rows_within(
    plan: Arc<dyn ExecutionPlan>,
    columns: &[OutputColumn],
    env: &PlanningContext<'_>,
) -> Result<Rows, Error> {
    let limit = env.context.limits.stage_rows;
    let mut stream = execute_stream(plan, env.session()?.task())?;
    let mut batches = Vec::new();
    let mut rows = 0;
    let mut held = env.session()?.charge();
    while let Some(batch) = stream.next().await {
        let batch = batch?;
        rows += batch.num_rows();
        // Twice: the batches, and the rows that are made of them.
        held.grow(2 * batch_bytes(&batch))?;
        if rows > limit {
            let message = format!(
                "the search holds more than {limit} rows at once (limit stage_rows); \
                 narrow it or aggregate before this command"
            );
            return Err(Error::Exhausted { message });
        }
        batches.push(batch);
    }
    collected(columns, &batches)
}

/// What a batch takes at least: the values of its rows, without what its buffers hold beside them.
#[must_use]
pub fn batch_bytes(batch: &RecordBatch) -> usize {
    batch.columns().iter().map(|column| array_bytes(column)).sum()
}
