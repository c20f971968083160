//! Events that an indexer has acknowledged with `ackLevel = remote`, after its machine is gone: another
//! indexer recovers them, each once, whatever the first one does meanwhile.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use catalog::{Catalog, OWN_EPOCH};
use conf::{Layer, Layers};
use futures::TryStreamExt;
use ingest::restore::rebuild;
use ingest::{Ingest, Settings};
use inputs::{BatchId, CutEvents, Input, MissingTime, SinkExt, StreamKey};
use knowledge::Knowledge;
use model::{EventTime, IndexName, IndexerId};
use object_store::ObjectStore;
use runtime::{Clock, ManualClock, SystemClock};
use testkit::{FailingStore, Moment, TestDir, wait_until};

use crate::restore::of_host;
use crate::setup::{Setup, cut, local, meta, parts, settings, start_configured};

pub(crate) const REMOTE: &str = "[main]\nackLevel = remote\n[other]\n";
pub(crate) const LONG: Duration = Duration::from_secs(60);

pub(crate) fn fast() -> Settings {
    Settings { remote_journal_interval: Duration::from_millis(5), min_free_space: 0, ..settings() }
}

/// The indexer whose machine is lost.
pub(crate) async fn first(root: &Path) -> Setup {
    let store = local(root);
    let data = root.join("first");
    start_configured(&data, fast(), Arc::clone(&store), store, REMOTE).await
}

/// Another indexer of the same catalog, over a store.
pub(crate) async fn indexer(
    number: u128,
    root: &Path,
    setup: &Setup,
    store: Arc<dyn ObjectStore>,
) -> Arc<Ingest> {
    let mut parts = parts(&root.join(number.to_string()), setup, fast());
    parts.indexer = IndexerId(uuid::Uuid::from_u128(number));
    parts.store = store;
    parts.knowledge = knowledge();
    Arc::new(Ingest::start(parts).await.unwrap())
}

pub(crate) async fn second(root: &Path, setup: &Setup) -> Arc<Ingest> {
    indexer(2, root, setup, Arc::clone(&setup.store)).await
}

/// The first one, started again.
pub(crate) async fn again(root: &Path, setup: &Setup) -> Arc<Ingest> {
    let mut parts = parts(&root.join("first"), setup, fast());
    parts.knowledge = knowledge();
    Arc::new(Ingest::start(parts).await.unwrap())
}

pub(crate) fn knowledge() -> Arc<Knowledge> {
    Arc::new(Knowledge::new(Layers::builtin().with(Layer::SystemLocal, "indexes", REMOTE)))
}

pub(crate) const FIRST: IndexerId = IndexerId(uuid::Uuid::nil());

fn of_index(index: &str, text: &str) -> Input {
    let mut events = CutEvents::new(MissingTime::Now);
    let mut meta = meta(Some("test"));
    meta.index = IndexName::new(index).unwrap();
    assert!(events.push(meta.by_ref(), None, text.as_bytes()));
    Input::Events { stream: StreamKey("test".into()), events }
}

/// Sizes of the objects of the first indexer's log.
pub(crate) async fn log(setup: &Setup) -> Vec<u64> {
    let folder = format!("journal/{}", FIRST.0);
    let listed: Vec<_> = setup.store.list(Some(&folder.into())).try_collect().await.unwrap();
    let mut listed: Vec<_> = listed.into_iter().map(|meta| (meta.location, meta.size)).collect();
    listed.sort();
    listed.into_iter().map(|(_, size)| size).collect()
}

