//! Searches as jobs: one that was asked for, its state while it runs, what it found.

mod fields;
mod request;
mod results;
mod rows;
mod state;

use std::collections::BTreeMap;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU8, AtomicU64};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use arrow::array::RecordBatch;
use datafusion::execution::memory_pool::MemoryPool;
use datafusion::physical_plan::ExecutionPlan;
use knowledge::Knowledge;
use model::{EventTime, TimeRange};
use parking_lot::Mutex;
use plan::{Message, MessageKind, PlannedSearch, ResultKind, Rows};
use runtime::Clock;
use tokio::sync::watch;

use crate::Error;
use crate::control::ScanControl;
use crate::inspect::{Inspection, OperatorReport, answered_from, phases};
use crate::preview::Kept;
use crate::quarantine::Quarantined;
use crate::reads::Reads;
use crate::render::Renderer;
use crate::report::{Outcome, ScanCounts, ScanReport, Timeline};
use crate::times::{Noted, Phase};
pub use fields::{FieldCounts, Mode};
pub use request::JobRequest;
pub use results::Page;
pub(crate) use results::Results;
pub use rows::ResultRows;
pub use state::{DispatchState, JobStatus};

/// `priority` of a job that asked for none.
const DEFAULT_PRIORITY: u8 = 5;

/// A search somebody asked for.
#[derive(Debug)]
pub struct Job {
    sid: String,
    request: JobRequest,
    created: EventTime,
    planned: PlannedSearch,
    knowledge: Arc<Knowledge>,
    renderer: Renderer,
    clock: Arc<dyn Clock>,
    control: Arc<ScanControl>,
    report: Arc<ScanReport>,
    state: watch::Sender<DispatchState>,
    finalized: AtomicBool,
    ended: AtomicBool,
    saved: AtomicBool,
    priority: AtomicU8,
    progress: Mutex<Progress>,
    results: OnceLock<Arc<Results>>,
    /// The result as it was a moment ago.
    preview: Noted<Option<Arc<Results>>>,
    previews: AtomicU64,
    /// Where its memory for sorts and groups is counted.
    memory: Noted<Option<Arc<dyn MemoryPool>>>,
    /// What previews are made of.
    kept: Noted<Option<Arc<Kept>>>,
    /// The plans that run, until the end.
    plans: Noted<Vec<Arc<dyn ExecutionPlan>>>,
    /// What their operators did, from the end on.
    operators: OnceLock<Vec<OperatorReport>>,
    s3_price_get_per_1000: f64,
    since: Instant,
    touched: AtomicI64,
    ttl_seconds: AtomicU64,
    field_summary_values: usize,
}

#[derive(Debug, Default)]
struct Progress {
    started: Option<(EventTime, Instant)>,
    run_duration: Option<Duration>,
    messages: Vec<Message>,
    error: Option<Error>,
}

/// What a new job is made of.
#[derive(Debug)]
pub(crate) struct NewJob {
    pub(crate) sid: String,
    pub(crate) request: JobRequest,
    pub(crate) planned: PlannedSearch,
    pub(crate) knowledge: Arc<Knowledge>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) control: Arc<ScanControl>,
    pub(crate) report: Arc<ScanReport>,
    pub(crate) s3_price_get_per_1000: f64,
    pub(crate) ttl: Duration,
    pub(crate) field_summary_values: usize,
}

impl Job {
    pub(crate) fn new(new: NewJob) -> Self {
        let now = new.clock.now();
        let ttl = new.request.ttl.unwrap_or(new.ttl);
        let messages = new.planned.messages.clone();
        Self {
            sid: new.sid,
            renderer: Renderer::new(new.request.timezone.clone()),
            request: new.request,
            created: now,
            planned: new.planned,
            knowledge: new.knowledge,
            clock: new.clock,
            control: new.control,
            report: new.report,
            state: watch::Sender::new(DispatchState::Queued),
            finalized: false.into(),
            ended: false.into(),
            saved: false.into(),
            priority: DEFAULT_PRIORITY.into(),
            progress: Mutex::new(Progress { messages, ..Progress::default() }),
            results: OnceLock::new(),
            preview: Noted::default(),
            previews: AtomicU64::new(0),
            memory: Noted::default(),
            kept: Noted::default(),
            plans: Noted::default(),
            operators: OnceLock::new(),
            s3_price_get_per_1000: new.s3_price_get_per_1000,
            since: Instant::now(),
            touched: AtomicI64::new(now.0),
            ttl_seconds: AtomicU64::new(ttl.as_secs()),
            field_summary_values: new.field_summary_values,
        }
    }

