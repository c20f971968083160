//! A catalog that is read from its packs has the headers that it has in single entries.
#![allow(clippy::unwrap_used)]

use std::time::Duration;

use model::{
    BucketEntry, BucketHeader, BucketId, BucketState, BucketSummary, EventTime, IndexName,
    TimeRange,
};
use object_store::ObjectStore;
use object_store::memory::InMemory;
use proptest::prelude::*;
use runtime::SystemClock;
use serde_json::json;
use testkit::wait_until;
use uuid::Uuid;

use super::*;
use crate::load::{Loaded, load};
use crate::{Catalog, Commit, Settings};

/// Packs are written when a test asks for it.
const NEVER: usize = 1_000_000;

fn memory() -> Arc<dyn ObjectStore> {
    Arc::new(InMemory::new())
}

async fn open(store: &Arc<dyn ObjectStore>, pack_changes: usize) -> Catalog {
    let (settings, clock) = (Settings { pack_changes, ..Settings::default() }, SystemClock);
    let opening = Catalog::open(Arc::clone(store), "catalog", settings, Arc::new(clock));
    Box::pin(opening).await.unwrap()
}

fn id(number: u128) -> BucketId {
    BucketId(Uuid::from_u128(number))
}

/// A bucket of one of two indexes, whose times are not in the order of the IDs.
fn bucket(number: u128) -> BucketEntry {
    let name = if number.is_multiple_of(3) { "web" } else { "main" };
    let (index, id) = (IndexName::new(name).unwrap(), id(number));
    let time = EventTime(i64::try_from(number * 7_919 % 10_007).unwrap());
    let rules = vec![(format!("sourcetype-{}", number % 4), 7)];
    let bare = BucketSummary::bare(5, time, EventTime(time.0 + 9));
    let path = if number.is_multiple_of(5) { "other".to_owned() } else { String::new() };
    let path = format!("{path}{}", id.object_path(&index, "19700101"));
    let summary = Arc::new(BucketSummary { rules, ..bare });
    BucketEntry { id, index, path, size: 1_000, state: BucketState::Warm, summary }
}

async fn add(catalog: &Catalog, numbers: Range<u128>) {
    let add = numbers.map(bucket).collect();
    catalog.commit(Commit { add, ..Commit::default() }).await.unwrap();
}

fn all(snapshot: &Snapshot) -> Vec<BucketHeader> {
    let mut all: Vec<_> = snapshot.overlapping(&[], &TimeRange::ALL).collect();
    all.sort_by_key(|header| header.id);
    all
}

async fn read(catalog: &Catalog, uses_packs: bool) -> Loaded {
    let writer = catalog.writer().unwrap();
    Box::pin(load(&writer.database, "catalog", uses_packs)).await.unwrap()
}

/// Compares the state of a catalog with what is read from its packs, and from its single entries.
async fn compare(catalog: &Catalog) -> Loaded {
    let snapshot = catalog.snapshot();
    let expected = all(&snapshot);
    let mut loaded = Vec::new();
    for uses_packs in [false, true] {
        let one = read(catalog, uses_packs).await;
        assert_eq!(all(&one.snapshot), expected, "from packs: {uses_packs}");
        assert_eq!(one.snapshot.len(), expected.len());
        assert_eq!(one.snapshot.number(), snapshot.number());
        for header in &expected {
            assert_eq!(one.snapshot.bucket(header.id).as_ref(), Some(header));
        }
        for index in ["main", "web"].map(|name| IndexName::new(name).unwrap()) {
            let (ours, theirs) = (one.snapshot.buckets(&index), snapshot.buckets(&index));
            assert_eq!(ours.totals(), theirs.totals());
            assert_eq!(ours.searchable(), theirs.searchable());
            assert!(ours.iter().eq(theirs.iter()), "the same order");
        }
        assert_eq!(one.snapshot.documents("user"), snapshot.documents("user"));
        loaded.push(one);
    }
    loaded.remove(1)
}

/// Compares, and checks how many changes the log adds to the packs; `None`: the packs are not used.
async fn check(catalog: &Catalog, logged: Option<u64>) {
    let loaded = compare(catalog).await;
    let expected = logged.unwrap_or(loaded.snapshot.len() as u64);
    assert_eq!(loaded.packed.logged, expected, "{logged:?}");
}

async fn list(catalog: &Catalog) -> Option<PackList> {
    Box::pin(list_of(&catalog.writer().unwrap().database, "catalog")).await.unwrap()
}

/// Number of entries with these keys.
async fn count(catalog: &Catalog, keys: Range<Vec<u8>>) -> usize {
    let writer = catalog.writer().unwrap();
    let mut entries = Box::pin(writer.database.scan(keys)).await.unwrap();
    let mut count = 0;
    while entries.next().await.unwrap().is_some() {
        count += 1;
    }
    count
}

