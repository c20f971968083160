//! From the acknowledgement over the roll to the release of the journal, and across restarts.

use std::time::Duration;

use ingest::Settings;
use inputs::SinkExt;
use testkit::TestDir;

use crate::setup::{cut, settings, start};

#[tokio::test]
async fn events_are_searchable_when_they_are_acknowledged() {
    let data = TestDir::new();
    let setup = start(data.path(), settings()).await;
    let receipt = setup.events(&["a", "b"]).await;
    assert_eq!((receipt.events, receipt.bytes), (2, 2));
    assert_eq!(setup.texts().await, ["a", "b"]);
}

#[tokio::test]
async fn a_roll_moves_events_to_the_catalog_and_frees_the_journal() {
    let data = TestDir::new();
    let setup = start(data.path(), settings()).await;
    setup.events(&["a", "b"]).await;
    assert!(setup.ingest.status().journal_bytes > 0);
    setup.ingest.roll_all(None).await.unwrap();
    let status = setup.ingest.status();
    assert_eq!((status.journal_bytes, status.hot.len()), (0, 0));
    assert_eq!(setup.catalog.snapshot().len(), 1);
    assert_eq!(setup.texts().await, ["a", "b"]);
}

#[tokio::test]
async fn a_restart_replays_the_journal_exactly_once() {
    let data = TestDir::new();
    for round in 0..3 {
        let setup = start(data.path(), settings()).await;
        assert_eq!(setup.ingest.status().recovered_events, round);
        setup.events(&[&format!("round {round}")]).await;
    }
    let setup = start(data.path(), settings()).await;
    let expected = ["round 0", "round 1", "round 2"];
    assert_eq!(setup.texts().await, expected);
    setup.ingest.roll_all(None).await.unwrap();
    drop(setup);
    let setup = start(data.path(), settings()).await;
    assert_eq!(setup.ingest.status().recovered_events, 0);
    assert_eq!(setup.texts().await, expected);
}

#[tokio::test]
async fn arrival_times_grow_strictly_across_restarts() {
    let data = TestDir::new();
    for _ in 0..3 {
        let setup = start(data.path(), settings()).await;
        setup.events(&["a", "b", "c"]).await;
        setup.ingest.roll_all(None).await.unwrap();
        setup.events(&["d"]).await;
    }
    let setup = start(data.path(), settings()).await;
    let mut arrivals: Vec<_> = setup.rows().await.iter().map(|row| row.1).collect();
    arrivals.sort_unstable();
    arrivals.dedup();
    assert_eq!(arrivals.len(), 12);
}

#[tokio::test]
async fn a_drained_ingest_leaves_nothing_behind() {
    let data = TestDir::new();
    let setup = start(data.path(), settings()).await;
    setup.events(&["a"]).await;
    assert!(setup.ingest.drain(Duration::from_secs(60)).await);
    assert!(setup.ingest.submit(cut(&["late"])).await.is_err());
    assert_eq!(setup.ingest.status().journal_bytes, 0);
    assert_eq!(setup.texts().await, ["a"]);
}

#[tokio::test]
async fn full_buckets_roll_by_themselves() {
    let data = TestDir::new();
    let small = Settings { max_data_size: 1000, ..settings() };
    let setup = start(data.path(), small).await;
    let text = "x".repeat(600);
    for _ in 0..10 {
        setup.events(&[&text]).await;
    }
    setup.ingest.roll_all(None).await.unwrap();
    assert!(setup.catalog.snapshot().len() >= 3, "{}", setup.catalog.snapshot().len());
    assert_eq!(setup.texts().await.len(), 10);
}

#[tokio::test]
async fn a_set_that_is_configured_away_is_still_recovered() {
    let data = TestDir::new();
    let wide = Settings { parallel_ingestion_pipelines: 4, ..settings() };
    let setup = start(data.path(), wide).await;
    for i in 0..40 {
        setup.raw("test", &format!("stream {i}")).await;
    }
    drop(setup);
    let setup = start(data.path(), settings()).await;
    setup.ingest.roll_all(None).await.unwrap();
    assert_eq!(setup.texts().await.len(), 40);
    assert_eq!(setup.ingest.status().journal_bytes, 0);
}

#[tokio::test]
async fn a_directory_belongs_to_one_process() {
    let data = TestDir::new();
    let setup = start(data.path(), settings()).await;
    let parts = crate::setup::parts(data.path(), &setup, settings());
    let error = ingest::Ingest::start(parts).await.unwrap_err();
    assert!(error.to_string().contains("another process"), "{error}");
}
