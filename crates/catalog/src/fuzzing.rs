//! Entry points for fuzzing: encoded entries.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::sync::Arc;

use model::{
    BucketEntry, BucketHeader, BucketId, BucketState, BucketSummary, ColumnKind, EventTime,
    FieldSummary, IndexName, IndexerId, JournalPosition, Lane, StreamId, ValueCount,
};

use crate::buckets::{Buckets, Chunk};
use crate::codec;

/// Decodes an entry.
pub fn entry(key: &[u8], value: &[u8]) {
    let mut shared = codec::Shared::default();
    if !codec::is_repetition(key) {
        let _ = black_box(codec::decode(key, value, &mut shared));
        return;
    }
    let _ = black_box(codec::number_in(key));
    let _ = black_box(codec::pack_list(value));
    let _ = black_box(codec::read_log(value, |key, header| {
        let decoded = header.map(|header| codec::decode(key, header, &mut shared));
        black_box(decoded).transpose().map(drop)
    }));
    if let Ok(columns) = codec::pack_body(value) {
        let _ = black_box(Chunk::decode(&columns, &mut shared));
    }
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
    let header = BucketHeader::of(&bucket);
    let (key, value) = (codec::header_key(&bucket.index, bucket.id), codec::header_value(&header));
    let log = BTreeMap::from([(key.clone(), Some(value.clone())), (vec![b'h', b'x'], None)]);
    entries.push((codec::log_key(7), codec::log_value(&log).0));
    entries.push((key, value));
    let mut buckets = Buckets::default();
    buckets.insert(header);
    let packs = buckets.chunks().iter().map(|chunk| codec::pack_value(&chunk.encoded()));
    entries.extend(packs.flatten().map(|value| (codec::pack_key(7), value)));
    let (cleaned, next, packs) = (3, 8, vec![7, 2]);
    let list = codec::PackList { number: 7, buckets: 2, ids: 9, cleaned, next, packs };
    entries.push((codec::PACK_LIST.to_vec(), codec::pack_list_value(&list)));
    if let Ok((value, _)) = codec::summary_value(&bucket.summary) {
        entries.push((codec::summary_key(bucket.id), value));
    }
    entries
}

/// A write that moves a bucket to another index.
#[cfg(test)]
pub(crate) struct Move {
    /// The header before the write.
    pub(crate) before: BucketHeader,
    /// The header after the write.
    pub(crate) after: BucketHeader,
    /// The entries of the write: the new header, then the deletion of the old one, which names the same ID.
    pub(crate) entries: BTreeMap<Vec<u8>, Option<Vec<u8>>>,
}

/// A bucket of index `web` that a write moves to index `main`.
#[cfg(test)]
pub(crate) fn moved_bucket() -> Move {
    let (key, value) = entries().into_iter().find(|(key, _)| key[0] == b'h').expect("a header");
    let entry = codec::decode(&key, &value, &mut codec::Shared::default());
    let Ok(codec::Entry::Header(after)) = entry else { panic!("it is a header") };
    let index = IndexName::new("web").expect("it is a name");
    let deleted = codec::header_key(&index, after.id);
    assert!(key < deleted, "the deletion is the last entry");
    let before = BucketHeader { index, ..(*after).clone() };
    let entries = BTreeMap::from([(key, Some(value)), (deleted, None)]);
    Move { before, after: *after, entries }
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
