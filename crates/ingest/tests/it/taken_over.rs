//! An indexer whose set another one has taken over: it stops, loses nothing, deletes nothing.

use std::sync::Arc;
use std::time::Duration;

use catalog::{Commit, Takeover};
use futures::TryStreamExt;
use ingest::Ingest;
use inputs::SinkExt;
use model::{ErrorKind, IndexerId};
use object_store::ObjectStore;
use testkit::{TestDir, wait_until};

use crate::setup::{Setup, cut, parts, settings, start};

async fn take_over(setup: &Setup) -> IndexerId {
    let owner = IndexerId(uuid::Uuid::from_u128(5));
    let taken = Takeover { indexer: IndexerId(uuid::Uuid::nil()), set: 0, epoch: 1, owner };
    let commit = Commit { take_over: vec![taken], ..Commit::default() };
    setup.catalog.commit(commit).await.unwrap();
    owner
}

/// Objects of buckets.
async fn paths(store: &Arc<dyn ObjectStore>) -> Vec<String> {
    let listed: Vec<_> = store.list(Some(&"buckets".into())).try_collect().await.unwrap();
    let mut paths: Vec<_> = listed.into_iter().map(|meta| meta.location.to_string()).collect();
    paths.sort();
    paths
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn it_takes_nothing_in_and_keeps_what_it_has() {
    let data = TestDir::new();
    let setup = start(data.path(), settings()).await;
    setup.events(&["stored"]).await;
    setup.ingest.roll_all(None).await.unwrap();
    setup.events(&["hot"]).await;
    let owner = take_over(&setup).await;

    // The bucket is refused, and then everything that comes.
    let ingest = Arc::clone(&setup.ingest);
    let rolling = tokio::spawn(async move { ingest.roll_all(None).await });
    let seen = Arc::clone(&setup.ingest);
    let is_refused = || {
        let error = seen.status().uploads.last_error;
        std::future::ready(error.is_some_and(|error| error.contains("taken over")))
    };
    assert!(wait_until(is_refused, Duration::from_secs(60)).await);
    drop(seen);
    let refused = setup.ingest.submit(cut(&["late"])).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Unavailable);
    let text = refused.to_string();
    assert!(text.contains(&format!("indexer {owner} has taken over set 0")), "{text}");
    rolling.abort();
    assert_eq!(setup.catalog.snapshot().len(), 1);
    let journal = setup.ingest.status().journal_bytes;
    assert!(journal > 0, "the event that is not stored is still in the journal");
    assert!(!setup.ingest.drain(Duration::from_secs(5)).await, "not all is stored");

    // It does not start again: its journal and the objects that it put belong to the other now.
    let objects = paths(&setup.store).await;
    let again = parts(data.path(), &setup, settings());
    drop(setup.ingest);
    let Err(error) = Ingest::start(again).await else { panic!("it started") };
    assert!(error.to_string().contains("keep its data directory"), "{error}");
    assert_eq!(paths(&setup.store).await, objects, "nothing is deleted");
    assert_eq!(objects.len(), 2, "the one that is stored, and the one that was put");
    let segments = std::fs::read_dir(data.path().join("journal/0")).unwrap();
    let bytes: u64 = segments.map(|file| file.unwrap().metadata().unwrap().len()).sum();
    assert!(bytes > 0);
}
