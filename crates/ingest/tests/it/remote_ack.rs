//! `ackLevel = remote`: what was acknowledged is in object storage, whatever becomes of the machine.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use ingest::Settings;
use inputs::{BatchId, Sink, SinkExt};
use testkit::{FailingStore, Moment, TestDir};

use crate::setup::{cut, local, settings, start, start_configured, start_with_indexes};

const DATA: &str = "KARST_REMOTE_ACK_TEST_DATA";
const REMOTE: &str = "[main]\nackLevel = remote\n";

#[tokio::test]
async fn an_acknowledgement_waits_for_object_storage() {
    let data = TestDir::new();
    let setup = start_with_indexes(data.path(), soon(), REMOTE).await;
    let receipt = setup.events(&["a", "b"]).await;
    assert_eq!((receipt.events, receipt.bytes), (2, 2));
    assert_eq!(setup.catalog.snapshot().len(), 0, "the journal is there, no bucket yet");
    assert_eq!(ingest::unrecovered(&setup.store).await.unwrap().len(), 1);
    assert_eq!(setup.texts().await, ["a", "b"]);
}

#[tokio::test]
async fn while_storage_is_away_events_are_searchable_but_not_acknowledged() {
    let data = TestDir::new();
    let failing = Arc::new(FailingStore::new(local(data.path())));
    failing.hooks().fail(Moment::Before);
    let store = Arc::clone(&failing) as _;
    let catalog = local(data.path());
    let setup = start_configured(data.path(), soon(), store, catalog, REMOTE).await;
    let waiting = setup.ingest.enqueue(cut(&["a"]), Duration::from_secs(10)).await.unwrap();
    let failed = || async { failing.hooks().failures() > 2 };
    assert!(testkit::wait_until(failed, Duration::from_secs(20)).await);
    let answer = tokio::spawn(waiting.wait());
    assert_eq!(setup.texts().await, ["a"]);
    assert!(!answer.is_finished());
    failing.hooks().heal();
    assert_eq!(answer.await.unwrap().unwrap().events, 1);
}

#[tokio::test]
async fn events_that_only_the_journal_has_at_a_stop_are_not_reported_as_refused() {
    let data = TestDir::new();
    let failing = Arc::new(FailingStore::new(local(data.path())));
    failing.hooks().fail(Moment::Before);
    let store = Arc::clone(&failing) as _;
    let small = Settings { max_remote_journal_queue: 1, ..soon() };
    let setup = start_configured(data.path(), small, store, local(data.path()), REMOTE).await;
    let ten = Duration::from_secs(10);
    let mut waiting = vec![setup.ingest.enqueue(cut(&["a"]), ten).await.unwrap()];
    let failed = || async { failing.hooks().failures() > 2 };
    assert!(testkit::wait_until(failed, Duration::from_secs(20)).await);
    // Its queue has no room for a second event, which waits for a bucket instead.
    waiting.push(setup.ingest.enqueue(cut(&["b"]), ten).await.unwrap());
    let journaled = || async { setup.texts().await.len() == 2 };
    assert!(testkit::wait_until(journaled, ten).await);
    assert!(!setup.ingest.drain(Duration::from_millis(100)).await);
    for waiting in waiting {
        let outcome = waiting.wait().await;
        assert!(matches!(outcome, Err(inputs::Error::Unacknowledged)), "{outcome:?}");
    }
    setup.stop().await;
    let mut texts = start(data.path(), settings()).await.texts().await;
    texts.sort_unstable();
    assert_eq!(texts, ["a", "b"]);
}

#[tokio::test]
async fn indexes_with_the_local_level_do_not_wait() {
    let data = TestDir::new();
    let slow = Settings { remote_ack_interval: Duration::from_secs(3600), ..settings() };
    let setup = start_with_indexes(data.path(), slow, "[other]\nackLevel = remote\n").await;
    setup.events(&["a"]).await;
    assert_eq!(setup.catalog.snapshot().len(), 0);
}

