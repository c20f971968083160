//! The state of an indexer that may not answer. The directory sends the repeated requests.

use std::time::Duration;

use model::{IndexName, TimeRange};
use tonic::{Code, Status};

/// An indexer that does not answer for this time is suspect until it answers the same request or, if it never
/// does, the smallest request of a search: searches do not wait for it, and other requests wait no longer
/// than this.
pub(crate) const SUSPECT: Duration = Duration::from_millis(500);
/// Time-out of status requests to a suspect indexer. An overloaded indexer may take longer than [`SUSPECT`]
/// without being lost.
pub(crate) const SHORT_WAIT: Duration = Duration::from_secs(2);
/// How often the last request is repeated. The indexer may never answer it in time, but answer others at
/// once.
const TRIES: u32 = 3;

/// Indexes and the time of their events.
type Question = (Vec<IndexName>, TimeRange);

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Suspicion {
    /// Its last failure, while it is suspect.
    pub(crate) failure: Option<Status>,
    /// The time-out of the request that failed.
    waited: Duration,
    /// Whether a task asks it again and again.
    pub(crate) is_watched: bool,
    /// The last question of a search that it did not answer, while it is suspect.
    unanswered: Option<Question>,
    /// Number of repeated requests that were not answered. Requests of concurrent searches do not count,
    /// because they are not repetitions.
    tries: u32,
    /// The least question of the searches that have missed it, while it is suspect.
    least: Option<Question>,
}

impl Suspicion {
    /// Records the outcome of a request and the time that it took.
    pub(crate) fn note(
        &mut self,
        (indexes, range): (&[IndexName], &TimeRange),
        failure: Option<&Status>,
        waited: Duration,
    ) {
        let was_suspect = self.failure.is_some();
        let failure = failure.filter(|status| is_suspect_after(status, waited, was_suspect));
        if let Some(failure) = failure {
            // A time-out after a shorter wait says less than one after a longer wait.
            let says_less = failure.code() == Code::DeadlineExceeded && waited < self.waited;
            if !says_less {
                self.failure = Some(failure.clone());
                self.waited = waited;
            }
            if !indexes.is_empty() {
                self.unanswered = Some((indexes.to_vec(), *range));
                self.miss((indexes, range));
            }
        } else if !indexes.is_empty() || self.unanswered.is_none() {
            // An overloaded indexer may answer requests without events at once, and searches not in time.
            *self = Self { is_watched: self.is_watched, ..Self::default() };
        }
    }

    /// Remembers that it was asked again and has answered or not.
    pub(crate) fn asked_again(&mut self) {
        if self.unanswered.is_some() {
            self.tries = self.tries.saturating_add(1);
        }
    }

    /// Records the request that a search would have sent.
    pub(crate) fn miss(&mut self, (indexes, range): (&[IndexName], &TimeRange)) {
        if self.failure.is_none() || indexes.is_empty() {
            return;
        }
        let least = self.least.as_ref();
        if least.is_none_or(|(known, span)| size(indexes, range) < size(known, span)) {
            self.least = Some((indexes.to_vec(), *range));
        }
    }

    /// Returns the request that has to be answered before the indexer is no longer suspect.
    pub(crate) fn question(&self) -> Question {
        let least = self.least.as_ref().filter(|_| self.tries >= TRIES);
        let question = least.or(self.unanswered.as_ref());
        question.cloned().unwrap_or((Vec::new(), TimeRange::ALL))
    }
}

