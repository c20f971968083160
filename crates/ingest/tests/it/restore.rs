//! The catalog gone: made anew from the buckets, with the journal taken up where it belongs.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use catalog::{Catalog, Commit, Discarded, Snapshot};
use ingest::restore::{check, interrupted, lost, rebuild};
use ingest::{LifecycleSettings, Settings};
use inputs::{CutEvents, Input, InputMeta, MissingTime, SinkExt, StreamKey};
use model::{EventTime, IndexName};
use object_store::ObjectStore;
use runtime::{Clock, ManualClock, SystemClock};
use serde_json::json;
use testkit::{FailingStore, Moment, TestDir, wait_until};

use crate::merge_crash::copy;
use crate::merging::{merging, objects};
use crate::setup::{Setup, cut, local, main_index, meta, settings, start};

#[tokio::test]
async fn events_of_buckets_and_journal_are_there_once_after_a_rebuild() {
    let data = TestDir::new();
    let setup = start(data.path(), settings()).await;
    setup.events(&["in a bucket", "with the first"]).await;
    setup.ingest.roll_all(None).await.unwrap();
    setup.events(&["in the journal"]).await;
    setup.stop().await;
    forget_catalog(data.path());
    let done = rebuilt(data.path()).await;
    assert_eq!((done.buckets, done.events, done.found), (1, 2, 1));
    // Twice: the first start must not make the second wrong.
    for _ in 0..2 {
        let setup = start(data.path(), settings()).await;
        assert_eq!(sorted(&setup).await, ["in a bucket", "in the journal", "with the first"]);
    }
    let setup = start(data.path(), settings()).await;
    setup.ingest.roll_all(None).await.unwrap();
    assert_eq!(setup.ingest.status().journal_segments, 0, "the journal is let go");
}

#[tokio::test]
async fn parts_of_a_merged_bucket_are_not_taken_for_buckets() {
    let data = TestDir::new();
    let lifecycle = LifecycleSettings {
        merge_min_age: Duration::ZERO,
        merge_min_buckets: 2,
        ..LifecycleSettings::default()
    };
    let setup = start(data.path(), Settings { lifecycle, ..settings() }).await;
    for round in 0..4 {
        setup.events(&[&format!("one {round}"), &format!("two {round}")]).await;
        setup.ingest.roll_all(None).await.unwrap();
    }
    setup.ingest.rotate().await.unwrap();
    let before = setup.rows().await;
    assert_eq!(setup.catalog.snapshot().len(), 1);
    setup.stop().await;
    forget_catalog(data.path());
    let done = rebuilt(data.path()).await;
    assert_eq!((done.buckets, done.events, done.superseded), (1, 8, 4));
    assert_eq!(start(data.path(), settings()).await.rows().await, before);
}

/// The first rebuild cannot read the merged bucket, and takes its parts for buckets.
#[tokio::test]
async fn buckets_that_a_rebuild_could_not_compare_are_compared_by_the_next_one() {
    let data = TestDir::new();
    let lifecycle = LifecycleSettings {
        merge_min_age: Duration::ZERO,
        merge_min_buckets: 2,
        ..LifecycleSettings::default()
    };
    let setup = start(data.path(), Settings { lifecycle, ..settings() }).await;
    // Random text does not compress: the columns before it are in the first third of the object.
    let noise = || (0..100).map(|_| uuid::Uuid::new_v4().to_string()).collect::<String>();
    for _ in 0..4 {
        setup.events(&[&noise(), &noise()]).await;
        setup.ingest.roll_all(None).await.unwrap();
    }
    setup.ingest.rotate().await.unwrap();
    let before = setup.rows().await;
    let merged = setup.catalog.snapshot().buckets(&main_index()).first().unwrap().path();
    setup.stop().await;
    forget_catalog(data.path());
    let object = data.path().join("store").join(merged);
    let content = fs::read(&object).unwrap();
    let mut damaged = content.clone();
    damaged[8..content.len() / 3].iter_mut().for_each(|byte| *byte ^= 0xff);
    fs::write(&object, damaged).unwrap();
    for _ in 0..2 {
        let done = rebuilt(data.path()).await;
        assert_eq!((done.buckets, done.events, done.damage.len()), (5, 16, 1), "{:?}", done.damage);
    }
    fs::write(&object, content).unwrap();
    let done = rebuilt(data.path()).await;
    assert_eq!((done.buckets, done.events, done.damage.len()), (1, 8, 0), "{:?}", done.damage);
    assert_eq!(start(data.path(), settings()).await.rows().await, before);
}

