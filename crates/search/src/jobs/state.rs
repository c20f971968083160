//! The life of a job: which states it goes through, and what it reports of itself.

use std::time::Duration;

use model::EventTime;
use serde::Serialize;

use crate::Error;

/// Splunk's dispatch states, those that Karst reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum DispatchState {
    /// Waiting for its turn.
    Queued,
    /// Being planned.
    Parsing,
    /// Reading events.
    Running,
    /// Holding still until it is unpaused.
    Paused,
    /// Told to finish with what it has.
    Finalizing,
    /// Finished; results are there.
    Done,
    /// Ended with an error.
    Failed,
}

impl DispatchState {
    /// Splunk's word for it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Queued => "QUEUED",
            Self::Parsing => "PARSING",
            Self::Running => "RUNNING",
            Self::Paused => "PAUSED",
            Self::Finalizing => "FINALIZING",
            Self::Done => "DONE",
            Self::Failed => "FAILED",
        }
    }

    /// Whether nothing more will happen.
    #[must_use]
    pub fn is_final(self) -> bool {
        matches!(self, Self::Done | Self::Failed)
    }
}

/// A job's state at one moment.
#[derive(Debug, Clone)]
pub struct JobStatus {
    /// Where it is.
    pub state: DispatchState,
    /// Share of the work done, 0 to 1.
    pub done_progress: f64,
    /// Whether it was told to finish early: the results are partial, and a message says so.
    pub is_finalized: bool,
    /// When it began to run.
    pub started: Option<EventTime>,
    /// Time spent running.
    pub run_duration: Duration,
    /// Why it failed.
    pub error: Option<Error>,
}
