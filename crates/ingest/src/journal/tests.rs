//! What is written is read back; what is torn or damaged costs only itself.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;
use std::sync::Arc;

use model::{EventBatch, EventBatchBuilder, EventTime, IndexName, JournalPosition, Lane, Origin};
use proptest::prelude::*;

use super::*;

#[test]
fn an_arbitrary_cut_keeps_a_prefix() {
    let config = ProptestConfig { cases: 60, failure_persistence: None, ..Default::default() };
    proptest!(config, |(batches in prop::collection::vec(any_batch(), 1..6), cut in 0usize..1000)| {
        let directory = tempfile::tempdir().unwrap();
        let path = write(directory.path(), &batches);
        prop_assert_eq!(&read(&path).0, &batches);
        let bytes = fs::read(&path).unwrap();
        let keep = bytes.len() * cut / 1000;
        fs::write(&path, &bytes[..keep]).unwrap();
        let (kept, scan) = read(&path);
        prop_assert!(batches.starts_with(&kept));
        prop_assert!(scan.damage.is_empty());
        prop_assert!(scan.whole <= keep as u64);
    });
}

#[test]
fn a_damaged_record_is_named_and_the_others_are_recovered() {
    let directory = tempfile::tempdir().unwrap();
    let batches: Vec<_> = (0..3).map(|i| batch(&[(i, &format!("event {i}"))])).collect();
    let path = write(directory.path(), &batches);
    let mut bytes = fs::read(&path).unwrap();
    let middle = memchr::memmem::find(&bytes, b"event 1").unwrap();
    bytes[middle] ^= 1;
    fs::write(&path, &bytes).unwrap();
    let (kept, scan) = read(&path);
    assert_eq!(kept, [batches[0].clone(), batches[2].clone()]);
    let text = scan.damage[0].to_string();
    assert!(text.contains("is damaged at byte") && text.contains(".journal"), "{text}");
}

#[test]
fn a_segment_goes_when_all_its_streams_are_committed_beyond_it() {
    let directory = tempfile::tempdir().unwrap();
    let mut journal = open(directory.path(), 1);
    for position in 1..=3 {
        append(&mut journal, &batch(&[(0, "x")]), position);
    }
    assert_eq!(journal.segment_count(), 3);
    journal.release(|_| Some(JournalPosition(2)));
    assert_eq!(journal.segment_count(), 1);
    journal.release(|_| Some(JournalPosition(3)));
    assert_eq!(segments(directory.path()).unwrap(), Vec::<std::path::PathBuf>::new());
}

/// As when a data directory is moved away, and another server is started at its path.
#[test]
fn a_journal_that_was_replaced_removes_nothing_of_the_other_one() {
    let root = tempfile::tempdir().unwrap();
    let (path, moved) = (root.path().join("0"), root.path().join("moved"));
    let mut first = open(&path, 1);
    append(&mut first, &batch(&[(0, "first")]), 1);
    append(&mut first, &batch(&[(0, "first")]), 2);
    fs::rename(&path, &moved).unwrap();
    let mut second = open(&path, 1);
    append(&mut second, &batch(&[(0, "second")]), 1);
    append(&mut second, &batch(&[(0, "second")]), 2);
    let list = fs::read(path.join("state/0.segments")).unwrap();
    append(&mut first, &batch(&[(0, "first")]), 3);
    assert_eq!(segments(&moved).unwrap().len(), 3);
    first.release(|_| Some(JournalPosition(3)));
    assert_eq!(segments(&moved).unwrap(), Vec::<std::path::PathBuf>::new());
    assert_eq!(segments(&path).unwrap().len(), 2);
    assert_eq!(fs::read(path.join("state/0.segments")).unwrap(), list);
}

#[test]
fn a_segment_that_is_removed_or_replaced_while_it_is_written_to_is_lost() {
    let root = tempfile::tempdir().unwrap();
    for case in ["removed", "renamed", "replaced", "sealed", "cut", "directory"] {
        let path = root.path().join(case);
        let mut journal = open(&path, 1 << 20);
        assert_eq!(journal.look().loss(), None);
        append(&mut journal, &batch(&[(0, "x")]), 1);
        assert_eq!(journal.look().loss(), None);
        let segment = segments(&path).unwrap().pop().unwrap();
        match case {
            "replaced" => {
                fs::copy(&segment, path.join("copy")).unwrap();
                fs::rename(path.join("copy"), &segment).unwrap();
            }
            // As a network file system removes a file that is open.
            "renamed" => fs::rename(&segment, path.join(".nfs0001")).unwrap(),
            "directory" => fs::remove_dir_all(&path).unwrap(),
            _ => fs::remove_file(&segment).unwrap(),
        }
        if case == "sealed" {
            append(&mut journal, &batch(&[(0, &*"x".repeat(1 << 20))]), 2);
            append(&mut journal, &batch(&[(0, "x")]), 3);
            assert!(segments(&path).unwrap().pop().is_some_and(|newest| newest != segment));
        }
        if case == "cut" {
            // As after a failed write.
            journal.cut_back();
            append(&mut journal, &batch(&[(0, "x")]), 2);
        }
        let loss = journal.look().loss().unwrap();
        assert!(loss.starts_with(path.to_str().unwrap()), "{loss}");
        assert!(loss.ends_with("was removed") || loss.ends_with("was replaced"), "{loss}");
        journal.release(|_| Some(JournalPosition(9)));
        assert_eq!(journal.segment_count(), 0);
    }
}

