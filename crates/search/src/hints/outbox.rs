//! Hints that wait until they are sent.

use std::collections::HashSet;
use std::time::Instant;

use bucket::TermQuery;
use model::BucketId;

use super::{Hint, Recent, hash_of};
use crate::workers::Worker;

/// Maximum number of buckets that wait: about 400 KB of JSON.
const WAITING: usize = 10_000;

/// Maximum number of starts of processes that are known not to take hints.
const DEAF: usize = 1_000;

/// The start of a process: its identity, which a restart keeps, and that of the start.
type Start = (String, String);

fn start_of(worker: &Worker) -> Start {
    (worker.id.clone(), worker.started.clone())
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    waiting: Vec<(Worker, Vec<Hint>)>,
    /// The number of waiting buckets.
    buckets: usize,
    recent: Recent,
    deaf: HashSet<Start>,
}

impl Outbox {
    /// Adds buckets that are read elsewhere, for the worker that would read them next. Returns the number of
    /// buckets that do not fit; the next search over them tells the worker of these.
    pub(crate) fn note(
        &mut self,
        worker: &Worker,
        query: &TermQuery,
        buckets: &[BucketId],
        now: Instant,
    ) -> usize {
        let start = start_of(worker);
        if self.deaf.contains(&start) {
            return 0;
        }
        let of_query = hash_of((&start, query));
        let (mut kept, mut dropped) = (Vec::new(), 0);
        for bucket in buckets {
            if self.buckets >= WAITING {
                dropped += 1;
            } else if self.recent.is_new(hash_of((of_query, bucket)), now) {
                self.buckets += 1;
                kept.push(*bucket);
            }
        }
        if kept.is_empty() {
            return dropped;
        }
        let hint = Hint { query: query.clone(), buckets: kept };
        match self.waiting.iter_mut().find(|(known, _)| start_of(known) == start) {
            Some((_, hints)) => hints.push(hint),
            None => self.waiting.push((worker.clone(), vec![hint])),
        }
        dropped
    }

    /// Removes all that waits: a batch per worker.
    pub(crate) fn take(&mut self) -> Vec<(Worker, Vec<Hint>)> {
        self.buckets = 0;
        std::mem::take(&mut self.waiting)
    }

    /// Notes that a process does not take hints until it is restarted, perhaps as another release.
    pub(crate) fn note_deaf(&mut self, worker: &Worker) {
        if self.deaf.len() >= DEAF {
            self.deaf.clear();
        }
        self.deaf.insert(start_of(worker));
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn worker(id: &str, started: &str) -> Worker {
        let (id, started, name) = (id.to_owned(), started.to_owned(), String::new());
        Worker { id, started, name, channel: None, is_near: true, cold_since: None }
    }

    fn ids(numbers: std::ops::Range<u128>) -> Vec<BucketId> {
        numbers.map(|number| BucketId(uuid::Uuid::from_u128(number))).collect()
    }

    fn word(text: &str) -> TermQuery {
        TermQuery::for_text(text)
    }

    #[test]
    fn a_worker_gets_one_batch_without_repetitions() {
        let (mut outbox, now) = (Outbox::default(), Instant::now());
        let (a, b) = (worker("a", "1"), worker("b", "1"));
        outbox.note(&a, &word("x"), &ids(0..3), now);
        outbox.note(&a, &word("x"), &ids(0..4), now);
        outbox.note(&a, &word("y"), &ids(0..1), now);
        outbox.note(&b, &word("x"), &ids(0..1), now);
        let batches: Vec<_> = outbox.take().into_iter().map(|(to, hints)| (to.id, hints)).collect();
        let hint = |text, buckets| Hint { query: word(text), buckets: ids(buckets) };
        let of_a = vec![hint("x", 0..3), hint("x", 3..4), hint("y", 0..1)];
        assert_eq!(batches, [("a".to_owned(), of_a), ("b".to_owned(), vec![hint("x", 0..1)])]);
        outbox.note(&a, &word("x"), &ids(0..4), now + Duration::from_secs(60));
        assert!(outbox.take().is_empty());
        outbox.note(&worker("a", "2"), &word("x"), &ids(0..4), now);
        assert_eq!(outbox.take().len(), 1, "it has been restarted");
    }

    #[test]
    fn buckets_that_do_not_fit_are_told_next_time() {
        let (mut outbox, now, a) = (Outbox::default(), Instant::now(), worker("a", "1"));
        assert_eq!(outbox.note(&a, &TermQuery::All, &ids(0..12_000), now), 2_000);
        assert_eq!(outbox.take()[0].1[0].buckets, ids(0..10_000));
        assert_eq!(outbox.note(&a, &TermQuery::All, &ids(0..12_000), now), 0);
        assert_eq!(outbox.take()[0].1[0].buckets, ids(10_000..12_000));
    }

    #[test]
    fn a_process_of_an_earlier_release_is_not_told_again_until_it_restarts() {
        let (mut outbox, now) = (Outbox::default(), Instant::now());
        outbox.note_deaf(&worker("a", "1"));
        outbox.note(&worker("a", "1"), &TermQuery::All, &ids(0..2), now);
        assert!(outbox.take().is_empty());
        outbox.note(&worker("a", "2"), &TermQuery::All, &ids(0..2), now);
        assert_eq!(outbox.take().len(), 1);
    }
}