#[tokio::test]
async fn an_object_that_a_rebuild_could_not_read_is_not_deleted_by_the_next_start() {
    let data = TestDir::new();
    let setup = start(data.path(), settings()).await;
    // The journal keeps the records of stored events as long as there is a hot one before them.
    let mut events = CutEvents::new(MissingTime::Now);
    let other = IndexName::new("other").unwrap();
    let meta = InputMeta { index: other, ..meta(Some("test")) };
    assert!(events.push(meta.by_ref(), None, b"hot"));
    let input = Input::Events { stream: StreamKey("other".into()), events };
    setup.ingest.submit(input).await.unwrap();
    setup.events(&["in a bucket"]).await;
    setup.ingest.roll_all(Some(&main_index())).await.unwrap();
    setup.events(&["in the journal"]).await;
    let path = setup.catalog.snapshot().buckets(&main_index()).first().unwrap().path();
    setup.stop().await;
    forget_catalog(data.path());
    let object = data.path().join("store").join(path);
    let content = fs::read(&object).unwrap();
    fs::write(&object, "damaged").unwrap();
    let done = rebuilt(data.path()).await;
    assert_eq!((done.buckets, done.damage.len()), (0, 1), "{:?}", done.damage);
    for _ in 0..2 {
        let setup = start(data.path(), settings()).await;
        assert_eq!(sorted(&setup).await, ["hot", "in a bucket", "in the journal"]);
        setup.ingest.roll_all(None).await.unwrap();
        setup.stop().await;
    }
    assert_eq!(fs::read(&object).unwrap(), b"damaged");
    fs::write(&object, content).unwrap();
    assert_eq!(rebuilt(data.path()).await.events, 3);
}

/// As an S3 server that has lost blocks of an object: it answers, but never with this object.
#[tokio::test]
async fn an_object_that_the_store_never_returns_does_not_end_a_rebuild() {
    let data = TestDir::new();
    let setup = start(data.path(), settings()).await;
    for text in ["one", "two"] {
        setup.events(&[text]).await;
        setup.ingest.roll_all(None).await.unwrap();
    }
    let buckets = setup.catalog.snapshot();
    let paths: Vec<_> = buckets.buckets(&main_index()).iter().map(|b| b.path()).collect();
    setup.stop().await;
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    for path in &paths {
        forget_catalog(data.path());
        let failing = FailingStore::new(local(data.path()));
        failing.hooks().fail_below(Moment::Before, path);
        let store: Arc<dyn ObjectStore> = Arc::new(failing);
        let done = rebuild(&store, "catalog", &clock).await.unwrap();
        assert_eq!((done.buckets, done.damage.len()), (1, 1), "{:?}", done.damage);
        assert!(done.has_unreadable && done.damage[0].contains(path), "{:?}", done.damage);
    }
    forget_catalog(data.path());
    let failing = FailingStore::new(local(data.path()));
    failing.hooks().fail_below(Moment::Before, "buckets/main");
    let store: Arc<dyn ObjectStore> = Arc::new(failing);
    assert!(rebuild(&store, "catalog", &clock).await.is_err(), "the store does not answer");
    assert_eq!(rebuilt(data.path()).await.buckets, 2);
}

