//! Events that no bucket can hold, and events over their limits.

use std::fs;
use std::path::Path;
use std::time::Duration;

use ingest::{Ingest, Settings};
use testkit::TestDir;

use crate::setup::{parts, settings, start};

#[tokio::test]
async fn recovery_sets_aside_what_an_earlier_version_let_in_and_keeps_the_rest() {
    let data = TestDir::new();
    let earlier = Settings { max_event_size: 1 << 20, ..settings() };
    let setup = start(data.path(), earlier).await;
    let large = "x".repeat(500_000);
    setup.events(&["first", &large, "last"]).await;
    // Without a drain it is all in the journal alone.
    drop(setup);

    let now = Settings { max_event_size: 100_000, ..settings() };
    let setup = start(data.path(), now.clone()).await;
    assert_eq!(setup.texts().await, ["first", "last"]);
    let aside = setup.ingest.set_aside().borrow().clone();
    assert_eq!(aside.events, 1);
    assert!(aside.reason.contains("maxEventSize"), "{}", aside.reason);
    let files = fs::read_dir(aside.directory.join("main")).unwrap();
    let texts = files.map(|file| fs::read(file.unwrap().path()).unwrap());
    assert_eq!(texts.filter(|text| *text == large.as_bytes()).count(), 1);

    setup.ingest.roll_all(None).await.unwrap();
    assert_eq!(setup.texts().await, ["first", "last"]);
    drop(setup);
    let setup = start(data.path(), now).await;
    assert_eq!(setup.ingest.set_aside().borrow().events, 1, "it is told of as long as it is there");
    assert_eq!(setup.texts().await, ["first", "last"]);
}

/// The end of the process may break off the encoding of a bucket: the marks of this process are not counted.
#[tokio::test]
async fn an_ordered_end_and_a_start_that_is_given_up_are_not_deaths() {
    let (data, other) = (TestDir::new(), TestDir::new());
    let setup = start(data.path(), settings()).await;
    assert_eq!(counted_process(data.path()), 1);
    let given_up = Box::pin(Ingest::start(parts(other.path(), &setup, settings())));
    // A start without a journal may be over by then; then the end without an order is the same.
    drop(tokio::time::timeout(Duration::ZERO, given_up).await);
    assert_eq!(counted_process(other.path()), 2);
    setup.stop().await;
    assert_eq!(counted_process(data.path()), 2);
}

/// The process whose marks the next start counts.
fn counted_process(data: &Path) -> u64 {
    let findings = fs::read(data.join("encoding/findings.json")).unwrap();
    serde_json::from_slice::<serde_json::Value>(&findings).unwrap()["process"].as_u64().unwrap()
}

#[tokio::test]
async fn an_event_over_the_limit_is_cut_whoever_cut_it() {
    let data = TestDir::new();
    let setup = start(data.path(), Settings { max_event_size: 1_000, ..settings() }).await;
    setup.events(&["short", &"y".repeat(5_000)]).await;
    assert_eq!(setup.raw("any", &"z".repeat(5_000)).await, 1);
    let lengths: Vec<usize> = setup.texts().await.iter().map(String::len).collect();
    assert_eq!(lengths, [5, 1_000, 1_000]);
}

#[tokio::test]
async fn a_request_of_many_megabytes_passes_in_batches_and_is_acknowledged_once() {
    let data = TestDir::new();
    let small = Settings { batch_size: 10_000, queue_size: 50_000, ..settings() };
    let setup = start(data.path(), small).await;
    let texts: Vec<String> = (0..20_000).map(|number| format!("event number {number}")).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let receipt = setup.events(&texts).await;
    assert_eq!(receipt.events, 20_000);
    assert_eq!(setup.texts().await.len(), 20_000);
}