/// The texts of everything that is stored or hot in one of the indexers.
pub(crate) async fn texts(setup: Setup, ingest: Arc<Ingest>) -> Vec<String> {
    Setup { ingest, ..setup }.texts().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn events_of_a_lost_machine_are_recovered_once() {
    let root = TestDir::new();
    let setup = first(root.path()).await;
    for text in ["a", "b", "c"] {
        setup.events(&[text]).await;
    }
    setup.ingest.submit(of_index("other", "local")).await.unwrap();
    assert_eq!(setup.catalog.snapshot().len(), 0, "an acknowledgement does not wait for a bucket");
    let Setup { ingest, catalog, store } = setup;
    drop(ingest);
    std::fs::remove_dir_all(root.join("first")).unwrap();
    let setup = Setup {
        ingest: Arc::new(lost_ingest(root.path(), &catalog, &store).await),
        catalog,
        store,
    };
    assert_eq!(ingest::unrecovered(&setup.store).await.unwrap(), [FIRST]);

    let second = second(root.path(), &setup).await;
    assert_eq!(second.adopt(FIRST).await.unwrap().events, 3);
    assert_eq!(setup.catalog.snapshot().owner(FIRST, 0), (OWN_EPOCH + 2, FIRST), "given back");
    assert_eq!(log(&setup).await, [0], "the seal tells where the log ends");
    assert!(!ingest::has_log(&setup.store, FIRST).await.unwrap());
    assert_eq!(second.adopt(FIRST).await.unwrap().events, 0);
    assert!(std::fs::read_dir(root.join("2/adopted")).unwrap().next().is_none());
    assert_eq!(texts(setup, second).await, ["a", "b", "c"]);
}

/// An indexer of no importance: [`Setup`] needs one.
pub(crate) async fn lost_ingest(
    root: &Path,
    catalog: &Arc<Catalog>,
    store: &Arc<dyn ObjectStore>,
) -> Ingest {
    let setup = ingest::Parts {
        data: root.join("other"),
        indexer: IndexerId(uuid::Uuid::from_u128(77)),
        store: Arc::clone(store),
        replicas: None,
        catalog: Arc::clone(catalog),
        knowledge: knowledge(),
        clock: Arc::new(SystemClock),
        settings: fast(),
    };
    Ingest::start(setup).await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_former_owner_acknowledges_nothing_more() {
    let root = TestDir::new();
    let setup = first(root.path()).await;
    setup.events(&["before"]).await;
    let second = second(root.path(), &setup).await;
    second.adopt(FIRST).await.unwrap();
    setup.ingest.check_owner(&setup.catalog.snapshot()).unwrap_err();
    // It has not heard of it.
    let late = setup.ingest.submit(cut(&["late"])).await.unwrap_err();
    // The log ends while this waits for it: the sender is refused with the reason, or told to send again.
    let kinds = [model::ErrorKind::Internal, model::ErrorKind::Unavailable];
    assert!(kinds.contains(&late.kind()), "{late}");
    let refused = setup.ingest.submit(cut(&["later"])).await.unwrap_err();
    assert!(refused.to_string().contains("belongs to another process"), "{refused}");
    let Setup { ingest, catalog, store } = setup;
    drop(ingest);
    let setup = Setup { ingest: second, catalog, store };
    // Started again, it has what it had not stored, and nothing twice.
    let first = again(root.path(), &setup).await;
    assert_eq!(texts(setup, first).await, ["before", "late"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_indexer_that_returns_brings_what_only_its_disk_has() {
    let root = TestDir::new();
    let setup = first(root.path()).await;
    setup.events(&["a"]).await;
    setup.ingest.submit(of_index("other", "b local")).await.unwrap();
    setup.events(&["c"]).await;
    let second = second(root.path(), &setup).await;
    let Setup { ingest, catalog, store } = setup;
    drop(ingest);
    let setup = Setup { ingest: Arc::clone(&second), catalog, store };
    assert_eq!(second.adopt(FIRST).await.unwrap().events, 2);
    assert_eq!(setup.texts().await, ["a", "c"]);
    let first = again(root.path(), &setup).await;
    let setup = Setup { ingest: first, ..setup };
    assert_eq!(setup.texts().await, ["a", "b local", "c"]);
    // And it goes on.
    setup.events(&["d"]).await;
    assert_eq!(second.adopt(FIRST).await.unwrap().events, 1);
    drop(second);
    assert_eq!(setup.catalog.snapshot().len(), 2);
}

/// The catalog was rebuilt, and the directory has got a new id: its disk and the log of its former id have
/// the same records.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_log_whose_records_are_on_the_disk_under_another_id_doubles_nothing() {
    let root = TestDir::new();
    let setup = first(root.path()).await;
    setup.events(&["in a bucket"]).await;
    setup.ingest.roll_all(None).await.unwrap();
    setup.events(&["in the journal"]).await;
    setup.stop().await;
    std::fs::remove_dir_all(root.join("store/catalog")).unwrap();
    let (store, clock) = (local(root.path()), Arc::new(SystemClock));
    let as_clock: Arc<dyn Clock> = clock.clone();
    rebuild(&store, "catalog", &as_clock).await.unwrap();

    let of_catalog = catalog::Settings::default();
    let catalog = Catalog::open(Arc::clone(&store), "catalog", of_catalog, clock).await.unwrap();
    let catalog = Arc::new(catalog);
    let other = lost_ingest(root.path(), &catalog, &store).await;
    let setup = Setup { ingest: Arc::new(other), catalog, store };
    let mut parts = parts(&root.join("first"), &setup, fast());
    parts.indexer = IndexerId(uuid::Uuid::from_u128(2));
    parts.knowledge = knowledge();
    let split = Arc::new(Ingest::start(parts).await.unwrap());
    assert!(ingest::has_log(&setup.store, FIRST).await.unwrap());
    assert_eq!(split.adopt(FIRST).await.unwrap().events, 0);
    assert!(!ingest::has_log(&setup.store, FIRST).await.unwrap());
    assert_eq!(texts(setup, split).await, ["in a bucket", "in the journal"]);
}

/// The catalog was rebuilt, and another indexer has stored data points that arrived at the very times at
/// which those in the log did.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_log_is_not_taken_for_the_buckets_of_another_indexer() {
    let root = TestDir::new();
    let clock = Arc::new(ManualClock::new(EventTime(1_900_000_000_000_000)));
    let start_as = async |number: u128, setup: &Setup| {
        let mut parts = parts(&root.join(&number.to_string()), setup, fast());
        parts.indexer = IndexerId(uuid::Uuid::from_u128(number));
        parts.knowledge = knowledge();
        parts.clock = clock.clone();
        Arc::new(Ingest::start(parts).await.unwrap())
    };
    let setup = first(root.path()).await;
    let (lost, stored) = (start_as(2, &setup).await, start_as(3, &setup).await);
    lost.submit(of_host("a", 3)).await.unwrap();
    stored.submit(of_host("b", 3)).await.unwrap();
    stored.roll_all(None).await.unwrap();
    drop((lost, stored));
    setup.stop().await;
    std::fs::remove_dir_all(root.join("store/catalog")).unwrap();
    let (store, clock) = (local(root.path()), Arc::new(SystemClock));
    let as_clock: Arc<dyn Clock> = clock.clone();
    assert_eq!(rebuild(&store, "catalog", &as_clock).await.unwrap().events, 3);

    let of_catalog = catalog::Settings::default();
    let catalog = Catalog::open(Arc::clone(&store), "catalog", of_catalog, clock).await.unwrap();
    let catalog = Arc::new(catalog);
    let other = lost_ingest(root.path(), &catalog, &store).await;
    let setup = Setup { ingest: Arc::new(other), catalog, store };
    let successor = start_as(4, &setup).await;
    let adopted = successor.adopt(IndexerId(uuid::Uuid::from_u128(2))).await.unwrap();
    assert_eq!(adopted.events, 3);
    let rows = Setup { ingest: successor, ..setup }.rows().await;
    let arrivals: Vec<i64> = rows.iter().map(|(_, arrival, _)| *arrival).collect();
    assert_eq!(rows.len(), 6);
    assert!(arrivals.chunks(2).all(|two| two[0] == two[1]), "a tie: {arrivals:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_disk_has_lost_comes_back_at_the_start() {
    let root = TestDir::new();
    let mut setup = first(root.path()).await;
    for text in ["a", "b", "c", "d"] {
        setup.events(&[text]).await;
    }
    // Half of the journal, then all of it.
    for cut_to in [Some(2), None] {
        let Setup { ingest, catalog, store } = setup;
        drop(ingest);
        let journal = root.join("first/journal/0");
        for segment in std::fs::read_dir(&journal).unwrap() {
            let path = segment.unwrap().path();
            let Some(part) = cut_to else { break };
            let file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
            file.set_len(file.metadata().unwrap().len() / part).unwrap();
        }
        if cut_to.is_none() {
            std::fs::remove_dir_all(&journal).unwrap();
        }
        let other = lost_ingest(root.path(), &catalog, &store).await;
        setup = Setup { ingest: Arc::new(other), catalog, store };
        let first = again(root.path(), &setup).await;
        setup = Setup { ingest: first, ..setup };
        assert_eq!(setup.texts().await, ["a", "b", "c", "d"], "{cut_to:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_disk_comes_back_also_where_the_newest_object_is_stored_in_buckets() {
    let root = TestDir::new();
    let conf = "[main]\nackLevel = remote\n[other]\nackLevel = remote\n";
    let (data, store) = (root.join("first"), local(root.path()));
    let setup = start_configured(&data, fast(), Arc::clone(&store), store, conf).await;
    setup.events(&["kept by the log alone"]).await;
    setup.ingest.submit(of_index("other", "stored")).await.unwrap();
    setup.ingest.roll_all(Some(&IndexName::new("other").unwrap())).await.unwrap();
    let is_stored = || async { setup.catalog.snapshot().len() == 1 };
    assert!(wait_until(is_stored, LONG).await);
    let Setup { ingest, catalog, store } = setup;
    drop(ingest);
    std::fs::remove_dir_all(data.join("journal")).unwrap();
    let other = lost_ingest(root.path(), &catalog, &store).await;
    let setup = Setup { ingest: Arc::new(other), catalog, store };
    let mut parts = parts(&data, &setup, fast());
    let layers = Layers::builtin().with(Layer::SystemLocal, "indexes", conf);
    parts.knowledge = Arc::new(Knowledge::new(layers));
    let first = Arc::new(Ingest::start(parts).await.unwrap());
    assert_eq!(texts(setup, first).await, ["kept by the log alone", "stored"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn objects_of_the_log_go_with_their_buckets_and_at_the_end() {
    let root = TestDir::new();
    let setup = first(root.path()).await;
    for round in 0..6 {
        setup.events(&[&round.to_string()]).await;
    }
    assert_eq!(log(&setup).await.len(), 6);
    setup.ingest.roll_all(None).await.unwrap();
    let few = || async { log(&setup).await.len() <= 2 };
    assert!(wait_until(few, LONG).await, "{:?}", log(&setup).await);
    setup.events(&["last"]).await;
    assert!(setup.ingest.drain(LONG).await);
    assert_eq!(log(&setup).await, [0], "nothing is to be recovered");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn while_the_log_has_no_room_acknowledgements_wait_for_buckets() {
    let root = TestDir::new();
    let failing = Arc::new(FailingStore::new(local(root.path())));
    let store = Arc::clone(&failing) as Arc<dyn ObjectStore>;
    let small =
        Settings { max_remote_journal_queue: 1, remote_ack_interval: Duration::ZERO, ..fast() };
    let data = root.join("first");
    let setup = start_configured(&data, small, store, local(root.path()), REMOTE).await;
    failing.hooks().fail(Moment::Before);
    let waiting = |text: &str| {
        let (ingest, input) = (Arc::clone(&setup.ingest), cut(&[text]));
        tokio::spawn(async move { ingest.submit(input).await })
    };
    let one = waiting("one");
    let tried = || async { failing.hooks().failures() > 0 };
    assert!(wait_until(tried, LONG).await);
    let two = waiting("two");
    let rolled = || async { setup.ingest.status().uploads.waiting > 0 };
    assert!(wait_until(rolled, LONG).await);
    // Other indexes go on.
    setup.ingest.submit(of_index("other", "local")).await.unwrap();
    assert!(!one.is_finished() && !two.is_finished());
    failing.hooks().heal();
    one.await.unwrap().unwrap();
    two.await.unwrap().unwrap();
    assert_eq!(setup.texts().await.len(), 3);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_numbered_input_is_recovered_as_a_whole_and_known_from_then_on() {
    let root = TestDir::new();
    let setup = first(root.path()).await;
    let input = || {
        let mut events = CutEvents::new(MissingTime::Now);
        for (index, text) in [("other", "one"), ("main", "two")] {
            let mut meta = meta(Some("test"));
            meta.index = IndexName::new(index).unwrap();
            assert!(events.push(meta.by_ref(), None, text.as_bytes()));
        }
        Input::Events { stream: StreamKey("test".into()), events }
    };
    let id = BatchId { channel: uuid::Uuid::from_u128(9), sequence: 1, settled: 0 };
    let outcome = setup.ingest.deliver(id, input(), LONG).await.unwrap();
    assert_eq!(outcome.wait().await.unwrap().events, 2);
    let second = second(root.path(), &setup).await;
    let Setup { ingest, catalog, store } = setup;
    drop(ingest);
    std::fs::remove_dir_all(root.join("first")).unwrap();
    let setup = Setup { ingest: Arc::clone(&second), catalog, store };
    assert_eq!(second.adopt(FIRST).await.unwrap().events, 2, "also the event of the local index");
    let outcome = second.deliver(id, input(), LONG).await.unwrap();
    assert_eq!(outcome.wait().await.unwrap().events, 0, "it is known");
    let mut texts = texts(setup, second).await;
    texts.sort();
    assert_eq!(texts, ["one", "two"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_recovery_can_be_interrupted_at_any_moment() {
    let root = TestDir::new();
    let setup = first(root.path()).await;
    let mut expected = Vec::new();
    for number in 0..200 {
        expected.push(format!("event {number:03}"));
    }
    for part in expected.chunks(20) {
        let part: Vec<&str> = part.iter().map(String::as_str).collect();
        setup.events(&part).await;
    }
    let Setup { ingest, catalog, store } = setup;
    drop(ingest);
    let other = lost_ingest(root.path(), &catalog, &store).await;
    let setup = Setup { ingest: Arc::new(other), catalog, store };
    for round in 0..20u64 {
        // Another one than before, now and then.
        let successor =
            indexer(2 + u128::from(round / 5 % 2), root.path(), &setup, setup.store.clone()).await;
        let late = Duration::from_micros(300 * round * round);
        let _ = tokio::time::timeout(late, successor.adopt(FIRST)).await;
        drop(successor);
        let (epoch, owner) = setup.catalog.snapshot().owner(FIRST, 0);
        if round % 5 == 4 && owner != FIRST {
            // The control plane gives the sets to somebody else.
            let by = IndexerId(uuid::Uuid::from_u128(2 + u128::from((round + 1) / 5 % 2)));
            let taken = catalog::Takeover { indexer: FIRST, set: 0, epoch: epoch + 1, owner: by };
            let commit = catalog::Commit { take_over: vec![taken], ..Default::default() };
            setup.catalog.commit(commit).await.unwrap();
        }
    }
    let owner = setup.catalog.snapshot().owner(FIRST, 0).1;
    let last = if owner == FIRST { 2 } else { owner.0.as_u128() };
    let last = indexer(last, root.path(), &setup, setup.store.clone()).await;
    last.adopt(FIRST).await.unwrap();
    assert_eq!(setup.catalog.snapshot().owner(FIRST, 0).1, FIRST);
    assert_eq!(texts(setup, last).await, expected);
}
