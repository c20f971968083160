//! What is known of an indexer that may not answer. Who asks it again is left to the directory.

use std::time::Duration;

use tonic::{Code, Status};

/// An indexer that lets others wait so long and does not answer is suspect, until it answers again: no search
/// waits for it, and other requests not longer than this.
pub(crate) const SUSPECT: Duration = Duration::from_millis(500);

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Suspicion {
    /// Its last failure, while it is suspect.
    pub(crate) failure: Option<Status>,
    /// Whether a task asks it again and again.
    pub(crate) is_watched: bool,
}

impl Suspicion {
    /// Remembers what came of a request, after so long.
    pub(crate) fn note(&mut self, failure: Option<&Status>, waited: Duration) {
        let was_suspect = self.failure.is_some();
        let failure = failure.filter(|status| is_suspect_after(status, waited, was_suspect));
        self.failure = failure.cloned();
    }
}

/// Whether an indexer is suspect after a request that failed.
fn is_suspect_after(status: &Status, waited: Duration, was_suspect: bool) -> bool {
    // A connection that is not made in time is as slow as an answer that does not come. The attempt goes on
    // when the request gives up: the failure that a later request gets may come at once, and does not mean
    // that the next attempt fails at once, too.
    let is_silent = matches!(status.code(), Code::DeadlineExceeded | Code::Unavailable);
    is_silent && (was_suspect || waited >= SUSPECT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_answer_ends_the_suspicion() {
        let (soon, late) = (Duration::from_millis(20), SUSPECT);
        let (refused, silent) =
            (Status::unavailable("refused"), Status::deadline_exceeded("silent"));
        assert!(is_suspect_after(&silent, late, false) && is_suspect_after(&refused, late, false));
        // A process that is just being started again refuses connections at once.
        assert!(!is_suspect_after(&refused, soon, false));
        assert!(is_suspect_after(&refused, soon, true) && is_suspect_after(&silent, late, true));
        // It has answered, although with an error.
        assert!(!is_suspect_after(&Status::data_loss("damaged"), late, true));
    }
}
