//! Searches as jobs: one that was asked for, its state while it runs, what it found.

mod fields;
mod request;
mod results;
mod state;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use knowledge::Knowledge;
use model::{EventTime, TimeRange};
use plan::{Message, MessageKind, PlannedSearch, ResultKind};
use runtime::Clock;
use tokio::sync::watch;

use crate::Error;
use crate::control::ScanControl;
use crate::render::Renderer;
use crate::report::{ScanCounts, ScanReport, Timeline};
pub use fields::{FieldCounts, Mode};
pub use request::JobRequest;
pub use results::Page;
pub(crate) use results::Results;
pub use state::{DispatchState, JobStatus};

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
    finalized: std::sync::atomic::AtomicBool,
    progress: Mutex<Progress>,
    results: OnceLock<Results>,
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
            progress: Mutex::new(Progress { messages, ..Progress::default() }),
            results: OnceLock::new(),
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

    /// Matching events over time, so far; `None` if the request did not want to know.
    #[must_use]
    pub fn timeline(&self) -> Option<Timeline> {
        self.report.timeline()
    }

    /// Where it is.
    #[must_use]
    pub fn status(&self) -> JobStatus {
        let progress = self.progress.lock().unwrap_or_else(PoisonError::into_inner);
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

    /// What the user should know about the answer.
    #[must_use]
    pub fn messages(&self) -> Vec<Message> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner).messages.clone()
    }

    /// Rows of the result; 0 until it is there.
    #[must_use]
    pub fn result_count(&self) -> usize {
        self.results.get().map_or(0, Results::rows)
    }

    /// Memory the kept result takes.
    pub(crate) fn result_bytes(&self) -> usize {
        self.results.get().map_or(0, Results::bytes)
    }

    /// A page of the result, empty until it is there.
    #[must_use]
    pub fn page(&self, offset: usize, count: usize) -> Page {
        self.touch();
        self.results.get().map_or_else(Page::default, |results| results.page(offset, count))
    }

    /// What the kept events say about each field.
    #[must_use]
    pub fn field_summary(&self, top: usize) -> BTreeMap<String, FieldCounts> {
        self.touch();
        let Some(results) = self.results.get().filter(|_| self.finds_events()) else {
            return BTreeMap::new();
        };
        fields::summarize(&results.page(0, usize::MAX), top, self.field_summary_values)
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

    /// Ends the search with what it has found so far.
    pub fn finalize(&self) {
        if !self.state.borrow().is_final() {
            self.finalized.store(true, Relaxed);
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

    pub(crate) fn cancel_scans(&self) {
        self.control.close();
    }

    pub(crate) fn start(&self) {
        let mut progress = self.progress.lock().unwrap_or_else(PoisonError::into_inner);
        progress.started = Some((self.clock.now(), Instant::now()));
        drop(progress);
        self.state.send_replace(DispatchState::Running);
    }

    pub(crate) fn complete(&self, done: plan::Completed, batches: Vec<arrow::array::RecordBatch>) {
        let results = Results {
            kind: done.kind,
            columns: done.columns,
            filter: self.planned.hidden_fields.clone(),
            batches,
            knowledge: Arc::clone(&self.knowledge),
            renderer: self.renderer.clone(),
        };
        let mut messages = done.messages;
        messages.extend(self.partial_message(results.rows()));
        let _ = self.results.set(results);
        self.end(DispatchState::Done, messages, None);
    }

    pub(crate) fn fail(&self, error: Error) {
        let messages = self.messages();
        self.end(DispatchState::Failed, messages, Some(error));
    }

    fn end(&self, state: DispatchState, messages: Vec<Message>, error: Option<Error>) {
        let mut progress = self.progress.lock().unwrap_or_else(PoisonError::into_inner);
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

    #[allow(clippy::cast_precision_loss)]
    fn done_progress(&self, state: DispatchState) -> f64 {
        if state.is_final() {
            return 1.0;
        }
        let counts = self.report.counts();
        match counts.buckets_to_search {
            0 => 0.0,
            all => (counts.buckets_searched as f64 / all as f64).min(0.99),
        }
    }
}
