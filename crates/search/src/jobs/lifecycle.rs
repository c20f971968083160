//! How far a job has come, from the queue to its end, and what it has said on the way.

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
    /// A job in the queue, with what planning has said.
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

    /// A job that ended with its result.
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

    /// How long it has run, or ran.
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

    /// Whether it was told to end with what it had found.
    pub(super) fn is_finalized(&self) -> bool {
        self.is_finalized.load(Relaxed)
    }

    /// Whether it is complete, failed or cancelled, or becomes so at this moment.
    pub(super) fn has_ended(&self) -> bool {
        self.has_ended.load(SeqCst)
    }

    pub(super) async fn finished(&self) -> Result<(), Error> {
        let mut state = self.state.subscribe();
        // The sender lives in self, so waiting cannot fail.
        let _ = state.wait_for(|state| state.is_final()).await;
        self.error().map_or(Ok(()), Err)
    }

    /// It leaves the queue.
    pub(super) fn start(&self) {
        self.progress.lock().started = Some((self.clock.now(), Instant::now()));
        // It may have been cancelled while it waited for its turn.
        self.state.send_if_modified(|state| {
            let starts = !state.is_final();
            if starts {
                *state = DispatchState::Running;
            }
            starts
        });
    }

    /// Marks it as finalized; whether it had not ended before.
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

    /// Whether the caller is the one who ends it. A search may be complete and cancelled in the same
    /// moment; it is one of the two.
    pub(super) fn ends_now(&self) -> bool {
        !self.has_ended.swap(true, SeqCst)
    }

    /// Nothing more happens; those who wait for the end are told.
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
    /// How long ago it started.
    fn so_far(&self) -> Duration {
        self.started.map_or(Duration::ZERO, |(_, since)| since.elapsed())
    }
}
