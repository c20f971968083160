//! Files: taken in once, or followed.

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use ingest::Settings;
use inputs::monitor::{Monitor, MonitorSettings, MonitorTarget};
use inputs::oneshot::{Oneshot, load};
use testkit::TestDir;

use crate::setup::{Setup, main_index, settings, start};

#[tokio::test]
async fn directories_and_packed_files_are_loaded() {
    let (data, files) = (TestDir::new(), TestDir::new());
    let setup = start(data.path(), settings()).await;
    fs::create_dir(files.join("sub")).unwrap();
    fs::write(files.join("a.log"), "one\ntwo\n").unwrap();
    let gzip = fs::File::create(files.join("sub").join("b.log.gz")).unwrap();
    let mut gzip = flate2::write::GzEncoder::new(gzip, flate2::Compression::fast());
    gzip.write_all(b"three\nfour").unwrap();
    gzip.finish().unwrap();
    let packed = zstd::bulk::compress(b"five\n", 1).unwrap();
    fs::write(files.join("c.zst"), packed).unwrap();
    let mut seen = 0;
    let paths = [files.path().to_owned()];
    let loaded = load(&setup.sink(), &paths, &target(), |progress| seen = progress.bytes).await;
    let loaded = loaded.unwrap();
    assert_eq!((loaded.progress.files, loaded.progress.events), (3, 5));
    assert_eq!((seen, loaded.failed.len()), (loaded.progress.all_bytes, 0));
}

#[tokio::test]
async fn a_broken_file_is_reported_and_the_others_are_loaded() {
    let (data, files) = (TestDir::new(), TestDir::new());
    let setup = start(data.path(), settings()).await;
    fs::write(files.join("a.gz"), b"\x1f\x8b broken").unwrap();
    fs::write(files.join("b.log"), "good\n").unwrap();
    let paths = [files.path().to_owned()];
    let loaded = load(&setup.sink(), &paths, &target(), |_| {}).await.unwrap();
    assert_eq!(loaded.failed[0].0, files.join("a.gz"));
    assert_eq!(setup.texts().await, ["good"]);
    let missing = load(&setup.sink(), &[files.join("none")], &target(), |_| {}).await;
    assert_eq!(missing.unwrap_err().kind(), model::ErrorKind::NotFound);
}

#[tokio::test]
async fn a_followed_file_is_read_once_through_appends_rotation_and_restarts() {
    let (data, files) = (TestDir::new(), TestDir::new());
    let (log, old) = (files.join("app.log"), files.join("app.log.1"));
    let setup = start(data.path(), quick()).await;
    append(&log, "one\ntw");
    poll(&setup, &data, &files, 1).await;
    append(&log, "o\nthree\n");
    poll(&setup, &data, &files, 1).await;
    append(&log, "four\n");
    fs::rename(&log, &old).unwrap();
    append(&log, "five and more\n");
    poll(&setup, &data, &files, 2).await;
    let expected = ["five and more", "four", "one", "three", "two"];
    assert_eq!(sorted(&setup).await, expected);
}

#[tokio::test]
async fn one_monitor_follows_growth_and_truncation() {
    let (data, files) = (TestDir::new(), TestDir::new());
    let setup = start(data.path(), quick()).await;
    let log = files.join("app.log");
    let mut monitor = monitor(&data, &files);
    append(&log, "one\ntw");
    monitor.poll_once(&setup.sink()).await.unwrap();
    append(&log, "o\n");
    monitor.poll_once(&setup.sink()).await.unwrap();
    fs::write(&log, "new\n").unwrap();
    monitor.poll_once(&setup.sink()).await.unwrap();
    monitor.poll_once(&setup.sink()).await.unwrap();
    let texts = sorted(&setup).await;
    assert_eq!(texts.last().map(String::as_str), Some("two"));
    assert!(texts.iter().any(|text| text == "new"), "{texts:?}");
}

/// Unfinished events stay unfinished for the time of a test.
fn quick() -> Settings {
    Settings { stream_idle: Duration::from_secs(600), ..settings() }
}

/// A monitor that is started anew each time, as after a restart.
async fn poll(setup: &Setup, data: &TestDir, files: &TestDir, times: usize) {
    let mut monitor = monitor(data, files);
    for _ in 0..times {
        monitor.poll_once(&setup.sink()).await.unwrap();
    }
}

fn monitor(data: &TestDir, files: &TestDir) -> Monitor {
    let path = files.path().display().to_string();
    let mut target = MonitorTarget::new(&path, main_index(), "web01".into()).unwrap();
    target.sourcetype = Some("syslog".into());
    let book = data.join("inputs").join("monitor");
    Monitor::new(vec![target], &book, MonitorSettings::default()).unwrap()
}

fn append(path: &PathBuf, text: &str) {
    let mut file = fs::OpenOptions::new().create(true).append(true).open(path).unwrap();
    file.write_all(text.as_bytes()).unwrap();
}

async fn sorted(setup: &Setup) -> Vec<String> {
    let mut texts = setup.texts().await;
    texts.sort();
    texts
}

fn target() -> Oneshot {
    Oneshot {
        index: main_index(),
        host: "web01".into(),
        source: None,
        sourcetype: Some("syslog".into()),
    }
}
