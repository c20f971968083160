//! Searches as jobs: the request, the state while the search runs, and the result.

mod answer;
mod fields;
mod instruments;
mod kept;
mod lifecycle;
mod request;
mod results;
mod retention;
mod rows;
mod saving;
mod shown;
mod state;
mod stored;
mod understood;
mod uses;

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use arrow::array::RecordBatch;
use datafusion::execution::memory_pool::MemoryPool;
use datafusion::physical_plan::ExecutionPlan;
use knowledge::Knowledge;
use model::{EventTime, IndexName, TimeRange};
use plan::{Message, MessageKind, OutputColumn, PlannedSearch, ResultKind, Rows, ShownFields};
use runtime::Clock;

use self::answer::Answer;
use self::instruments::Instruments;
use self::lifecycle::Lifecycle;
use self::retention::Retention;
use self::saving::Saving;
use self::understood::Understood;
use crate::Error;
use crate::control::ScanControl;
use crate::ended::Ended;
use crate::inspect::{Inspection, hides_events, hides_in_audit};
use crate::preview::PreviewState;
use crate::render::Renderer;
use crate::report::{Outcome, ScanCounts, ScanReport};
use crate::timeline::Timeline;
use crate::traced::Traced;
pub use fields::{FieldCounts, Mode};
pub(crate) use kept::Jobs;
pub use kept::ReservedId;
pub use request::JobRequest;
pub use results::Page;
pub(crate) use results::{KnownFields, Results, have_raw};
pub use rows::ResultRows;
pub(crate) use shown::{Shown, sourcetypes};
pub use state::{DispatchState, JobStatus};
pub(crate) use stored::{Details, Loaded, Restoring, SavedJob};
pub(crate) use uses::Uses;

/// A search job.
#[derive(Debug)]
pub struct Job {
    sid: String,
    request: JobRequest,
    understood: Understood,
    knowledge: Arc<Knowledge>,
    renderer: Renderer,
    control: Arc<ScanControl>,
    field_summary_values: usize,
    lifecycle: Lifecycle,
    retention: Retention,
    answer: Answer,
    instruments: Instruments,
    saving: Saving,
    traced: Traced,
    shown: Shown,
}

/// The parts from which a new job is created.
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
    pub(crate) ended: Arc<Ended>,
    pub(crate) traced: Traced,
}

impl Job {
    pub(crate) fn new(new: NewJob) -> Self {
        let ttl = new.request.ttl.unwrap_or(new.ttl);
        let messages = new.planned.messages.clone();
        Self {
            sid: new.sid,
            renderer: Renderer::new(new.request.timezone.clone()),
            request: new.request,
            understood: Understood::new(new.planned),
            knowledge: new.knowledge,
            control: new.control,
            field_summary_values: new.field_summary_values,
            retention: Retention::new(Arc::clone(&new.clock), ttl),
            lifecycle: Lifecycle::new(new.clock, messages),
            answer: Answer::default(),
            instruments: Instruments::new(new.report, new.ended, new.s3_price_get_per_1000),
            saving: Saving::default(),
            shown: Shown::default(),
            traced: new.traced,
        }
    }

    /// Returns the search id.
    #[must_use]
    pub fn sid(&self) -> &str {
        &self.sid
    }

    /// Returns the request.
    #[must_use]
    pub fn request(&self) -> &JobRequest {
        &self.request
    }

    /// Returns the time of the request.
    #[must_use]
    pub fn created(&self) -> EventTime {
        self.lifecycle.created()
    }

    /// Returns the normalized search text.
    #[must_use]
    pub fn normalized_search(&self) -> &str {
        &self.understood.normalized
    }

    /// Returns the time range of the events that the search reads.
    #[must_use]
    pub fn range(&self) -> TimeRange {
        self.understood.range
    }

    /// The indexes that it reads, as planned, without those of its subsearches. A job that was restored from
    /// object storage does not know them.
    #[must_use]
    pub fn indexes(&self) -> &[IndexName] {
        &self.understood.indexes
    }

    /// Whether its rows are events rather than computed ones.
    #[must_use]
    pub fn finds_events(&self) -> bool {
        self.understood.kind == ResultKind::Events
    }

