//! Object storage is away for long: intake goes on until the disk's limit, in bounded memory.

use std::sync::Arc;
use std::time::Duration;

use ingest::Settings;
use inputs::Sink;
use model::ErrorKind;
use testkit::{FailingStore, Moment, TestDir, wait_until};

use crate::setup::{Setup, cut, local, settings, start, start_with};

const PATIENCE: Duration = Duration::from_secs(60);
const BUCKETS: u64 = 40;

#[tokio::test]
async fn intake_goes_on_in_bounded_memory_and_nothing_is_lost() {
    let data = TestDir::new();
    let (failing, setup) = away(&data, small()).await;
    let sent = fill(&setup, BUCKETS).await;
    let spooled = || async { setup.ingest.status().spool.buckets >= BUCKETS / 2 };
    assert!(wait_until(spooled, PATIENCE).await, "{:?}", setup.ingest.status().spool);
    // Everything is searchable, though only the last bucket is in memory.
    assert_eq!(setup.texts().await.len() as u64, sent);
    let in_memory: u64 = setup
        .ingest
        .hot()
        .snapshot(&crate::setup::indexes(), &model::TimeRange::ALL)
        .iter()
        .filter(|bucket| bucket.stored.is_none())
        .map(|bucket| bucket.raw_bytes)
        .sum();
    assert!(in_memory <= 6 * small().max_data_size, "{in_memory} bytes in memory");
    failing.hooks().heal();
    setup.ingest.roll_all(None).await.unwrap();
    let status = setup.ingest.status();
    assert_eq!((status.journal_bytes, status.spool.buckets, status.spool.bytes), (0, 0, 0));
    assert_eq!(setup.texts().await.len() as u64, sent);
}

#[tokio::test]
async fn at_the_disks_limit_senders_are_refused_and_get_in_again_later() {
    let data = TestDir::new();
    let limited = Settings {
        max_spool_size: 20_000,
        queue_size: 2000,
        queue_wait: Duration::from_millis(50),
        ..small()
    };
    let (failing, setup) = away(&data, limited).await;
    let mut accepted = Vec::new();
    let refused = loop {
        let text = format!("{} {}", accepted.len(), "x".repeat(900));
        match setup.ingest.enqueue(cut(&[&text]), Duration::from_secs(2)).await {
            Ok(acknowledgement) => accepted.push(acknowledgement),
            Err(error) => break error,
        }
    };
    assert_eq!(refused.kind(), ErrorKind::Exhausted, "{refused}");
    let full = setup.ingest.status().spool.full;
    assert!(full.as_deref().is_some_and(|why| why.contains("maxSpoolSize")), "{full:?}");
    failing.hooks().heal();
    let count = accepted.len();
    for acknowledgement in accepted {
        acknowledgement.wait().await.unwrap();
    }
    // Space is there again once a bucket has been stored.
    let after = setup.ingest.enqueue(cut(&["after"]), Duration::from_secs(60)).await.unwrap();
    after.wait().await.unwrap();
    setup.ingest.roll_all(None).await.unwrap();
    assert_eq!(setup.texts().await.len(), count + 1);
}

#[tokio::test]
async fn a_restart_while_storage_is_away_recovers_everything_in_bounded_memory() {
    let data = TestDir::new();
    let (_failing, setup) = away(&data, small()).await;
    let sent = fill(&setup, BUCKETS).await;
    drop(setup);
    let (failing, setup) = away(&data, small()).await;
    assert_eq!(setup.ingest.status().recovered_events, sent);
    assert_eq!(setup.texts().await.len() as u64, sent);
    failing.hooks().heal();
    setup.ingest.roll_all(None).await.unwrap();
    drop(setup);
    let setup = start(data.path(), small()).await;
    assert_eq!(setup.ingest.status().recovered_events, 0);
    assert_eq!(setup.texts().await.len() as u64, sent);
}

#[tokio::test]
async fn a_drain_that_does_not_finish_in_time_leaves_the_rest_in_the_journal() {
    let data = TestDir::new();
    let (_failing, setup) = away(&data, small()).await;
    setup.events(&["a", "b"]).await;
    assert!(!setup.ingest.drain(Duration::from_millis(300)).await);
    drop(setup);
    let setup = start(data.path(), small()).await;
    assert_eq!(setup.ingest.status().recovered_events, 2);
    assert_eq!(setup.texts().await, ["a", "b"]);
}

/// Buckets of ten thousand bytes.
fn small() -> Settings {
    Settings { max_data_size: 10_000, min_free_space: 0, ..settings() }
}

/// An ingest whose store of buckets fails, while its catalog works.
async fn away(data: &TestDir, settings: Settings) -> (Arc<FailingStore>, Setup) {
    let failing = Arc::new(FailingStore::new(local(data.path())));
    failing.hooks().fail(Moment::Before);
    let store = Arc::clone(&failing) as _;
    let setup = start_with(data.path(), settings, store, local(data.path())).await;
    (failing, setup)
}

/// Takes in as much as so many buckets hold; the number of events.
async fn fill(setup: &Setup, buckets: u64) -> u64 {
    let text = "x".repeat(1000);
    for event in 0..buckets * 10 {
        setup.events(&[&format!("{event} {text}")]).await;
    }
    buckets * 10
}
