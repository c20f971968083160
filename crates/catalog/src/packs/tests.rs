//! A catalog that is read from its packs has the headers that it has in single entries.
#![allow(clippy::unwrap_used)]

use std::time::Duration;

use futures::TryStreamExt;
use model::{
    BucketEntry, BucketHeader, BucketId, BucketState, BucketSummary, EventTime, IndexName,
    TimeRange,
};
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt};
use proptest::prelude::*;
use runtime::SystemClock;
use serde_json::json;
use testkit::wait_until;
use uuid::Uuid;

use super::*;
use crate::buckets::Place;
use crate::load::{Loaded, load};
use crate::{Catalog, Commit, Settings, salvage};

/// Packs are written when a test asks for it.
const NEVER: usize = 1_000_000;

fn memory() -> Arc<dyn ObjectStore> {
    Arc::new(InMemory::new())
}

async fn open(store: &Arc<dyn ObjectStore>, pack_changes: usize) -> Catalog {
    // Few, so that there are commits between two batches of packs.
    let settings = Settings { pack_changes, packs_together: 1, ..Settings::default() };
    let clock = SystemClock;
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
    assert_eq!(loaded.packed.is_read, logged.is_some());
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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn commits_during_packing_are_in_the_log_and_not_in_the_list() {
    let store = memory();
    let catalog = open(&store, NEVER).await;
    for from in (0..12_000).step_by(1_000) {
        add(&catalog, from..from + 1_000).await;
    }
    let packing = tokio::spawn({
        let catalog = catalog.clone();
        async move { catalog.pack().await }
    });
    let mut number = 12_000;
    while !packing.is_finished() {
        let (add, remove) = (vec![bucket(number)], vec![id(number - 12_000)]);
        catalog.commit(Commit { add, remove, ..Commit::default() }).await.unwrap();
        number += 1;
    }
    packing.await.unwrap().unwrap();
    let packed = list(&catalog).await.unwrap();
    assert!(packed.packs.len() > 10, "several batches");
    let later = catalog.snapshot().number() - packed.number;
    assert!(later > 1, "commits ran beside it");
    // Three each: the write, the new header, and the removed one.
    check(&catalog, Some(later * 3)).await;
    let reopened = open(&store, NEVER).await;
    assert!(reopened.opened_from_packs());
    check(&reopened, Some(later * 3)).await;
    reopened.pack().await.unwrap();
    check(&reopened, Some(0)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_state_whose_indexes_lack_a_bucket_is_not_packed() {
    let store = memory();
    let catalog = open(&store, NEVER).await;
    add(&catalog, 0..10).await;
    catalog.pack().await.unwrap();
    add(&catalog, 10..11).await;
    let known = list(&catalog).await;
    let (mut wrong, mut found) = (Snapshot::clone(&catalog.snapshot()), known.clone());
    wrong.by_id.insert(id(77), Place { index: 0, last_time: EventTime(7) });
    let (writer, state) = (catalog.writer().unwrap(), (Arc::new(wrong), 1));
    let error = write(&writer.database, "catalog", state, &mut found).await.unwrap_err();
    assert!(error.to_string().contains("11 buckets in memory"), "{error}");
    assert_eq!((&list(&catalog).await, &found), (&known, &known));
    check(&catalog, Some(2)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_check_finds_packs_that_differ_from_single_headers() {
    let store = memory();
    let catalog = open(&store, NEVER).await;
    add(&catalog, 0..10).await;
    catalog.pack().await.unwrap();
    add(&catalog, 10..11).await;
    let found = salvage(&store, "catalog").await.unwrap();
    assert_eq!((found.difference, found.damage), (None, Vec::new()));
    assert_eq!(found.unused_packs, None);
    for number in [3, 10] {
        let wrong = BucketHeader { size: 7, ..BucketHeader::of(&bucket(number)) };
        let key = codec::header_key(&wrong.index, wrong.id);
        write_raw(&catalog, vec![(key, Some(codec::header_value(&wrong)))]).await;
    }
    let found = salvage(&store, "catalog").await.unwrap();
    assert_eq!((found.buckets.len(), found.damage), (11, Vec::new()));
    let difference = found.difference.unwrap();
    assert!(difference.contains("2 of them differ"), "{difference}");
    // With damage, that is all that counts.
    let key = codec::header_key(&bucket(4).index, id(4));
    write_raw(&catalog, vec![(key, Some(b"\x02damaged".to_vec()))]).await;
    let found = salvage(&store, "catalog").await.unwrap();
    assert_eq!((found.difference, found.unused_packs), (None, None));
    assert!(!found.damage.is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_check_says_why_packs_are_not_used() {
    let store = memory();
    let catalog = open(&store, NEVER).await;
    add(&catalog, 0..10).await;
    catalog.pack().await.unwrap();
    add(&catalog, 10..11).await;
    let known = list(&catalog).await.unwrap();
    let pack = codec::pack_key(known.packs[0]);
    let last = codec::log_key(catalog.snapshot().number());
    for (key, reason) in [(pack, "a pack of the list is missing"), (last, "its entry is lost")] {
        write_raw(&catalog, vec![(key, None)]).await;
        let found = salvage(&store, "catalog").await.unwrap();
        assert_eq!((found.difference, found.damage), (None, Vec::new()));
        let unused = found.unused_packs.unwrap();
        assert!(unused.contains("has packed headers, but"), "{unused}");
        assert!(unused.contains(reason), "{unused}");
    }
    write_raw(&catalog, vec![(codec::PACK_LIST.to_vec(), None)]).await;
    assert_eq!(salvage(&store, "catalog").await.unwrap().unused_packs, None);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_check_does_not_say_that_a_catalog_without_packs_has_some() {
    let store = memory();
    let catalog = open(&store, NEVER).await;
    add(&catalog, 0..10).await;
    let key = codec::log_key(catalog.snapshot().number() + 1);
    damage(&store, catalog, vec![key]).await;
    let found = salvage(&store, "catalog").await.unwrap();
    assert_eq!((found.buckets.len(), found.damage), (10, Vec::new()));
    let unused = found.unused_packs.unwrap();
    assert!(unused.contains("if it has packed headers"), "{unused}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn damaged_blocks_of_packs_and_of_their_list_do_not_prevent_opening() {
    let lists = || vec![codec::PACK_LIST.to_vec(), codec::PACKING.to_vec()];
    // The last pack, and one behind all others.
    let packs = || vec![codec::pack_key(2), codec::pack_key(u64::MAX - 1)];
    // New packs are beside the damaged one until a compaction, so they are not used.
    for (keys, afterwards) in [(lists(), Some(0)), ([lists(), packs()].concat(), None)] {
        let store = memory();
        let catalog = open(&store, NEVER).await;
        add(&catalog, 0..100).await;
        catalog.pack().await.unwrap();
        assert_eq!(list(&catalog).await.unwrap().packs, [1, 2]);
        damage(&store, catalog, keys).await;
        let catalog = open(&store, NEVER).await;
        let reading = catalog.writer().unwrap().database.get(codec::PACK_LIST).await;
        reading.expect_err("the block is damaged");
        check(&catalog, None).await;
        add(&catalog, 100..101).await;
        catalog.pack().await.unwrap();
        check(&catalog, afterwards).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_log_in_and_behind_a_damaged_block_is_deleted() {
    let store = memory();
    let catalog = open(&store, NEVER).await;
    add(&catalog, 0..100).await;
    catalog.pack().await.unwrap();
    add(&catalog, 100..101).await;
    let number = catalog.snapshot().number();
    damage(&store, catalog, vec![codec::log_key(number)]).await;
    let catalog = open(&store, NEVER).await;
    let log = async |number| catalog.writer().unwrap().database.get(codec::log_key(number)).await;
    log(number).await.expect_err("the block is damaged");
    check(&catalog, None).await;
    catalog.pack().await.unwrap();
    check(&catalog, Some(0)).await;
    assert_eq!(log(number).await.unwrap(), None);
    // The scan of later entries begins in the damaged block.
    add(&catalog, 101..102).await;
    assert!(log(number + 1).await.unwrap().is_some());
    catalog.pack().await.unwrap();
    compare(&catalog).await;
    assert_eq!(log(number + 1).await.unwrap(), None);
    assert_eq!(list(&catalog).await.unwrap().number, number + 1);
}

/// Writes entries, closes the catalog, and damages the blocks that these entries are in.
async fn damage(store: &Arc<dyn ObjectStore>, catalog: Catalog, keys: Vec<Vec<u8>>) {
    const PART: [u8; 100] = [b'#'; 100];
    // An entry that is larger than a block has one of its own.
    let entries = keys.into_iter().map(|key| (key, Some(vec![b'#'; 40_000])));
    write_raw(&catalog, entries.collect()).await;
    catalog.close().await.unwrap();
    let files = store.list(Some(&Path::from("catalog/compacted")));
    let files: Vec<_> = files.try_collect().await.unwrap();
    for file in files {
        let bytes = store.get(&file.location).await.unwrap().bytes().await.unwrap();
        let mut bytes = bytes.to_vec();
        let mut from = 0;
        let next = |bytes: &[u8], from: usize| {
            bytes.get(from..)?.windows(PART.len()).position(|some| some == PART)
        };
        while let Some(at) = next(&bytes, from) {
            bytes[from + at + 1_000] ^= 1;
            from += at + 35_000;
        }
        store.put(&file.location, bytes.into()).await.unwrap();
    }
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
    // A process that has followed does not read the headers again when it leads.
    let writer = catalog.writer().unwrap();
    let packed = Packed::of(&writer.database, "catalog", &snapshot).await.unwrap();
    assert_eq!(packed.logged, 101);
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

fn listed(list: PackList) -> (Vec<u8>, Option<Vec<u8>>) {
    (codec::PACK_LIST.to_vec(), Some(codec::pack_list_value(&list)))
}

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

    let damages: [Damage; 6] = [
        |list| (codec::pack_key(list.packs[0]), None),
        |list| (codec::pack_key(list.packs[0]), Some(b"\x03damaged".to_vec())),
        // Of a later release.
        |_| (codec::PACK_LIST.to_vec(), Some(vec![9, 1, 2, 3])),
        |_| (codec::PACK_LIST.to_vec(), None),
        |list| listed(PackList { buckets: list.buckets + 1, ..list.clone() }),
        |list| listed(PackList { ids: list.ids ^ 1, ..list.clone() }),
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