    /// Returns words and phrases to highlight in events.
    #[must_use]
    pub fn highlight(&self) -> &[String] {
        &self.understood.highlight
    }

    /// Returns counts of buckets, events and granules so far. With a search filter, only matching events are
    /// counted.
    #[must_use]
    pub fn counts(&self) -> ScanCounts {
        let counts = self.instruments.counts();
        if self.has_filter() { counts.without_hidden() } else { counts }
    }

    /// Whether a search filter (`srchFilter`) of its rights hides events from the search.
    fn has_filter(&self) -> bool {
        hides_events(&self.request.rights)
    }

    /// Whether more events match than it keeps (`max_count`).
    #[must_use]
    pub fn is_truncated(&self) -> bool {
        let kept = self.result_count();
        let full = self.request.max_count.is_some_and(|limit| kept >= limit);
        let ended = self.lifecycle.state().is_final();
        self.finds_events() && ended && full && self.counts().events_matched > kept as u64
    }

    /// Returns the number of events of the search. For an ended search that has kept all of its events, this
    /// is the number of results, after commands such as `head`; otherwise it is the number of matching
    /// events.
    #[must_use]
    pub fn event_count(&self) -> u64 {
        if self.has_all_events() {
            return self.result_count() as u64;
        }
        self.counts().events_matched
    }

    /// Whether the search has ended and has kept all events that it found.
    fn has_all_events(&self) -> bool {
        let ended = self.lifecycle.state() == DispatchState::Done;
        self.finds_events() && ended && !self.is_truncated()
    }

    /// Returns the timeline of the events of [`Self::event_count`], with at most the requested number of
    /// bins; `None` if the request wants no timeline.
    #[must_use]
    pub fn timeline(&self) -> Option<Timeline> {
        let matching = self.instruments.timeline()?;
        let results = self.answer.results().filter(|_| self.has_all_events());
        let found = results.and_then(|results| results.timeline(&matching));
        Some(found.unwrap_or(matching).at_most(self.request().status_buckets))
    }

    /// Returns the state.
    #[must_use]
    pub fn status(&self) -> JobStatus {
        let state = self.lifecycle.state();
        JobStatus {
            state: if state == DispatchState::Running && self.control.is_paused() {
                DispatchState::Paused
            } else {
                state
            },
            done_progress: self.done_progress(state),
            is_finalized: self.lifecycle.is_finalized(),
            started: self.lifecycle.started(),
            run_duration: self.lifecycle.run_duration(),
            error: self.lifecycle.error(),
        }
    }

    /// Whether the result misses events: buckets are quarantined, or an indexer does not answer.
    #[must_use]
    pub fn is_partial(&self) -> bool {
        self.instruments.is_incomplete()
    }

    /// Returns messages for the user about the result.
    #[must_use]
    pub fn messages(&self) -> Vec<Message> {
        let mut messages = self.lifecycle.messages();
        let is_queued = self.lifecycle.state() == DispatchState::Queued;
        let waits = is_queued.then(|| self.instruments.why_queued()).flatten();
        messages.extend(waits.map(|text| Message { kind: MessageKind::Info, text }));
        // The messages of an ended job include these.
        if !self.lifecycle.state().is_final() {
            let waits = self.report().store_waits().into_iter();
            messages.extend(waits.map(|text| Message { kind: MessageKind::Warning, text }));
        }
        let ended = self.answer.why_previews_ended();
        messages.extend(ended.map(|text| Message { kind: MessageKind::Info, text }));
        let problem = self.saving.problem();
        messages.extend(problem.map(|text| Message { kind: MessageKind::Warning, text }));
        messages
    }

    /// Returns the messages that arose while the search ran, without those of planning.
    #[must_use]
    pub fn messages_of_run(&self) -> Vec<Message> {
        let mut messages = self.messages();
        messages.retain(|message| !self.understood.messages.contains(message));
        messages
    }

    /// Returns the number of rows of the result; 0 before the end.
    #[must_use]
    pub fn result_count(&self) -> usize {
        self.answer.rows()
    }

    /// Returns the number of rows of the result, or of the last preview before the end.
    #[must_use]
    pub fn preview_count(&self) -> usize {
        self.answer.shown_rows()
    }