    /// The search id.
    #[must_use]
    pub fn sid(&self) -> &str {
        &self.sid
    }

    /// What was asked for.
    #[must_use]
    pub fn request(&self) -> &JobRequest {
        &self.request
    }

    /// When it was asked for.
    #[must_use]
    pub fn created(&self) -> EventTime {
        self.created
    }

    /// The search as it was understood.
    #[must_use]
    pub fn normalized_search(&self) -> &str {
        &self.planned.normalized
    }

    /// The time range of the events it reads.
    #[must_use]
    pub fn range(&self) -> TimeRange {
        self.planned.range
    }

    /// Whether its rows are events rather than computed ones.
    #[must_use]
    pub fn finds_events(&self) -> bool {
        self.planned.kind == ResultKind::Events
    }

    /// Words and phrases to mark in events.
    #[must_use]
    pub fn highlight(&self) -> &[String] {
        &self.planned.highlight
    }

    /// Buckets, events and granules so far.
    #[must_use]
    pub fn counts(&self) -> ScanCounts {
        self.report.counts()
    }

    /// Whether more events match than it keeps (`max_count`).
    #[must_use]
    pub fn is_truncated(&self) -> bool {
        let kept = self.result_count();
        let full = self.request.max_count.is_some_and(|limit| kept >= limit);
        let ended = self.state.borrow().is_final();
        self.finds_events() && ended && full && self.counts().events_matched > kept as u64
    }

    /// Events that the search finds. Once it has ended with all of its events, those are its result,
    /// after commands such as `head`; until then, and where some are not kept, those that match.
    #[must_use]
    pub fn event_count(&self) -> u64 {
        let ended = *self.state.borrow() == DispatchState::Done;
        if self.finds_events() && ended && !self.is_truncated() {
            return self.result_count() as u64;
        }
        self.counts().events_matched
    }

    /// Matching events over time, so far; `None` if the request did not want to know.
    #[must_use]
    pub fn timeline(&self) -> Option<Timeline> {
        self.report.timeline()
    }

    /// Where it is.
    #[must_use]
    pub fn status(&self) -> JobStatus {
        let progress = self.progress.lock();
        let state = *self.state.borrow();
        let run_duration = progress.run_duration.unwrap_or_else(|| {
            progress.started.map_or(Duration::ZERO, |(_, since)| since.elapsed())
        });
        JobStatus {
            state: if state == DispatchState::Running && self.control.is_paused() {
                DispatchState::Paused
            } else {
                state
            },
            done_progress: self.done_progress(state),
            is_finalized: self.finalized.load(Relaxed),
            started: progress.started.map(|(at, _)| at),
            run_duration,
            error: progress.error.clone(),
        }
    }

    /// Whether events are missing from the answer because their buckets are quarantined.
    #[must_use]
    pub fn is_partial(&self) -> bool {
        !self.report.left_out().is_empty()
    }

    /// What the user should know about the answer.
    #[must_use]
    pub fn messages(&self) -> Vec<Message> {
        let progress = self.progress.lock();
        let mut messages = progress.messages.clone();
        drop(progress);
        let kept = self.kept.now();
        let ended = kept.and_then(|kept| kept.why_ended());
        messages.extend(ended.map(|text| Message { kind: MessageKind::Info, text }));
        messages
    }

    /// What turned up while it ran, without what was known of the search before.
    #[must_use]
    pub fn messages_of_run(&self) -> Vec<Message> {
        let mut messages = self.messages();
        messages.retain(|message| !self.planned.messages.contains(message));
        messages
    }

