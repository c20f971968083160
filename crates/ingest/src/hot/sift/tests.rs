//! Buckets with events that cannot be encoded.

use std::path::Path;

use bucket::FieldExtractor;
use model::{EventBatchBuilder, EventTime, IndexerId, Lane, Origin};

use super::*;

/// Rules that panic over an event that says so.
#[derive(Debug)]
struct Deadly;

impl FieldSource for Deadly {
    fn extractor(&self, _: &str, _: &str, _: &str) -> Arc<dyn FieldExtractor> {
        Arc::new(Self)
    }
}

impl FieldExtractor for Deadly {
    fn fingerprint(&self) -> u64 {
        1
    }

    fn extract(&self, raw: &str, _: &mut dyn FnMut(&str, &str)) -> bool {
        assert!(!raw.contains("poison"), "the event is poison");
        true
    }
}

#[test]
fn an_event_that_panics_is_set_aside_and_the_others_are_encoded() {
    let directory = tempfile::tempdir().unwrap();
    let sifter = sifter(directory.path(), 1 << 20);
    let mut texts: Vec<String> = (0..300).map(|number| format!("event {number}")).collect();
    texts[17] = "poison one".to_owned();
    texts[299] = "poison two".to_owned();
    let batches = [columns(&texts[..100], 1_000), columns(&texts[100..], 2_000)];
    let index = IndexName::new("main").unwrap();
    let id = BucketId(uuid::Uuid::now_v7());
    let failed = sifter.attempt(id, &index, &batches).unwrap_err();
    let written = sifter.salvage(id, &index, batches.to_vec(), failed).unwrap().unwrap();
    assert_eq!(written.summary.rows, 298);
    let aside = |time: i64| {
        std::fs::read_to_string(directory.path().join(format!("rejected/main/{time}.txt"))).unwrap()
    };
    assert_eq!((&*aside(1_017), &*aside(2_199)), ("poison one", "poison two"));
    assert_eq!(sifter.aside.watch().borrow().events, 2);
}

#[test]
fn a_bucket_of_nothing_else_leaves_no_bucket() {
    let directory = tempfile::tempdir().unwrap();
    let sifter = sifter(directory.path(), 1 << 20);
    let batches = vec![columns(&["poison".to_owned()], 1)];
    let (index, id) = (IndexName::new("main").unwrap(), BucketId(uuid::Uuid::now_v7()));
    let failed = sifter.attempt(id, &index, &batches).unwrap_err();
    assert!(sifter.salvage(id, &index, batches, failed).unwrap().is_none());
}

#[test]
fn where_all_events_fail_none_is_set_aside() {
    let directory = tempfile::tempdir().unwrap();
    let sifter = sifter(directory.path(), 1 << 20);
    let texts = vec!["poison".to_owned(); MOST + 1];
    let batches = vec![columns(&texts, 1)];
    let (index, id) = (IndexName::new("main").unwrap(), BucketId(uuid::Uuid::now_v7()));
    let failed = sifter.attempt(id, &index, &batches).unwrap_err();
    let error = sifter.salvage(id, &index, batches, failed).unwrap_err();
    assert!(error.to_string().contains("the event is poison"), "{error}");
    assert_eq!(sifter.aside.watch().borrow().events, 0);
}

#[test]
fn a_record_of_an_earlier_version_loses_only_what_is_too_large() {
    let directory = tempfile::tempdir().unwrap();
    let sifter = sifter(directory.path(), 100);
    let texts = ["small", &"x".repeat(401), &"y".repeat(400)].map(str::to_owned);
    let kept = sifter.sift(&stream(), JournalPosition(3), batch(&texts), 50);
    assert_eq!((kept.row(0), kept.row(1).len(), kept.rows()), (&b"small"[..], 400, 2));
    let file = directory.path().join("rejected/main/51.json");
    let told = std::fs::read_to_string(file).unwrap();
    assert!(told.contains("maxEventSize") && told.contains("\"bytes\":401"), "{told}");
}

#[test]
fn a_record_that_processes_died_over_is_tried_and_keeps_what_can_be_encoded() {
    let directory = tempfile::tempdir().unwrap();
    for _ in 0..2 {
        let sifter = sifter(directory.path(), 1 << 20);
        let at = JournalPosition(3);
        std::mem::forget(sifter.attempts.begin(&stream(), at, at).unwrap());
    }
    let sifter = sifter(directory.path(), 1 << 20);
    let texts = ["a", "poison", "b"].map(str::to_owned);
    let kept = sifter.sift(&stream(), JournalPosition(3), batch(&texts), 50);
    assert_eq!((kept.row(0), kept.row(1), kept.rows()), (&b"a"[..], &b"b"[..], 2));
    let other = sifter.sift(&stream(), JournalPosition(4), batch(&texts), 60);
    assert_eq!(other.rows(), 3, "nothing is known against the other record");
}

fn sifter(directory: &Path, max_event_size: usize) -> Sifter {
    Sifter {
        fields: Arc::new(Deadly),
        options: WriteOptions::default(),
        max_event_size,
        aside: Arc::new(Aside::open(&directory.join("rejected"), 1 << 30)),
        attempts: Attempts::open(&directory.join("encoding")).unwrap(),
    }
}

fn columns(texts: &[String], first_index_time: i64) -> RecordBatch {
    Rows::new(batch(texts), first_index_time).columns(&bucket::hot_schema()).unwrap()
}

fn batch(texts: &[String]) -> EventBatch {
    let index = IndexName::new("main").unwrap();
    let origin = Arc::new(Origin {
        index: index.clone(),
        host: "h".into(),
        source: "s".into(),
        sourcetype: "t".into(),
    });
    let mut builder = EventBatchBuilder::new(index, 0);
    for text in texts {
        builder.push(&origin, EventTime(1), text);
    }
    builder.finish()
}

fn stream() -> StreamId {
    let (indexer, index) = (IndexerId(uuid::Uuid::nil()), IndexName::new("main").unwrap());
    StreamId { indexer, set: 0, index, lane: Lane::FIRST }
}