    /// Returns the number of previews so far.
    #[must_use]
    pub fn previews(&self) -> u64 {
        self.answer.previews()
    }

    /// Whether previews are requested.
    #[must_use]
    pub fn wants_previews(&self) -> bool {
        self.control.wants_previews()
    }

    /// Returns the bytes it holds for sorts, groups and previews; `None` if it has no memory pool of its own.
    #[must_use]
    pub fn reserved_bytes(&self) -> usize {
        self.instruments.reserved_bytes()
    }

    /// Starts or stops previews. A search that was started without previews cannot have any.
    pub fn want_previews(&self, wanted: bool) {
        self.control.want_previews(wanted && self.request.preview);
    }

    /// Returns the memory of the kept result in bytes.
    #[must_use]
    pub fn result_bytes(&self) -> usize {
        self.answer.shown().map_or(0, |results| results.bytes())
    }

    /// Returns rows `offset .. offset + count` of the result; none before the end.
    #[must_use]
    pub fn rows(&self, offset: usize, count: usize) -> ResultRows {
        self.touch();
        let rows = |results: &Arc<Results>| ResultRows::part(results, offset, count);
        self.answer.results().map_or_else(ResultRows::default, rows)
    }

    /// Returns the same range of rows of the last preview; `None` if there is none.
    #[must_use]
    pub fn preview_rows(&self, offset: usize, count: usize) -> Option<ResultRows> {
        self.touch();
        self.answer.preview().map(|preview| ResultRows::part(&preview, offset, count))
    }

    /// Returns a page of the result as texts; empty before the end.
    #[must_use]
    pub fn page(&self, offset: usize, count: usize) -> Page {
        self.rows(offset, count).page()
    }

    /// Returns a page of the last preview as texts; `None` if there is none.
    #[must_use]
    pub fn preview_page(&self, offset: usize, count: usize) -> Option<Page> {
        self.preview_rows(offset, count).map(|rows| rows.page())
    }

    /// Returns statistics of each field over the kept events in a range of time, and the number of those
    /// events.
    #[must_use]
    pub fn field_summary(
        &self,
        top: usize,
        range: Option<TimeRange>,
    ) -> (usize, BTreeMap<String, FieldCounts>) {
        self.touch();
        let Some(results) = self.answer.shown().filter(|_| self.finds_events()) else {
            return (0, BTreeMap::new());
        };
        let mut summary = fields::Summary::new(self.field_summary_values);
        let mut rows = ResultRows::part(&results, 0, usize::MAX);
        if let Some(range) = range {
            rows = rows.within(range, 0, usize::MAX);
        }
        rows.slices().for_each(|slice| summary.add(slice.page()));
        (rows.len(), summary.finish(top))
    }

    /// Returns the inspector's report so far. With a search filter, it does not depend on hidden events.
    #[must_use]
    pub fn inspect(&self) -> Inspection {
        let (plans, part_plans) = self.instruments.plans();
        self.filtered(Inspection { plans, part_plans, ..self.measured() })
    }

    /// Returns the same without plans, for lists and statuses: plans may have a megabyte.
    #[must_use]
    pub fn summary(&self) -> Inspection {
        self.filtered(self.measured())
    }

    fn filtered(&self, measured: Inspection) -> Inspection {
        if self.has_filter() { measured.without_hidden() } else { measured }
    }

    /// Returns the report without plans for the audit trail: with all counts, unless the owner has a search
    /// filter and may read the audit trail.
    #[must_use]
    pub fn recorded(&self) -> Inspection {
        let measured = self.measured();
        if hides_in_audit(&self.request.rights) { measured.without_hidden() } else { measured }
    }

    /// Returns the report with all counts and without plans.
    fn measured(&self) -> Inspection {
        let rows = self.answer.results().map(|results| results.rows());
        self.instruments.summary(self.lifecycle.run_duration(), rows, self.previews())
    }

    /// Waits until the job has ended.
    ///
    /// # Errors
    /// What made the search fail.
    pub async fn finished(&self) -> Result<(), Error> {
        self.lifecycle.finished().await
    }

    /// Pauses the search between batches.
    pub fn pause(&self) {
        self.control.pause();
    }

    /// Resumes the search.
    pub fn unpause(&self) {
        self.control.resume();
    }

