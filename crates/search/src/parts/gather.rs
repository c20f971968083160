//! The operator that replaces a map part in the plan of the search head: returns the rows of this process and
//! of each task.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use bytes::Bytes;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{EquivalenceProperties, Partitioning};
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{ExecutionPlan, PlanProperties};
use distributed::{Conversation, Failure, Said};
use exprs::leaf::Leaf;
use futures::{StreamExt, stream};
use metrics::counter;
use plan::{Message, MessageLog};
use runtime::metrics as names;
use runtime::trace::{TraceContext, Tracer};
use tokio::sync::watch;
use tokio::time::{Interval, MissedTickBehavior, interval};

use crate::control::{ScanControl, Valve};
use crate::part_report::PartReport;
use crate::preview::{GATHERED, PreviewState};
use crate::report::ScanReport;
use crate::settings::PartSettings;
use crate::traced::ShareSpan;
use crate::workers::{LostWorkers, Worker};

/// Number of processes that are asked for a share before it is read in this process.
const ATTEMPTS: usize = 2;

/// State that all tasks of a branch share.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) control: Arc<ScanControl>,
    pub(super) report: Arc<ScanReport>,
    pub(super) log: MessageLog,
    pub(super) lost: Arc<LostWorkers>,
    /// The state for previews, and the index of the first partition in it that belongs to a task.
    pub(super) kept: Option<(Arc<PreviewState>, usize)>,
    pub(super) settings: PartSettings,
    pub(super) preview_interval: Duration,
    pub(super) allow_partial: bool,
    pub(super) tracer: Tracer,
    /// The parent span of the tasks.
    pub(super) trace: TraceContext,
}

/// A share of the buckets of a branch.
#[derive(Debug)]
pub(super) struct Task {
    /// The number among all tasks of the search.
    pub(super) number: usize,
    /// The index among the tasks of the branch.
    pub(super) place: usize,
    pub(super) buckets: usize,
    /// The workers to ask, in this order.
    pub(super) candidates: Vec<Worker>,
    pub(super) recipe: Bytes,
    /// The branch over the share, for execution in this process.
    pub(super) here: Arc<dyn ExecutionPlan>,
}

/// The operator; see the module documentation. The first partition returns the rows of this process, each
/// further one those of a task.
#[derive(Debug)]
pub(crate) struct Gathered {
    local: Arc<dyn ExecutionPlan>,
    tasks: Vec<Arc<Task>>,
    shared: Arc<Shared>,
    properties: Arc<PlanProperties>,
}

impl Gathered {
    pub(super) fn new(
        local: Arc<dyn ExecutionPlan>,
        tasks: Vec<Arc<Task>>,
        shared: Shared,
        order: EquivalenceProperties,
    ) -> Self {
        let properties = PlanProperties::new(
            order,
            Partitioning::UnknownPartitioning(1 + tasks.len()),
            EmissionType::Incremental,
            Boundedness::Bounded,
        );
        Self { local, tasks, shared: Arc::new(shared), properties: Arc::new(properties) }
    }
}

impl Leaf for Gathered {
    const NAME: &'static str = GATHERED;

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn parameters(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let buckets: usize = self.tasks.iter().map(|task| task.buckets).sum();
        write!(f, ": tasks={}, buckets={buckets}", self.tasks.len())
    }

    fn run(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let Some(task) = partition.checked_sub(1).and_then(|at| self.tasks.get(at)) else {
            return self.local.execute(0, context);
        };
        let schema = self.local.schema();
        let run = RunningTask::new(
            Arc::clone(task),
            Arc::clone(&self.shared),
            Arc::clone(&schema),
            context,
        );
        let rows = stream::try_unfold(run, RunningTask::next);
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, rows)))
    }
}

/// A running task.
struct RunningTask {
    task: Arc<Task>,
    shared: Arc<Shared>,
    schema: SchemaRef,
    context: Arc<TaskContext>,
    /// Number of processes asked so far.
    asked: usize,
    at: RowSource,
    /// Received rows.
    held: VecDeque<RecordBatch>,
    reservation: MemoryReservation,
    /// Whether rows are passed on as they arrive, so that the task can no longer be restarted.
    is_released: bool,
    valve: watch::Receiver<Valve>,
    preview: Interval,
    is_preview_asked: bool,
    /// Messages of operators of the part so far.
    said: Vec<Message>,
    span: ShareSpan,
}