/// Orders questions by how much they ask for.
fn size(indexes: &[IndexName], range: &TimeRange) -> (usize, i64) {
    (indexes.len(), range.latest.0.saturating_sub(range.earliest.0))
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
#[allow(clippy::unwrap_used)]
mod tests {
    use model::EventTime;

    use super::*;

    #[test]
    fn what_asks_for_no_events_does_not_end_the_suspicion_of_a_search() {
        let (main, all) = ([IndexName::new("main").unwrap()], TimeRange::ALL);
        let of_search: (&[IndexName], &TimeRange) = (&main, &all);
        let of_nothing: (&[IndexName], &TimeRange) = (&[], &all);
        let silent = Status::deadline_exceeded("silent");
        let mut suspicion = Suspicion::default();
        suspicion.note(of_search, Some(&silent), SUSPECT);
        suspicion.note(of_nothing, None, SUSPECT);
        suspicion.note(of_nothing, Some(&silent), SUSPECT);
        assert!(suspicion.failure.is_some());
        assert_eq!(suspicion.question(), (main.to_vec(), all));
        suspicion.note(of_search, None, SUSPECT);
        assert!(suspicion.failure.is_none());
        // No search has asked it: any answer is sufficient.
        suspicion.note(of_nothing, Some(&silent), SUSPECT);
        assert!(suspicion.failure.is_some() && suspicion.question().0.is_empty());
        suspicion.note(of_nothing, None, SUSPECT);
        assert!(suspicion.failure.is_none());
    }

    #[test]
    fn what_is_never_answered_gives_way_to_the_least_question() {
        let (main, all) = ([IndexName::new("main").unwrap()], TimeRange::ALL);
        let day = TimeRange { earliest: EventTime(0), latest: EventTime(86_400_000_000) };
        let silent = Status::deadline_exceeded("silent");
        let mut suspicion = Suspicion::default();
        suspicion.miss((&main, &day));
        assert!(suspicion.question().0.is_empty(), "it is not suspect");
        // Failures of concurrent searches.
        for _ in 0..=TRIES {
            suspicion.note((&main, &all), Some(&silent), SUSPECT);
            suspicion.miss((&main, &day));
            assert_eq!(suspicion.question(), (main.to_vec(), all));
        }
        for _ in 0..TRIES {
            suspicion.note((&main, &all), Some(&silent), SUSPECT);
            suspicion.asked_again();
            suspicion.miss((&main, &day));
            suspicion.miss((&[], &day));
            suspicion.miss((&main, &all));
            let asked = if suspicion.tries < TRIES { all } else { day };
            assert_eq!(suspicion.question(), (main.to_vec(), asked));
        }
        suspicion.note((&main, &day), None, SUSPECT);
        suspicion.asked_again();
        assert!(suspicion.failure.is_none() && suspicion.question().0.is_empty());
        // The last request is repeated if it is not answered.
        suspicion.note((&main, &all), Some(&silent), SUSPECT);
        suspicion.miss((&main, &day));
        assert_eq!(suspicion.question(), (main.to_vec(), all));
    }

    #[test]
    fn only_an_answer_ends_the_suspicion() {
        let (soon, late) = (Duration::from_millis(20), SUSPECT);
        let (refused, silent) =
            (Status::unavailable("refused"), Status::deadline_exceeded("silent"));
        assert!(is_suspect_after(&silent, late, false) && is_suspect_after(&refused, late, false));
        // A process that is just being started again refuses connections at once.
        assert!(!is_suspect_after(&refused, soon, false));
        assert!(is_suspect_after(&refused, soon, true) && is_suspect_after(&silent, late, true));
        // The indexer has answered, although with an error.
        assert!(!is_suspect_after(&Status::data_loss("damaged"), late, true));
    }

    #[test]
    fn a_shorter_wait_is_not_the_reason_for_the_suspicion() {
        let (main, all) = ([IndexName::new("main").unwrap()], TimeRange::ALL);
        let of_search: (&[IndexName], &TimeRange) = (&main, &all);
        let of_nothing: (&[IndexName], &TimeRange) = (&[], &all);
        let reason = |suspicion: &Suspicion| {
            let failure = suspicion.failure.as_ref().unwrap();
            failure.message().to_owned()
        };
        let mut suspicion = Suspicion::default();
        let in_time = Status::deadline_exceeded("no answer within 10000 ms");
        suspicion.note(of_search, Some(&in_time), Duration::from_secs(10));
        let at_once = Status::deadline_exceeded("no answer within 2000 ms");
        suspicion.note(of_nothing, Some(&at_once), SHORT_WAIT);
        assert_eq!(reason(&suspicion), "no answer within 10000 ms");
        // The indexer is known to be down since then.
        let refused = Status::unavailable("refused");
        suspicion.note(of_nothing, Some(&refused), Duration::ZERO);
        assert_eq!(reason(&suspicion), "refused");
        suspicion.note(of_nothing, Some(&at_once), SHORT_WAIT);
        assert_eq!(reason(&suspicion), "no answer within 2000 ms");
        suspicion.note(of_search, None, SHORT_WAIT);
        assert!(suspicion.failure.is_none() && suspicion.waited.is_zero());
    }
}