#[test]
fn a_sealed_segment_that_is_there_again_is_not_lost() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("0");
    let mut journal = open(&path, 1);
    append(&mut journal, &batch(&[(0, "x")]), 1);
    let segment = segments(&path).unwrap().pop().unwrap();
    fs::rename(&segment, path.join("away")).unwrap();
    append(&mut journal, &batch(&[(0, "x")]), 2);
    assert!(journal.look().loss().unwrap().ends_with("was removed"));
    fs::rename(path.join("away"), &segment).unwrap();
    assert_eq!(journal.look().loss(), None);
    journal.release(|_| Some(JournalPosition(1)));
    assert!(!segment.exists());
    assert_eq!(journal.look().loss(), None, "the journal has removed it");
}

#[test]
fn all_codecs_and_roll_notes_are_read_back() {
    let original = batch(&[(5, "a"), (3, &*"b".repeat(999)), (i64::MIN, "c"), (i64::MAX, "")]);
    for codec in [Codec::None, Codec::Lz4, Codec::Zstd] {
        let bytes = Encoder::new(codec).batch(&original, 9, Lane::QUARANTINE, JournalPosition(7));
        let (header, index) = record::Header::read(&bytes).unwrap();
        let payload = &bytes[record::HEADER + index.len()..];
        let Record::Batch(decoded) = record::decode(&header, index, payload).unwrap() else {
            panic!("a batch was written")
        };
        assert_eq!(decoded.batch, original);
        assert_eq!((decoded.first_index_time, decoded.lane), (9, Lane::QUARANTINE));
    }
}

fn write(directory: &Path, batches: &[EventBatch]) -> std::path::PathBuf {
    let mut journal = open(directory, 1 << 30);
    for (i, batch) in batches.iter().enumerate() {
        append(&mut journal, batch, i as u64 + 1);
    }
    segments(directory).unwrap().pop().unwrap()
}

fn open(directory: &Path, segment_bytes: u64) -> Journal {
    let indexer = model::IndexerId(uuid::Uuid::nil());
    let (ledger, _) = Ledger::open(&directory.join("state"), 0, indexer).unwrap();
    Journal::open(directory, segment_bytes, ledger).unwrap()
}

fn append(journal: &mut Journal, batch: &EventBatch, position: u64) {
    let position = JournalPosition(position);
    let bytes = Encoder::new(Codec::None).batch(batch, 1, Lane::FIRST, position);
    let stream = (batch.index.clone(), Lane::FIRST);
    journal
        .append(&[Pending { stream, position, events: batch.rows() as u64, bytes: &bytes }])
        .unwrap();
}

fn read(path: &Path) -> (Vec<EventBatch>, Scan) {
    let mut batches = Vec::new();
    let scan = scan_segment(path, |record| {
        if let Record::Batch(record) = record {
            batches.push(record.batch);
        }
    });
    (batches, scan.unwrap())
}

fn any_batch() -> impl Strategy<Value = EventBatch> {
    let event = (any::<i64>(), "\\PC{0,40}", prop::option::of("[a-z]{1,5}"));
    prop::collection::vec(event, 0..20).prop_map(|events| {
        let mut builder = EventBatchBuilder::new(origin().index.clone(), 0);
        for (time, text, field) in &events {
            builder.push(&origin(), EventTime(*time), text);
            if let Some(field) = field {
                builder.push_field(field.as_str().into(), text);
            }
        }
        builder.finish()
    })
}

fn batch(events: &[(i64, &str)]) -> EventBatch {
    let mut builder = EventBatchBuilder::new(origin().index.clone(), 0);
    for (time, text) in events {
        builder.push(&origin(), EventTime(*time), text);
    }
    builder.finish()
}

fn origin() -> Arc<Origin> {
    Arc::new(Origin {
        index: IndexName::new("main").unwrap(),
        host: "h".into(),
        source: "s".into(),
        sourcetype: "t".into(),
    })
}
