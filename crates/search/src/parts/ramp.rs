//! The share of an indexer that has joined with an empty cache: it grows with time, so that searches read
//! from the caches of the indexers that had these buckets before. A pure function of the list of the cluster
//! and the time.
//!
//! Search heads whose clocks differ by seconds differ in a few buckets. That is harmless, because any indexer
//! may read any bucket.

use std::collections::BTreeMap;
use std::hash::Hasher;
use std::time::Duration;

use model::{BucketId, EventTime};
use siphasher::sip::SipHasher13;

use crate::workers::Worker;

/// Returns the weights of readers, from 0 to 1, given since when each has filled an empty cache; `None` if
/// its cache was not empty. A reader has the part of the period that has passed if at least half of the
/// readers had filled their caches when it joined. Otherwise, it has its whole share at once: fewer readers
/// would have more than twice their shares. At least one reader has 1.
#[allow(clippy::cast_precision_loss)]
pub(super) fn weights(
    cold_since: &[Option<EventTime>],
    now: EventTime,
    period: Duration,
) -> Vec<f64> {
    let period = i64::try_from(period.as_micros()).unwrap_or(i64::MAX);
    let age_of = |since: &Option<EventTime>| since.map(|since| now.0.saturating_sub(since.0));
    let ages: Vec<Option<i64>> = cold_since.iter().map(age_of).collect();
    // The comparison is with the start of the reader, not with the present time: a reader that has its whole
    // share keeps it when others reach the end of the period.
    let had_warm_others = |micros: i64| {
        let was_warm =
            |other: &&Option<i64>| other.is_none_or(|age| age.saturating_sub(micros) >= period);
        ages.iter().filter(was_warm).count() * 2 >= ages.len()
    };
    let weight = |age: &Option<i64>| match *age {
        // A start that is further ahead than the period says that a clock is wrong.
        Some(micros) if (-period..period).contains(&micros) && had_warm_others(micros) => {
            micros.max(0) as f64 / period as f64
        }
        _ => 1.0,
    };
    ages.iter().map(weight).collect()
}

/// Returns the expected share of each reader in the stored buckets, from 0 to 1, by identity.
pub(crate) fn expected_shares(
    readers: &[Worker],
    now: EventTime,
    period: Duration,
) -> BTreeMap<String, f64> {
    let cold_since: Vec<_> = readers.iter().map(|reader| reader.cold_since).collect();
    let found = weights(&cold_since, now, period);
    let all: f64 = found.iter().sum();
    readers.iter().zip(found).map(|(reader, own)| (reader.id.clone(), own / all)).collect()
}

/// Whether a reader with this weight reads a bucket for which it is preferred. A reader whose weight grows
/// accepts more buckets, and keeps those that it has accepted.
pub(super) fn accepts(id: BucketId, reader: &str, weight: f64) -> bool {
    weight >= 1.0 || draw(id, reader) < weight
}

