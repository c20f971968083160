//! Buckets for the tests of the decisions.

use std::sync::Arc;

use model::{BucketHeader, BucketId, BucketState, EventTime, IndexName};

/// A warm bucket with events from `first` to `last` seconds and as many bytes of text as of object.
pub(super) fn bucket(number: u128, first: i64, last: i64, bytes: u64) -> Arc<BucketHeader> {
    let time = |seconds: i64| EventTime(seconds * 1_000_000);
    Arc::new(BucketHeader {
        id: BucketId(uuid::Uuid::from_u128(number)),
        index: IndexName::new("main").expect("a valid name"),
        other_path: None,
        size: bytes,
        rows: 1,
        raw_bytes: bytes,
        first_time: time(first),
        last_time: time(last),
        first_index_time: time(first),
        last_index_time: time(last),
        version: 0,
        fingerprint: 0,
        shape: None,
        state: BucketState::Warm,
        fields_complete: true,
        summary_rows: false,
    })
}
