//! Small buckets are joined while events come in and searches run.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures::TryStreamExt;
use ingest::{LifecycleSettings, Settings};
use inputs::{CutEvents, Input, MissingTime, SinkExt, StreamKey};
use testkit::TestDir;

use crate::setup::{Setup, cut, main_index, meta, settings, start};

#[tokio::test]
async fn small_buckets_become_one_with_all_their_events() {
    let data = TestDir::new();
    let at_once = LifecycleSettings { merge_delete_grace: Duration::ZERO, ..merging().lifecycle };
    let setup = start(data.path(), Settings { lifecycle: at_once, ..merging() }).await;
    for round in 0..6 {
        bucket(&setup, &[&format!("one {round}"), &format!("two {round}")]).await;
    }
    let before = setup.rows().await;
    setup.ingest.rotate().await.unwrap();
    let snapshot = setup.catalog.snapshot();
    assert_eq!(snapshot.len(), 1);
    let joined = snapshot.buckets(&main_index()).first().unwrap();
    assert_eq!((joined.rows, before.len()), (12, 12));
    assert_eq!(setup.rows().await, before);
    setup.ingest.rotate().await.unwrap();
    assert_eq!(setup.catalog.snapshot().discarded().count(), 0);
    assert_eq!(objects(&setup).await, 1);
}

#[tokio::test]
async fn fields_that_were_sent_along_survive_a_merge() {
    let data = TestDir::new();
    let setup = start(data.path(), merging()).await;
    for round in 0..4 {
        let mut events = CutEvents::new(MissingTime::Now);
        assert!(events.push(meta(Some("test")).by_ref(), None, b"x"));
        events.push_field("region".into(), "eu");
        events.push_field("number".into(), &round.to_string());
        events.push_field("tag".into(), "a");
        events.push_field("tag".into(), "b");
        let input = Input::Events { stream: StreamKey("s".into()), events };
        setup.ingest.submit(input).await.unwrap();
        setup.ingest.roll_all(None).await.unwrap();
    }
    let fields = async |setup: &Setup| {
        let id = setup.catalog.snapshot().buckets(&main_index()).first().unwrap().id;
        let summaries = setup.catalog.summaries(&[id]).await.unwrap();
        let mut found = summaries[0].as_ref().unwrap().fields.clone();
        found.iter_mut().for_each(|field| field.count = 0);
        found
    };
    let before = fields(&setup).await;
    setup.ingest.rotate().await.unwrap();
    assert_eq!(setup.catalog.snapshot().len(), 1);
    assert_eq!(fields(&setup).await, before);
    assert_eq!(before.iter().filter(|field| field.indexed).count(), 3);
}

#[tokio::test]
async fn discarded_objects_stay_for_the_grace() {
    let data = TestDir::new();
    let grace = Duration::from_secs(3600);
    let slow = LifecycleSettings { merge_delete_grace: grace, ..merging().lifecycle };
    let setup = start(data.path(), Settings { lifecycle: slow, ..merging() }).await;
    for _ in 0..4 {
        bucket(&setup, &["x"]).await;
    }
    setup.ingest.rotate().await.unwrap();
    setup.ingest.rotate().await.unwrap();
    assert_eq!((objects(&setup).await, setup.catalog.snapshot().discarded().count()), (5, 4));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_count_is_right_while_buckets_roll_and_merge() {
    let data = TestDir::new();
    // A search may hold a bucket as hot for some time before it looks into the catalog.
    let settled = Duration::from_millis(200);
    let lifecycle = LifecycleSettings { merge_min_age: settled, ..merging().lifecycle };
    let setup = start(data.path(), Settings { lifecycle, ..merging() }).await;
    let setup = Arc::new(setup);
    let done = Arc::new(AtomicBool::new(false));
    let counting = {
        let (setup, done) = (Arc::clone(&setup), Arc::clone(&done));
        tokio::spawn(async move {
            let mut counts = 0;
            let mut last = 0;
            while !done.load(Ordering::SeqCst) || counts == 0 {
                let mut texts = setup.texts().await;
                let met = texts.len();
                texts.sort();
                texts.dedup();
                assert_eq!(texts.len(), met, "an event was met twice");
                assert!(met >= last, "{met} events, and {last} before");
                (last, counts) = (met, counts + 1);
            }
            counts
        })
    };
    for round in 0..25 {
        bucket(&setup, &[&format!("a {round}"), &format!("b {round}")]).await;
        if round % 3 == 2 {
            setup.ingest.rotate().await.unwrap();
        }
    }
    let joined = || async {
        setup.ingest.rotate().await.unwrap();
        setup.catalog.snapshot().len() < 10
    };
    assert!(testkit::wait_until(joined, Duration::from_secs(30)).await);
    done.store(true, Ordering::SeqCst);
    assert!(counting.await.unwrap() > 5);
    assert_eq!(setup.texts().await.len(), 50);
}

/// Merging at once, with nothing left behind for long.
pub(crate) fn merging() -> Settings {
    let lifecycle = LifecycleSettings {
        rotate_period: Duration::from_secs(3600),
        merge_min_age: Duration::ZERO,
        merge_cpu_percent: 100,
        merge_delete_grace: Duration::from_secs(30),
        ..LifecycleSettings::default()
    };
    Settings { lifecycle, min_free_space: 0, ..settings() }
}

async fn bucket(setup: &Setup, texts: &[&str]) {
    setup.ingest.submit(cut(texts)).await.unwrap();
    setup.ingest.roll_all(None).await.unwrap();
}

pub(crate) async fn objects(setup: &Setup) -> usize {
    let prefix = object_store::path::Path::from("buckets");
    setup.store.list(Some(&prefix)).try_collect::<Vec<_>>().await.unwrap().len()
}