/// The current source of the rows of a task.
enum RowSource {
    /// No process has been asked yet.
    Nowhere,
    Worker(Box<Conversation>, Worker),
    Here(SendableRecordBatchStream),
    /// All rows have arrived.
    End,
}

impl RunningTask {
    fn new(
        task: Arc<Task>,
        shared: Arc<Shared>,
        schema: SchemaRef,
        context: Arc<TaskContext>,
    ) -> Self {
        let (number, buckets) = (task.number, task.buckets);
        let span = ShareSpan::begin(&shared.tracer, &shared.trace, number, buckets);
        let consumer = MemoryConsumer::new(format!("GatherExec[{}]", task.number));
        // Twice per preview interval, so that a preview follows soon after new rows.
        let mut preview = interval(shared.preview_interval / 2);
        preview.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Self {
            reservation: consumer.register(context.memory_pool()),
            valve: shared.control.subscribe(),
            task,
            shared,
            schema,
            context,
            asked: 0,
            at: RowSource::Nowhere,
            held: VecDeque::new(),
            is_released: false,
            preview,
            is_preview_asked: false,
            said: Vec::new(),
            span,
        }
    }

    async fn next(mut self) -> Result<Option<(RecordBatch, Self)>> {
        loop {
            if self.is_released
                && let Some(batch) = self.held.pop_front()
            {
                return Ok(Some((batch, self)));
            }
            match &mut self.at {
                RowSource::Nowhere => self.begin().await?,
                RowSource::Worker(..) => self.listen().await?,
                RowSource::Here(rows) => {
                    let Some(batch) = rows.next().await.transpose()? else { return Ok(None) };
                    self.span.add(batch.num_rows(), batch.get_array_memory_size());
                    return Ok(Some((batch, self)));
                }
                RowSource::End if self.held.is_empty() => return Ok(None),
                RowSource::End => self.is_released = true,
            }
        }
    }

    /// Asks the next process for the share; after the last one, runs it in this process.
    async fn begin(&mut self) -> Result<()> {
        if !self.shared.control.admit().await? {
            self.at = RowSource::End;
            return Ok(());
        }
        let next = self.task.candidates.get(self.asked).filter(|_| self.asked < ATTEMPTS).cloned();
        let Some((worker, channel)) =
            next.and_then(|worker| Some((worker.clone(), worker.channel?)))
        else {
            self.finish_preview();
            self.span.is_here();
            self.at = RowSource::Here(self.task.here.execute(0, Arc::clone(&self.context))?);
            return Ok(());
        };
        self.asked += 1;
        let (recipe, schema) = (self.task.recipe.clone(), Arc::clone(&self.schema));
        let silence = self.shared.settings.silence;
        let context = self.span.ask(&worker);
        match Conversation::begin(channel, recipe, schema, silence, &context).await {
            Ok(conversation) => {
                self.is_preview_asked = false;
                // Ensures that the current state of the valve is sent first.
                self.valve.mark_changed();
                self.at = RowSource::Worker(Box::new(conversation), worker);
            }
            Err(failure) => self.give_up(&worker, &failure)?,
        }
        Ok(())
    }

    /// Waits for the next event.
    async fn listen(&mut self) -> Result<()> {
        let RowSource::Worker(conversation, worker) = &mut self.at else { return Ok(()) };
        let is_previewed = self.shared.kept.is_some()
            && !self.is_preview_asked
            && *self.valve.borrow() == Valve::Open
            && self.shared.control.wants_previews();
        tokio::select! {
            // A pause has priority, because decoding the rows and previews that arrived before it takes
            // time.
            biased;
            changed = self.valve.changed() => {
                let valve = *self.valve.borrow_and_update();
                match valve {
                    Valve::Open => conversation.set(distributed::Valve::Open),
                    Valve::Paused => {
                        conversation.set(distributed::Valve::Paused);
                        // A pause cancels the requested preview.
                        self.is_preview_asked = false;
                    }
                    Valve::Closed => conversation.set(distributed::Valve::Closed),
                    Valve::Cancelled => return Err(cancelled()),
                }
                // The sender is part of the control of the search.
                changed.map_err(|_| cancelled())
            }
            _ = self.preview.tick(), if is_previewed => {
                conversation.ask_preview();
                self.is_preview_asked = true;
                Ok(())
            }
            said = conversation.next() => match said {
                Ok(said) => self.hear(said),
                Err(failure) => {
                    let worker = worker.clone();
                    self.give_up(&worker, &failure)
                }
            },
        }
    }

