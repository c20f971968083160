//! Storage away, disks full, journals damaged: nothing acknowledged is lost.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use ingest::Settings;
use inputs::{Sink, SinkExt};
use model::ErrorKind;
use testkit::{FailingStore, Moment, TestDir, wait_until};

use crate::setup::{cut, local, settings, start, start_with};

#[tokio::test]
async fn while_storage_is_away_events_wait_and_then_intake_stops() {
    for moment in [Moment::Before, Moment::After] {
        let data = TestDir::new();
        let failing = Arc::new(FailingStore::new(local(data.path())));
        let tight = Settings {
            max_data_size: 1000,
            max_spool_size: 3000,
            min_free_space: 0,
            queue_size: 2000,
            queue_wait: Duration::from_millis(50),
            ..settings()
        };
        let store = Arc::clone(&failing) as _;
        let setup = start_with(data.path(), tight, store, local(data.path())).await;
        failing.hooks().fail(moment);
        let text = "x".repeat(600);
        let mut accepted = Vec::new();
        let refused = loop {
            let event = format!("{} {text}", accepted.len());
            let submitted = setup.ingest.enqueue(cut(&[&event]), Duration::from_millis(500)).await;
            match submitted {
                Ok(acknowledgement) => accepted.push(acknowledgement),
                Err(error) => break error,
            }
        };
        assert_eq!(refused.kind(), ErrorKind::Exhausted, "{refused}");
        assert!(setup.ingest.status().uploads.last_error.is_some());
        failing.hooks().heal();
        let count = accepted.len();
        for acknowledgement in accepted {
            acknowledgement.wait().await.unwrap();
        }
        setup.ingest.roll_all(None).await.unwrap();
        assert_eq!(setup.texts().await.len(), count);
        assert_eq!(setup.ingest.status().journal_bytes, 0);
    }
}

#[tokio::test]
async fn a_damaged_journal_costs_the_damaged_record_only() {
    let data = TestDir::new();
    let plain = Settings { journal_codec: ingest::Codec::None, ..settings() };
    let setup = start(data.path(), plain).await;
    for text in ["first", "second", "third"] {
        setup.events(&[text]).await;
    }
    drop(setup);
    let segment = journal_file(data.path(), "journal");
    let mut bytes = fs::read(&segment).unwrap();
    let at = memchr::memmem::find(&bytes, b"second").unwrap();
    bytes[at] ^= 1;
    fs::write(&segment, bytes).unwrap();
    let setup = start(data.path(), settings()).await;
    assert_eq!(setup.texts().await, ["first", "third"]);
    setup.ingest.roll_all(None).await.unwrap();
    assert!(journal_file(data.path(), "damaged").exists());
}

#[tokio::test]
async fn a_torn_tail_is_cut_off() {
    let data = TestDir::new();
    let setup = start(data.path(), settings()).await;
    setup.events(&["whole"]).await;
    drop(setup);
    let segment = journal_file(data.path(), "journal");
    let mut bytes = fs::read(&segment).unwrap();
    let half = bytes[16..bytes.len() - 3].to_vec();
    bytes.extend(half);
    fs::write(&segment, bytes).unwrap();
    for _ in 0..2 {
        let setup = start(data.path(), settings()).await;
        assert_eq!(setup.texts().await, ["whole"]);
    }
}

#[tokio::test]
async fn a_full_disk_refuses_and_ingest_goes_on_when_there_is_space() {
    let data = TestDir::new();
    let journal = data.join("journal");
    fs::create_dir_all(&journal).unwrap();
    let Some(_mounted) = Tmpfs::mount(&journal, "1m") else { return };
    let plain = Settings { journal_codec: ingest::Codec::None, ..settings() };
    let setup = start(data.path(), plain.clone()).await;
    let text = "x".repeat(100_000);
    let mut kept = 0;
    let error = loop {
        match setup.ingest.submit(cut(&[&text])).await {
            Ok(_) => kept += 1,
            Err(error) => break error,
        }
    };
    assert_eq!(error.kind(), ErrorKind::Exhausted, "{error}");
    assert_eq!(setup.texts().await.len(), kept);
    // A roll frees the journal, and with it the disk.
    setup.ingest.roll_all(None).await.unwrap();
    let accepted = || async { setup.ingest.submit(cut(&[&text])).await.is_ok() };
    assert!(wait_until(accepted, Duration::from_secs(10)).await);
    drop(setup);
    let setup = start(data.path(), plain).await;
    assert_eq!(setup.texts().await.len(), kept + 1);
}

/// A small file system of its own.
struct Tmpfs<'a>(&'a Path);

impl<'a> Tmpfs<'a> {
    fn mount(path: &'a Path, size: &str) -> Option<Self> {
        let options = format!("size={size}");
        let arguments = ["-t", "tmpfs", "-o", &options, "tmpfs"];
        let mounted = Command::new("mount").args(arguments).arg(path).output();
        if mounted.is_ok_and(|output| output.status.success()) {
            return Some(Self(path));
        }
        eprintln!("skipped: mounting a tmpfs needs root");
        None
    }
}

impl Drop for Tmpfs<'_> {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.0).output();
    }
}

fn journal_file(data: &Path, extension: &str) -> std::path::PathBuf {
    let files = fs::read_dir(data.join("journal").join("0")).unwrap();
    let mut paths = files.map(|file| file.unwrap().path());
    paths.find(|path| path.extension().is_some_and(|found| found == extension)).unwrap()
}
