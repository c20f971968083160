//! Hints about buckets: what this process tells others, and what others have told it. No clock, no I/O.
//!
//! ```text
//! search head:  shares of a search -> Outbox -- batches --> indexer: Inbox -> buckets to read, in turn
//!                                                                     '-> bytes that they have in the cache
//! ```
//!
//! Guarantees: what waits and what is remembered is bounded; a bucket is not told or read again for the same
//! query within some minutes; blocks that were read because of hints take at most a part of the cache.
//!
//! Not here: sending and reading (`warming`), and which process gets a hint (`parts`).

mod inbox;
mod outbox;

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::{Duration, Instant};

use bucket::TermQuery;
use metrics::counter;
use model::BucketId;
use parking_lot::Mutex;
use runtime::metrics as names;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

pub(crate) use inbox::{Inbox, Taken};
pub(crate) use outbox::Outbox;

/// Time for which a hint is not repeated.
const AGAIN: Duration = Duration::from_secs(600);

/// Maximum number of hints that are remembered so that they are not repeated. 24 bytes each.
const REMEMBERED: usize = 1 << 16;

/// Maximum size of a query of a hint in bytes, as JSON: about 50 words. `IN (...)` may have 100,000 values,
/// and each waiting bucket may have a query of its own.
const MAX_QUERY: usize = 1 << 10;

/// Buckets that another process has read, and the query that their indexes were asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Hint {
    pub(crate) query: TermQuery,
    pub(crate) buckets: Vec<BucketId>,
}

/// A hint whose query is not read yet.
#[derive(Deserialize)]
struct Received<'a> {
    #[serde(borrow)]
    query: &'a RawValue,
    buckets: Vec<BucketId>,
}

/// Reads hints of another process. A query that this release does not know is replaced by
/// [`TermQuery::All`].
///
/// # Errors
/// If they are not JSON of this form.
pub(crate) fn received(json: &[u8]) -> serde_json::Result<Vec<Hint>> {
    let hints: Vec<Received<'_>> = serde_json::from_slice(json)?;
    let hint = |Received { query, buckets }: Received<'_>| {
        let query = serde_json::from_str(query.get()).unwrap_or(TermQuery::All);
        Hint { query, buckets }
    };
    Ok(hints.into_iter().map(hint).collect())
}

/// The hints of a process.
#[derive(Debug)]
pub(crate) struct Hints {
    pub(crate) outbox: Mutex<Outbox>,
    pub(crate) inbox: Mutex<Inbox>,
}

impl Hints {
    /// No hints so far. Blocks that are read because of hints may take `most_bytes` of the cache; 0: no hints
    /// are taken.
    pub(crate) fn new(most_bytes: u64) -> Self {
        Self { outbox: Mutex::default(), inbox: Mutex::new(Inbox::new(most_bytes)) }
    }
}

/// Returns the query for a hint: a long one is replaced by [`TermQuery::All`], for which only footers are
/// read.
fn bounded(query: TermQuery) -> TermQuery {
    let length = serde_json::to_vec(&query).map_or(usize::MAX, |json| json.len());
    if length <= MAX_QUERY { query } else { TermQuery::All }
}

/// Hints that were given recently, by hash.
#[derive(Debug, Default)]
struct Recent(HashMap<u64, Instant>);

impl Recent {
    /// Whether the hint has not been given recently; remembers it. With too many hints, all are forgotten,
    /// and some are given twice.
    fn is_new(&mut self, hint: u64, now: Instant) -> bool {
        let is_recent = |at: &Instant| now.saturating_duration_since(*at) < AGAIN;
        if self.0.get(&hint).is_some_and(is_recent) {
            return false;
        }
        if self.0.len() >= REMEMBERED {
            self.0.retain(|_, at| is_recent(at));
        }
        if self.0.len() >= REMEMBERED {
            self.0.clear();
        }
        self.0.insert(hint, now);
        true
    }

    /// Forgets that a hint was given at this time, so that it is new when it is given again. If it has been
    /// given later, too, that is still known.
    fn forget(&mut self, hint: u64, at: Instant) {
        if self.0.get(&hint) == Some(&at) {
            self.0.remove(&hint);
        }
    }
}

