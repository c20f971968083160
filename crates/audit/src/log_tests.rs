//! The trail over its life: many writers, rotation, ends of the process, a disk that is full.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use runtime::SystemClock;

use super::*;
use crate::{Kind, Reader, files, verify_directory};

fn key() -> Key {
    Key::new(&[7; 32])
}

async fn open(directory: &Path, settings: Settings, anchors: Vec<Anchor>) -> Opened {
    let clock = Arc::new(SystemClock);
    AuditLog::open(directory.to_owned(), key(), settings, clock, anchors).await.unwrap()
}

fn record(number: usize) -> Record {
    Record::new("ann", "search", Info::Granted).with("number", number)
}

fn verify(directory: &Path) -> Result<crate::Summary, crate::Finding> {
    verify_directory(directory, &key(), Vec::new(), 1).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn records_of_many_are_written_once_in_one_chain_over_many_files() {
    let folder = tempfile::tempdir().unwrap();
    let settings = Settings { file_bytes: 20_000, ..Settings::default() };
    let log = open(folder.path(), settings, Vec::new()).await.log;
    let tasks: Vec<_> = (0..20)
        .map(|_| {
            let log = log.clone();
            tokio::spawn(async move {
                for number in 0..20 {
                    log.append(record(number)).await.unwrap();
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    log.close().await;
    assert!(fs::read_dir(folder.path()).unwrap().count() > 3);
    assert_eq!(verify(folder.path()).unwrap().records, 400);
    let entries = Reader::new(folder.path(), 17).read(400, 1_000).unwrap();
    let numbers: Vec<u64> = entries.iter().map(|entry| entry.seq).collect();
    assert_eq!(numbers, (17..=400).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_reader_follows_what_is_synced_and_waits_for_the_rest() {
    let folder = tempfile::tempdir().unwrap();
    let log = open(folder.path(), Settings::default(), Vec::new()).await.log;
    let mut reader = Reader::new(folder.path(), 1);
    assert!(reader.read(0, 10).unwrap().is_empty());
    log.append(record(1)).await.unwrap();
    log.append(record(2)).await.unwrap();
    assert_eq!(reader.read(1, 10).unwrap()[0].seq, 1);
    assert_eq!(reader.read(2, 10).unwrap()[0].seq, 2);
    log.append(record(3)).await.unwrap();
    let entry = reader.read(3, 10).unwrap().remove(0);
    assert!(entry.text.contains("number=\"3\"") && entry.time.is_some(), "{entry:?}");
}

#[tokio::test]
async fn a_torn_end_stays_and_the_next_record_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let log = open(folder.path(), Settings::default(), Vec::new()).await.log;
    log.append(record(1)).await.unwrap();
    log.close().await;
    let path = files::list(folder.path()).unwrap().remove(0).path;
    files::open(&path).unwrap().write_all(b"Audit:[timestamp=\"11-").unwrap();
    assert_eq!(verify(folder.path()).unwrap().torn, 22);
    let opened = open(folder.path(), Settings::default(), Vec::new()).await;
    assert!(opened.remarks.is_empty(), "{:?}", opened.remarks);
    assert_eq!(opened.log.append(record(2)).await.unwrap(), 3);
    opened.log.close().await;
    assert_eq!(verify(folder.path()).unwrap().records, 3);
}

#[tokio::test]
async fn records_that_are_missing_at_the_start_are_noticed_and_their_numbers_not_given_again() {
    let folder = tempfile::tempdir().unwrap();
    let log = open(folder.path(), Settings::default(), Vec::new()).await.log;
    log.append(record(1)).await.unwrap();
    log.close().await;
    let anchor = Anchor { seq: 9, hash: None, noted: "the catalog" };
    let opened = open(folder.path(), Settings::default(), vec![anchor]).await;
    assert!(opened.remarks[0].contains("record 2 is missing at the end"), "{:?}", opened.remarks);
    assert_eq!(opened.log.append(record(2)).await.unwrap(), 11);
    opened.log.close().await;
    let finding = verify(folder.path()).unwrap_err();
    assert_eq!((finding.kind, finding.seq), (Kind::Removed, 2));
    assert!(verify_directory(folder.path(), &key(), Vec::new(), 10).unwrap().is_ok());
}

#[tokio::test]
async fn a_trail_that_cannot_be_written_refuses_changes_or_counts_them() {
    for on_failure in [OnFailure::Refuse, OnFailure::Continue] {
        let folder = tempfile::tempdir().unwrap();
        let settings = Settings { on_failure, file_bytes: 1, ..Settings::default() };
        let log = open(folder.path(), settings, Vec::new()).await.log;
        log.append(record(1)).await.unwrap();
        // Every record starts a new file, and the next file cannot be created.
        let aside = folder.path().with_extension("aside");
        fs::rename(folder.path(), &aside).unwrap();
        let refused = log.append(record(2)).await;
        assert_eq!(refused.is_err(), on_failure == OnFailure::Refuse, "{refused:?}");
        assert_eq!(log.check().is_err(), on_failure == OnFailure::Refuse);
        fs::rename(&aside, folder.path()).unwrap();
        log.append(record(3)).await.unwrap();
        assert!(log.check().is_ok());
        log.close().await;
        let told = Reader::new(folder.path(), 1).read(9, 9).unwrap();
        let gap = told
            .iter()
            .any(|entry| entry.text.contains("action=audit_gap") && entry.text.contains("lost=1"));
        assert_eq!(gap, on_failure == OnFailure::Continue, "{told:?}");
        assert!(verify(folder.path()).is_ok());
    }
}

#[tokio::test]
async fn a_record_nobody_waits_for_is_kept_until_it_can_be_written() {
    let folder = tempfile::tempdir().unwrap();
    let settings = Settings { file_bytes: 1, ..Settings::default() };
    let log = open(folder.path(), settings, Vec::new()).await.log;
    log.append(record(1)).await.unwrap();
    let aside = folder.path().with_extension("aside");
    fs::rename(folder.path(), &aside).unwrap();
    log.note(record(2)).await.unwrap();
    assert!(log.append(record(3)).await.is_err());
    fs::rename(&aside, folder.path()).unwrap();
    let mut head = log.head();
    head.wait_for(|head| head.seq == 2).await.unwrap();
    log.close().await;
    assert_eq!(verify(folder.path()).unwrap().records, 2);
}

#[tokio::test]
async fn a_trail_whose_directory_was_replaced_writes_no_file_of_another_server() {
    let root = tempfile::tempdir().unwrap();
    let (data, moved) = (root.path().join("audit"), root.path().join("moved"));
    let settings = Settings { file_bytes: 1, ..Settings::default() };
    let log = open(&data, settings.clone(), Vec::new()).await.log;
    log.append(record(1)).await.unwrap();
    fs::rename(&data, &moved).unwrap();
    let other = open(&data, settings, Vec::new()).await.log;
    other.append(record(1)).await.unwrap();
    let error = log.append(record(2)).await.unwrap_err();
    assert!(error.to_string().contains("moved or replaced"), "{error}");
    other.append(record(2)).await.unwrap();
    other.close().await;
    assert_eq!(verify(&data).unwrap().records, 2);
    assert_eq!(verify(&moved).unwrap().records, 1);
}

#[tokio::test]
async fn old_files_leave_once_they_are_indexed_and_the_rest_still_verifies() {
    let folder = tempfile::tempdir().unwrap();
    let settings = Settings { file_bytes: 1, keep_days: 1, ..Settings::default() };
    let log = open(folder.path(), settings, Vec::new()).await.log;
    for number in 1..=3 {
        log.append(record(number)).await.unwrap();
    }
    let files = files::list(folder.path()).unwrap();
    let long_ago = std::time::SystemTime::now() - std::time::Duration::from_secs(3 * 86_400);
    for file in &files[..2] {
        fs::File::options().append(true).open(&file.path).unwrap().set_modified(long_ago).unwrap();
    }
    log.append(record(4)).await.unwrap();
    assert_eq!(files::list(folder.path()).unwrap().len(), 4, "nothing leaves that is not indexed");
    log.set_indexed(2);
    log.append(record(5)).await.unwrap();
    log.close().await;
    let summary = verify(folder.path()).unwrap();
    assert_eq!((summary.first, summary.head.seq), (3, 7));
}
