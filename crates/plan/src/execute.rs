//! Running a planned search to its end, stage by stage, so that callers see one stream of rows.

use std::ops::ControlFlow;

use arrow::record_batch::RecordBatch;
use datafusion::execution::context::SessionContext;
use datafusion::logical_expr::LogicalPlan;
use futures::StreamExt;

use crate::pipeline::{Env, StagePlan, plan_stage};
use crate::stage::Rows;
use crate::{Error, Message, OutputColumn, PlannedSearch, ResultKind};

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

/// Runs a search and hands over its rows in order, batch by batch.
///
/// # Errors
/// If events cannot be read, a value breaks an operator, or a limit is reached.
pub async fn execute(
    planned: &PlannedSearch,
    session: &SessionContext,
    on_batch: &mut OnBatch<'_>,
) -> Result<Completed, Error> {
    let mut stage = planned.stage();
    while let Some(rest) = stage.rest.take() {
        let env = Env::new(&rest.context, &planned.log, Some(session));
        let rows = collect(&stage.plan, &stage.columns, &env).await?;
        let frame = rest.finish.apply(rows, &env).await?;
        stage = plan_stage(frame, &rest.commands, &env)?;
    }
    stream(&stage, session, on_batch).await?;
    let mut messages = planned.messages.clone();
    for message in planned.log.all() {
        if !messages.contains(&message) {
            messages.push(message);
        }
    }
    Ok(Completed { kind: stage.kind, columns: stage.columns, messages })
}

/// Runs all stages of a search within another and collects its rows.
pub(crate) async fn run_to_rows(mut stage: StagePlan, env: &Env<'_>) -> Result<Rows, Error> {
    loop {
        let rows = collect(&stage.plan, &stage.columns, env).await?;
        let Some(rest) = stage.rest.take() else {
            return Ok(rows);
        };
        let inner = Env::new(&rest.context, env.log, Some(env.session()?));
        let frame = Box::pin(rest.finish.apply(rows, &inner)).await?;
        stage = plan_stage(frame, &rest.commands, &inner)?;
    }
}

async fn stream(
    stage: &StagePlan,
    session: &SessionContext,
    on_batch: &mut OnBatch<'_>,
) -> Result<(), Error> {
    let frame = session.execute_logical_plan(stage.plan.clone()).await?;
    let mut batches = frame.execute_stream().await?;
    while let Some(batch) = batches.next().await {
        let batch = batch?;
        if batch.num_rows() > 0 && on_batch(&stage.columns, batch).is_break() {
            break;
        }
    }
    Ok(())
}

/// All rows of a plan, within the limit of a stage.
pub(crate) async fn collect(
    plan: &LogicalPlan,
    columns: &[OutputColumn],
    env: &Env<'_>,
) -> Result<Rows, Error> {
    let limit = env.context.limits.stage_rows;
    let frame = env.session()?.execute_logical_plan(plan.clone()).await?;
    let mut stream = frame.execute_stream().await?;
    let mut batches = Vec::new();
    let mut rows = 0;
    while let Some(batch) = stream.next().await {
        let batch = batch?;
        rows += batch.num_rows();
        if rows > limit {
            let message = format!(
                "the search holds more than {limit} rows at once (limit stage_rows); \
                 narrow it or aggregate before this command"
            );
            return Err(Error::Exhausted { message });
        }
        batches.push(batch);
    }
    Rows::of_batches(columns, &batches)
}
