//! Hints that this process has been given, and the part of the cache that it has used for them.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Instant;

use bucket::TermQuery;
use model::BucketId;

use super::{Hint, Recent, hash_of};

/// Maximum number of buckets that wait to be read. 40 bytes each, and up to 3 KB if each has another long
/// query.
const WAITING: usize = 20_000;

/// Number of buckets whose blocks are looked up at a time, to find out whether they were evicted.
const LOOKED_UP: usize = 64;

/// See the module.
#[derive(Debug)]
pub(crate) struct Inbox {
    /// Maximum number of bytes of blocks that were read because of hints.
    most_bytes: u64,
    waiting: VecDeque<Waiting>,
    recent: Recent,
    /// The bytes that were read of buckets, which may still be in the cache.
    warmed: HashMap<BucketId, u64>,
    /// The same buckets in the order in which they are looked up, and some that are not there any more.
    order: VecDeque<BucketId>,
    /// The sum of `warmed`.
    bytes: u64,
}

/// A bucket that waits to be read.
#[derive(Debug)]
struct Waiting {
    query: Arc<TermQuery>,
    bucket: BucketId,
    /// The time at which it was told.
    since: Instant,
}

/// The number of buckets in hints, by what becomes of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Taken {
    /// They were added to those that wait to be read.
    pub(crate) taken: usize,
    /// They have been told recently.
    pub(crate) skipped: usize,
    /// They had waited longest when too many waited, or this process takes no hints.
    pub(crate) dropped: usize,
}

impl Inbox {
    pub(super) fn new(most_bytes: u64) -> Self {
        Self {
            most_bytes,
            waiting: VecDeque::new(),
            recent: Recent::default(),
            warmed: HashMap::new(),
            order: VecDeque::new(),
            bytes: 0,
        }
    }

    /// Adds the buckets of hints to those that are read in turn. If too many wait, those that have waited
    /// longest are dropped: while there is no room, the others are those that are searched now.
    pub(crate) fn take(&mut self, hints: Vec<Hint>, now: Instant) -> Taken {
        let mut counts = Taken::default();
        for Hint { query, buckets } in hints {
            let query = Arc::new(query);
            let of_query = hash_of(&*query);
            for bucket in buckets {
                if self.most_bytes == 0 {
                    counts.dropped += 1;
                } else if self.recent.is_new(hash_of((of_query, bucket)), now) {
                    counts.dropped += self.drop_excess();
                    let query = Arc::clone(&query);
                    self.waiting.push_back(Waiting { query, bucket, since: now });
                    counts.taken += 1;
                } else {
                    counts.skipped += 1;
                }
            }
        }
        counts
    }

    /// Makes room for another bucket, and returns the number of buckets that were dropped for it. They are
    /// taken again when they are told again, unless they wait a second time, because they were told again
    /// after a long time.
    fn drop_excess(&mut self) -> usize {
        let before = self.waiting.len();
        while self.waiting.len() >= WAITING
            && let Some(Waiting { query, bucket, since }) = self.waiting.pop_front()
        {
            self.recent.forget(hash_of((hash_of(&*query), bucket)), since);
        }
        before - self.waiting.len()
    }

    /// The bucket to read next; `None` if none waits, or the part of the cache for hints is used up. In that
    /// case, buckets wait until blocks have been evicted.
    pub(crate) fn next(
        &mut self,
        is_cached: impl Fn(BucketId) -> bool,
    ) -> Option<(Arc<TermQuery>, BucketId)> {
        if self.waiting.is_empty() || !self.has_room(is_cached) {
            return None;
        }
        self.waiting.pop_front().map(|Waiting { query, bucket, .. }| (query, bucket))
    }

    /// Whether the part of the cache for hints is not used up, after a look at some buckets whose blocks may
    /// have been evicted since.
    fn has_room(&mut self, is_cached: impl Fn(BucketId) -> bool) -> bool {
        for _ in 0..LOOKED_UP.min(self.order.len()) {
            if self.bytes < self.most_bytes {
                break;
            }
            let Some(bucket) = self.order.pop_front() else { break };
            if !self.warmed.contains_key(&bucket) {
                continue;
            }
            match is_cached(bucket) {
                true => self.order.push_back(bucket),
                false => self.release(bucket),
            }
        }
        self.bytes < self.most_bytes
    }