    /// Rows of the result; 0 until it is there.
    #[must_use]
    pub fn result_count(&self) -> usize {
        self.results.get().map_or(0, |results| results.rows())
    }

    /// Rows of the result, or of its last preview until it is there.
    #[must_use]
    pub fn preview_count(&self) -> usize {
        self.shown().map_or(0, |results| results.rows())
    }

    /// Previews made so far.
    #[must_use]
    pub fn previews(&self) -> u64 {
        self.previews.load(Relaxed)
    }

    /// Whether somebody wants to see results before the end.
    #[must_use]
    pub fn wants_previews(&self) -> bool {
        self.control.wants_previews()
    }

    /// Bytes it holds for sorts, groups and previews, if it has memory of its own.
    #[must_use]
    pub fn reserved_bytes(&self) -> usize {
        self.memory.now().map_or(0, |memory| memory.reserved())
    }

    /// Makes previews, or makes no more. A search that was started without them cannot be looked into.
    pub fn want_previews(&self, wanted: bool) {
        self.control.want_previews(wanted && self.request.preview);
    }

    /// Memory the kept result takes.
    pub(crate) fn result_bytes(&self) -> usize {
        self.shown().map_or(0, |results| results.bytes())
    }

    /// The result, or its last preview until it is there.
    fn shown(&self) -> Option<Arc<Results>> {
        self.results.get().cloned().or_else(|| self.preview.now())
    }

    /// Rows `offset .. offset + count` of the result, none until it is there.
    #[must_use]
    pub fn rows(&self, offset: usize, count: usize) -> ResultRows {
        self.touch();
        let rows = |results: &Arc<Results>| ResultRows::part(results, offset, count);
        self.results.get().map_or_else(ResultRows::default, rows)
    }

    /// The same of the last preview; `None` if there is none.
    #[must_use]
    pub fn preview_rows(&self, offset: usize, count: usize) -> Option<ResultRows> {
        self.touch();
        self.preview.now().map(|preview| ResultRows::part(&preview, offset, count))
    }

    /// A page of the result as texts, empty until it is there.
    #[must_use]
    pub fn page(&self, offset: usize, count: usize) -> Page {
        self.rows(offset, count).page()
    }

    /// A page of the last preview; `None` if there is none.
    #[must_use]
    pub fn preview_page(&self, offset: usize, count: usize) -> Option<Page> {
        self.preview_rows(offset, count).map(|rows| rows.page())
    }

    /// What the kept events say about each field, and how many those are.
    #[must_use]
    pub fn field_summary(&self, top: usize) -> (usize, BTreeMap<String, FieldCounts>) {
        self.touch();
        let Some(results) = self.shown().filter(|_| self.finds_events()) else {
            return (0, BTreeMap::new());
        };
        let mut summary = fields::Summary::new(self.field_summary_values);
        let rows = ResultRows::part(&results, 0, usize::MAX);
        rows.slices().for_each(|slice| summary.add(slice.page()));
        (rows.len(), summary.finish(top))
    }

    /// Where its time went, what it read and what that cost, so far.
    #[must_use]
    pub fn inspect(&self) -> Inspection {
        let scan = self.report.counts();
        let reads = Reads::of(&self.report.reads.stats());
        let running = || self.plans.now().iter().map(OperatorReport::of).collect();
        let plans = self.operators.get().cloned().unwrap_or_else(running);
        #[allow(clippy::cast_precision_loss)]
        let dollars = reads.store_requests as f64 / 1000.0 * self.s3_price_get_per_1000;
        let results = self.results.get().map(|results| results.rows());
        Inspection {
            run_duration: self.status().run_duration.as_secs_f64(),
            phases: phases(&self.report.times, &scan, &plans, results),
            plans,
            reads,
            dollars,
            s3_price_get_per_1000: self.s3_price_get_per_1000,
            answered_from: answered_from(&scan),
            scan,
            previews: self.previews(),
        }
    }

    /// Waits until nothing more will happen; an error if the search failed.
    ///
    /// # Errors
    /// What made the search fail.
    pub async fn finished(&self) -> Result<(), Error> {
        let mut state = self.state.subscribe();
        // The sender lives in self, so waiting cannot fail.
        let _ = state.wait_for(|state| state.is_final()).await;
        self.status().error.map_or(Ok(()), Err)
    }

