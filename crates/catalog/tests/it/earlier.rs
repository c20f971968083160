//! Catalogs of earlier versions, in which a bucket was one entry.

use std::sync::Arc;

use futures::TryStreamExt;
use karst_catalog::{Catalog, Commit, Error, Settings};
use model::{BucketEntry, BucketState};
use object_store::ObjectStoreExt as _;
use object_store::memory::InMemory;
use object_store::{ObjectStore, PutPayload};
use object_store_slatedb::{self as theirs, ObjectStore as _, ObjectStoreExt as _};
use slatedb::Db;

use super::support::{bucket, entries, id, index, indexer, open, stream};

/// Buckets by ID.
pub fn buckets(count: u128) -> Vec<BucketEntry> {
    let one = |number: u128| {
        let time = i64::try_from(number).unwrap() * 10;
        let mut entry = bucket(number, time, time + 9);
        if number.is_multiple_of(5) {
            entry.state = BucketState::Thawed;
            entry.path = format!("buckets/main/thawed-{number}.parquet");
        }
        entry
    };
    (1..=count).map(one).collect()
}

/// Writes a catalog as version 1 wrote it.
pub async fn earlier_version(store: &Arc<dyn ObjectStore>, buckets: &[BucketEntry]) {
    let memory: Arc<dyn theirs::ObjectStore> = Arc::new(theirs::memory::InMemory::new());
    let database = Db::builder("catalog", Arc::clone(&memory)).build().await.unwrap();
    let json = |json: Vec<u8>| [vec![1], zstd::bulk::compress(&json, 3).unwrap()].concat();
    let mut batch = slatedb::WriteBatch::new();
    for entry in buckets {
        let key = [b"b".as_slice(), entry.id.0.as_bytes()].concat();
        batch.put(key, json(serde_json::to_vec(entry).unwrap()));
    }
    let document = serde_json::json!({"roles": ["admin"]}).to_string();
    batch.put(b"duser\0admin", json(document.into_bytes()));
    let position = [b"p".as_slice(), indexer().0.as_bytes(), &[0, 0, 0], b"main"].concat();
    batch.put(position, [vec![1], 7_u64.to_be_bytes().to_vec()].concat());
    database.write(batch).await.unwrap();
    database.close().await.unwrap();
    let objects: Vec<_> = memory.list(None).try_collect().await.unwrap();
    for object in objects {
        let bytes = memory.get(&object.location).await.unwrap().bytes().await.unwrap();
        let path = object_store::path::Path::from(object.location.as_ref());
        store.put(&path, PutPayload::from(bytes)).await.unwrap();
    }
}

async fn check(catalog: &Catalog, all: &[BucketEntry]) {
    assert!(entries(catalog).await == all);
    let documents = catalog.documents("user").await;
    assert_eq!(documents[0].json["roles"][0], "admin");
    let positions = catalog.positions(indexer()).await;
    assert_eq!(positions, [(stream(), model::JournalPosition(7))]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn it_is_rewritten_once_when_it_is_opened() {
    let store: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
    let mut all = buckets(1_300);
    earlier_version(&store, &all).await;
    let before = karst_catalog::salvage(&store, "catalog").await.unwrap();
    assert_eq!((before.damage, before.buckets.len()), (vec![], all.len()));

    let catalog = open(Arc::clone(&store), Settings::default()).await.unwrap();
    check(&catalog, &all).await;
    // A commit of before is still a repetition, and another bucket of the same ID a conflict.
    let again = Commit { add: vec![all[3].clone()], ..Commit::default() };
    catalog.commit(again).await.unwrap();
    assert_eq!(catalog.snapshot().number(), 0, "nothing was written");
    let mut other = all[3].clone();
    Arc::make_mut(&mut other.summary).hosts[0].count += 1;
    let error = catalog.commit(Commit { add: vec![other], ..Commit::default() }).await.unwrap_err();
    assert!(matches!(error, Error::Conflict { .. }), "{error:?}");
    let remove = Commit { remove: vec![id(1)], ..Commit::default() };
    catalog.commit(remove).await.unwrap();
    all.remove(0);
    check(&catalog, &all).await;
    catalog.close().await.unwrap();

    let catalog = open(Arc::clone(&store), Settings::default()).await.unwrap();
    check(&catalog, &all).await;
    assert_eq!(catalog.snapshot().buckets(&index("main")).len(), all.len());
    let mut after = karst_catalog::salvage(&store, "catalog").await.unwrap();
    after.buckets.sort_by_key(|bucket| bucket.id);
    assert_eq!(after.damage, Vec::<String>::new());
    assert!(after.buckets == all);
}