/// The catalog is put back from the moment at which the merge was running.
#[tokio::test]
async fn a_merged_bucket_stays_though_an_older_catalog_takes_it_for_discarded() {
    let data = TestDir::new();
    let mut with_merges = merging();
    with_merges.lifecycle.merge_delete_grace = Duration::ZERO;
    let setup = start(data.path(), with_merges.clone()).await;
    for round in 0..4 {
        setup.events(&[&format!("one {round}"), &format!("two {round}")]).await;
        setup.ingest.roll_all(None).await.unwrap();
    }
    let before = setup.rows().await;
    setup.stop().await;
    let (catalog, older) = (data.path().join("store/catalog"), data.path().join("older"));
    fs::create_dir(&older).unwrap();
    copy(&catalog, &older);
    let setup = start(data.path(), with_merges.clone()).await;
    for _ in 0..2 {
        setup.ingest.rotate().await.unwrap();
    }
    let path = setup.catalog.snapshot().buckets(&main_index()).first().unwrap().path();
    assert_eq!((setup.catalog.snapshot().len(), objects(&setup).await), (1, 1));
    setup.stop().await;

    fs::remove_dir_all(&catalog).unwrap();
    fs::rename(&older, &catalog).unwrap();
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let settings = catalog::Settings::default();
    let old = Catalog::open(local(data.path()), "catalog", settings, clock).await.unwrap();
    let discard = vec![Discarded { path, delete_after: EventTime(0) }];
    old.commit(Commit { discard, ..Commit::default() }).await.unwrap();
    old.close().await.unwrap();
    let done = rebuilt(data.path()).await;
    assert_eq!((done.buckets, done.events, done.merged.len()), (1, 8, 4), "{:?}", done.merged);
    let of_part = |told: &String| told.contains("is missing; it counts as a part of bucket");
    assert!(done.merged.iter().all(of_part), "{:?}", done.merged);
    assert!(done.damage.is_empty() && !done.has_unreadable, "{:?}", done.damage);
    let setup = start(data.path(), with_merges).await;
    setup.ingest.rotate().await.unwrap();
    assert_eq!((setup.rows().await, objects(&setup).await), (before, 1));
}

#[tokio::test]
async fn documents_come_from_the_old_catalog_even_if_its_newest_manifest_is_damaged() {
    let data = TestDir::new();
    let setup = start(data.path(), settings()).await;
    setup.events(&["kept"]).await;
    setup.ingest.roll_all(None).await.unwrap();
    setup.catalog.put_document("users", "rita", json!({"roles": ["user"]})).await.unwrap();
    setup.stop().await;
    let manifests = data.path().join("store/catalog/manifest");
    let newest = files(&manifests).pop().unwrap();
    // A manifest has no checksum: some of its bytes may mean nothing.
    let length = fs::read(&newest).unwrap().len();
    fs::write(&newest, vec![0xff; length]).unwrap();
    let found = check(&local(data.path()), "catalog", false).await.unwrap();
    assert_eq!(found.problems.len(), 1, "{:?}", found.problems);
    let done = rebuilt(data.path()).await;
    assert_eq!((done.buckets, done.documents.get("users")), (1, Some(&1)));
    let setup = start(data.path(), settings()).await;
    assert!(setup.catalog.snapshot().document("users", "rita").is_some());
    assert_eq!(sorted(&setup).await, ["kept"]);
}

#[tokio::test]
async fn a_check_names_what_is_missing_and_what_is_damaged() {
    let data = TestDir::new();
    let setup = start(data.path(), settings()).await;
    for text in ["one", "two", "three"] {
        setup.events(&[text]).await;
        setup.ingest.roll_all(None).await.unwrap();
    }
    let store = local(data.path());
    assert_eq!(check(&store, "catalog", true).await.unwrap().problems, Vec::<String>::new());
    let snapshot = setup.catalog.snapshot();
    let paths: Vec<_> = snapshot.buckets(&main_index()).iter().map(|b| b.path()).collect();
    let object = |at: usize| data.path().join("store").join(&paths[at]);
    fs::remove_file(object(0)).unwrap();
    let mut bytes = fs::read(object(1)).unwrap();
    bytes[8] ^= 0xff;
    fs::write(object(1), bytes).unwrap();
    assert_eq!(check(&store, "catalog", false).await.unwrap().problems.len(), 1);
    let found = check(&store, "catalog", true).await.unwrap();
    assert_eq!(found.problems.len(), 2, "{:?}", found.problems);
    assert_eq!((found.buckets, found.events), (3, 3));
}

