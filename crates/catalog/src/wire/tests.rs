//! Changes and errors come back as they were sent; garbage is refused.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use model::{BucketState, BucketSummary, EventTime, IndexName, Lane};
use proptest::prelude::*;

use super::*;

fn stream() -> StreamId {
    let indexer = IndexerId(uuid::Uuid::from_u128(5));
    StreamId { indexer, set: 258, index: IndexName::new("main").unwrap(), lane: Lane::FIRST }
}

fn id(number: u128) -> BucketId {
    BucketId(uuid::Uuid::from_u128(number))
}

fn commit() -> Commit {
    let time = EventTime(7);
    let rules = vec![("syslog".to_owned(), 8)];
    let summary = BucketSummary { raw_bytes: 4, rules, ..BucketSummary::bare(3, time, time) };
    let add = |number: u128, path: &str| BucketEntry {
        id: id(number),
        index: IndexName::new("main").unwrap(),
        path: path.to_owned(),
        size: 9,
        state: BucketState::Thawed,
        summary: Arc::new(summary.clone()),
    };
    let from = Some(JournalPosition(0));
    let (stream, upto) = (stream(), JournalPosition(u64::MAX));
    Commit {
        add: vec![add(1, "buckets/main/elsewhere.parquet"), add(2, "b")],
        remove: vec![id(3)],
        expect: vec![id(4), id(5)],
        ranges: vec![
            JournalRange { stream: stream.clone(), from, upto, epoch: 3 },
            JournalRange { stream: stream.clone(), from: None, upto, epoch: 0 },
        ],
        take_over: vec![Takeover {
            indexer: stream.indexer,
            set: 1,
            epoch: u64::MAX,
            owner: IndexerId(uuid::Uuid::from_u128(6)),
        }],
        discard: vec![Discarded { path: "c".to_owned(), delete_after: EventTime(-1) }],
        forget: vec!["d".to_owned()],
    }
}

fn sent(request: &CommitRequest) -> Result<Wanted, Damage> {
    wanted(CommitRequest::decode(request.encode_to_vec().as_slice()).unwrap())
}

#[test]
fn changes_come_back() {
    let Wanted::Commit(found) = sent(&commit_request(&commit()).unwrap()).unwrap() else {
        panic!("it is a commit")
    };
    assert_eq!(found, commit());
    let document = |name: &str, json| ("user".to_owned(), name.to_owned(), json);
    let after = vec![
        document("a", Some(serde_json::json!({"b": [1, null]}))),
        document("c", Some(serde_json::Value::Null)),
        document("d", None),
    ];
    let before = vec![document("a", None), document("d", Some(serde_json::json!(1)))];
    let documents = Documents { after, before };
    let request = documents_request(&documents).unwrap();
    let Wanted::Documents(found) = sent(&request).unwrap() else { panic!("it is documents") };
    assert_eq!(found, documents);
    let both = CommitRequest { forget: vec!["a".to_owned()], ..request };
    assert!(sent(&both).is_err());
}

#[test]
fn a_bucket_needs_its_own_summary() {
    let whole = commit_request(&commit()).unwrap();
    let mut alone = whole.clone();
    alone.add.pop();
    assert!(sent(&alone).is_err());
    let mut swapped = whole;
    swapped.add.swap(1, 3);
    assert!(sent(&swapped).is_err());
}

#[test]
fn errors_come_back() {
    let path = || "catalog".to_owned();
    let text = |text: &str| text.to_owned();
    let owner = IndexerId(uuid::Uuid::from_u128(9));
    let errors = [
        Error::Fenced { path: path() },
        Error::Closed { path: path() },
        Error::Slow { path: path(), seconds: 20, reason: text("slow") },
        Error::Conflict { path: path(), id: id(1) },
        Error::Gone { path: path(), id: id(2) },
        Error::Overlap { path: path(), stream: Box::new(stream()), records: (1, 9), known: 5 },
        Error::OldEpoch {
            path: path(),
            indexer: stream().indexer,
            set: 3,
            epoch: 1,
            known: 2,
            owner,
        },
        Error::Changed { path: path(), kind: text("peer"), name: text("a") },
        Error::OtherCatalog { reason: text("another id") },
        Error::Invalid { path: path(), what: text("a commit"), reason: text("bad") },
        Error::Corrupt { path: path(), key: text("k"), reason: text("bad") },
        Error::Version { path: path(), key: text("k"), found: 9, known: 2 },
    ];
    for error in errors {
        let found = error_of(&status(&error)).unwrap();
        assert_eq!(format!("{found:?}"), format!("{error:?}"));
    }
    let error = Error::Store { path: path(), what: "commit", reason: text("it is away") };
    let found = error_of(&status(&error)).unwrap();
    assert_eq!(found.kind(), error.kind());
    assert!(found.to_string().contains("its leader cannot commit: it is away"), "{found}");
    assert!(error_of(&Status::unavailable("gone")).is_none());
}

proptest! {
    #[test]
    fn any_bytes_are_a_change_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        if let Ok(request) = CommitRequest::decode(bytes.as_slice()) {
            let _ = wanted(request);
        }
        let _ = error_of(&Status::with_details(Code::Internal, "", bytes.into()));
    }

    #[test]
    fn so_is_any_change_of_a_byte(at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let mut bytes = commit_request(&commit()).unwrap().encode_to_vec();
        let at = at.index(bytes.len());
        bytes[at] = byte;
        if let Ok(request) = CommitRequest::decode(bytes.as_slice()) {
            let _ = wanted(request);
        }
    }
}
