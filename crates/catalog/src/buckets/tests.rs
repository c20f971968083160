//! Both orders hold the same buckets as a plain sorted list, and copies do not change with their originals.

use model::{BucketState, IndexName};
use proptest::prelude::*;

use super::*;
use crate::codec::Shared;

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

/// The same buckets, from encoded chunks.
fn reread(buckets: &Buckets) -> Buckets {
    let (mut again, mut shared) = (Buckets::default(), Shared::default());
    for chunk in buckets.chunks() {
        let decoded = Chunk::decode(&chunk.encoded(), &mut shared).expect("it was encoded");
        decoded.set_pack(1);
        assert!(again.append(Arc::new(decoded)));
    }
    again
}

fn packed(buckets: &Buckets) -> usize {
    buckets.chunks().iter().filter(|chunk| chunk.pack().is_some()).count()
}

#[test]
fn a_chunk_has_a_pack_until_it_is_changed() {
    let time = |n: u128| i64::try_from(n).unwrap_or(0);
    let buckets = of((0..3 * CHUNK as u128).map(|n| entry(n * 2, time(n * 2))));
    assert_eq!(packed(&buckets), 0);
    let buckets = reread(&buckets);
    assert_eq!(packed(&buckets), 3);
    let mut changed = buckets.clone();
    changed.remove(entry(8, 8).id, EventTime(8));
    assert_eq!((packed(&changed), packed(&buckets)), (2, 3));
    changed.insert(entry(9, 9));
    assert_eq!(packed(&changed), 2);
    // It splits the full chunk in the middle.
    let middle = 3 * CHUNK as u128 + 1;
    changed.insert(entry(middle, time(middle)));
    assert_eq!((packed(&changed), changed.chunks.len()), (1, 4));
    changed.insert(entry(1_000_001, time(1_000_001)));
    assert_eq!((packed(&changed), changed.chunks.len()), (1, 5));
    let before = changed.chunks[0].clone();
    before.set_pack(7);
    assert_eq!(changed.chunks[0].pack(), Some(7), "it is the same chunk");
}

#[test]
fn small_chunks_are_joined_when_they_are_read() {
    let mut buckets = of((0..5 * CHUNK as u128).map(|n| entry(n, i64::try_from(n).unwrap_or(0))));
    for n in (0..5 * CHUNK as u128).filter(|n| !n.is_multiple_of(10)) {
        buckets.remove(entry(n, 0).id, EventTime(i64::try_from(n).unwrap_or(0)));
    }
    assert_eq!(buckets.chunks.len(), 5);
    let again = reread(&buckets);
    assert_eq!((again.chunks.len(), packed(&again)), (1, 0));
    assert_eq!(again.starts, [EventTime(0)]);
    assert_eq!(again.iter().collect::<Vec<_>>(), buckets.iter().collect::<Vec<_>>());
    assert_eq!(again.totals(), buckets.totals());
}

#[test]
fn damaged_columns_and_chunks_in_another_order_are_refused() {
    let time = |n: u128| i64::try_from(n).unwrap_or(0);
    let buckets = of((0..20).map(|n| entry(n, time(n))));
    let encoded = buckets.chunks[0].encoded();
    let mut shared = Shared::default();
    for cut in 0..encoded.len() {
        assert!(Chunk::decode(&encoded[..cut], &mut shared).is_err(), "{cut} bytes");
    }
    let longer = [encoded.as_slice(), &[0]].concat();
    assert!(Chunk::decode(&longer, &mut shared).is_err());
    let mut twice = buckets.clone();
    assert!(!twice.append(Arc::clone(&buckets.chunks[0])));
    assert_eq!(twice.len(), 20);
    for at in 0..encoded.len() {
        let mut damaged = encoded.clone();
        damaged[at] ^= 0x81;
        // It is refused, or other buckets are read.
        let _ = Chunk::decode(&damaged, &mut shared);
    }
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
    let newest = sorted.iter().map(|bucket| bucket.last_index_time).max();
    assert_eq!((buckets.last_index_time(), Buckets::EMPTY.last_index_time()), (newest, None));
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

#[test]
fn full_chunks_have_no_unused_capacity_if_earlier_snapshots_share_them() {
    let mut buckets = Buckets::default();
    for n in 0..CHUNK {
        let before = buckets.clone();
        buckets.insert(entry(n as u128, i64::try_from(n).unwrap_or(0)));
        assert_eq!(before.len(), n);
    }
    let chunk = &buckets.chunks[0];
    assert_eq!((chunk.ids.capacity(), chunk.last_times.capacity()), (CHUNK, CHUNK));
}

#[test]
fn times_of_any_distance_and_order_are_kept() {
    let times = [i64::MIN, -1, 0, 1, i64::from(u32::MAX), i64::from(u32::MAX) + 1, i64::MAX];
    let times = times.map(EventTime);
    let mut sorted = Vec::new();
    for (first_time, last_time) in times.iter().flat_map(|first| times.map(|last| (*first, last))) {
        for first_index_time in times {
            for last_index_time in times {
                let other = entry(sorted.len() as u128, 0);
                let of_times = BucketHeader {
                    first_time,
                    last_time,
                    first_index_time,
                    last_index_time,
                    ..other
                };
                sorted.push(of_times);
            }
        }
    }
    let buckets = of(sorted.clone());
    assert!(buckets.chunks.len() > 2);
    sorted.sort_by_key(order);
    assert_eq!(buckets.iter().collect::<Vec<_>>(), sorted);
    assert_eq!(reread(&buckets).iter().collect::<Vec<_>>(), sorted);
    assert_eq!(buckets.last_index_time(), Some(EventTime::MAX));
    for entry in &sorted {
        assert_eq!(buckets.find(entry.id, entry.last_time).as_ref(), Some(entry));
    }
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
            let again = reread(&buckets);
            prop_assert_eq!(again.iter().collect::<Vec<_>>(), plain.clone());
            prop_assert_eq!((again.len(), again.searchable()), (plain.len(), searchable));
            prop_assert_eq!((again.totals(), &again.starts), (totals, &buckets.starts));
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