#[tokio::test]
async fn an_empty_catalog_over_buckets_or_a_journal_is_a_lost_one() {
    let data = TestDir::new();
    let setup = start(data.path(), settings()).await;
    let found =
        async |snapshot: &Snapshot| lost(&local(data.path()), snapshot, data.path()).await.unwrap();
    let blank = Snapshot::default();
    assert_eq!(found(&blank).await, None);
    setup.events(&["in the journal"]).await;
    let journal = found(&blank).await.unwrap();
    assert!(journal.segment.is_some() && journal.object.is_none());
    // It knows of the start.
    assert_eq!(found(&setup.catalog.snapshot()).await, None);
    setup.ingest.roll_all(None).await.unwrap();
    assert!(found(&blank).await.unwrap().object.is_some());
}

#[tokio::test]
async fn a_journal_under_another_identity_doubles_nothing() {
    let data = TestDir::new();
    let setup = start(data.path(), settings()).await;
    setup.events(&["in a bucket"]).await;
    setup.ingest.roll_all(None).await.unwrap();
    setup.events(&["in the journal"]).await;
    let mut parts = crate::setup::parts(data.path(), &setup, settings());
    parts.indexer = model::IndexerId(uuid::Uuid::from_u128(7));
    let Setup { ingest, catalog, store } = setup;
    drop(ingest);
    let ingest = Arc::new(ingest::Ingest::start(parts).await.unwrap());
    let setup = Setup { ingest, catalog, store };
    assert_eq!(sorted(&setup).await, ["in a bucket", "in the journal"]);
}

/// Two indexers have stored events that arrived at the very same times.
#[tokio::test]
async fn buckets_of_two_indexers_are_not_taken_for_parts_of_each_other() {
    // Other texts, then data points of metrics of other hosts, then events that do not differ.
    let cases = [
        (cut(&["one", "two", "three"]), cut(&["four", "five", "six"]), true),
        (of_host("a", 3), of_host("b", 2), true),
        (cut(&["one", "two", "three"]), cut(&["one", "two"]), false),
    ];
    for (events, others, is_lost) in cases {
        let (base, one, two) = (TestDir::new(), TestDir::new(), TestDir::new());
        let clock = Arc::new(ManualClock::new(EventTime(1_900_000_000_000_000)));
        let setup = start(base.path(), settings()).await;
        let start_as = async |data: &Path, number: u128| {
            let mut parts = crate::setup::parts(data, &setup, settings());
            parts.indexer = model::IndexerId(uuid::Uuid::from_u128(number));
            parts.clock = clock.clone();
            Arc::new(ingest::Ingest::start(parts).await.unwrap())
        };
        let (one, two) = (start_as(one.path(), 1).await, start_as(two.path(), 2).await);
        one.submit(events).await.unwrap();
        two.submit(others).await.unwrap();
        for ingest in [one, two] {
            ingest.roll_all(None).await.unwrap();
        }
        let before = setup.rows().await;
        setup.stop().await;
        if is_lost {
            forget_catalog(base.path());
        }
        let done = rebuilt(base.path()).await;
        assert_eq!((done.buckets, done.events), (2, before.len() as u64), "{before:?}");
        assert_eq!(start(base.path(), settings()).await.rows().await, before);
    }
}

