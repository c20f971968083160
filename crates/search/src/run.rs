//! The execution of a job, from its turn to its end: runs the plans, makes previews, keeps the result.

use std::fmt;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow::array::RecordBatch;
use datafusion::common::tree_node::TreeNode;
use datafusion::error::Result as PlanResult;
use datafusion::logical_expr::{LogicalPlan, LogicalPlanBuilder};
use datafusion::physical_plan::ExecutionPlan;
use futures::FutureExt;
use parking_lot::Mutex;
use plan::{HeadWhile, LookedUp, Message, MessageKind, PlanOf, PlannedSearch, ResultKind, Session};
use tokio::runtime::Handle;
use tokio::task::JoinSet;

use crate::Error;
use crate::engine::Engine;
use crate::jobs::Job;
use crate::panics::caught;
use crate::parts::{Distribution, Head};
use crate::preview::{self, Preview};
use crate::recipes::Recording;
use crate::shown::fields_of_job;
use crate::threads::Assigned;
use crate::times::Phase;
use crate::traced;

/// Runs a job.
pub(crate) async fn run(
    engine: Arc<Engine>,
    job: Arc<Job>,
    recording: Option<Arc<Recording>>,
    threads: Assigned,
) {
    let running = run_to_end(engine, Arc::clone(&job), recording, threads);
    if let Err(error) = caught(running.map(Ok)).await {
        job.fail(error);
    }
}

async fn run_to_end(
    engine: Arc<Engine>,
    job: Arc<Job>,
    recording: Option<Arc<Recording>>,
    threads: Assigned,
) {
    let queue = job.traced().child("search.queue");
    let granted = engine.memory.grant_turn(&engine.session, job.control().planning()).await;
    let granted = match granted {
        Ok(granted) => granted,
        Err(error) => return job.fail(error),
    };
    drop(queue);
    job.start();
    let mut span = job.traced().child("search.execute");
    let limit = result_limit(&engine, &job);
    let Some(planned) = job.take_plan() else {
        return job.fail(Error::Internal("a job runs once".to_owned()));
    };
    let planned = match limited(planned, limit.events) {
        Ok(planned) => planned,
        Err(error) => return job.fail(Error::of_search(&error, &job.request().search)),
    };
    let mut batches: Vec<RecordBatch> = Vec::new();
    let mut left = limit.rows;
    let mut cut = false;
    let (most_bytes, mut bytes) = (engine.settings().search_memory_bytes, 0);
    let mut keep = |_: &[plan::OutputColumn], batch: RecordBatch| {
        cut = batch.num_rows() > left;
        let batch = batch.slice(0, batch.num_rows().min(left));
        left -= batch.num_rows();
        bytes += plan::batch_bytes(&batch);
        if bytes > most_bytes {
            return ControlFlow::Break(());
        }
        batches.push(batch);
        if cut { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    job.holds(granted.session.memory_pool());
    let session = granted.session.clone();
    let (rows, previews) = (limit.rows, Mutex::default());
    let head = recording.map(|recording| Head {
        engine: Arc::clone(&engine),
        recording,
        control: Arc::clone(job.control()),
        report: Arc::clone(job.report()),
        log: planned.log().clone(),
        text: planned.normalized.clone(),
        events: limit.events,
        trace: span.context(),
    });
    let watch = JobWatch {
        engine: Arc::clone(&engine),
        job: Arc::clone(&job),
        session,
        threads: threads.handle().clone(),
        rows,
        previews,
        head,
    };
    let planned_in = job.control().planning().spent();
    let done = plan::execute_watched(&planned, &granted.session, Some(&watch), &mut keep).await;
    // Later stages are planned when they begin, and each plan is optimized only then.
    let planned_later = job.control().planning().spent().saturating_sub(planned_in);
    job.report().times.more(Phase::Plan, planned_later);
    traced::set_own_reads(&mut span, job.report());
    drop(span);
    // After the result there are no more previews, and the plan is no longer needed.
    drop((watch, planned));
    match done {
        Ok(_) if bytes > most_bytes => job.fail(Error::ResultBytes { limit: most_bytes }),
        Ok(mut done) => {
            if cut {
                let text = format!(
                    "the result has more than {} rows; only those are kept (maxresultrows)",
                    limit.rows
                );
                done.messages.push(Message { kind: MessageKind::Warning, text });
            }
            let fields = fields_of_job(&done.columns, &batches, &job, &engine).await;
            job.complete(done, batches, fields);
        }
        Err(error) => job.fail(Error::of_search(&error, &job.request().search)),
    }
}

/// Whether the search itself ends after some rows, as with `head`. Then events that cannot be among them are
/// not counted either.
pub(crate) fn stops_early(planned: &PlannedSearch) -> bool {
    let is_limit = |node: &LogicalPlan| {
        Ok(match node {
            LogicalPlan::Limit(_) => true,
            LogicalPlan::Extension(operator) => operator.node.name() == HeadWhile::NAME,
            _ => false,
        })
    };
    planned.plan.exists(is_limit).unwrap_or(false)
}

struct ResultLimit {
    /// Maximum number of events to keep, newest first, for searches that return events.
    events: Option<usize>,
    rows: usize,
}

fn result_limit(engine: &Engine, job: &Job) -> ResultLimit {
    let events = job.request().max_count.filter(|_| job.finds_events());
    ResultLimit { events, rows: engine.settings().max_result_rows }
}

/// Limits the last stage of a plan to the newest events, so that its sort keeps only those.
pub(crate) fn limited(
    mut planned: PlannedSearch,
    events: Option<usize>,
) -> Result<PlannedSearch, plan::Error> {
    if let Some(count) = events.filter(|_| planned.kind == ResultKind::Events)
        && planned.rest.is_none()
    {
        let plan =
            LogicalPlanBuilder::from((*planned.plan).clone()).limit(0, Some(count))?.build()?;
        planned.plan = plan.into();
    }
    Ok(planned)
}

/// Collects the plans of a job for its inspector, and starts previews where the plan allows them.
struct JobWatch {
    engine: Arc<Engine>,
    job: Arc<Job>,
    session: Session,
    threads: Handle,
    rows: usize,
    /// The task that makes previews, aborted on drop.
    previews: Mutex<JoinSet<()>>,
    /// The search head's side of a distributed search; `None` if no other processes take part.
    head: Option<Head>,
}

impl fmt::Debug for JobWatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JobWatch").field("sid", &self.job.sid()).finish_non_exhaustive()
    }
}