    /// Holds the search still between batches.
    pub fn pause(&self) {
        self.control.pause();
    }

    /// Lets it go on.
    pub fn unpause(&self) {
        self.control.resume();
    }

    /// Whether it was told to hold still.
    #[must_use]
    pub fn is_paused(&self) -> bool {
        self.control.is_paused()
    }

    /// Ends the search with what it has found so far. A search that has ended stays as it is, and is
    /// marked all the same.
    pub fn finalize(&self) {
        let ended = self.ended.load(SeqCst);
        self.finalized.store(true, Relaxed);
        if !ended {
            self.control.close();
            let running = |state: &mut DispatchState| {
                let change = *state == DispatchState::Running;
                if change {
                    *state = DispatchState::Finalizing;
                }
                change
            };
            self.state.send_if_modified(running);
        }
    }

    /// Puts off the day of its removal.
    pub fn touch(&self) {
        self.touched.store(self.clock.now().0, Relaxed);
    }

    /// When it was last used.
    #[must_use]
    pub fn touched(&self) -> EventTime {
        EventTime(self.touched.load(Relaxed))
    }

    /// Whether somebody wants it kept, and how long; the time counts from its last use.
    pub fn keep(&self, saved: bool, ttl: Duration) {
        self.saved.store(saved, Relaxed);
        self.set_ttl(ttl);
    }

    /// Whether somebody wants it kept.
    #[must_use]
    pub fn is_saved(&self) -> bool {
        self.saved.load(Relaxed)
    }

    /// What its owner said of its importance, 0 to 10; all searches get the same share of the machine.
    #[must_use]
    pub fn priority(&self) -> u8 {
        self.priority.load(Relaxed)
    }

    /// Notes its importance.
    pub fn set_priority(&self, priority: u8) {
        self.priority.store(priority, Relaxed);
    }

    /// How long it is kept after its last use.
    #[must_use]
    pub fn ttl(&self) -> Duration {
        Duration::from_secs(self.ttl_seconds.load(Relaxed))
    }

    /// Changes how long it is kept.
    pub fn set_ttl(&self, ttl: Duration) {
        self.ttl_seconds.store(ttl.as_secs(), Relaxed);
        self.touch();
    }

    pub(crate) fn expired(&self) -> bool {
        let idle = self.clock.now().0 - self.touched.load(Relaxed);
        let ttl = i64::try_from(self.ttl().as_micros()).unwrap_or(i64::MAX);
        self.state.borrow().is_final() && idle > ttl
    }

    pub(crate) fn planned(&self) -> &PlannedSearch {
        &self.planned
    }

    /// Ends it without a result.
    pub(crate) fn cancel(&self) {
        self.fail(Error::Cancelled);
        self.control.cancel();
    }

    pub(crate) fn control(&self) -> &Arc<ScanControl> {
        &self.control
    }

    pub(crate) fn report(&self) -> &Arc<ScanReport> {
        &self.report
    }

    /// Notes where its memory is counted.
    pub(crate) fn holds(&self, memory: &Arc<dyn MemoryPool>) {
        self.memory.change(|known| *known = Some(Arc::clone(memory)));
    }

    /// The rows of the result as commands read them; none before the end.
    pub(crate) fn result_rows(&self) -> Result<Rows, plan::Error> {
        let Some(results) = self.results.get() else { return Ok(Rows::blank(0)) };
        plan::collected(&results.columns, &results.batches)
    }

    /// Notes a plan that is about to run.
    pub(crate) fn runs(&self, plan: &Arc<dyn ExecutionPlan>) {
        self.plans.change(|plans| plans.push(Arc::clone(plan)));
    }

    /// Notes what previews are made of.
    pub(crate) fn keeps(&self, kept: &Arc<Kept>) {
        self.kept.change(|known| *known = Some(Arc::clone(kept)));
    }

