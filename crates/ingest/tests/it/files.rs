//! Files: taken in once, or followed.

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use ingest::Settings;
use inputs::monitor::{Monitor, MonitorSettings, MonitorTarget};
use inputs::oneshot::{Oneshot, load};
use testkit::TestDir;

use crate::rules::configured;
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

#[tokio::test]
async fn utf_16_is_decoded_behind_pauses() {
    let (data, files) = (TestDir::new(), TestDir::new());
    let pausing = Settings { stream_idle: Duration::ZERO, ..settings() };
    let setup = start(data.path(), pausing).await;
    let mut monitor = monitor(&data, &files);
    for line in ["\u{FEFF}é one\n", "ü two\r\n", "three\n"] {
        for (name, bytes) in ["le.log", "be.log"].iter().zip(utf16(line)) {
            append(&files.join(name), &bytes[..1]);
            monitor.poll_once(&setup.sink()).await.unwrap();
            append(&files.join(name), &bytes[1..]);
            monitor.poll_once(&setup.sink()).await.unwrap();
        }
    }
    let expected = ["three", "three", "é one", "é one", "ü two", "ü two"];
    assert_eq!(sorted(&setup).await, expected);
}

#[tokio::test]
async fn utf_16_is_decoded_behind_restarts() {
    let (data, files) = (TestDir::new(), TestDir::new());
    let setup = start(data.path(), quick()).await;
    for (name, bytes) in ["le.log", "be.log"].iter().zip(utf16("\u{FEFF}é one\nü two\r\nthree\n"))
    {
        for part in bytes.chunks(7) {
            append(&files.join(name), part);
            poll(&setup, &data, &files, 1).await;
        }
    }
    let expected = ["three", "three", "é one", "é one", "ü two", "ü two"];
    assert_eq!(sorted(&setup).await, expected);
}

#[tokio::test]
async fn utf_16_without_a_mark_is_decoded_behind_restarts() {
    let props = "[u16]\nCHARSET = UTF-16LE\nSHOULD_LINEMERGE = false\n";
    let (data, setup) = configured(props, "").await;
    let files = TestDir::new();
    let [bytes, _] = utf16("é one\nü two\r\nthree\n");
    for part in bytes.chunks(7) {
        append(&files.join("a.log"), part);
        let mut target = directory(&files);
        target.sourcetype = Some("u16".into());
        target.time_before_close = Some(Duration::from_secs(600));
        following(&data, target).poll_once(&setup.sink()).await.unwrap();
    }
    assert_eq!(sorted(&setup).await, ["three", "é one", "ü two"]);
}

/// A text in both byte orders.
fn utf16(text: &str) -> [Vec<u8>; 2] {
    let little = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
    [little, text.encode_utf16().flat_map(u16::to_be_bytes).collect()]
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
    following(data, directory(files))
}

fn directory(files: &TestDir) -> MonitorTarget {
    let path = files.path().display().to_string();
    let mut target = MonitorTarget::new(&path, main_index(), "web01".into()).unwrap();
    target.sourcetype = Some("syslog".into());
    target
}

fn following(data: &TestDir, target: MonitorTarget) -> Monitor {
    let book = data.join("inputs").join("monitor");
    Monitor::new(vec![target], &book, MonitorSettings::default()).unwrap()
}

fn append(path: &PathBuf, text: impl AsRef<[u8]>) {
    let mut file = fs::OpenOptions::new().create(true).append(true).open(path).unwrap();
    file.write_all(text.as_ref()).unwrap();
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
