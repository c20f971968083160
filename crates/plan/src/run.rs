//! Running plans within the limits of a search: the rows of one plan, or of all stages of a search within
//! another.

use std::sync::Arc;
use std::time::Duration;

use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_plan::{ExecutionPlan, execute_stream};
use frames::{Rows, batch_bytes, collected};
use futures::StreamExt;

use crate::context::{Planning, PlanningContext, Stage, StagePlan, Watch, plan_stage};
use crate::{Error, OutputColumn, Session};

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
pub(crate) async fn prepare(
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

/// All rows of a plan, within the limit of a stage.
pub(crate) async fn collect(
    plan: &LogicalPlan,
    columns: &[OutputColumn],
    env: &PlanningContext<'_>,
) -> Result<Rows, Error> {
    let plan = prepare(plan, env.session()?, env.watch(), None).await?;
    rows_of(plan, columns, env).await
}

pub(crate) async fn rows_of(
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
    let task = env.session()?.task(&plan);
    let mut stream = execute_stream(plan, task)?;
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

/// The rows, if they are there in time: in the seconds that the command gives, or that the limits do.
pub(crate) async fn within_time(
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
