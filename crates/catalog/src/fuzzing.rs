//! Entry points for fuzzing: encoded entries.

use std::hint::black_box;

use model::{EventTime, IndexName, IndexerId, JournalPosition, Lane, StreamId};

use crate::codec;

/// Decodes an entry.
pub fn entry(key: &[u8], value: &[u8]) {
    let _ = black_box(codec::decode(key, value));
}

/// Valid entries.
#[must_use]
pub fn entries() -> Vec<(Vec<u8>, Vec<u8>)> {
    let stream = StreamId {
        indexer: IndexerId(uuid::Uuid::from_u128(1)),
        set: 0,
        index: IndexName::new("main").expect("it is a name"),
        lane: Lane::FIRST,
    };
    let document = serde_json::json!({"name": "a", "roles": ["x", "y"], "number": 7});
    let mut entries = vec![
        (codec::position_key(&stream), codec::position_value(JournalPosition(7))),
        (codec::discarded_key("buckets/main/a.parquet"), codec::time_value(EventTime(7))),
    ];
    if let Ok(value) = codec::json_value(&document) {
        entries.push((codec::document_key("user", "a"), value.clone()));
        entries.push((codec::bucket_key(model::BucketId(uuid::Uuid::from_u128(2))), value));
    }
    entries
}