async fn write_raw(catalog: &Catalog, entries: Vec<(Vec<u8>, Option<Vec<u8>>)>) {
    let mut batch = WriteBatch::new();
    for (key, value) in entries {
        match value {
            Some(value) => batch.put(key, value),
            None => batch.delete(key),
        }
    }
    put(&catalog.writer().unwrap().database, "catalog", batch).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn headers_are_read_from_packs_and_the_log_of_later_writes() {
    let store = memory();
    let catalog = open(&store, NEVER).await;
    for from in (0..6_000).step_by(1_000) {
        add(&catalog, from..from + 1_000).await;
    }
    check(&catalog, None).await;
    catalog.pack().await.unwrap();
    check(&catalog, Some(0)).await;

    let frozen = BucketEntry { state: BucketState::Frozen, ..bucket(1_000) };
    let new = vec![bucket(7_000), frozen];
    let remove = (1_001..1_601).map(id).collect();
    catalog.commit(Commit { add: new, remove, ..Commit::default() }).await.unwrap();
    check(&catalog, Some(603)).await;
    catalog.put_document("user", "ann", json!({ "age": 3 })).await.unwrap();
    check(&catalog, Some(604)).await;
    let catalog = open(&store, NEVER).await;
    check(&catalog, Some(604)).await;
    catalog.pack().await.unwrap();
    check(&catalog, Some(0)).await;
    assert_eq!(catalog.snapshot().bucket(id(1_000)).unwrap().state, BucketState::Frozen);
    assert_eq!(catalog.snapshot().len(), 5_401);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_changed_chunks_are_packed_again_and_nothing_is_left_over() {
    let store = memory();
    let catalog = open(&store, NEVER).await;
    for from in (0..6_000).step_by(1_000) {
        add(&catalog, from..from + 1_000).await;
    }
    catalog.pack().await.unwrap();
    let first = list(&catalog).await.unwrap();
    assert!(first.packs.len() >= 6, "{}", first.packs.len());
    catalog.pack().await.unwrap();
    assert_eq!(list(&catalog).await.unwrap(), first);

    let remove = Commit { remove: vec![id(4_000)], ..Commit::default() };
    catalog.commit(remove).await.unwrap();
    catalog.pack().await.unwrap();
    let second = list(&catalog).await.unwrap();
    let new = second.packs.iter().filter(|pack| !first.packs.contains(pack));
    assert_eq!(new.count(), 1);
    assert_eq!(count(&catalog, codec::pack_keys(0..u64::MAX)).await, second.packs.len());
    assert_eq!(count(&catalog, codec::log_keys(0..u64::MAX)).await, 0);

    let remove = (0..6_000).map(id).collect();
    catalog.commit(Commit { remove, ..Commit::default() }).await.unwrap();
    catalog.pack().await.unwrap();
    assert_eq!(list(&catalog).await.unwrap().packs, Vec::<u64>::new());
    assert_eq!(count(&catalog, codec::pack_keys(0..u64::MAX)).await, 0);
    add(&catalog, 1..2).await;
    check(&catalog, Some(2)).await;
}

/// An earlier release knows neither packs nor log.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn changes_of_an_earlier_release_are_read() {
    let store = memory();
    let catalog = open(&store, NEVER).await;
    add(&catalog, 0..100).await;
    catalog.pack().await.unwrap();
    add(&catalog, 100..101).await;
    check(&catalog, Some(2)).await;
    let (new, number) = (BucketHeader::of(&bucket(200)), catalog.snapshot().number() + 1);
    let old = bucket(7);
    let entries = vec![
        (codec::header_key(&new.index, new.id), Some(codec::header_value(&new))),
        (codec::header_key(&old.index, old.id), None),
        (codec::NUMBER.to_vec(), Some(codec::number_value(number))),
    ];
    write_raw(&catalog, entries).await;

    let catalog = open(&store, NEVER).await;
    let snapshot = catalog.snapshot();
    assert!(snapshot.bucket(id(200)).is_some() && snapshot.bucket(id(7)).is_none());
    assert_eq!((snapshot.len(), snapshot.number()), (101, number));
    check(&catalog, None).await;
    // The log of later writes does not close the gap.
    add(&catalog, 300..310).await;
    check(&catalog, None).await;
    let catalog = open(&store, NEVER).await;
    assert_eq!(catalog.snapshot().len(), 111);
    catalog.pack().await.unwrap();
    check(&catalog, Some(0)).await;
    add(&catalog, 400..401).await;
    check(&catalog, Some(2)).await;
    assert_eq!(count(&catalog, codec::log_keys(0..u64::MAX)).await, 1);
}

/// An entry that is written over the packs that the list names, or removed.
type Damage = fn(&PackList) -> (Vec<u8>, Option<Vec<u8>>);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn leftovers_are_ignored_and_missing_or_damaged_packs_do_no_harm() {
    let store = memory();
    let catalog = open(&store, NEVER).await;
    add(&catalog, 0..3_000).await;
    catalog.pack().await.unwrap();
    let known = list(&catalog).await.unwrap();
    // A process was killed before it wrote the list.
    write_raw(&catalog, vec![(codec::pack_key(known.next), Some(b"\x03left over".to_vec()))]).await;
    add(&catalog, 3_000..3_001).await;
    let mut catalog = open(&store, NEVER).await;
    check(&catalog, Some(2)).await;
    catalog.pack().await.unwrap();
    check(&catalog, Some(0)).await;

    let damages: [Damage; 4] = [
        |list| (codec::pack_key(list.packs[0]), None),
        |list| (codec::pack_key(list.packs[0]), Some(b"\x03damaged".to_vec())),
        // Of a later release.
        |_| (codec::PACK_LIST.to_vec(), Some(vec![9, 1, 2, 3])),
        |_| (codec::PACK_LIST.to_vec(), None),
    ];
    for (number, damage) in (4_000..).zip(damages) {
        let known = list(&catalog).await.unwrap();
        write_raw(&catalog, vec![damage(&known)]).await;
        check(&catalog, None).await;
        catalog = open(&store, NEVER).await;
        add(&catalog, number..number + 1).await;
        catalog.pack().await.unwrap();
        check(&catalog, Some(0)).await;
        let packs = list(&catalog).await.unwrap().packs.len();
        assert_eq!(count(&catalog, codec::pack_keys(0..u64::MAX)).await, packs);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn headers_are_packed_after_many_changes() {
    let store = memory();
    let catalog = open(&store, 20).await;
    for number in 0..9 {
        add(&catalog, number..number + 1).await;
    }
    assert_eq!(list(&catalog).await, None, "18 are logged");
    add(&catalog, 9..10).await;
    let is_packed = || async { list(&catalog).await.is_some() };
    assert!(wait_until(is_packed, Duration::from_secs(60)).await);
    for number in 10..60 {
        add(&catalog, number..number + 1).await;
    }
    catalog.pack().await.unwrap();
    check(&catalog, Some(0)).await;
    // A large catalog that has no packs yet is packed after the first write.
    write_raw(&catalog, vec![(codec::PACK_LIST.to_vec(), None)]).await;
    let catalog = open(&store, 20).await;
    assert_eq!(list(&catalog).await, None);
    add(&catalog, 60..61).await;
    let is_packed = || async { list(&catalog).await.is_some() };
    assert!(wait_until(is_packed, Duration::from_secs(60)).await);
    compare(&catalog).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_packs_by_setting_none_are_written() {
    let store = memory();
    let catalog = open(&store, 0).await;
    for number in 0..50 {
        add(&catalog, number..number + 1).await;
    }
    assert_eq!(list(&catalog).await, None);
    catalog.pack().await.unwrap();
    let catalog = open(&store, 0).await;
    assert_eq!(catalog.snapshot().len(), 50);
    assert!(catalog.snapshot().chunks().all(|chunk| chunk.pack().is_none()));
}

#[derive(Debug, Clone)]
enum Step {
    Add(u128),
    Remove(u128),
    Freeze(u128),
    Merge(u128),
    Document(u8),
    Pack,
    Reopen,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => (0_u128..40).prop_map(Step::Add),
        2 => (0_u128..40).prop_map(Step::Remove),
        1 => (0_u128..40).prop_map(Step::Freeze),
        1 => (0_u128..40).prop_map(Step::Merge),
        1 => any::<u8>().prop_map(Step::Document),
        3 => Just(Step::Pack),
        1 => Just(Step::Reopen),
    ];
    prop::collection::vec(step, 1..30)
}

/// Buckets of a step.
const EACH: u128 = 100;

async fn run(steps: Vec<Step>) {
    let store = memory();
    let mut catalog = open(&store, NEVER).await;
    for step in steps {
        let numbers = |step: u128| step * EACH..(step + 1) * EACH;
        match step {
            Step::Add(step) => add(&catalog, numbers(step)).await,
            Step::Remove(step) => {
                let remove = numbers(step).step_by(2).map(id).collect();
                catalog.commit(Commit { remove, ..Commit::default() }).await.unwrap();
            }
            Step::Freeze(step) => {
                let known = numbers(step).filter(|n| catalog.snapshot().bucket(id(*n)).is_some());
                let frozen = |n| BucketEntry { state: BucketState::Frozen, ..bucket(n) };
                let add = known.step_by(3).map(frozen).collect();
                catalog.commit(Commit { add, ..Commit::default() }).await.unwrap();
            }
            Step::Merge(step) => {
                let (remove, add) = (numbers(step).map(id).collect(), vec![bucket(9_000 + step)]);
                catalog.commit(Commit { remove, add, ..Commit::default() }).await.unwrap();
            }
            Step::Document(value) => {
                catalog.put_document("user", "ann", json!(value)).await.unwrap();
            }
            Step::Pack => {
                catalog.pack().await.unwrap();
                check(&catalog, Some(0)).await;
            }
            Step::Reopen => catalog = open(&store, NEVER).await,
        }
    }
    compare(&catalog).await;
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]
    #[test]
    fn packs_and_log_have_what_single_entries_have(steps in steps()) {
        let mut runtime = tokio::runtime::Builder::new_multi_thread();
        runtime.worker_threads(2).enable_all().build().unwrap().block_on(run(steps));
    }
}
