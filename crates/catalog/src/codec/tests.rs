//! Entries come back as they were written; whatever else is refused.
#![allow(clippy::unwrap_used)]

use model::{BucketState, ColumnKind, FieldSummary, ValueCount};
use proptest::prelude::*;

use super::*;

fn decode_one(key: &[u8], value: &[u8]) -> Result<Entry, Damage> {
    decode(key, value, &mut Shared::default())
}

fn entry(state: BucketState) -> BucketEntry {
    let value = |value: &str, count: u64| ValueCount {
        value: value.to_owned(),
        count,
        first_time: EventTime(-5),
        last_time: EventTime(i64::MAX),
        recent_time: EventTime(i64::MIN),
    };
    let field = |name: &str, column, distinct: Option<u64>| FieldSummary {
        name: name.to_owned(),
        count: 7,
        column,
        indexed: distinct.is_some(),
        multivalue: column == Some(ColumnKind::Multivalue),
        distinct,
    };
    let summary = BucketSummary {
        rows: u64::MAX,
        raw_bytes: 0,
        first_time: EventTime(-1),
        last_time: EventTime(i64::MAX),
        first_index_time: EventTime(1_700_000_000_000_000),
        last_index_time: EventTime(i64::MIN),
        hosts: (0..300).map(|host| value(&format!("host-{host}"), host)).collect(),
        sources: vec![value("/var/log/messages", 9)],
        sourcetypes: vec![value("syslog", 5), value("", u64::MAX)],
        fields: vec![
            field("a", None, None),
            field("b", Some(ColumnKind::Text), Some(3)),
            field("c", Some(ColumnKind::Integer), None),
            field("d", Some(ColumnKind::Multivalue), Some(u64::MAX)),
            field("psrsvd_v", None, None),
        ],
        fields_complete: true,
        rules: vec![("syslog".to_owned(), u64::MAX), ("x".to_owned(), 0)],
    };
    let path = "buckets/main/20261120/a.parquet".to_owned();
    let (id, index) = (BucketId(uuid::Uuid::from_u128(7)), IndexName::new("main").unwrap());
    BucketEntry { id, index, path, size: 9, state, summary: Arc::new(summary) }
}

#[test]
fn headers_and_summaries_come_back() {
    for state in [BucketState::Warm, BucketState::Thawed, BucketState::Frozen] {
        let entry = entry(state);
        let (value, fingerprint) = summary_value(&entry.summary).unwrap();
        let header = BucketHeader { version: 77, fingerprint, ..BucketHeader::of(&entry) };
        let key = header_key(&entry.index, entry.id);
        let found = decode_one(&key, &header_value(&header)).unwrap();
        assert_eq!(found, Entry::Header(Box::new(header)));
        let found = decode_one(&summary_key(entry.id), &value).unwrap();
        assert_eq!(found, Entry::Summary(entry.id, entry.summary));
    }
}

#[test]
fn headers_share_what_they_have_in_common() {
    let mut shared = Shared::default();
    let header = BucketHeader::of(&entry(BucketState::Warm));
    let value = header_value(&header);
    let mut decoded = || match decode(&header_key(&header.index, header.id), &value, &mut shared) {
        Ok(Entry::Header(header)) => header.shape.unwrap(),
        other => panic!("{other:?}"),
    };
    let (first, second) = (decoded(), decoded());
    assert!(Arc::ptr_eq(&first, &second));
    let third = shared.share(header).unwrap().shape.unwrap();
    assert!(Arc::ptr_eq(&first, &third));
}

#[test]
fn a_large_shape_stays_in_the_summary() {
    let mut entry = entry(BucketState::Warm);
    let summary = Arc::make_mut(&mut entry.summary);
    summary.rules = (0..500).map(|at| (format!("sourcetype-{at}"), at)).collect();
    let header = BucketHeader::of(&entry);
    let value = header_value(&header);
    assert!(value.len() < 200, "{}", value.len());
    let found = decode_one(&header_key(&entry.index, entry.id), &value).unwrap();
    assert_eq!(found, Entry::Header(Box::new(BucketHeader { shape: None, ..header })));
}

#[test]
fn every_cut_and_every_byte_too_many_is_refused() {
    let entry = entry(BucketState::Warm);
    let (key, value) =
        (header_key(&entry.index, entry.id), header_value(&BucketHeader::of(&entry)));
    for cut in 0..value.len() {
        assert!(decode_one(&key, &value[..cut]).is_err(), "{cut} bytes");
    }
    let longer = [value.as_slice(), &[0]].concat();
    let damage = decode_one(&key, &longer).unwrap_err().at("catalog", &key).to_string();
    assert!(damage.contains("left over") && damage.contains("hmain\\x00"), "{damage}");
}

#[test]
fn a_newer_format_is_named_and_not_misread() {
    for key in [document_key("user", "a"), b"q".to_vec(), summary_key(entry(BucketState::Warm).id)]
    {
        let damage = decode_one(&key, &[9, 1, 2]).unwrap_err();
        let text = damage.at("catalog", b"duser\0a").to_string();
        assert!(text.contains("format 9") && text.contains("duser\\x00a"), "{text}");
    }
    let damage = decode_one(&document_key("user", "a"), &[2, 1]).unwrap_err();
    assert!(damage.at("catalog", b"d").to_string().contains("format 2 instead of 1"));
}

#[test]
fn owners_come_back() {
    let (indexer, owner) =
        (IndexerId(uuid::Uuid::from_u128(1)), IndexerId(uuid::Uuid::from_u128(2)));
    let found = decode_one(&owner_key(indexer, 258), &owner_value(7, owner)).unwrap();
    assert_eq!(found, Entry::Owner(indexer, 258, 7, owner));
    assert!(decode_one(&owner_key(indexer, 258), &owner_value(7, owner)[..20]).is_err());
}

proptest! {
    #[test]
    fn positions_come_back(id: u128, set: u16, lane: u8, at: u64) {
        let stream = StreamId {
            indexer: IndexerId(uuid::Uuid::from_u128(id)),
            set,
            index: IndexName::new("main").unwrap(),
            lane: Lane::from_tag(lane),
        };
        let entry = decode_one(&position_key(&stream), &position_value(JournalPosition(at))).unwrap();
        prop_assert_eq!(entry, Entry::Position(stream, JournalPosition(at)));
    }

    #[test]
    fn any_bytes_decode_or_are_refused(key: Vec<u8>, value: Vec<u8>) {
        let _ = decode_one(&key, &value);
    }

    #[test]
    fn any_header_and_summary_decode_or_are_refused(body: Vec<u8>) {
        let _ = header::decode(b"main\x000123456789abcdef", &body, &mut Shared::default());
        let _ = summary::decode(&body);
    }

    #[test]
    fn damaged_documents_are_refused_or_differ(at in 1_usize..60, flip in 1_u8..) {
        let json = serde_json::json!({"roles": ["admin"], "hash": "0123456789abcdef"});
        let mut value = json_value(&json).unwrap();
        let at = at % value.len();
        value[at] ^= flip;
        // The database verifies blocks itself; here it is enough not to panic.
        let _ = decode_one(&document_key("user", "a"), &value);
    }
}
