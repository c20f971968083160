//! Buckets and commits of the catalog's tests.

use std::sync::Arc;

use karst_catalog::{Catalog, Discarded, Error, JournalRange, Settings};
use model::{
    BucketEntry, BucketId, BucketState, BucketSummary, EventTime, IndexName, IndexerId,
    JournalPosition, StreamId,
};
use object_store::ObjectStore;

pub fn index(name: &str) -> IndexName {
    IndexName::new(name).unwrap()
}

pub fn id(number: u128) -> BucketId {
    BucketId(uuid::Uuid::from_u128(number))
}

/// A bucket of `main` whose events lie in `[first, last]` microseconds.
pub fn bucket(number: u128, first: i64, last: i64) -> BucketEntry {
    let value = model::ValueCount {
        value: format!("host-{number}"),
        count: 10,
        first_time: EventTime(first),
        last_time: EventTime(last),
        recent_time: EventTime(last),
    };
    let index = index("main");
    BucketEntry {
        id: id(number),
        path: id(number).object_path(&index, "20261120"),
        index,
        size: 1000,
        state: BucketState::Warm,
        summary: Arc::new(BucketSummary {
            raw_bytes: 900,
            hosts: vec![value.clone()],
            sources: vec![value.clone()],
            sourcetypes: vec![value],
            ..BucketSummary::bare(10, EventTime(first), EventTime(last))
        }),
    }
}

pub fn indexer() -> IndexerId {
    IndexerId(uuid::Uuid::from_u128(77))
}

pub fn stream() -> StreamId {
    StreamId { indexer: indexer(), set: 0, index: index("main"), lane: model::Lane::FIRST }
}

/// The stream up to a position.
pub fn at(position: u64) -> Vec<JournalRange> {
    vec![JournalRange { stream: stream(), from: None, upto: JournalPosition(position), epoch: 0 }]
}

/// An object that may be deleted after a time.
pub fn discarded(path: &str, at: i64) -> Discarded {
    Discarded { path: path.to_owned(), delete_after: EventTime(at) }
}

/// Records of the stream.
pub fn records(from: u64, upto: u64) -> Vec<JournalRange> {
    let from = Some(JournalPosition(from));
    vec![JournalRange { stream: stream(), from, upto: JournalPosition(upto), epoch: 0 }]
}

pub async fn open(store: Arc<dyn ObjectStore>, settings: Settings) -> Result<Catalog, Error> {
    Catalog::open(store, "catalog", settings, Arc::new(runtime::SystemClock)).await
}

/// Ids of all buckets of `main`, sorted.
pub fn ids(catalog: &Catalog) -> Vec<u128> {
    let snapshot = catalog.snapshot();
    let mut ids: Vec<u128> =
        snapshot.buckets(&index("main")).iter().map(|bucket| bucket.id.0.as_u128()).collect();
    ids.sort_unstable();
    ids
}

/// All buckets of `main` with their summaries, by ID.
pub async fn entries(catalog: &Catalog) -> Vec<BucketEntry> {
    let snapshot = catalog.snapshot();
    let mut headers: Vec<_> = snapshot.buckets(&index("main")).iter().collect();
    headers.sort_by_key(|header| header.id);
    let ids: Vec<_> = headers.iter().map(|header| header.id).collect();
    let summaries = catalog.summaries(&ids).await.unwrap();
    let both = headers.into_iter().zip(summaries);
    both.map(|(header, summary)| header.with_summary(summary.unwrap())).collect()
}
