//! Who reads which bucket: rendezvous hashing with bounded load. A bucket has the same readers in the same
//! order as long as they are there, so their caches stay warm when others come and go; and nobody gets much
//! more than the others.
//!
//! The search head of a search decides, and its recipes name the buckets: a process that would decide
//! otherwise reads what it is asked for. So two versions side by side may differ; only their caches would.

use std::cmp::Reverse;
use std::hash::Hasher;

use model::BucketId;
use siphasher::sip::SipHasher13;

/// Maximum load of a reader, relative to its equal share.
const BOUND: f64 = 1.25;

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
pub(super) fn shares(buckets: &[(BucketId, u64)], readers: &[&str]) -> Vec<Assigned> {
    let total: u64 = buckets.iter().map(|(_, rows)| rows).sum();
    let most = (total as f64 / readers.len().max(1) as f64 * BOUND).ceil() as u64;
    let mut loads = vec![0_u64; readers.len()];
    let mut share = |(id, rows): &(BucketId, u64)| {
        let order = preference(*id, readers);
        let has_room = |reader: &&usize| loads[**reader] == 0 || loads[**reader] + rows <= most;
        let least = || order.iter().min_by_key(|reader| loads[**reader]);
        let reader = order.iter().find(has_room).or_else(least).copied().unwrap_or_default();
        if let Some(load) = loads.get_mut(reader) {
            *load += rows;
        }
        let next = order.iter().copied().find(|other| *other != reader);
        Assigned { reader, next }
    };
    buckets.iter().map(&mut share).collect()
}

/// Returns the readers of a bucket in the order of preference.
pub(super) fn preference(id: BucketId, readers: &[&str]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..readers.len()).collect();
    order.sort_by_key(|reader| Reverse(weight(id, readers[*reader])));
    order
}

/// SipHash-1-3 with the key 0 of: 16 as a little-endian u64, the 16 bytes of the bucket's ID, the ID of the
/// reader, 0xff. Caches are warm by it, so it stays the same in every release, unlike the hash of the
/// standard library, which a toolchain may change.
fn weight(id: BucketId, reader: &str) -> u64 {
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

    fn buckets(count: u128) -> Vec<(BucketId, u64)> {
        (0..count).map(|number| (BucketId(uuid::Uuid::from_u128(number)), 100)).collect()
    }

    #[test]
    fn nobody_has_much_more_than_the_others() {
        let (buckets, readers) = (buckets(1_000), ["a", "b", "c"]);
        let shares = shares(&buckets, &readers);
        for reader in 0..readers.len() {
            let count = shares.iter().filter(|share| share.reader == reader).count();
            assert!((200..=417).contains(&count), "{count}");
        }
    }

    #[test]
    fn buckets_stay_where_they_are_when_a_reader_leaves() {
        let buckets = buckets(1_000);
        let (before, after) = (shares(&buckets, &["a", "b", "c"]), shares(&buckets, &["a", "b"]));
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
            assert_eq!(weight(id, "a"), of_a, "{number:x}");
            assert_eq!(preference(id, &["a", "b", "c"]), order, "{number:x}");
        }
    }

    #[test]
    fn one_large_bucket_has_a_reader() {
        let large = (BucketId(uuid::Uuid::from_u128(7)), 1_000_000);
        assert_eq!(shares(&[large], &["a", "b", "c"]).len(), 1);
        assert_eq!(shares(&[large], &["a"]), [Assigned { reader: 0, next: None }]);
    }
}
