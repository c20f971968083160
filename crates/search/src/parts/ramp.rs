//! The share of an indexer that has joined with an empty cache: it grows with time, so that searches read
//! from the caches of the indexers that had these buckets before. A pure function of the list of the cluster
//! and the time.
//!
//! Search heads whose clocks differ by seconds differ in a few buckets. That is harmless, because any indexer
//! may read any bucket.

use std::hash::Hasher;
use std::time::Duration;

use model::{BucketId, EventTime};
use siphasher::sip::SipHasher13;

/// Readers that have joined this many microseconds after each other, or less, have joined together: their
/// shares are equal, as none has more in its cache than the others.
const TOGETHER: i64 = 60_000_000;

/// Returns the weights of readers, from 0 to 1, given since when each has filled an empty cache; `None` if
/// its cache was not empty. A reader that has joined after the others has the part of the period that has
/// passed. At least one reader has 1.
#[allow(clippy::cast_precision_loss)]
pub(super) fn weights(
    cold_since: &[Option<EventTime>],
    now: EventTime,
    period: Duration,
) -> Vec<f64> {
    let period = i64::try_from(period.as_micros()).unwrap_or(i64::MAX);
    // A start that is further ahead than the period says that a clock is wrong.
    let age_in_period = |since: &Option<EventTime>| {
        let age = since.map(|since| now.0.saturating_sub(since.0));
        age.filter(|micros| (-period..period).contains(micros))
    };
    let ages: Vec<Option<i64>> = cold_since.iter().map(age_in_period).collect();
    let oldest = ages.iter().map(|age| age.unwrap_or(i64::MAX)).max().unwrap_or_default();
    let weight = |age: &Option<i64>| match *age {
        Some(micros) if oldest.saturating_sub(micros) > TOGETHER => {
            micros.max(0) as f64 / period as f64
        }
        _ => 1.0,
    };
    ages.iter().map(weight).collect()
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
    fn readers_that_join_together_share_equally() {
        assert_eq!(weights_of(&[Some(999), Some(990), Some(940)], 600), [1.0; 3]);
        assert_eq!(weights_of(&[Some(940), Some(870), Some(850)], 600), [0.1, 1.0, 1.0]);
        assert_eq!(weights_of(&[Some(999)], 600), [1.0]);
        assert_eq!(weights_of(&[Some(999), None], 0), [1.0; 2], "no ramp");
        assert!(weights_of(&[], 600).is_empty());
    }

    #[test]
    fn clocks_that_differ_do_not_keep_a_reader_from_its_share() {
        // A clock that is ahead by some seconds, and one that is wrong.
        assert_eq!(weights_of(&[None, Some(1_010), Some(9_000)], 600), [1.0, 0.0, 1.0]);
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
