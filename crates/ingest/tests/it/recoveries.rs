//! What must not happen while events of another indexer are recovered, or while one starts without its
//! journal.

use std::sync::Arc;
use std::time::Duration;

use catalog::{Commit, OWN_EPOCH, Takeover};
use ingest::{Ingest, Settings};
use inputs::{CutEvents, Input, MissingTime, SinkExt, StreamKey};
use model::IndexerId;
use object_store::path::Path;
use object_store::{ObjectStore, PutMode, PutOptions, PutPayload};
use parking_lot::Mutex;
use testkit::{FailingStore, Moment, TestDir, wait_until};

use crate::adoption::{
    FIRST, LONG, REMOTE, again, fast, first, indexer, knowledge, log, lost_ingest, second, texts,
};
use crate::setup::{Setup, cut, local, meta, parts, start_configured};

fn number(number: u128) -> IndexerId {
    IndexerId(uuid::Uuid::from_u128(number))
}

/// The first indexer is gone with its disk; another one is in its place of the setup.
async fn without_first(root: &TestDir, setup: Setup) -> Setup {
    let Setup { ingest, catalog, store } = setup;
    drop(ingest);
    let other = lost_ingest(root.path(), &catalog, &store).await;
    Setup { ingest: Arc::new(other), catalog, store }
}

/// The control plane gives the sets of the first indexer to another one.
async fn give(setup: &Setup, owner: IndexerId) {
    let (epoch, _) = setup.catalog.snapshot().owner(FIRST, 0);
    let taken = Takeover { indexer: FIRST, set: 0, epoch: epoch + 1, owner };
    setup.catalog.commit(Commit { take_over: vec![taken], ..Commit::default() }).await.unwrap();
}

/// An indexer whose store of buckets fails.
async fn failing(number: u128, root: &TestDir, setup: &Setup) -> (Arc<FailingStore>, Arc<Ingest>) {
    let failing = Arc::new(FailingStore::new(Arc::clone(&setup.store)));
    failing.hooks().fail_below(Moment::Before, "buckets");
    let ingest = indexer(number, root.path(), setup, Arc::clone(&failing) as _).await;
    (failing, ingest)
}

async fn is_stuck(failing: &FailingStore, ingest: &Ingest) {
    let failures = failing.hooks().failures();
    let is_stuck =
        || async { !ingest.adopted().is_empty() && failing.hooks().failures() > failures };
    assert!(wait_until(is_stuck, LONG).await);
}

/// A bucket that the catalog refuses since somebody else recovers its events is not one that is stored.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_another_one_has_to_store_is_not_taken_for_stored() {
    for round in 0..12 {
        let root = TestDir::new();
        let setup = first(root.path()).await;
        for text in ["a", "b", "c"] {
            setup.events(&[text]).await;
        }
        let setup = without_first(&root, setup).await;
        let (failing, second) = failing(2, &root, &setup).await;
        let adopting = tokio::spawn({
            let second = Arc::clone(&second);
            async move { second.adopt(FIRST).await }
        });
        is_stuck(&failing, &second).await;
        give(&setup, number(3)).await;
        failing.hooks().heal();
        let error = adopting.await.unwrap().unwrap_err();
        assert!(matches!(error, ingest::Error::TakenOver { .. }), "round {round}: {error}");
        let third = indexer(3, root.path(), &setup, Arc::clone(&setup.store)).await;
        assert_eq!(third.adopt(FIRST).await.unwrap().events, 3, "round {round}");
        assert_eq!(texts(setup, third).await, ["a", "b", "c"], "round {round}");
    }
}

/// The log has a seal from the last time; who recovers it again must not rely on that.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_owner_that_came_back_is_stopped_by_the_next_recovery_too() {
    let root = TestDir::new();
    let setup = first(root.path()).await;
    setup.events(&["a"]).await;
    let second = second(root.path(), &setup).await;
    let Setup { ingest, catalog, store } = setup;
    drop(ingest);
    let setup = Setup { ingest: Arc::clone(&second), catalog, store };
    assert_eq!(second.adopt(FIRST).await.unwrap().events, 1);
    let first = again(root.path(), &setup).await;
    assert_eq!(second.adopt(FIRST).await.unwrap().events, 0);
    // It has not heard of it.
    first.submit(cut(&["late"])).await.unwrap_err();
    assert!(!ingest::has_log(&setup.store, FIRST).await.unwrap());
}