impl plan::Watch for JobWatch {
    fn runs(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        of: PlanOf<'_>,
    ) -> PlanResult<Arc<dyn ExecutionPlan>> {
        let stage = of.stage();
        match of {
            PlanOf::Stage(_) => {
                self.job.report().begin_stage();
                self.head.iter().for_each(Head::begin_stage);
            }
            PlanOf::Again => self.job.report().begin_again(),
            PlanOf::Inner(_) | PlanOf::Command => self.job.report().begin_inner(),
        }
        let plan = match (&self.head, of) {
            (Some(head), PlanOf::Inner(inner)) => head.distribute_inner(plan, inner)?,
            _ => plan,
        };
        let settings = self.engine.settings();
        // Two slices per preview interval, so that a preview is soon available after a client requests it.
        let slice = settings.preview_interval / 2;
        let bytes = settings.preview_bytes.min(settings.search_memory_bytes);
        let limits = preview::Limits { slice, bytes };
        let wanted = (stage.is_some() && self.job.request().preview).then_some(limits);
        let distributed = match (&self.head, stage) {
            (Some(head), Some(_)) => head.distribute(&plan, wanted)?,
            _ => None,
        };
        let is_distributed = distributed.is_some();
        let (plan, placed) = match distributed {
            Some(Distribution { plan, kept }) => {
                let placed = kept.map(|kept| (Arc::clone(&plan), kept));
                (plan, placed)
            }
            None => (plan, None),
        };
        let placed = match wanted {
            Some(limits) if !is_distributed => preview::place(&plan, self.job.control(), limits)?,
            _ => placed,
        };
        let plan = match (placed, stage) {
            (Some((plan, kept)), Some(stage)) => {
                self.job.keeps(&kept);
                let preview = Preview::new(Arc::clone(&plan), stage.clone(), kept);
                let making = Making {
                    engine: Arc::clone(&self.engine),
                    job: Arc::clone(&self.job),
                    session: self.session.clone(),
                    rows: self.rows,
                    interval: settings.preview_interval,
                    duty_cycle: settings.preview_duty_cycle,
                };
                let made = previews(making, preview);
                let mut running = self.previews.lock();
                running.abort_all();
                let made = self.job.report().cpu.of(Box::pin(made));
                running.spawn_on(made, &self.threads);
                plan
            }
            _ => plan,
        };
        self.job.runs(&plan);
        Ok(plan)
    }

    fn reads_again(&self, looked_up: &LookedUp) {
        self.job.report().count_again();
        self.head.iter().for_each(|head| head.read_again(looked_up));
    }
}

/// The inputs of the preview task of a job.
struct Making {
    engine: Arc<Engine>,
    job: Arc<Job>,
    session: Session,
    rows: usize,
    interval: Duration,
    duty_cycle: f64,
}

/// Makes previews while there are new rows, one at a time, within their share of the run time of the search.
/// A pause drops the current preview, which is made again after the search is resumed.
async fn previews(making: Making, preview: Preview) {
    let Making { engine, job, session, rows, interval, duty_cycle } = making;
    let mut seen = 0;
    while preview.kept().grows(&mut seen).await {
        job.control().goes_on().await;
        let start = Instant::now();
        if job.wants_previews() {
            let making = async {
                let (done, batches) = preview.make(&session, rows).await?;
                // Batches collected while partitions end are incomplete.
                if !preview.kept().is_open() {
                    return Ok(None);
                }
                let fields = fields_of_job(&done.columns, &batches, &job, &engine).await;
                Ok::<_, plan::Error>(Some((done, batches, fields)))
            };
            let made = tokio::select! {
                made = making => made,
                () = job.control().pauses() => {
                    seen = 0;
                    continue;
                }
            };
            match made {
                Ok(None) => return,
                Ok(Some((done, batches, fields))) => job.show(done, batches, fields),
                Err(error) => {
                    return preview.kept().end(format!("there are no previews: {error}"));
                }
            }
            job.report().times.add(Phase::Preview, start.elapsed());
        }
        let busy = Duration::from_secs_f64(start.elapsed().as_secs_f64() / duty_cycle);
        tokio::time::sleep_until((start + interval.max(busy)).into()).await;
    }
}
