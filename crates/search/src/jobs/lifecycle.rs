//! The progress of a job from the queue to its end, with its messages.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::time::{Duration, Instant};

use model::EventTime;
use parking_lot::Mutex;
use plan::Message;
use runtime::Clock;
use tokio::sync::watch;

use super::DispatchState;
use crate::Error;

#[derive(Debug)]
pub(super) struct Lifecycle {
    clock: Arc<dyn Clock>,
    created: EventTime,
    state: watch::Sender<DispatchState>,
    is_finalized: AtomicBool,
    has_ended: AtomicBool,
    progress: Mutex<Progress>,
}

#[derive(Debug, Default)]
struct Progress {
    started: Option<(EventTime, Instant)>,
    run_duration: Option<Duration>,
    messages: Vec<Message>,
    error: Option<Error>,
}

impl Lifecycle {
    /// Creates a queued job with the messages of planning.
    pub(super) fn new(clock: Arc<dyn Clock>, messages: Vec<Message>) -> Self {
        Self {
            created: clock.now(),
            clock,
            state: watch::Sender::new(DispatchState::Queued),
            is_finalized: false.into(),
            has_ended: false.into(),
            progress: Mutex::new(Progress { messages, ..Progress::default() }),
        }
    }

    /// Restores a job that ended with its result.
    pub(super) fn restored(
        clock: Arc<dyn Clock>,
        (created, started): (EventTime, Option<EventTime>),
        run_duration: Duration,
        is_finalized: bool,
        messages: Vec<Message>,
    ) -> Self {
        let started = started.map(|at| (at, Instant::now()));
        let run_duration = Some(run_duration);
        Self {
            clock,
            created,
            state: watch::Sender::new(DispatchState::Done),
            is_finalized: is_finalized.into(),
            has_ended: true.into(),
            progress: Mutex::new(Progress { started, run_duration, messages, error: None }),
        }
    }

    pub(super) fn created(&self) -> EventTime {
        self.created
    }

    pub(super) fn state(&self) -> DispatchState {
        *self.state.borrow()
    }

    pub(super) fn started(&self) -> Option<EventTime> {
        self.progress.lock().started.map(|(at, _)| at)
    }

    /// Returns the run time, so far or total.
    pub(super) fn run_duration(&self) -> Duration {
        let progress = self.progress.lock();
        progress.run_duration.unwrap_or_else(|| progress.so_far())
    }

    pub(super) fn error(&self) -> Option<Error> {
        self.progress.lock().error.clone()
    }

    pub(super) fn messages(&self) -> Vec<Message> {
        self.progress.lock().messages.clone()
    }

    /// Whether the job was told to end early with partial results.
    pub(super) fn is_finalized(&self) -> bool {
        self.is_finalized.load(Relaxed)
    }

    /// Whether the job is complete, failed or cancelled, or is ending right now.
    pub(super) fn has_ended(&self) -> bool {
        self.has_ended.load(SeqCst)
    }

    pub(super) async fn finished(&self) -> Result<(), Error> {
        let mut state = self.state.subscribe();
        // `self` holds the sender, so waiting cannot fail.
        let _ = state.wait_for(|state| state.is_final()).await;
        self.error().map_or(Ok(()), Err)
    }

    /// Moves the job from the queue to running.
    pub(super) fn start(&self) {
        self.progress.lock().started = Some((self.clock.now(), Instant::now()));
        // The job may have been cancelled while it was queued.
        self.state.send_if_modified(|state| {
            let starts = !state.is_final();
            if starts {
                *state = DispatchState::Running;
            }
            starts
        });
    }

    /// Marks the job as finalized. Returns whether it had not ended before.
    pub(super) fn finalize(&self) -> bool {
        let has_ended = self.has_ended();
        self.is_finalized.store(true, Relaxed);
        if has_ended {
            return false;
        }
        self.state.send_if_modified(|state| {
            let is_running = *state == DispatchState::Running;
            if is_running {
                *state = DispatchState::Finalizing;
            }
            is_running
        });
        true
    }

    /// Claims the end of the job; true only for the first caller. A search may complete and be cancelled at
    /// the same moment, but only one of the two counts.
    pub(super) fn ends_now(&self) -> bool {
        !self.has_ended.swap(true, SeqCst)
    }

    /// Ends the job and notifies those who wait for the end.
    pub(super) fn end(&self, state: DispatchState, messages: Vec<Message>, error: Option<Error>) {
        let mut progress = self.progress.lock();
        progress.run_duration = Some(progress.so_far());
        for message in messages {
            if !progress.messages.contains(&message) {
                progress.messages.push(message);
            }
        }
        progress.error = error;
        drop(progress);
        self.state.send_replace(state);
    }
}

impl Progress {
    /// Returns the time since the start.
    fn so_far(&self) -> Duration {
        self.started.map_or(Duration::ZERO, |(_, since)| since.elapsed())
    }
}