#[tokio::test]
async fn events_that_only_this_disk_has_are_known_also_after_a_restart() {
    let data = TestDir::new();
    let setup = start_with_indexes(data.path(), soon(), REMOTE).await;
    setup.events(&["a"]).await;
    assert!(!*setup.ingest.local_acks().borrow(), "object storage has it");
    setup.stop().await;
    let setup = start(data.path(), soon()).await;
    assert!(!*setup.ingest.local_acks().borrow(), "object storage has it still");
    setup.events(&["b"]).await;
    assert!(*setup.ingest.local_acks().borrow());
    setup.stop().await;
    let setup = start_with_indexes(data.path(), soon(), REMOTE).await;
    assert!(*setup.ingest.local_acks().borrow(), "it is still on this disk only");
}

#[tokio::test]
async fn a_numbered_input_is_not_safe_before_it_is_in_object_storage_even_after_a_restart() {
    let data = TestDir::new();
    let channel = uuid::Uuid::from_u128(7);
    let id = BatchId { channel, sequence: 1, settled: 0 };
    let start_away = || async {
        let failing = Arc::new(FailingStore::new(local(data.path())));
        failing.hooks().fail(Moment::Before);
        let store = Arc::clone(&failing) as _;
        let catalog = local(data.path());
        let setup = start_configured(data.path(), soon(), store, catalog, REMOTE).await;
        (failing, setup)
    };
    let (_failing, setup) = start_away().await;
    let ten = Duration::from_secs(10);
    let _waiting = setup.ingest.deliver(id, cut(&["a"]), ten).await.unwrap();
    let journaled = || async { setup.texts().await == ["a"] };
    assert!(testkit::wait_until(journaled, ten).await);
    assert!(!setup.ingest.delivered(channel).contains(1));
    drop(setup);
    let (failing, setup) = start_away().await;
    assert_eq!(setup.texts().await, ["a"]);
    assert!(!setup.ingest.delivered(channel).contains(1));
    failing.hooks().heal();
    let safe = || async { setup.ingest.delivered(channel).contains(1) };
    assert!(testkit::wait_until(safe, Duration::from_secs(30)).await);
    assert_eq!(setup.catalog.snapshot().len(), 1);
    setup.ingest.deliver(id, cut(&["a"]), ten).await.unwrap().wait().await.unwrap();
    assert_eq!(setup.texts().await, ["a"]);
}

#[tokio::test]
async fn acknowledged_events_survive_the_loss_of_the_machine() {
    let data = TestDir::new();
    let mut acknowledged = Vec::new();
    for _ in 0..4 {
        acknowledged.extend(run_kill_and_wipe(&data));
    }
    let setup = start(data.path(), settings()).await;
    let texts = setup.texts().await;
    let lost: Vec<_> = acknowledged.iter().filter(|id| !texts.contains(id)).collect();
    assert!(lost.is_empty(), "lost {lost:?}");
    assert!(acknowledged.len() > 20, "only {} acknowledged", acknowledged.len());
}

/// Runs this test program as a child until it has acknowledged some events, kills it, and deletes
/// everything but object storage.
fn run_kill_and_wipe(data: &TestDir) -> Vec<String> {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "remote_ack::child", "--nocapture"])
        .env(DATA, data.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    let mut acknowledged = Vec::new();
    let began = Instant::now();
    while acknowledged.len() < 10 {
        assert!(began.elapsed() < Duration::from_secs(120), "the child works");
        let Some(line) = lines.next() else { panic!("the child ended") };
        let id = line.strip_prefix("ack ").and_then(|line| line.strip_suffix(';'));
        acknowledged.extend(id.map(str::to_owned));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    for local in ["journal", "spool"] {
        std::fs::remove_dir_all(data.join(local)).unwrap();
    }
    acknowledged
}

/// The child: takes in events and tells which are acknowledged, until it is killed.
#[tokio::test(flavor = "multi_thread")]
async fn child() {
    let Ok(data) = std::env::var(DATA) else { return };
    let setup = start_with_indexes(data.as_ref(), soon(), REMOTE).await;
    let mut tasks = Vec::new();
    for _ in 0..8 {
        let ingest = Arc::clone(&setup.ingest);
        tasks.push(tokio::spawn(async move {
            loop {
                let id = uuid::Uuid::new_v4().to_string();
                ingest.submit(cut(&[&id])).await.unwrap();
                println!("ack {id};");
            }
        }));
    }
    futures::future::join_all(tasks).await;
}

fn soon() -> Settings {
    Settings { remote_ack_interval: Duration::from_millis(10), min_free_space: 0, ..settings() }
}
