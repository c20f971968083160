//! Whether a job is in object storage, is to be, or could not be put there.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// How long after a failure it is tried again.
const RETRY: Duration = Duration::from_secs(30);

/// How far the saving of a job is.
#[derive(Debug, Default)]
pub(crate) struct Saving {
    state: Mutex<Saved>,
    /// Held while the job is being stored: once at a time.
    pub(crate) turn: tokio::sync::Mutex<()>,
    /// The version that attempts write: what one of them leaves, the next one replaces.
    version: OnceLock<String>,
}

/// What is known of the saving of a job.
#[derive(Debug, Clone, Default)]
pub(crate) struct Saved {
    /// Somebody wants it in object storage.
    pub(crate) is_wanted: bool,
    /// The version that is there.
    pub(crate) version: Option<String>,
    /// Why it is not there.
    problem: Option<String>,
    /// A limit is in the way: it is not tried again unless somebody asks.
    is_refused: bool,
    /// When it was tried.
    tried: Option<Instant>,
}

impl Saving {
    /// Of a job that has been read from object storage.
    pub(super) fn stored(version: String) -> Self {
        let state = Saved { is_wanted: true, version: Some(version), ..Saved::default() };
        Self { state: Mutex::new(state), ..Self::default() }
    }

    /// Notes what somebody wants now; a limit that was in the way before is asked again.
    pub(crate) fn want(&self, is_wanted: bool) {
        let mut state = self.state.lock();
        (state.is_wanted, state.is_refused, state.tried) = (is_wanted, false, None);
        if !is_wanted {
            state.problem = None;
        }
    }

    /// The version to write.
    pub(crate) fn version(&self) -> String {
        let new = || runtime::random::uuid().as_simple().to_string();
        self.version.get_or_init(new).clone()
    }

    /// Notes that it is in object storage.
    pub(crate) fn succeeded(&self, version: String) {
        let mut state = self.state.lock();
        (state.version, state.problem) = (Some(version), None);
    }

    /// Notes why it is not; whether that is news.
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

    /// Whether it is to be stored now without being asked.
    pub(crate) fn is_due(&self) -> bool {
        let state = self.state.lock();
        let rests = state.tried.is_some_and(|tried| tried.elapsed() < RETRY);
        state.is_wanted && !state.is_refused && state.version.is_none() && !rests
    }

    /// What is known.
    pub(crate) fn now(&self) -> Saved {
        self.state.lock().clone()
    }

    /// Why it is not in object storage though somebody wants it there.
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
