//! Both orders hold the same buckets as a plain sorted list, and copies do not change with their originals.

use model::{BucketState, IndexName};
use proptest::prelude::*;

use super::*;

fn entry(number: u128, last: i64) -> Arc<BucketHeader> {
    let time = EventTime(last);
    Arc::new(BucketHeader {
        id: BucketId(uuid::Uuid::from_u128(number)),
        index: IndexName::new("main").expect("it is a name"),
        other_path: None,
        size: 1,
        rows: 1,
        raw_bytes: 1,
        first_time: time,
        last_time: time,
        first_index_time: time,
        last_index_time: time,
        version: 0,
        fingerprint: 0,
        shape: None,
        state: if number.is_multiple_of(3) { BucketState::Frozen } else { BucketState::Warm },
        fields_complete: true,
        summary_rows: false,
    })
}

fn ids(buckets: &Buckets) -> Vec<u128> {
    buckets.iter().map(|entry| entry.id.0.as_u128()).collect()
}

#[test]
fn chunks_split_and_disappear() {
    let mut buckets = Buckets::default();
    let entries: Vec<_> =
        (0..5_000).map(|n| entry(n, i64::try_from(n * 7919 % 5_000).unwrap_or(0))).collect();
    for entry in &entries {
        buckets.insert(Arc::clone(entry));
    }
    assert!(
        buckets.chunks.len() > 4
            && buckets.chunks.iter().all(|chunk| chunk.buckets.len() < 2 * CHUNK)
    );
    let sorted = Buckets::of(entries.clone());
    assert_eq!(ids(&buckets), ids(&sorted));
    let range = TimeRange { earliest: EventTime(2_500), latest: EventTime(2_600) };
    assert_eq!(buckets.overlapping(&range).count(), 100);
    for entry in &entries {
        buckets.remove(entry);
    }
    assert!(buckets.is_empty() && buckets.chunks.is_empty());
}

/// Buckets to add or remove, by number and time of the last event.
fn changes() -> impl Strategy<Value = Vec<(bool, u128, i64)>> {
    prop::collection::vec((any::<bool>(), 0_u128..40, 0_i64..9), 0..200)
}

proptest! {
    #[test]
    fn they_are_a_sorted_list(changes in changes()) {
        let (mut buckets, mut by_id) = (Buckets::default(), ById::default());
        let mut plain: Vec<Arc<BucketHeader>> = Vec::new();
        for (adds, number, last) in changes {
            let before = (buckets.clone(), ids(&buckets), by_id.len());
            let entry = entry(number, last);
            if let Some(at) = plain.iter().position(|other| other.id == entry.id) {
                buckets.remove(&plain[at]);
                prop_assert!(by_id.remove(entry.id).is_some());
                plain.remove(at);
            } else if adds {
                buckets.insert(Arc::clone(&entry));
                prop_assert!(by_id.insert(Arc::clone(&entry)).is_none());
                plain.push(entry);
            } else {
                buckets.remove(&entry);
                prop_assert!(by_id.remove(entry.id).is_none());
            }
            plain.sort_by_key(|entry| order(entry));
            let expected: Vec<u128> = plain.iter().map(|entry| entry.id.0.as_u128()).collect();
            prop_assert_eq!(ids(&buckets), expected);
            prop_assert_eq!((buckets.len(), by_id.len()), (plain.len(), plain.len()));
            let searchable = plain.iter().filter(|entry| entry.state.is_searchable()).count();
            prop_assert_eq!(buckets.searchable(), searchable);
            prop_assert_eq!(ids(&before.0), before.1);
            let range = TimeRange { earliest: EventTime(4), latest: EventTime(7) };
            let expected = plain.iter().filter(|entry| entry.overlaps(&range)).count();
            prop_assert_eq!(buckets.overlapping(&range).count(), expected);
        }
    }
}