/// An object that a former process has sent, and that arrives late, comes behind a seal.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_start_ends_what_a_former_process_has_under_way() {
    let root = TestDir::new();
    let setup = first(root.path()).await;
    setup.events(&["a"]).await;
    assert_eq!(log(&setup).await.len(), 1);
    let setup = without_first(&root, setup).await;
    let first = again(root.path(), &setup).await;
    let path = Path::from(format!("journal/{}/{:020}.journal", FIRST.0, 1));
    let late = PutPayload::from_static(b"late");
    let put = setup.store.put_opts(&path, late, PutOptions::from(PutMode::Create)).await;
    assert!(matches!(put, Err(object_store::Error::AlreadyExists { .. })), "{put:?}");
    let setup = Setup { ingest: first, ..setup };
    setup.events(&["b"]).await;
    assert_eq!(setup.texts().await, ["a", "b"]);
}

/// What the process before has sent to the catalog takes effect before the next one reads positions, or not
/// at all; and it need not read the log again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_process_that_recovers_begins_an_epoch() {
    let root = TestDir::new();
    let setup = first(root.path()).await;
    for text in ["a", "b"] {
        setup.events(&[text]).await;
    }
    let setup = without_first(&root, setup).await;
    let (broken, second) = failing(2, &root, &setup).await;
    let adopting = tokio::spawn({
        let second = Arc::clone(&second);
        async move { second.adopt(FIRST).await }
    });
    is_stuck(&broken, &second).await;
    adopting.abort();
    let _ = adopting.await;
    drop(second);
    assert_eq!(setup.catalog.snapshot().owner(FIRST, 0), (OWN_EPOCH + 1, number(2)));
    let (broken, second) = failing(2, &root, &setup).await;
    let adopting = tokio::spawn({
        let second = Arc::clone(&second);
        async move { second.adopt(FIRST).await }
    });
    is_stuck(&broken, &second).await;
    assert_eq!(setup.catalog.snapshot().owner(FIRST, 0), (OWN_EPOCH + 2, number(2)));
    let adopted = root.join("2/adopted").join(format!("{}-{}", FIRST.0, OWN_EPOCH + 2));
    assert!(adopted.exists());
    broken.hooks().heal();
    assert_eq!(adopting.await.unwrap().unwrap().events, 2);
    assert_eq!(setup.catalog.snapshot().owner(FIRST, 0), (OWN_EPOCH + 3, FIRST));
    assert_eq!(texts(setup, second).await, ["a", "b"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sets_that_the_catalog_does_not_list_are_recovered_too() {
    let root = TestDir::new();
    let store = local(root.path());
    let two = Settings { parallel_ingestion_pipelines: 2, ..fast() };
    let data = root.join("first");
    let setup = start_configured(&data, two, Arc::clone(&store), store, REMOTE).await;
    // Only this one was ever taken over.
    give(&setup, FIRST).await;
    let mut expected = Vec::new();
    for stream in 0..16 {
        let text = format!("event {stream:02}");
        let mut events = CutEvents::new(MissingTime::Now);
        assert!(events.push(meta(Some("test")).by_ref(), None, text.as_bytes()));
        let stream = StreamKey(stream.to_string().into());
        setup.ingest.submit(Input::Events { stream, events }).await.unwrap();
        expected.push(text);
    }
    let setup = without_first(&root, setup).await;
    let second = second(root.path(), &setup).await;
    assert_eq!(second.adopt(FIRST).await.unwrap().events, 16);
    let mut found = texts(setup, second).await;
    found.sort();
    assert_eq!(found, expected);
}

/// The disk is lost, and the only place that has what was acknowledged does not answer: the start waits.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_start_without_its_journal_waits_for_the_log() {
    let root = TestDir::new();
    let setup = first(root.path()).await;
    setup.events(&["a"]).await;
    assert!(setup.catalog.positions(FIRST).await.is_empty(), "nothing is in a bucket");
    let setup = without_first(&root, setup).await;
    std::fs::remove_dir_all(root.join("first")).unwrap();
    let failing = Arc::new(FailingStore::new(Arc::clone(&setup.store)));
    failing.hooks().fail(Moment::Before);
    let mut parts = parts(&root.join("first"), &setup, fast());
    (parts.knowledge, parts.store) = (knowledge(), Arc::clone(&failing) as Arc<dyn ObjectStore>);
    let told = Arc::new(Mutex::new(Vec::new()));
    let starting = tokio::spawn({
        let told = Arc::clone(&told);
        async move { Ingest::start_reporting(parts, &|text| told.lock().push(text)).await }
    });
    let waits = || async { told.lock().len() > 3 };
    assert!(wait_until(waits, LONG).await);
    let said = told.lock()[0].clone();
    assert!(said.contains("waiting for object storage"), "{said}");
    assert!(!starting.is_finished());
    failing.hooks().heal();
    let first = Arc::new(starting.await.unwrap().unwrap());
    let setup = Setup { ingest: first, ..setup };
    assert_eq!(setup.texts().await, ["a"]);
}

/// The start that restores the journal is killed in the middle: the next one knows that the disk lacks
/// records, though there is a segment.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_journal_that_is_restored_in_part_is_restored_by_the_next_start() {
    let root = TestDir::new();
    let setup = first(root.path()).await;
    setup.events(&["a"]).await;
    let setup = without_first(&root, setup).await;
    let set = root.join("first/journal/0");
    let segments = std::fs::read_dir(&set).unwrap().map(|entry| entry.unwrap().path());
    let segment = segments.min().unwrap();
    let header = std::fs::read(&segment).unwrap()[..16].to_owned();
    std::fs::remove_dir_all(root.join("first")).unwrap();
    let failing = Arc::new(FailingStore::new(Arc::clone(&setup.store)));
    failing.hooks().fail(Moment::Before);
    let start = || {
        let mut parts = parts(&root.join("first"), &setup, fast());
        (parts.knowledge, parts.store) =
            (knowledge(), Arc::clone(&failing) as Arc<dyn ObjectStore>);
        let (told, waits) = tokio::sync::oneshot::channel();
        let told = Mutex::new(Some(told));
        let tell = move |_| {
            if let Some(told) = told.lock().take() {
                let _ = told.send(());
            }
        };
        let started = tokio::spawn(async move { Ingest::start_reporting(parts, &tell).await });
        (started, waits)
    };
    let (killed, waits) = start();
    waits.await.expect("it waits for the log");
    killed.abort();
    assert!(killed.await.is_err_and(|error| error.is_cancelled()));
    std::fs::create_dir_all(&set).unwrap();
    std::fs::write(&segment, header).unwrap();
    let (starting, waits) = start();
    waits.await.expect("it waits for the log again");
    failing.hooks().heal();
    let first = Arc::new(starting.await.unwrap().unwrap());
    let setup = Setup { ingest: first, ..setup };
    assert_eq!(setup.texts().await, ["a"]);
    assert!(!root.join("first/journal/restoring").exists());
}

