//! Hints that wait until they are sent.

use std::collections::HashSet;
use std::time::Instant;

use bucket::TermQuery;
use model::BucketId;

use super::{Hint, Recent, bounded, hash_of};
use crate::workers::Worker;

/// Maximum number of buckets that wait: about 400 KB of JSON, and 10 MB if each has another long query.
const WAITING: usize = 10_000;

/// Maximum number of starts of processes that are known not to take hints.
const REFUSING: usize = 1_000;

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
    /// The queries of recent searches.
    searched: Recent,
    /// The number of searches so far.
    searches: u64,
    refusing: HashSet<Start>,
}

/// Returns all items, from one on that differs from search to search: those at the end are not always the
/// ones that do not fit.
fn rotated<T>(items: &[T], search: u64) -> impl Iterator<Item = &T> {
    let start = hash_of(search) % (items.len() as u64).max(1);
    let (before, after) = items.split_at(usize::try_from(start).unwrap_or_default());
    after.iter().chain(before)
}

impl Outbox {
    /// Adds the buckets of a search for their next choices, one list per worker. Returns the number of
    /// buckets that do not fit; a later search over them tells the worker of these.
    pub(crate) fn note_search(
        &mut self,
        query: &TermQuery,
        workers: &[Worker],
        buckets: &[Vec<BucketId>],
        now: Instant,
    ) -> usize {
        let query = self.query_to_tell(query, now);
        let search = self.searches;
        self.searches += 1;
        let lists: Vec<_> = workers.iter().zip(buckets).collect();
        let note = |(worker, buckets): &(&Worker, &Vec<BucketId>)| {
            let buckets: Vec<_> = rotated(buckets, search).copied().collect();
            self.note(worker, &query, &buckets, now)
        };
        rotated(&lists, search).map(note).sum()
    }

    /// Returns the query for the hints of a search. A query is told when it is searched for the second time
    /// within some minutes; the hints of its first search are about footers, which all later searches need,
    /// while most words are not searched again soon.
    fn query_to_tell(&mut self, query: &TermQuery, now: Instant) -> TermQuery {
        match self.searched.is_new(hash_of(query), now) {
            true => TermQuery::All,
            false => bounded(query.clone()),
        }
    }

    /// Adds buckets that are read elsewhere, for the worker that would read them next. Returns the number of
    /// buckets that do not fit.
    fn note(
        &mut self,
        worker: &Worker,
        query: &TermQuery,
        buckets: &[BucketId],
        now: Instant,
    ) -> usize {
        let start = start_of(worker);
        if self.refusing.contains(&start) {
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
    pub(crate) fn note_refusal(&mut self, worker: &Worker) {
        if self.refusing.len() >= REFUSING {
            self.refusing.clear();
        }
        self.refusing.insert(start_of(worker));
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
    fn words_are_told_when_they_are_searched_again_within_some_minutes() {
        let (mut outbox, now, a) = (Outbox::default(), Instant::now(), [worker("a", "1")]);
        let mut told = |text, seconds| {
            let at = now + Duration::from_secs(seconds);
            assert_eq!(outbox.note_search(&word(text), &a, &[ids(0..3)], at), 0);
            let batches = outbox.take();
            let hints = batches.into_iter().flat_map(|(_, hints)| hints);
            hints.map(|hint| (hint.query, hint.buckets.len())).collect::<Vec<_>>()
        };
        assert_eq!(told("x", 0), [(TermQuery::All, 3)]);
        assert!(told("y", 10).is_empty(), "it was told of the footers");
        assert_eq!(told("x", 60), [(word("x"), 3)]);
        assert!(told("x", 120).is_empty());
        assert_eq!(told("y", 700), [(TermQuery::All, 3)], "it was not searched for a long time");
    }

    #[test]
    fn not_always_the_same_of_many_buckets_are_told() {
        let (mut outbox, now, a) = (Outbox::default(), Instant::now(), [worker("a", "1")]);
        let mut told = |seconds| {
            let at = now + Duration::from_secs(seconds);
            let buckets = [ids(0..40_000)];
            assert_eq!(outbox.note_search(&TermQuery::All, &a, &buckets, at), 30_000);
            outbox.take()[0].1[0].buckets.clone()
        };
        assert_ne!(told(0), told(3_600));
    }

    #[test]
    fn a_process_of_an_earlier_release_is_not_told_again_until_it_restarts() {
        let (mut outbox, now) = (Outbox::default(), Instant::now());
        outbox.note_refusal(&worker("a", "1"));
        outbox.note(&worker("a", "1"), &TermQuery::All, &ids(0..2), now);
        assert!(outbox.take().is_empty());
        outbox.note(&worker("a", "2"), &TermQuery::All, &ids(0..2), now);
        assert_eq!(outbox.take().len(), 1);
    }
}
