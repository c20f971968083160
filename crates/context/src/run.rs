//! Running plans within the limits of a search: the rows of one plan, or of all stages of a search within
//! another.

use std::sync::Arc;
use std::time::Duration;

use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_plan::{ExecutionPlan, execute_stream};
use frames::{Rows, batch_bytes, collected};
use futures::StreamExt;
use spl::ast::{Command, Pipeline, Spanned};

use crate::planning::PlannedSearch;
use crate::planning::{
    InnerSearch, PlanOf, Planning, PlanningContext, StagePlan, Watch, plan_stage, too_many_rows,
};
use frames::{Error, OutputColumn, Session};

/// Runs all stages of a pipeline over existing rows and collects its rows.
pub fn run_to_rows<'p>(stage: StagePlan, env: &'p PlanningContext<'_>) -> Planning<'p, Rows> {
    Box::pin(run_stages(stage, None, env))
}

/// Runs all stages of a search within another and collects its rows, which are processed by `tail`
/// afterwards. `env` is the context in which the search was planned.
pub fn run_inner<'p>(
    planned: PlannedSearch,
    tail: Option<&'p [Spanned<Command>]>,
    env: &'p PlanningContext<'_>,
) -> Planning<'p, Rows> {
    Box::pin(async move {
        let text = planned.normalized.as_str();
        let tail = tail.map(|commands| Pipeline { commands: commands.to_vec() }.to_string());
        let (tail, context, log) = (tail.as_deref(), env.context, env.log);
        let inner = InnerSearch { text, tail, context, looked_up: &[], log };
        run_stages(planned.stage(), Some(inner), env).await
    })
}

async fn run_stages(
    mut stage: StagePlan,
    mut inner: Option<InnerSearch<'_>>,
    env: &PlanningContext<'_>,
) -> Result<Rows, Error> {
    let mut looked_up = Vec::new();
    loop {
        // Display formats only apply to the result of the outermost search.
        let (plan, columns) = stage.unformatted.take().unwrap_or((stage.plan, stage.columns));
        let told = inner.as_ref().map(|inner| InnerSearch { looked_up: &looked_up, ..*inner });
        let of = told.as_ref().map_or(PlanOf::Command, PlanOf::Inner);
        let plan = prepare(&plan, env.session()?, env.watch(), of).await?;
        let Some(rest) = stage.rest.take() else {
            return rows_of(plan, &columns, env).await;
        };
        let rows = rows_unless_many(plan, &columns, env).await?;
        let one = rows.as_ref().map(|rows| rest.breaker.looked_up(rows)).transpose()?;
        match one.flatten() {
            Some(one) => looked_up.push(one),
            // The rows exist only in this process, so no other process can plan the next stage.
            None => inner = None,
        }
        let after = env.within(&rest.context).inside();
        let frame = rest.frame(rows, &after).await?;
        stage = plan_stage(frame, &rest.commands, &after).await?;
    }
}

/// Creates the physical plan.
pub async fn prepare(
    plan: &LogicalPlan,
    session: &Session,
    watch: Option<&dyn Watch>,
    of: PlanOf<'_>,
) -> Result<Arc<dyn ExecutionPlan>, Error> {
    let plan = session.physical_plan(plan).await?;
    Ok(match watch {
        Some(watch) => watch.runs(plan, of)?,
        None => plan,
    })
}

/// Collects the rows of a plan, up to the limit of a stage.
pub async fn collect(
    plan: &LogicalPlan,
    columns: &[OutputColumn],
    env: &PlanningContext<'_>,
) -> Result<Rows, Error> {
    let plan = prepare(plan, env.session()?, env.watch(), PlanOf::Command).await?;
    rows_of(plan, columns, env).await
}

/// Collects the rows of a plan over the input of the stage, which its command reads again, up to the limit of
/// a stage.
pub async fn collect_again(
    plan: &LogicalPlan,
    columns: &[OutputColumn],
    env: &PlanningContext<'_>,
) -> Result<Rows, Error> {
    // The counters know the start of each stage of the search itself, but not of stages of an inner search.
    let of = if env.is_inner() { PlanOf::Command } else { PlanOf::Again };
    let plan = prepare(plan, env.session()?, env.watch(), of).await?;
    rows_of(plan, columns, env).await
}

/// Collects the rows of a plan that the engine has prepared, up to the limit of a stage.
pub async fn rows_of(
    plan: Arc<dyn ExecutionPlan>,
    columns: &[OutputColumn],
    env: &PlanningContext<'_>,
) -> Result<Rows, Error> {
    let limit = env.context.limits.stage_rows;
    let rows = rows_unless_many(plan, columns, env).await?;
    rows.ok_or_else(|| too_many_rows(limit))
}

/// As [`rows_of`]; `None` if there are more rows than the limit of a stage.
pub async fn rows_unless_many(
    plan: Arc<dyn ExecutionPlan>,
    columns: &[OutputColumn],
    env: &PlanningContext<'_>,
) -> Result<Option<Rows>, Error> {
    env.context.planning.paused(Box::pin(rows_within(plan, columns, env))).await
}

async fn rows_within(
    plan: Arc<dyn ExecutionPlan>,
    columns: &[OutputColumn],
    env: &PlanningContext<'_>,
) -> Result<Option<Rows>, Error> {
    let limit = env.context.limits.stage_rows;
    let task = env.session()?.task(&plan);
    let mut stream = execute_stream(plan, task)?;
    let mut batches = Vec::new();
    let mut rows = 0;
    let mut held = env.session()?.charge();
    while let Some(batch) = stream.next().await {
        let batch = batch?;
        rows += batch.num_rows();
        // Counted twice: for the batches, and for the rows built from them.
        held.grow(2 * batch_bytes(&batch))?;
        if rows > limit {
            return Ok(None);
        }
        batches.push(batch);
    }
    collected(columns, &batches).map(Some)
}

/// Returns the rows, or an error after the time limit of the command or of the limits.
pub async fn within_time(
    command: &str,
    seconds: Option<u64>,
    env: &PlanningContext<'_>,
    rows: impl Future<Output = Result<Rows, Error>>,
) -> Result<Rows, Error> {
    let most = env.context.limits.subsearch_time;
    let time = seconds.filter(|seconds| *seconds > 0).map_or(most, Duration::from_secs);
    tokio::time::timeout(time, rows).await.unwrap_or_else(|_| {
        let message = format!(
            "{command}: its subsearch took more than {time:?}; narrow it, or raise maxtime (an option of the \
             command, or of [subsearch] in limits.conf)"
        );
        Err(Error::Exhausted { message })
    })
}