/// Records that only the lost disk had may come back from somewhere: theirs are not the positions of others.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn positions_are_not_used_again_after_the_disk_was_lost() {
    let root = TestDir::new();
    let setup = first(root.path()).await;
    setup.events(&["a"]).await;
    let mut setup = without_first(&root, setup).await;
    for lost in [false, true] {
        if lost {
            std::fs::remove_dir_all(root.join("first")).unwrap();
        }
        let first = again(root.path(), &setup).await;
        setup = Setup { ingest: first, ..setup };
        setup.events(&["b"]).await;
        setup.ingest.roll_all(None).await.unwrap();
        let positions = setup.catalog.positions(FIRST).await;
        let highest = positions.iter().map(|(_, position)| position.0).max().unwrap();
        assert_eq!(highest > 1 << 32, lost, "{highest}");
        setup = without_first(&root, setup).await;
    }
    assert_eq!(setup.texts().await, ["a", "b", "b"]);
}

/// A start over a disk that is whole does not wait: acknowledgements do.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_start_with_its_journal_does_not_wait_for_the_log() {
    let root = TestDir::new();
    let setup = first(root.path()).await;
    setup.events(&["a"]).await;
    let setup = without_first(&root, setup).await;
    let failing = Arc::new(FailingStore::new(Arc::clone(&setup.store)));
    failing.hooks().fail(Moment::Before);
    let mut parts = parts(&root.join("first"), &setup, fast());
    (parts.knowledge, parts.store) = (knowledge(), Arc::clone(&failing) as Arc<dyn ObjectStore>);
    let starting = Ingest::start(parts);
    let first = tokio::time::timeout(Duration::from_secs(60), starting).await.unwrap().unwrap();
    let setup = Setup { ingest: Arc::new(first), ..setup };
    assert_eq!(setup.texts().await, ["a"]);
}

/// No bucket has its last record, all of whose events were set aside: the recovery ends all the same.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_recovery_ends_where_the_last_events_are_set_aside() {
    let root = TestDir::new();
    let store = local(root.path());
    let earlier = Settings { max_event_size: 1 << 20, ..fast() };
    let data = root.join("first");
    let setup = start_configured(&data, earlier, Arc::clone(&store), store, REMOTE).await;
    setup.events(&["a"]).await;
    setup.events(&["x".repeat(500_000).as_str()]).await;
    let setup = without_first(&root, setup).await;
    let now = Settings { max_event_size: 100_000, ..fast() };
    let mut parts = parts(&root.join("2"), &setup, now);
    (parts.knowledge, parts.indexer) = (knowledge(), number(2));
    let second = Arc::new(Ingest::start(parts).await.unwrap());
    let adopted = tokio::time::timeout(LONG, second.adopt(FIRST)).await;
    adopted.expect("it ends").unwrap();
    assert_eq!(second.set_aside().borrow().events, 1);
    assert_eq!(texts(setup, second).await, ["a"]);
}
