//! Who reads which bucket: rendezvous hashing with bounded load. A bucket has the same readers in the same
//! order as long as they are there, so their caches stay warm when others come and go; and nobody gets much
//! more than the others. One that has joined with an empty cache gets its share step by step (`ramp`).
//!
//! The search head of a search decides, and its recipes name the buckets: a process that would decide
//! otherwise reads what it is asked for. So two versions side by side may differ; only their caches would.

use std::cmp::Reverse;
use std::hash::Hasher;

use model::BucketId;
use siphasher::sip::SipHasher13;

use super::ramp::accepts;

/// Maximum load of a reader, relative to its share by weight.
const BOUND: f64 = 1.25;

/// A process that may read buckets.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reader<'a> {
    /// Its identity.
    pub(super) id: &'a str,
    /// The part of its share that it gets, from 0 to 1. At least one reader has 1.
    pub(super) weight: f64,
}

impl Reader<'_> {
    fn has_whole_share(self) -> bool {
        self.weight >= 1.0
    }
}

/// The readers of a bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Assigned {
    /// The reader.
    pub(super) reader: usize,
    /// The reader if that one is lost, as far as the load allows; `None` if there is no other.
    pub(super) next: Option<usize>,
}

/// Assigns readers to each bucket, given the number of events of the bucket.
#[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)]
pub(super) fn shares(buckets: &[(BucketId, u64)], readers: &[Reader<'_>]) -> Vec<Assigned> {
    let total: u64 = buckets.iter().map(|(_, rows)| rows).sum();
    let weights: f64 = readers.iter().map(|reader| reader.weight).sum();
    let bound =
        |reader: &Reader<'_>| (total as f64 * reader.weight / weights * BOUND).ceil() as u64;
    let most: Vec<u64> = readers.iter().map(bound).collect();
    let mut loads = vec![0_u64; readers.len()];
    let mut share = |(id, rows): &(BucketId, u64)| {
        let order = preference(*id, readers);
        let has_room = |at: &&usize| {
            let takes_any = readers[**at].has_whole_share() && loads[**at] == 0;
            takes_any || loads[**at] + rows <= most[**at]
        };
        let least = || {
            let whole = order.iter().filter(|at| readers[**at].has_whole_share());
            whole.min_by_key(|at| loads[**at])
        };
        let reader = order.iter().find(has_room).or_else(least).copied().unwrap_or_default();
        if let Some(load) = loads.get_mut(reader) {
            *load += rows;
        }
        let next = order.iter().copied().find(|other| *other != reader);
        Assigned { reader, next }
    };
    buckets.iter().map(&mut share).collect()
}

/// Returns the readers of a bucket in the order of preference. If the weight of the first one does not yet
/// allow that it reads the bucket, it is the next choice of the reader that has the bucket until then.
pub(super) fn preference(id: BucketId, readers: &[Reader<'_>]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..readers.len()).collect();
    order.sort_by_key(|at| Reverse(rank(id, readers[*at].id)));
    let reads = |at: &usize| accepts(id, readers[*at].id, readers[*at].weight);
    if let Some(first) = order.iter().position(reads) {
        order[..=first].rotate_right(1);
    }
    order
}

/// SipHash-1-3 with the key 0 of: 16 as a little-endian u64, the 16 bytes of the bucket's ID, the ID of the
/// reader, 0xff. Caches are warm by it, so it stays the same in every release, unlike the hash of the
/// standard library, which a toolchain may change.
fn rank(id: BucketId, reader: &str) -> u64 {
    let mut hasher = SipHasher13::new_with_keys(0, 0);
    hasher.write(&16_u64.to_le_bytes());
    hasher.write(id.0.as_bytes());
    hasher.write(reader.as_bytes());
    hasher.write(&[0xff]);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Readers that have their whole shares.
    fn whole<const N: usize>(ids: [&str; N]) -> [Reader<'_>; N] {
        ids.map(|id| Reader { id, weight: 1.0 })
    }

    fn buckets(count: u128) -> Vec<(BucketId, u64)> {
        (0..count).map(|number| (BucketId(uuid::Uuid::from_u128(number)), 100)).collect()
    }

    #[test]
    fn nobody_has_much_more_than_the_others() {
        let (buckets, readers) = (buckets(1_000), whole(["a", "b", "c"]));
        let shares = shares(&buckets, &readers);
        for reader in 0..readers.len() {
            let count = shares.iter().filter(|share| share.reader == reader).count();
            assert!((200..=417).contains(&count), "{count}");
        }
    }

    #[test]
    fn buckets_stay_where_they_are_when_a_reader_leaves() {
        let buckets = buckets(1_000);
        let before = shares(&buckets, &whole(["a", "b", "c"]));
        let after = shares(&buckets, &whole(["a", "b"]));
        let left = before.iter().zip(&after).filter(|(before, _)| before.reader != 2);
        let moved = left.clone().filter(|(before, after)| before.reader != after.reader).count();
        assert!(moved * 10 < left.count(), "{moved}");
        let lost = before.iter().zip(&after).filter(|(before, _)| before.reader == 2);
        let expected =
            lost.clone().filter(|(before, after)| before.next == Some(after.reader)).count();
        assert!(expected * 10 > lost.count() * 9, "{expected}");
    }

    #[test]
    fn preferences_are_the_same_in_every_release() {
        let known: [(u128, u64, [usize; 3]); 3] = [
            (0, 0x2295_3fd9_ef3b_9b69, [2, 0, 1]),
            (1, 0xb2d6_437c_14f5_30cd, [0, 2, 1]),
            (0x0190_f3c2_7f5a_7b3e_8c1d_2e3f_4051_6273, 0x26ed_956c_cbcb_2c49, [2, 1, 0]),
        ];
        for (number, of_a, order) in known {
            let id = BucketId(uuid::Uuid::from_u128(number));
            assert_eq!(rank(id, "a"), of_a, "{number:x}");
            assert_eq!(preference(id, &whole(["a", "b", "c"])), order, "{number:x}");
        }
    }

    #[test]
    fn a_reader_that_joins_is_the_next_choice_until_it_has_the_bucket() {
        let known: [(u128, f64, [usize; 3]); 4] = [
            (0, 0.022, [0, 2, 1]),
            (0, 0.023, [2, 0, 1]),
            (0x0190_f3c2_7f5a_7b3e_8c1d_2e3f_4051_6273, 0.087, [1, 2, 0]),
            (0x0190_f3c2_7f5a_7b3e_8c1d_2e3f_4051_6273, 0.088, [2, 1, 0]),
        ];
        for (number, weight, order) in known {
            let [a, b, c] = whole(["a", "b", "c"]);
            let readers = [a, b, Reader { weight, ..c }];
            let id = BucketId(uuid::Uuid::from_u128(number));
            assert_eq!(preference(id, &readers), order, "{number:x} {weight}");
        }
    }

    #[test]
    fn the_share_of_a_reader_that_joins_grows_and_the_rest_stays_where_it_was() {
        let buckets = buckets(1_000);
        let before = shares(&buckets, &whole(["a", "b", "c"]));
        let share_at = |weight: f64| {
            let [a, b, c, d] = whole(["a", "b", "c", "d"]);
            shares(&buckets, &[a, b, c, Reader { weight, ..d }])
        };
        let after = share_at(1.0);
        let mut last = 0;
        for (weight, count) in [(0.0, 0), (0.25, 66), (0.5, 131), (0.75, 199), (1.0, 274)] {
            let now = share_at(weight);
            let of_newcomer = now.iter().filter(|assigned| assigned.reader == 3).count();
            assert_eq!(of_newcomer, count, "{weight}");
            assert!(of_newcomer >= last);
            last = of_newcomer;
            for ((before, now), after) in before.iter().zip(&now).zip(&after) {
                match (now.reader == 3, after.reader == 3) {
                    // What it does not read yet is read where it was, and it is told of it.
                    (false, true) => assert_eq!((now.reader, now.next), (before.reader, Some(3))),
                    (false, false) => assert_eq!(now.reader, before.reader),
                    (true, is_its_own) => assert!(is_its_own),
                }
            }
        }
    }

    #[test]
    fn one_large_bucket_has_a_reader() {
        let large = (BucketId(uuid::Uuid::from_u128(7)), 1_000_000);
        assert_eq!(shares(&[large], &whole(["a", "b", "c"])).len(), 1);
        assert_eq!(shares(&[large], &whole(["a"])), [Assigned { reader: 0, next: None }]);
        for weight in [0.0, 0.1] {
            let [a, b] = whole(["a", "b"]);
            let assigned = shares(&[large], &[a, Reader { weight, ..b }]);
            assert_eq!(assigned, [Assigned { reader: 0, next: Some(1) }]);
        }
    }
}
