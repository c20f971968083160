//! Runs a planned search to its end, stage by stage, with a single stream of rows for the caller.

use std::sync::Arc;

use datafusion::physical_plan::{ExecutionPlan, execute_stream};
use frames::Presence;
use futures::StreamExt;

use crate::pipeline::{PIPELINES, plan_stage};
use crate::{Error, MessageKind, MessageLog, OutputColumn, PlannedSearch, Session};
use context::planning::{Completed, OnBatch, PlanOf, PlanningContext, Stage, StagePlan, Watch};
use context::run::{prepare, rows_unless_many};

/// Runs a search from one of its stages on, with this plan, as if the rows of the plan were complete. `watch`
/// observes the following plans. Messages of operators are discarded, because the search itself reports them
/// when it runs.
///
/// # Errors
/// As [`execute`].
pub async fn execute_from(
    stage: &Stage,
    plan: Arc<dyn ExecutionPlan>,
    session: &Session,
    watch: &dyn Watch,
    on_batch: &mut OnBatch<'_>,
) -> Result<Completed, Error> {
    let log = MessageLog::default();
    let run = Run { session, log: &log, watch: Some(watch), dry_run: true };
    run.stages(stage.stage.clone(), Some(plan), on_batch).await
}

/// Runs a search and passes on its rows in order, batch by batch.
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

/// Runs [`execute`] with an observer of the plans.
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

/// The context of an execution.
struct Run<'r> {
    session: &'r Session,
    log: &'r MessageLog,
    watch: Option<&'r dyn Watch>,
    /// Whether this is a preview.
    dry_run: bool,
}

impl Run<'_> {
    /// Runs a stage, with an existing plan if there is one, and the following stages.
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
                    let of = seen.as_ref().map_or(PlanOf::Command, PlanOf::Stage);
                    prepare(&stage.plan, self.session, self.watch, of).await?
                }
            };
            let Some(rest) = stage.rest.take() else {
                let StagePlan { kind, mut columns, .. } = stage;
                let mut presence = Presence::new(&columns, kind);
                stream(plan, &columns, &mut presence, self.session, on_batch).await?;
                presence.settle(&mut columns);
                if presence.has_dropped() {
                    self.log.add(MessageKind::Info, "No matching fields exist.");
                }
                return Ok(Completed { kind, columns, messages: self.log.all() });
            };
            let env = PlanningContext::new(&rest.context, self.log, Some(self.session), &PIPELINES);
            let env = env.watched(self.watch).dry_run(self.dry_run);
            let rows = rows_unless_many(plan, &stage.columns, &env).await?;
            let looked_up = rows.as_ref().map(|rows| rest.breaker.looked_up(rows)).transpose()?;
            if let (Some(watch), Some(looked_up)) = (self.watch, looked_up.flatten()) {
                watch.reads_again(&looked_up);
            }
            let frame = rest.frame(rows, &env).await?;
            stage = plan_stage(frame, &rest.commands, &env).await?;
        }
    }
}

async fn stream(
    plan: Arc<dyn ExecutionPlan>,
    columns: &[OutputColumn],
    presence: &mut Presence,
    session: &Session,
    on_batch: &mut OnBatch<'_>,
) -> Result<(), Error> {
    let task = session.task(&plan);
    let mut batches = execute_stream(plan, task)?;
    while let Some(batch) = batches.next().await {
        let batch = batch?;
        if batch.num_rows() == 0 {
            continue;
        }
        for batch in presence.pass(batch) {
            if on_batch(columns, batch).is_break() {
                return Ok(());
            }
        }
    }
    Ok(())
}