    /// Whether the search is paused.
    #[must_use]
    pub fn is_paused(&self) -> bool {
        self.control.is_paused()
    }

    /// Ends the search early with the rows found so far. An ended search does not change, except that it is
    /// marked as finalized.
    pub fn finalize(&self) {
        if self.lifecycle.finalize() {
            self.control.close();
        }
    }

    /// Records a use of the job, which postpones its expiry.
    pub fn touch(&self) {
        self.retention.touch();
    }

    /// Returns the time of the last use.
    #[must_use]
    pub fn touched(&self) -> EventTime {
        self.retention.touched()
    }

    /// Sets whether the job is saved, and its lifetime, which counts from now.
    pub(crate) fn keep(&self, saved: bool, ttl: Duration) {
        self.retention.save(saved);
        self.retention.set_ttl(ttl);
    }

    /// Returns the state of saving the job in object storage.
    pub(crate) fn saving(&self) -> &Saving {
        &self.saving
    }

    /// Whether the job is marked as saved.
    #[must_use]
    pub fn is_saved(&self) -> bool {
        self.retention.is_saved()
    }

    /// Returns the priority set by the owner, 0 to 10. It has no effect: all searches get the same share of
    /// the machine.
    #[must_use]
    pub fn priority(&self) -> u8 {
        self.retention.priority()
    }

    /// Sets the priority.
    pub fn set_priority(&self, priority: u8) {
        self.retention.set_priority(priority);
    }

    /// Returns the roles whose users may read the job besides its owner; `*` stands for all users.
    #[must_use]
    pub fn readers(&self) -> Vec<String> {
        self.retention.readers()
    }

    /// Sets the roles whose users may read the job.
    pub(crate) fn set_readers(&self, readers: Vec<String>) {
        self.retention.set_readers(readers);
    }

    /// Returns the time for which the job is kept after its last use.
    #[must_use]
    pub fn ttl(&self) -> Duration {
        self.retention.ttl()
    }

    pub(crate) fn expired(&self) -> bool {
        self.lifecycle.state().is_final() && self.retention.is_over()
    }

    /// Takes the plan in order to run it; `None` if the job has run or ended.
    pub(crate) fn take_plan(&self) -> Option<PlannedSearch> {
        self.understood.take_plan()
    }

    /// Ends the job without a result: [`Error::Cancelled`] or [`Error::Stopping`].
    pub(crate) fn abort(&self, why: Error) {
        self.fail(why);
        self.control.cancel();
    }

    /// Returns the digest of the installed apps with which the search was planned; `None` if this process
    /// cannot install apps.
    #[must_use]
    pub fn bundle_version(&self) -> Option<String> {
        self.instruments.bundle_version()
    }

    /// Returns the trace ID of the search; `None` if there is no trace, or it is not sampled.
    #[must_use]
    pub fn trace_id(&self) -> Option<String> {
        self.traced.context().trace_id()
    }

    pub(crate) fn traced(&self) -> &Traced {
        &self.traced
    }

    pub(crate) fn control(&self) -> &Arc<ScanControl> {
        &self.control
    }

    pub(crate) fn report(&self) -> &Arc<ScanReport> {
        self.instruments.report()
    }

    /// Sets the memory pool of the job.
    pub(crate) fn holds(&self, memory: &Arc<dyn MemoryPool>) {
        self.instruments.holds(memory);
    }

    /// Returns the rows of the result in the form that commands read; none before the end.
    pub(crate) fn result_rows(&self) -> Result<Rows, plan::Error> {
        let Some(results) = self.answer.results() else { return Ok(Rows::blank(0)) };
        plan::collected(&results.columns, &results.batches)
    }

    /// Registers a plan that is about to run.
    pub(crate) fn runs(&self, plan: &Arc<dyn ExecutionPlan>) {
        self.instruments.runs(plan);
    }

    /// Registers the state from which previews are computed.
    pub(crate) fn keeps(&self, kept: &Arc<PreviewState>) {
        self.answer.keeps(kept);
    }

    /// Publishes rows as the current preview.
    pub(crate) fn show(
        &self,
        done: plan::Completed,
        batches: Vec<RecordBatch>,
        fields: Option<Arc<ShownFields>>,
    ) {
        let preview = Arc::new(self.results_of(done, batches, fields).0);
        // The task that ends the job clears the preview afterwards.
        self.answer.show(preview, || !self.lifecycle.has_ended());
    }

