//! Buckets for the tests of the decisions.

use std::sync::Arc;

use model::{BucketEntry, BucketId, BucketState, BucketSummary, EventTime, IndexName};

/// A warm bucket with events from `first` to `last` seconds and as many bytes of text as of object.
pub(super) fn bucket(number: u128, first: i64, last: i64, bytes: u64) -> Arc<BucketEntry> {
    let index = IndexName::new("main").expect("a valid name");
    let id = BucketId(uuid::Uuid::from_u128(number));
    let time = |seconds: i64| EventTime(seconds * 1_000_000);
    Arc::new(BucketEntry {
        id,
        path: id.object_path(&index, "20261120"),
        index,
        size: bytes,
        state: BucketState::Warm,
        summary: BucketSummary {
            rows: 1,
            raw_bytes: bytes,
            first_time: time(first),
            last_time: time(last),
            first_index_time: time(first),
            last_index_time: time(last),
            hosts: vec![],
            sources: vec![],
            sourcetypes: vec![],
            fields: vec![],
            fields_complete: true,
            rules: vec![],
        },
    })
}
