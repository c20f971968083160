//! Entry points for fuzzing: encoded entries.

use std::hint::black_box;
use std::sync::Arc;

use model::{
    BucketEntry, BucketHeader, BucketId, BucketState, BucketSummary, ColumnKind, EventTime,
    FieldSummary, IndexName, IndexerId, JournalPosition, Lane, StreamId, ValueCount,
};

use crate::codec;

/// Decodes an entry.
pub fn entry(key: &[u8], value: &[u8]) {
    let _ = black_box(codec::decode(key, value, &mut codec::Shared::default()));
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
        (codec::NUMBER.to_vec(), codec::number_value(7)),
        (codec::owner_key(stream.indexer, 0), codec::owner_value(7, stream.indexer)),
        (codec::position_key(&stream), codec::position_value(JournalPosition(7))),
        (codec::discarded_key("buckets/main/a.parquet"), codec::time_value(EventTime(7))),
    ];
    if let Ok(value) = codec::json_value(&document) {
        entries.push((codec::document_key("user", "a"), value.clone()));
        entries.push((codec::bucket_key(BucketId(uuid::Uuid::from_u128(2))), value));
    }
    let bucket = bucket();
    let header = codec::header_value(&BucketHeader::of(&bucket));
    entries.push((codec::header_key(&bucket.index, bucket.id), header));
    if let Ok((value, _)) = codec::summary_value(&bucket.summary) {
        entries.push((codec::summary_key(bucket.id), value));
    }
    entries
}

fn bucket() -> BucketEntry {
    let time = EventTime(1_700_000_000_000_000);
    let value = |value: &str| ValueCount {
        value: value.to_owned(),
        count: 7,
        first_time: time,
        last_time: time,
        recent_time: time,
    };
    let field = FieldSummary {
        name: "status".to_owned(),
        count: 7,
        column: Some(ColumnKind::Integer),
        indexed: false,
        multivalue: false,
        distinct: Some(3),
    };
    let summary = BucketSummary {
        rows: 7,
        raw_bytes: 700,
        first_time: time,
        last_time: time,
        first_index_time: time,
        last_index_time: time,
        hosts: vec![value("web-1"), value("web-2")],
        sources: vec![value("/var/log/messages")],
        sourcetypes: vec![value("syslog")],
        fields: vec![field],
        fields_complete: true,
        rules: vec![("syslog".to_owned(), 77)],
    };
    BucketEntry {
        id: BucketId(uuid::Uuid::from_u128(2)),
        index: IndexName::new("main").expect("it is a name"),
        path: "buckets/main/a.parquet".to_owned(),
        size: 70,
        state: BucketState::Warm,
        summary: Arc::new(summary),
    }
}
