//! The states of a job, and its status report.

use std::time::Duration;

use model::EventTime;
use serde::Serialize;

use crate::Error;

/// Splunk's dispatch states, as far as Karst uses them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum DispatchState {
    /// Waiting for its turn.
    Queued,
    /// Being planned.
    Parsing,
    /// Running.
    Running,
    /// Paused.
    Paused,
    /// Ending early with the rows found so far.
    Finalizing,
    /// Ended with its result.
    Done,
    /// Ended with an error.
    Failed,
}

impl DispatchState {
    /// Returns Splunk's name of the state.
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

    /// Whether the state is final.
    #[must_use]
    pub fn is_final(self) -> bool {
        matches!(self, Self::Done | Self::Failed)
    }
}

/// A snapshot of a job's status.
#[derive(Debug, Clone)]
pub struct JobStatus {
    /// The state.
    pub state: DispatchState,
    /// Share of the work done, 0 to 1.
    pub done_progress: f64,
    /// Whether the job was told to end early: the results are partial, and a message says so.
    pub is_finalized: bool,
    /// Time when the job began to run.
    pub started: Option<EventTime>,
    /// Run time.
    pub run_duration: Duration,
    /// The error of a failed job.
    pub error: Option<Error>,
}
