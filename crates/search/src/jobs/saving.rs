//! The state of saving a job in object storage.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// Time between a failure and the next attempt.
const RETRY: Duration = Duration::from_secs(30);

/// The state of saving a job.
#[derive(Debug, Default)]
pub(crate) struct Saving {
    state: Mutex<Saved>,
    /// Held while the job is being stored, so that it is stored once at a time.
    pub(crate) turn: tokio::sync::Mutex<()>,
    /// The version that all attempts write, so that a retry replaces the remains of a failed attempt.
    version: OnceLock<String>,
}

/// A snapshot of the state.
#[derive(Debug, Clone, Default)]
pub(crate) struct Saved {
    /// Whether the job is to be stored.
    pub(crate) is_wanted: bool,
    /// The stored version.
    pub(crate) version: Option<String>,
    /// The error of the last attempt.
    problem: Option<String>,
    /// Whether a limit refused it. Then there are no automatic retries.
    is_refused: bool,
    /// Time of the last attempt.
    tried: Option<Instant>,
}

impl Saving {
    /// Returns the state of a job that was read from object storage.
    pub(super) fn stored(version: String) -> Self {
        let state = Saved { is_wanted: true, version: Some(version), ..Saved::default() };
        Self { state: Mutex::new(state), ..Self::default() }
    }

    /// Sets whether the job is to be stored. A refusal by a limit is forgotten.
    pub(crate) fn want(&self, is_wanted: bool) {
        let mut state = self.state.lock();
        (state.is_wanted, state.is_refused, state.tried) = (is_wanted, false, None);
        if !is_wanted {
            state.problem = None;
        }
    }

    /// Returns the version to write.
    pub(crate) fn version(&self) -> String {
        let new = || runtime::random::uuid().as_simple().to_string();
        self.version.get_or_init(new).clone()
    }

    /// Records that the job is stored.
    pub(crate) fn succeeded(&self, version: String) {
        let mut state = self.state.lock();
        (state.version, state.problem) = (Some(version), None);
    }

    /// Records a failure. Returns whether the reason is new.
    pub(crate) fn failed(&self, reason: &str, is_refused: bool) -> bool {
        let next = match is_refused {
            true => "it is not tried again by itself",
            false => "it is tried again every 30 s",
        };
        let text = format!(
            "The results of this job are at the search head that ran it only, and end with it: {reason}; {next}."
        );
        let mut state = self.state.lock();
        state.is_refused = is_refused;
        state.tried = Some(Instant::now());
        let is_news = state.problem.as_ref() != Some(&text);
        state.problem = Some(text);
        is_news
    }

    /// Whether an automatic attempt is due.
    pub(crate) fn is_due(&self) -> bool {
        let state = self.state.lock();
        let rests = state.tried.is_some_and(|tried| tried.elapsed() < RETRY);
        state.is_wanted && !state.is_refused && state.version.is_none() && !rests
    }

    /// Returns a snapshot of the state.
    pub(crate) fn now(&self) -> Saved {
        self.state.lock().clone()
    }

    /// Returns why the job is not stored although it should be.
    pub(super) fn problem(&self) -> Option<String> {
        self.state.lock().problem.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_waits_for_somebody_to_ask_and_a_failure_does_not() {
        let saving = Saving::default();
        assert!(!saving.is_due());
        saving.want(true);
        assert!(saving.is_due());
        assert!(saving.failed("object storage does not answer", false));
        assert!(!saving.failed("object storage does not answer", false) && !saving.is_due());
        assert!(saving.failed("the quota is reached", true) && !saving.is_due());
        assert!(
            saving.problem().is_some_and(|text| text.contains("the quota is reached; it is not"))
        );
        saving.want(true);
        assert!(saving.is_due());
        saving.succeeded("1".to_owned());
        assert!(!saving.is_due() && saving.problem().is_none());
    }
}