/// One indexer has stored events that arrived at the very times at which those of another one did, which has
/// stored none yet and is killed.
#[tokio::test]
async fn a_journal_is_not_taken_for_the_buckets_of_another_indexer() {
    let (base, one, two) = (TestDir::new(), TestDir::new(), TestDir::new());
    let clock = Arc::new(ManualClock::new(EventTime(1_900_000_000_000_000)));
    let base = start(base.path(), settings()).await;
    let start_as = async |data: &Path, number: u128| {
        let mut parts = crate::setup::parts(data, &base, settings());
        parts.indexer = model::IndexerId(uuid::Uuid::from_u128(number));
        parts.clock = clock.clone();
        let ingest = Arc::new(ingest::Ingest::start(parts).await.unwrap());
        Setup { ingest, catalog: base.catalog.clone(), store: base.store.clone() }
    };
    let stored = start_as(one.path(), 1).await;
    let killed = start_as(two.path(), 2).await;
    stored.events(&["one", "two", "three"]).await;
    killed.events(&["four", "five", "six"]).await;
    let arrivals = |rows: Vec<(i64, i64, String)>| -> Vec<i64> {
        rows.into_iter().map(|(_, arrival, _)| arrival).collect()
    };
    assert_eq!(arrivals(stored.rows().await), arrivals(killed.rows().await), "a tie");
    stored.ingest.roll_all(None).await.unwrap();
    drop(killed);
    for _ in 0..2 {
        let again = start_as(two.path(), 2).await;
        assert_eq!(sorted(&again).await, ["five", "four", "one", "six", "three", "two"]);
    }
}

#[tokio::test]
async fn acknowledged_records_that_are_gone_are_told_from_a_torn_tail() {
    let data = TestDir::new();
    let setup = start(data.path(), settings()).await;
    for number in 0..10 {
        setup.events(&[&format!("event {number}")]).await;
    }
    drop(setup);
    let journal = data.path().join("journal/0");
    let segment = files(&journal).pop().unwrap();
    let whole = fs::read(&segment).unwrap();
    fs::write(&segment, [whole.as_slice(), b"kJrn torn"].concat()).unwrap();
    let setup = start(data.path(), settings()).await;
    assert_eq!(setup.ingest.status().lost, []);
    drop(setup);
    fs::write(&segment, &whole[..whole.len() / 2]).unwrap();
    let setup = start(data.path(), settings()).await;
    let lost = setup.ingest.status().lost;
    let left = setup.texts().await.len() as u64;
    assert_eq!((lost.len(), lost[0].events + left), (1, 10), "{lost:?}");
    drop(setup);
    files(&journal).into_iter().for_each(|path| fs::remove_file(path).unwrap());
    let setup = start(data.path(), settings()).await;
    let lost = setup.ingest.status().lost;
    assert_eq!((lost.len(), lost[0].events), (1, left), "{lost:?}");
    drop(setup);
    assert_eq!(start(data.path(), settings()).await.ingest.status().lost, [], "told once");
}

#[tokio::test]
async fn a_start_asks_again_whether_a_rebuild_was_interrupted() {
    let data = TestDir::new();
    let failing = Arc::new(FailingStore::new(local(data.path())));
    failing.hooks().fail(Moment::Before);
    let store = Arc::clone(&failing) as Arc<dyn ObjectStore>;
    let asked = tokio::spawn(async move { interrupted(&store).await });
    let has_failed = || async { failing.hooks().failures() > 0 };
    assert!(wait_until(has_failed, Duration::from_secs(10)).await);
    failing.hooks().heal();
    assert!(!asked.await.unwrap().unwrap());
}

async fn rebuilt(data: &Path) -> ingest::restore::Rebuilt {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    rebuild(&local(data), "catalog", &clock).await.unwrap()
}

/// Events as data points of metrics are: they do not differ in their text.
pub(crate) fn of_host(host: &str, count: usize) -> Input {
    let mut events = CutEvents::new(MissingTime::Now);
    let meta = InputMeta { host: host.into(), ..meta(Some("test")) };
    for _ in 0..count {
        assert!(events.push(meta.by_ref(), None, b"metric"));
    }
    Input::Events { stream: StreamKey("test".into()), events }
}

fn forget_catalog(data: &Path) {
    fs::remove_dir_all(data.join("store/catalog")).unwrap();
}

async fn sorted(setup: &Setup) -> Vec<String> {
    let mut texts = setup.texts().await;
    texts.sort();
    texts
}

/// The files of a directory by name.
fn files(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).unwrap();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}