/// A number from 0 to 1 (excluded): SipHash-1-3 with the keys 0 and 1 over the same bytes as the preference,
/// of which it is independent. The same in every release.
#[allow(clippy::cast_precision_loss)]
fn draw(id: BucketId, reader: &str) -> f64 {
    let mut hasher = SipHasher13::new_with_keys(0, 1);
    hasher.write(&16_u64.to_le_bytes());
    hasher.write(id.0.as_bytes());
    hasher.write(reader.as_bytes());
    hasher.write(&[0xff]);
    (hasher.finish() >> 11) as f64 / (1_u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The weights at second 1,000, by the seconds of the starts with an empty cache.
    fn weights_of(cold_since: &[Option<i64>], period: u64) -> Vec<f64> {
        let time = |second: i64| EventTime(second * 1_000_000);
        let cold_since: Vec<_> = cold_since.iter().map(|since| since.map(time)).collect();
        weights(&cold_since, time(1_000), Duration::from_secs(period))
    }

    #[test]
    fn the_weight_of_a_reader_that_joins_grows_to_that_of_the_others() {
        let cases = [(1_000, 0.0), (970, 0.05), (700, 0.5), (401, 0.998), (400, 1.0), (0, 1.0)];
        for (since, expected) in cases {
            let found = weights_of(&[None, Some(since), None], 600);
            assert!((found[1] - expected).abs() < 0.001, "{since}: {found:?}");
            assert_eq!((found[0], found[2]), (1.0, 1.0));
        }
    }

    #[test]
    fn the_expected_share_of_a_reader_that_joins_is_smaller_than_those_of_the_others() {
        let time = |second: i64| EventTime(second * 1_000_000);
        let reader = |(id, since): (&str, Option<i64>)| Worker {
            id: id.to_owned(),
            started: String::new(),
            name: String::new(),
            channel: None,
            is_near: true,
            cold_since: since.map(time),
        };
        let readers: Vec<_> = [("a", None), ("b", None), ("c", Some(700))].map(reader).into();
        let (now, period) = (time(1_000), Duration::from_secs(600));
        let shares = |readers: &[Worker]| expected_shares(readers, now, period);
        let found = shares(&readers);
        assert_eq!(found.keys().collect::<Vec<_>>(), ["a", "b", "c"]);
        for (share, expected) in found.values().zip([0.4, 0.4, 0.2]) {
            assert!((share - expected).abs() < 0.001, "{found:?}");
        }
        assert!(shares(&[]).is_empty());
    }

    #[test]
    fn readers_that_join_together_share_equally() {
        assert_eq!(weights_of(&[Some(999), Some(990), Some(940)], 600), [1.0; 3]);
        assert_eq!(weights_of(&[Some(999)], 600), [1.0]);
        assert_eq!(weights_of(&[Some(999), None], 0), [1.0; 2], "no ramp");
        assert!(weights_of(&[], 600).is_empty());
        // Ten that are started again within five minutes, all with empty caches.
        let restarted: Vec<_> = (0..10).map(|at| Some(1_000 - 30 * at)).collect();
        assert_eq!(weights_of(&restarted, 600), [1.0; 10]);
    }

    #[test]
    fn a_reader_keeps_its_whole_share_when_the_oldest_one_ends_its_period() {
        assert_eq!(weights_of(&[Some(400), Some(450), Some(455)], 600), [1.0; 3]);
        assert_eq!(weights_of(&[Some(390), Some(400), Some(455), Some(600)], 600), [1.0; 4]);
    }

    #[test]
    fn nobody_has_more_than_twice_its_share_for_those_that_join() {
        let joined = |warm: usize, count: usize| {
            let cold_since = [vec![None; warm], vec![Some(940); count]].concat();
            weights_of(&cold_since, 600)
        };
        assert_eq!(joined(2, 6), [1.0; 8]);
        assert_eq!(joined(1, 2), [1.0; 3]);
        assert_eq!(joined(2, 2), [1.0, 1.0, 0.1, 0.1]);
        assert_eq!(joined(1, 1), [1.0, 0.1]);
    }

    #[test]
    fn a_reader_that_has_filled_its_cache_is_warm_for_those_that_join_later() {
        assert_eq!(weights_of(&[Some(100), Some(340), Some(940)], 600), [1.0, 1.0, 0.1]);
        assert_eq!(weights_of(&[Some(341), Some(360), Some(940)], 600), [1.0; 3]);
    }

    #[test]
    fn clocks_that_differ_do_not_keep_a_reader_from_its_share() {
        // A clock that is ahead by some seconds, and one that is wrong.
        assert_eq!(weights_of(&[None, Some(1_010), Some(9_000)], 600), [1.0; 3]);
        assert_eq!(weights_of(&[None, None, Some(1_010), Some(9_000)], 600), [1.0, 1.0, 0.0, 1.0]);
        // In a new cluster, the others do not wait for the one whose clock is wrong.
        assert_eq!(weights_of(&[Some(990), Some(9_000)], 600), [1.0; 2]);
    }

    #[test]
    fn draws_are_the_same_in_every_release() {
        let known: [(u128, [f64; 3]); 3] = [
            (0, [0.587_938, 0.196_280, 0.022_586]),
            (1, [0.242_334, 0.513_874, 0.300_931]),
            (0x0190_f3c2_7f5a_7b3e_8c1d_2e3f_4051_6273, [0.671_190, 0.808_398, 0.087_961]),
        ];
        for (number, expected) in known {
            let id = BucketId(uuid::Uuid::from_u128(number));
            for (reader, expected) in ["a", "b", "c"].into_iter().zip(expected) {
                assert!((draw(id, reader) - expected).abs() < 1e-6, "{number:x} {reader}");
                assert!(accepts(id, reader, expected + 1e-6), "{number:x} {reader}");
                assert!(!accepts(id, reader, expected - 1e-6), "{number:x} {reader}");
            }
        }
    }
}
