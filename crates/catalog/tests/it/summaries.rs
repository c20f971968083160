//! Summaries are read when they are asked for, many at a time.

use std::sync::Arc;

use super::support::{bucket, entries, id, ids, open};
use karst_catalog::{Commit, Settings};
use model::{BucketHeader, BucketId};
use object_store::ObjectStore;
use object_store::memory::InMemory;
use testkit::{CountingStore, Operation};

const BUCKETS: u128 = 2_000;

/// A catalog that has been closed.
async fn filled() -> Arc<dyn ObjectStore> {
    let store: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
    let catalog = open(Arc::clone(&store), Settings::default()).await.unwrap();
    let add = (0..BUCKETS).map(|number| bucket(number, 0, 9)).collect();
    catalog.commit(Commit { add, ..Commit::default() }).await.unwrap();
    catalog.close().await.unwrap();
    store
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_are_read_in_few_requests_and_kept() {
    let store = Arc::new(CountingStore::new(filled().await));
    let catalog = open(store.clone(), Settings::default()).await.unwrap();
    let opened = store.hooks().of(Operation::Get);
    let all = entries(&catalog).await;
    let expected: Vec<_> = (0..BUCKETS).map(|number| bucket(number, 0, 9)).collect();
    assert!(all == expected);
    let read = store.hooks().of(Operation::Get) - opened;
    assert!(read < 40, "{read} requests");
    entries(&catalog).await;
    assert_eq!(store.hooks().of(Operation::Get) - opened, read);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn any_of_them_are_found_in_the_order_of_the_question() {
    let store = filled().await;
    let settings = Settings { summary_bytes: 0, ..Settings::default() };
    let catalog = open(store, settings).await.unwrap();
    let wanted = [1_999, 5, 5_000, 700, 5, 0, 701];
    let ids: Vec<BucketId> = wanted.iter().map(|number| id(*number)).collect();
    let found = catalog.summaries(&ids).await.unwrap();
    let hosts = found.iter().map(|summary| summary.as_ref().map(|s| s.hosts[0].value.clone()));
    let host = |number: u128| (number < BUCKETS).then(|| format!("host-{number}"));
    assert!(hosts.eq(wanted.into_iter().map(host)));
    assert!(catalog.summaries(&[]).await.unwrap().is_empty());
    assert_eq!(catalog.summaries(&[id(9_999)]).await.unwrap(), [None]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn that_of_a_removed_bucket_is_gone() {
    let catalog = open(filled().await, Settings::default()).await.unwrap();
    let remove =
        Commit { remove: vec![id(7)], add: vec![bucket(9_999, 0, 3)], ..Commit::default() };
    catalog.commit(remove).await.unwrap();
    let found = catalog.summaries(&[id(7), id(9_999)]).await.unwrap();
    assert!(found[0].is_none() && found[1].is_some());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn headers_and_the_number_of_writes_come_back() {
    let store = filled().await;
    let catalog = open(Arc::clone(&store), Settings::default()).await.unwrap();
    assert_eq!(catalog.snapshot().number(), 1);
    catalog.commit(Commit { add: vec![bucket(9_999, 0, 3)], ..Commit::default() }).await.unwrap();
    let header = |catalog: &karst_catalog::Catalog| -> BucketHeader {
        catalog.snapshot().bucket(id(9_999)).unwrap()
    };
    let before = header(&catalog);
    assert_eq!((before.version, catalog.snapshot().number()), (2, 2));
    catalog.close().await.unwrap();
    let catalog = open(Arc::clone(&store), Settings::default()).await.unwrap();
    assert_eq!(header(&catalog), before);
    assert_eq!(catalog.snapshot().number(), 2);
    assert_eq!(ids(&catalog).len() as u128, BUCKETS + 1);
}