    pub(crate) fn start(&self) {
        self.instruments.leaves_queue();
        self.lifecycle.start();
    }

    pub(crate) fn complete(
        &self,
        done: plan::Completed,
        batches: Vec<RecordBatch>,
        fields: Option<Arc<ShownFields>>,
    ) {
        if !self.lifecycle.ends_now() {
            return;
        }
        let span = self.traced.child("search.finish");
        let (results, mut messages) = self.results_of(done, batches, fields);
        drop(span);
        messages.extend(self.partial_message(results.rows()));
        self.answer.set(results);
        self.end(DispatchState::Done, messages, None);
    }

    /// Returns the planned fields that the configuration adds to its events.
    pub(crate) fn shown(&self) -> &Shown {
        &self.shown
    }

    /// Returns the knowledge objects of the search.
    pub(crate) fn knowledge(&self) -> &Arc<Knowledge> {
        &self.knowledge
    }

    /// Returns whether its rows are events that may have other displayed fields than these columns.
    pub(crate) fn has_others(&self, columns: &[OutputColumn]) -> bool {
        self.finds_events() && results::has_others(&self.understood.hidden_fields, columns)
    }

    /// Returns its result if the configured fields of the events have not been planned, because the job was
    /// read from object storage.
    pub(crate) fn result_without_shown(&self) -> Option<&Arc<Results>> {
        self.answer.results().filter(|results| results.shown.get().is_none())
    }

    /// Sets the configured fields of its events.
    pub(crate) fn show_fields(&self, fields: Option<Arc<ShownFields>>) {
        self.answer.results().iter().for_each(|results| {
            let _ = results.shown.set(fields.clone());
        });
    }

    fn results_of(
        &self,
        done: plan::Completed,
        batches: Vec<RecordBatch>,
        fields: Option<Arc<ShownFields>>,
    ) -> (Results, Vec<Message>) {
        let (columns, batches) = results::present(done.columns, batches);
        let results = Results {
            kind: done.kind,
            columns,
            filter: self.understood.hidden_fields.clone(),
            batches,
            only_raw: false,
            knowledge: Arc::clone(&self.knowledge),
            renderer: self.renderer.clone(),
            known: KnownFields::default(),
            shown: OnceLock::from(fields),
        };
        (results, done.messages)
    }

    pub(crate) fn fail(&self, error: Error) {
        if self.lifecycle.ends_now() {
            self.end(DispatchState::Failed, Vec::new(), Some(error));
        }
    }

    fn end(&self, state: DispatchState, messages: Vec<Message>, error: Option<Error>) {
        let outcome = match &error {
            None => Outcome::Done,
            Some(Error::Cancelled | Error::Stopping) => Outcome::Cancelled,
            Some(_) => Outcome::Failed,
        };
        self.instruments.end(outcome, self.lifecycle.run_duration());
        let rows = self.answer.results().map(|results| results.rows() as u64);
        self.traced.end(outcome, error.as_ref(), self.report(), rows);
        self.answer.end_previews();
        // A job that ends in the queue still has its plan.
        drop(self.take_plan());
        self.touch();
        self.lifecycle.end(state, messages, error);
    }

    /// Returns a message if the result is incomplete.
    fn partial_message(&self, kept: usize) -> Vec<Message> {
        let counts = self.report().counts();
        let mut messages = Vec::new();
        let mut warn = |text: String| messages.push(Message { kind: MessageKind::Warning, text });
        self.report().warnings().into_iter().for_each(&mut warn);
        self.report().incomplete().into_iter().for_each(&mut warn);
        if self.lifecycle.is_finalized() {
            let text = "the search was finalized before it had read everything";
            warn(match self.has_filter() {
                true => text.to_owned(),
                // Buckets are not a good measure here: for many searches, one bucket has most of the events.
                false => format!(
                    "{text}: {} of about {} events were read",
                    counts.events_scanned, counts.events_to_scan
                ),
            });
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
        if self.has_filter() {
            return 0.0;
        }
        self.report().counts().progress().min(0.99)
    }
}