    /// Shows rows as the result of now.
    pub(crate) fn show(&self, done: plan::Completed, batches: Vec<RecordBatch>) {
        let preview = Arc::new(self.results_of(done, batches).0);
        // Whoever ends it clears the preview after `ended` is set.
        let shown = self.preview.change(|known| {
            let shown = !self.ended.load(SeqCst);
            if shown {
                *known = Some(preview);
            }
            shown
        });
        self.previews.fetch_add(u64::from(shown), Relaxed);
    }

    pub(crate) fn start(&self) {
        self.report.times.add(Phase::Queue, self.since.elapsed());
        let mut progress = self.progress.lock();
        progress.started = Some((self.clock.now(), Instant::now()));
        drop(progress);
        // It may have been cancelled while it waited for its turn.
        self.state.send_if_modified(|state| {
            let starts = !state.is_final();
            if starts {
                *state = DispatchState::Running;
            }
            starts
        });
    }

    pub(crate) fn complete(&self, done: plan::Completed, batches: Vec<RecordBatch>) {
        if !self.ends_now() {
            return;
        }
        let (results, mut messages) = self.results_of(done, batches);
        messages.extend(self.partial_message(results.rows()));
        let _ = self.results.set(Arc::new(results));
        self.end(DispatchState::Done, messages, None);
    }

    fn results_of(
        &self,
        done: plan::Completed,
        batches: Vec<RecordBatch>,
    ) -> (Results, Vec<Message>) {
        let results = Results {
            kind: done.kind,
            columns: done.columns,
            filter: self.planned.hidden_fields.clone(),
            batches,
            knowledge: Arc::clone(&self.knowledge),
            renderer: self.renderer.clone(),
        };
        (results, done.messages)
    }

    pub(crate) fn fail(&self, error: Error) {
        if self.ends_now() {
            self.end(DispatchState::Failed, Vec::new(), Some(error));
        }
    }

    /// Whether the caller is the one who ends it. A search may be complete and cancelled in the same
    /// moment; it is one of the two.
    fn ends_now(&self) -> bool {
        !self.ended.swap(true, SeqCst)
    }

    fn end(&self, state: DispatchState, messages: Vec<Message>, error: Option<Error>) {
        self.report.times.end();
        self.report.record(match &error {
            None => Outcome::Done,
            Some(Error::Cancelled) => Outcome::Cancelled,
            Some(_) => Outcome::Failed,
        });
        // Plans hold what their operators hold; what is wanted of them later is in the reports.
        let plans = self.plans.change(std::mem::take);
        let _ = self.operators.set(plans.iter().map(OperatorReport::of).collect());
        self.preview.change(|preview| *preview = None);
        self.kept.now().iter().for_each(|kept| kept.clear());
        let mut progress = self.progress.lock();
        progress.run_duration =
            Some(progress.started.map_or(Duration::ZERO, |(_, since)| since.elapsed()));
        for message in messages {
            if !progress.messages.contains(&message) {
                progress.messages.push(message);
            }
        }
        progress.error = error;
        drop(progress);
        self.touch();
        self.state.send_replace(state);
    }

    /// Says so when the result is not the whole answer.
    fn partial_message(&self, kept: usize) -> Vec<Message> {
        let counts = self.report.counts();
        let mut messages = Vec::new();
        let mut warn = |text: String| messages.push(Message { kind: MessageKind::Warning, text });
        self.report.warnings().into_iter().for_each(&mut warn);
        self.report.left_out().iter().map(Quarantined::message).for_each(&mut warn);
        if self.finalized.load(Relaxed) {
            warn(format!(
                "the search was finalized before it had read everything: {} of {} buckets",
                counts.buckets_searched, counts.buckets_to_search
            ));
        }
        let limit = self.request.max_count;
        let cut = self.finds_events() && limit.is_some_and(|limit| kept >= limit);
        if cut && counts.events_matched > kept as u64 {
            warn(format!(
                "{} events match; the newest {kept} are kept (max_count)",
                counts.events_matched
            ));
        }
        messages
    }

    fn done_progress(&self, state: DispatchState) -> f64 {
        if state.is_final() {
            return 1.0;
        }
        self.report.counts().progress().min(0.99)
    }
}
