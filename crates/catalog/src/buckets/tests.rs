//! Both orders hold the same buckets as a plain sorted list, and copies do not change with their originals.

use model::{BucketState, IndexName};
use proptest::prelude::*;

use super::*;

fn entry(number: u128, last: i64) -> BucketHeader {
    let time = EventTime(last);
    BucketHeader {
        id: BucketId(uuid::Uuid::from_u128(number)),
        index: IndexName::new("main").expect("it is a name"),
        other_path: number.is_multiple_of(5).then(|| format!("other/{number}").into()),
        size: number_of(number),
        rows: number_of(number * 1_000_000_007),
        raw_bytes: u64::from(u32::MAX) + number_of(number) - 20,
        first_time: EventTime(last - i64::from(number.is_multiple_of(7))),
        last_time: time,
        first_index_time: EventTime(last + 1),
        last_index_time: EventTime(last + 2),
        version: 3,
        fingerprint: u64::MAX - number_of(number),
        shape: number.is_multiple_of(2).then(Arc::default),
        state: if number.is_multiple_of(3) { BucketState::Frozen } else { BucketState::Warm },
        fields_complete: number.is_multiple_of(4),
        summary_rows: number.is_multiple_of(11),
    }
}

fn number_of(number: u128) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}

/// The order in which they are looked for.
fn order(entry: &BucketHeader) -> (Reverse<EventTime>, BucketId) {
    (Reverse(entry.last_time), entry.id)
}

fn place(entry: &BucketHeader) -> Place {
    Place { index: 4, last_time: entry.last_time }
}

fn of(entries: impl IntoIterator<Item = BucketHeader>) -> Buckets {
    let mut buckets = Buckets::default();
    entries.into_iter().for_each(|entry| buckets.insert(entry));
    buckets
}

fn ids(buckets: &Buckets) -> Vec<u128> {
    buckets.iter().map(|entry| entry.id.0.as_u128()).collect()
}

#[test]
fn chunks_split_and_disappear() {
    let time = |n| i64::try_from(n * 7919 % 5_000).unwrap_or(0);
    let mut sorted: Vec<_> = (0..5_000).map(|n| entry(n, time(n))).collect();
    let mut buckets = of(sorted.clone());
    assert!(buckets.chunks.len() > 4);
    assert!(buckets.chunks.iter().all(|chunk| (1..=CHUNK).contains(&chunk.len())));
    let starts: Vec<_> = buckets.chunks.iter().map(|chunk| chunk.last_times[0]).collect();
    assert_eq!(buckets.starts, starts);
    sorted.sort_by_key(order);
    assert_eq!(buckets.iter().collect::<Vec<_>>(), sorted);
    assert_eq!(buckets.first().as_ref(), sorted.first());
    for offset in [0, 1, 700, CHUNK, CHUNK + 1, 4_999, 5_000, 6_000] {
        let rest: Vec<_> = buckets.iter_from(offset).map(|entry| entry.id).collect();
        let expected: Vec<_> = sorted.iter().skip(offset).map(|entry| entry.id).collect();
        assert_eq!(rest, expected, "from {offset}");
    }
    let range = TimeRange { earliest: EventTime(2_500), latest: EventTime(2_600) };
    assert_eq!(buckets.overlapping(&range).count(), 100);
    for entry in &sorted {
        assert_eq!(buckets.find(entry.id, entry.last_time).as_ref(), Some(entry));
        buckets.remove(entry.id, entry.last_time);
        assert_eq!(buckets.find(entry.id, entry.last_time), None);
    }
    assert!(buckets.is_empty() && buckets.chunks.is_empty());
    assert_eq!(buckets.totals(), Totals::default());
}

#[test]
fn chunks_are_full_where_buckets_come_in_the_order_of_time() {
    let buckets = of((0..10 * CHUNK as u128).map(|n| entry(n, i64::try_from(n).unwrap_or(0))));
    assert!(
        buckets.chunks.iter().all(|chunk| chunk.len() == CHUNK && chunk.ids.capacity() == CHUNK)
    );
}

/// Buckets to add or remove, by number and time of the last event.
fn changes() -> impl Strategy<Value = Vec<(bool, u128, i64)>> {
    prop::collection::vec((any::<bool>(), 0_u128..40, 0_i64..9), 0..200)
}

proptest! {
    #[test]
    fn they_are_a_sorted_list(changes in changes()) {
        let (mut buckets, mut by_id) = (Buckets::default(), ById::default());
        let mut plain: Vec<BucketHeader> = Vec::new();
        for (adds, number, last) in changes {
            let before = (buckets.clone(), ids(&buckets), by_id.len());
            let entry = entry(number, last);
            if let Some(at) = plain.iter().position(|other| other.id == entry.id) {
                let old = plain.remove(at);
                buckets.remove(old.id, old.last_time);
                by_id.remove(old.id, place(&old));
            } else if adds {
                buckets.insert(entry.clone());
                by_id.insert(entry.id, place(&entry));
                plain.push(entry);
            } else {
                buckets.remove(entry.id, entry.last_time);
                by_id.remove(entry.id, place(&entry));
            }
            plain.sort_by_key(order);
            prop_assert_eq!(buckets.iter().collect::<Vec<_>>(), plain.clone());
            for entry in &plain {
                prop_assert!(by_id.places(entry.id).any(|found| found == place(entry)));
            }
            let mut totals = Totals::default();
            plain.iter().for_each(|entry| totals.change(entry, u64::wrapping_add));
            prop_assert_eq!(buckets.totals(), totals);
            let oldest: Vec<_> = buckets.oldest_first().map(|entry| entry.id).collect();
            let expected: Vec<_> = plain.iter().rev().map(|entry| entry.id).collect();
            prop_assert_eq!(oldest, expected);
            prop_assert_eq!((buckets.len(), by_id.len()), (plain.len(), plain.len()));
            let searchable = plain.iter().filter(|entry| entry.state.is_searchable()).count();
            prop_assert_eq!(buckets.searchable(), searchable);
            prop_assert_eq!(ids(&before.0), before.1);
            let range = TimeRange { earliest: EventTime(4), latest: EventTime(7) };
            let expected = plain.iter().filter(|entry| entry.overlaps(&range)).count();
            prop_assert_eq!(buckets.overlapping(&range).count(), expected);
            // Those with shapes share one.
            let wanted = |entry: &BucketHeader| entry.shape.is_some();
            let inside = plain.iter().filter(|entry| entry.overlaps(&range) && entry.state.is_searchable());
            let (left, excluded): (Vec<_>, Vec<_>) = inside.cloned().partition(wanted);
            let selected = buckets.searchable_in(&range, wanted);
            prop_assert_eq!((selected.left, selected.excluded), (left, excluded.len() as u64));
        }
    }
}
