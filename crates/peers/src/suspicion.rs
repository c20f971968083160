//! What is known of an indexer that may not answer. Who asks it again is left to the directory.

use std::time::Duration;

use model::{IndexName, TimeRange};
use tonic::{Code, Status};

/// An indexer that lets others wait so long and does not answer is suspect, until it answers what it did not
/// answer, or, if it never does, the least that a search has wanted: no search waits for it, and other
/// requests not longer than this.
pub(crate) const SUSPECT: Duration = Duration::from_millis(500);
/// How long a suspect is waited for that is asked whether it is there. One that is overloaded may take longer
/// than [`SUSPECT`], and is not gone.
pub(crate) const SHORT_WAIT: Duration = Duration::from_secs(2);
/// How often it is asked the last question again. It may never answer that one in time, and others at once.
const TRIES: u32 = 3;

/// Indexes and the time of their events.
type Question = (Vec<IndexName>, TimeRange);

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Suspicion {
    /// Its last failure, while it is suspect.
    pub(crate) failure: Option<Status>,
    /// How long it was waited for before that failure.
    waited: Duration,
    /// Whether a task asks it again and again.
    pub(crate) is_watched: bool,
    /// The last question of a search that it did not answer, while it is suspect.
    unanswered: Option<Question>,
    /// How often it was asked again and did not answer. Those of searches that were under way together do not
    /// count: it was not asked again.
    tries: u32,
    /// The least question of the searches that have missed it, while it is suspect.
    least: Option<Question>,
}

impl Suspicion {
    /// Remembers what came of a question, after so long.
    pub(crate) fn note(
        &mut self,
        (indexes, range): (&[IndexName], &TimeRange),
        failure: Option<&Status>,
        waited: Duration,
    ) {
        let was_suspect = self.failure.is_some();
        let failure = failure.filter(|status| is_suspect_after(status, waited, was_suspect));
        if let Some(failure) = failure {
            // That it has not answered a question at once says less than that it has not answered in time.
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
            // One that is overloaded may answer at once what asks for no events, and searches not in time.
            *self = Self { is_watched: self.is_watched, ..Self::default() };
        }
    }

    /// Remembers that it was asked again and has answered or not.
    pub(crate) fn asked_again(&mut self) {
        if self.unanswered.is_some() {
            self.tries = self.tries.saturating_add(1);
        }
    }

    /// Remembers what a search would have asked it.
    pub(crate) fn miss(&mut self, (indexes, range): (&[IndexName], &TimeRange)) {
        if self.failure.is_none() || indexes.is_empty() {
            return;
        }
        let least = self.least.as_ref();
        if least.is_none_or(|(known, span)| size(indexes, range) < size(known, span)) {
            self.least = Some((indexes.to_vec(), *range));
        }
    }

    /// What has to be answered so that it is not suspect any more.
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
        // No search has asked it: any answer will do.
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
        // Searches that were under way together.
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
        // It is asked the last question again, if it does not answer that one.
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
        // It has answered, although with an error.
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
        // It is known since that it is gone.
        let refused = Status::unavailable("refused");
        suspicion.note(of_nothing, Some(&refused), Duration::ZERO);
        assert_eq!(reason(&suspicion), "refused");
        suspicion.note(of_nothing, Some(&at_once), SHORT_WAIT);
        assert_eq!(reason(&suspicion), "no answer within 2000 ms");
        suspicion.note(of_search, None, SHORT_WAIT);
        assert!(suspicion.failure.is_none() && suspicion.waited.is_zero());
    }
}