    fn hear(&mut self, said: Said) -> Result<()> {
        match said {
            Said::Rows(batch) => {
                let bytes = batch.get_array_memory_size();
                self.span.add(batch.num_rows(), bytes);
                let held = self.reservation.size() + bytes;
                let fits = held <= self.shared.settings.buffer_bytes
                    && self.reservation.try_resize(held).is_ok();
                if !fits && !self.is_released {
                    self.is_released = true;
                    self.reservation.free();
                }
                self.held.push_back(batch);
            }
            Said::Preview(found) => {
                self.is_preview_asked = false;
                if let Some((kept, first)) = self.shared.kept.as_ref().filter(|_| !found.is_empty())
                {
                    kept.put(first + self.task.place, found);
                }
            }
            Said::Progress(bytes) => match serde_json::from_slice::<PartReport>(&bytes) {
                Ok(report) => self.take_report(report),
                Err(error) => {
                    tracing::warn!(%error, "an indexer sent progress that is not readable")
                }
            },
            Said::Done => {
                counter!(names::SEARCH_PARTS, "outcome" => "done").increment(1);
                self.span.done();
                self.shared.report.end_part(self.task.number);
                self.say_messages();
                if let Some((kept, first)) = self.shared.kept.as_ref().filter(|_| !self.is_released)
                {
                    kept.put(first + self.task.place, self.held.iter().cloned().collect());
                }
                self.finish_preview();
                self.at = RowSource::End;
            }
        }
        Ok(())
    }

    fn take_report(&mut self, report: PartReport) {
        self.said = report.messages().collect();
        let RowSource::Worker(_, worker) = &self.at else { return };
        self.shared.report.note_part(self.task.number, &worker.name, self.task.buckets, report);
    }

    /// Restarts the share elsewhere, unless rows have been passed on already.
    fn give_up(&mut self, worker: &Worker, failure: &Failure) -> Result<()> {
        let outcome = match failure {
            Failure::Refused(_) => "refused",
            Failure::Failed(_) => "failed",
            Failure::Lost(_) => {
                self.shared.lost.note(worker);
                "lost"
            }
        };
        counter!(names::SEARCH_PARTS, "outcome" => outcome).increment(1);
        let reason = failure.to_string();
        if self.shared.lost.is_news(worker, &reason) {
            tracing::warn!(indexer = %worker.name, %reason, "a part of a search runs elsewhere");
        }
        if self.is_released {
            return self.end_incomplete(worker, failure);
        }
        self.span.begin_again(worker, outcome, &reason);
        self.shared.report.forget_part(self.task.number);
        self.said.clear();
        self.held.clear();
        self.reservation.free();
        if let Some((kept, first)) = &self.shared.kept {
            kept.put(first + self.task.place, Vec::new());
        }
        self.at = RowSource::Nowhere;
        Ok(())
    }

    /// Ends the task with an incomplete result: some of its rows are in the result, and it is unknown which.
    fn end_incomplete(&mut self, worker: &Worker, failure: &Failure) -> Result<()> {
        let what = format!(
            "{}: {failure}; it was reading {} buckets, and some of their events are missing",
            worker.name, self.task.buckets
        );
        self.span.break_off(&what);
        if !self.shared.allow_partial {
            let message = format!("{what}, and allow_partial_results is off; run the search again");
            return Err(DataFusionError::External(Box::new(crate::Error::Unavailable(message))));
        }
        self.say_messages();
        self.shared.report.break_off(what);
        self.finish_preview();
        self.at = RowSource::End;
        Ok(())
    }

    /// Adds the messages of the part's operators to those of this process.
    fn say_messages(&mut self) {
        for Message { kind, text } in self.said.drain(..) {
            self.shared.log.add(kind, text);
        }
    }

    fn finish_preview(&self) {
        if let Some((kept, first)) = &self.shared.kept {
            kept.finish(first + self.task.place);
        }
    }
}

fn cancelled() -> DataFusionError {
    DataFusionError::External(Box::new(crate::Error::Cancelled))
}