    /// Counts bytes that were read of a bucket, and the bytes that the cache had of it before, if none were
    /// counted: those that were read in advance before a restart.
    pub(crate) fn note(&mut self, bucket: BucketId, read: u64, cached: u64) {
        let is_new = !self.warmed.contains_key(&bucket);
        let bytes = if is_new { read + cached } else { read };
        if bytes == 0 {
            return;
        }
        if is_new {
            self.order.push_back(bucket);
        }
        self.bytes += bytes;
        *self.warmed.entry(bucket).or_default() += bytes;
        // Buckets that were released are still in the order.
        if self.order.len() > 2 * self.warmed.len() + LOOKED_UP {
            self.order = self.warmed.keys().copied().collect();
        }
    }

    /// Notes that searches of this process read these buckets: their blocks are no longer there for hints.
    pub(crate) fn note_own(&mut self, buckets: impl IntoIterator<Item = BucketId>) {
        if !self.warmed.is_empty() {
            buckets.into_iter().for_each(|bucket| self.release(bucket));
        }
    }

    fn release(&mut self, bucket: BucketId) {
        self.bytes -= self.warmed.remove(&bucket).unwrap_or_default();
        if self.warmed.is_empty() {
            self.order.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hints::AGAIN;

    fn id(number: u128) -> BucketId {
        BucketId(uuid::Uuid::from_u128(number))
    }

    fn hint(buckets: std::ops::Range<u128>) -> Vec<Hint> {
        vec![Hint { query: TermQuery::All, buckets: buckets.map(id).collect() }]
    }

    #[test]
    fn buckets_are_read_once_and_in_turn() {
        let (mut inbox, now) = (Inbox::new(1), Instant::now());
        let counts = |taken, skipped, dropped| Taken { taken, skipped, dropped };
        assert_eq!(inbox.take(hint(0..3), now), counts(3, 0, 0));
        assert_eq!(inbox.take(hint(2..4), now), counts(1, 1, 0));
        let read = std::iter::from_fn(|| inbox.next(|_| true));
        let read: Vec<_> = read.map(|(_, bucket)| bucket).collect();
        assert_eq!(read, [0, 1, 2, 3].map(id));
        assert_eq!(inbox.take(hint(10..20_020), now), counts(20_010, 0, 10));
        let first = inbox.next(|_| true).map(|(_, bucket)| bucket);
        assert_eq!(first, Some(id(20)), "those that have waited longest are dropped");
        assert_eq!(inbox.take(hint(19..21), now), counts(1, 1, 0));
        assert_eq!(Inbox::new(0).take(hint(0..3), now), counts(0, 0, 3), "it takes no hints");
    }

    #[test]
    fn a_bucket_that_waits_a_second_time_is_not_taken_a_third_time_when_the_first_is_dropped() {
        let (mut inbox, start) = (Inbox::new(1), Instant::now());
        let counts = |taken, skipped, dropped| Taken { taken, skipped, dropped };
        assert_eq!(inbox.take(hint(0..1), start), counts(1, 0, 0));
        let later = start + AGAIN;
        assert_eq!(inbox.take(hint(0..1), later), counts(1, 0, 0));
        assert_eq!(inbox.take(hint(1..20_000), later), counts(19_999, 0, 1));
        assert_eq!(inbox.take(hint(0..1), later), counts(0, 1, 0));
    }

    #[test]
    fn blocks_for_hints_take_a_part_of_the_cache_until_they_are_evicted() {
        let mut inbox = Inbox::new(100);
        assert!(inbox.has_room(|_| true));
        for (bucket, bytes) in [(1, 40), (2, 40), (1, 20)] {
            inbox.note(id(bucket), bytes, 0);
        }
        inbox.take(hint(7..9), Instant::now());
        assert!(inbox.next(|_| true).is_none(), "nothing more is read for hints");
        assert!(inbox.next(|bucket| bucket != id(2)).is_some(), "the buckets wait for room");
        assert_eq!((inbox.bytes, inbox.warmed.len()), (60, 1));
    }

    #[test]
    fn blocks_that_were_in_the_cache_count_once() {
        let mut inbox = Inbox::new(100);
        for (bucket, read, cached) in [(1, 0, 30), (1, 5, 35), (2, 10, 20), (3, 0, 0)] {
            inbox.note(id(bucket), read, cached);
        }
        assert_eq!((inbox.bytes, inbox.order.len()), (65, 2));
    }

    #[test]
    fn the_blocks_of_buckets_that_become_own_do_not_count() {
        let mut inbox = Inbox::new(100);
        (0..200).for_each(|bucket| inbox.note(id(bucket), 1, 0));
        assert!(!inbox.has_room(|_| true));
        inbox.note_own((0..150).map(id));
        assert!(inbox.has_room(|_| true));
        assert_eq!(inbox.bytes, 50);
        inbox.note_own((150..300).map(id));
        assert_eq!((inbox.bytes, inbox.order.len()), (0, 0));
    }
}