/// Counts buckets of hints, by what becomes of them.
pub(crate) fn count(outcome: &'static str, buckets: usize) {
    counter!(names::CACHE_WARM_HINTS, "outcome" => outcome).increment(buckets as u64);
}

fn hash_of(value: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// Limits the bytes that are read per second.
#[derive(Debug)]
pub(crate) struct Pace {
    bytes_per_second: u64,
    /// When the bytes so far will have been paid for.
    free_at: Option<Instant>,
}

impl Pace {
    pub(crate) fn new(bytes_per_second: u64) -> Self {
        Self { bytes_per_second: bytes_per_second.max(1), free_at: None }
    }

    /// Counts bytes that were read, and returns how long to wait before the next read.
    #[allow(clippy::cast_precision_loss)]
    pub(crate) fn after(&mut self, bytes: u64, now: Instant) -> Duration {
        let cost = Duration::from_secs_f64(bytes as f64 / self.bytes_per_second as f64);
        let free_at = self.free_at.map_or(now, |at| at.max(now)) + cost;
        self.free_at = Some(free_at);
        free_at - now
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hint_is_new_again_after_some_minutes() {
        let (mut recent, start) = (Recent::default(), Instant::now());
        let news = [(7, 0), (7, 599), (8, 599), (7, 600), (7, 601)]
            .map(|(hint, seconds)| recent.is_new(hint, start + Duration::from_secs(seconds)));
        assert_eq!(news, [true, false, true, true, false]);
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let (mut recent, now) = (Recent::default(), Instant::now());
        for hint in 0..200_000 {
            assert!(recent.is_new(hint, now));
            assert!(recent.0.len() <= REMEMBERED);
        }
    }

    #[test]
    fn reads_are_paid_for_one_after_the_other() {
        let (mut pace, now) = (Pace::new(1_000), Instant::now());
        let second = Duration::from_secs(1);
        assert_eq!([pace.after(500, now), pace.after(500, now)], [second / 2, second]);
        assert_eq!(pace.after(1_000, now + second * 10), second, "a pause is not saved up");
    }

    #[test]
    fn a_long_query_is_left_out_and_a_short_one_is_sent_as_it_is() {
        let words = |count: usize| {
            TermQuery::Or((0..count).map(|at| TermQuery::Word(format!("w{at}"))).collect())
        };
        let query = TermQuery::And(vec![words(10), TermQuery::Prefix("err".to_owned()).in_raw()]);
        let hint = Hint { query: bounded(query.clone()), buckets: Vec::new() };
        let sent = serde_json::to_vec(&hint).unwrap_or_default();
        let list = [b"[".as_slice(), sent.as_slice(), b"]".as_slice()].concat();
        assert_eq!(received(&list).ok(), Some(vec![hint.clone()]));
        assert_eq!(hint.query, query);
        assert_eq!(bounded(words(100)), TermQuery::All);
        assert_eq!(bounded(words(10_000)), TermQuery::All);
    }

    #[test]
    fn a_query_that_is_not_known_is_left_out_and_the_other_hints_are_read() {
        let id = "00000000-0000-0000-0000-000000000007";
        let deep = format!("{}\"All\"{}", "{\"InRaw\":".repeat(200), "}".repeat(200));
        let hints = [r#"{"Near":["a","b"]}"#, deep.as_str(), r#"{"Word":"a"}"#]
            .map(|query| format!(r#"{{"query":{query},"buckets":["{id}"]}}"#));
        let hints = received(format!("[{}]", hints.join(",")).as_bytes()).unwrap_or_default();
        let queries: Vec<_> = hints.iter().map(|hint| hint.query.clone()).collect();
        let known = TermQuery::Word("a".to_owned());
        assert_eq!(queries, [TermQuery::All, TermQuery::All, known]);
        assert!(hints.iter().all(|hint| hint.buckets == [BucketId(uuid::Uuid::from_u128(7))]));
        assert!(received(b"{}").is_err());
    }
}
