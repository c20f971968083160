//! Followed files, one behaviour at a time.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use inputs::Sink;
use inputs::monitor::{FileState, FileStatus, Monitor, MonitorSettings, MonitorTarget, Salt};
use knowledge::Knowledge;
use model::IndexName;
use runtime::Shutdown;
use tempfile::TempDir;

use crate::sink::{Recorder, Stalled};

const LONG: Duration = Duration::from_secs(3600);

/// A directory of logs, one for checkpoints, and a sink.
pub(crate) struct Setup {
    pub(crate) logs: TempDir,
    pub(crate) state: TempDir,
    pub(crate) recorder: Arc<Recorder>,
}

impl Setup {
    pub(crate) fn new(idle: Duration) -> Self {
        let dir = || tempfile::tempdir().unwrap();
        Self { logs: dir(), state: dir(), recorder: Recorder::new(idle) }
    }

    pub(crate) fn target(&self, pattern: &str) -> MonitorTarget {
        let path = format!("{}/{pattern}", self.logs.path().display());
        let index = IndexName::new("main").unwrap();
        MonitorTarget::new(&path, index, "web01".into()).unwrap()
    }

    pub(crate) fn monitor(&self, targets: Vec<MonitorTarget>) -> Monitor {
        let settings = MonitorSettings {
            poll: Duration::from_millis(5),
            checkpoint_interval: Duration::ZERO,
            ..MonitorSettings::default()
        };
        Monitor::new(targets, &self.state.path().join("monitor"), settings).unwrap()
    }

    pub(crate) fn directory(&self) -> Monitor {
        self.monitor(vec![self.target("")])
    }

    /// What a monitor that is started anew does in a number of looks.
    pub(crate) async fn restart(&self, looks: usize) {
        let mut monitor = self.directory();
        for _ in 0..looks {
            monitor.poll_once(&self.recorder.sink()).await.unwrap();
        }
    }

    pub(crate) async fn poll(&self, monitor: &mut Monitor) {
        monitor.poll_once(&self.recorder.sink()).await.unwrap();
    }

    pub(crate) fn append(&self, name: &str, text: &str) {
        append(&self.logs.path().join(name), text);
    }

    pub(crate) fn rename(&self, from: &str, to: &str) {
        fs::rename(self.logs.path().join(from), self.logs.path().join(to)).unwrap();
    }

    pub(crate) fn gzip(&self, name: &str) {
        let path = self.logs.path().join(name);
        let packed = gzip(&fs::read(&path).unwrap());
        fs::write(self.logs.path().join(format!("{name}.gz")), packed).unwrap();
        fs::remove_file(path).unwrap();
    }

    fn lines(&self) -> Vec<String> {
        self.recorder.sorted()
    }
}

pub(crate) fn append(path: &Path, text: &str) {
    let mut file = fs::OpenOptions::new().create(true).append(true).open(path).unwrap();
    file.write_all(text.as_bytes()).unwrap();
}

pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(bytes).unwrap();
    gzip.finish().unwrap()
}

/// Enough text to tell a file by.
fn long(name: &str) -> String {
    (0..20).map(|number| format!("{name} line number {number}\n")).collect()
}

#[tokio::test]
async fn a_line_waits_for_its_end_and_a_restart_reads_nothing_again() {
    let setup = Setup::new(LONG);
    setup.append("app.log", "one\ntw");
    setup.restart(1).await;
    assert_eq!(setup.lines(), ["one"]);
    setup.append("app.log", "o\nthree\n");
    setup.restart(2).await;
    assert_eq!(setup.lines(), ["one", "three", "two"]);
}

#[tokio::test]
async fn a_file_that_stays_still_ends_its_last_line() {
    let setup = Setup::new(Duration::ZERO);
    let mut monitor = setup.directory();
    setup.append("app.log", "one\ntw");
    setup.poll(&mut monitor).await;
    assert_eq!(setup.lines(), ["one", "tw"]);
    setup.append("app.log", "o\n");
    setup.poll(&mut monitor).await;
    drop(monitor);
    setup.restart(1).await;
    assert_eq!(setup.lines(), ["o", "one", "tw"]);
}

#[tokio::test]
async fn a_renamed_file_is_followed_to_its_end_even_where_nobody_looks() {
    let setup = Setup::new(LONG);
    let mut monitor = setup.monitor(vec![setup.target("app.log")]);
    setup.append("app.log", "one\n");
    setup.poll(&mut monitor).await;
    setup.append("app.log", "two\n");
    setup.rename("app.log", "elsewhere");
    setup.append("app.log", "three\n");
    setup.poll(&mut monitor).await;
    setup.append("elsewhere", "four\n");
    setup.poll(&mut monitor).await;
    assert_eq!(setup.lines(), ["four", "one", "three", "two"]);
}

#[tokio::test]
async fn a_closed_file_is_found_under_its_new_name() {
    let setup = Setup::new(Duration::ZERO);
    let mut monitor = setup.monitor(vec![setup.target("app.log")]);
    setup.append("app.log", "one\n");
    setup.poll(&mut monitor).await;
    setup.append("app.log", "two\n");
    setup.rename("app.log", "app.log.1");
    setup.poll(&mut monitor).await;
    assert_eq!(setup.lines(), ["one", "two"]);
}

/// As the logs of containers are linked.
fn linked(setup: &Setup) {
    for directory in ["links", "pods"] {
        fs::create_dir(setup.logs.path().join(directory)).unwrap();
    }
    setup.append("pods/0.log", "one\n");
    let link = setup.logs.path().join("links/app.log");
    std::os::unix::fs::symlink("../pods/0.log", link).unwrap();
}

#[tokio::test]
async fn a_closed_file_behind_a_link_is_found_where_it_was_renamed() {
    for pattern in ["links/*.log", "links/app.log"] {
        let setup = Setup::new(Duration::ZERO);
        linked(&setup);
        let mut monitor = setup.monitor(vec![setup.target(pattern)]);
        setup.poll(&mut monitor).await;
        setup.append("pods/0.log", "two\n");
        setup.rename("pods/0.log", "pods/0.log.1");
        setup.append("pods/0.log", "three\n");
        setup.poll(&mut monitor).await;
        setup.append("pods/0.log", "four\n");
        setup.rename("pods/0.log", "pods/0.log.2");
        setup.poll(&mut monitor).await;
        assert_eq!(setup.lines(), ["four", "one", "three", "two"], "{pattern}");
        let origins = setup.recorder.origins();
        assert!(origins.iter().all(|origin| origin.source.ends_with("links/app.log")));
    }
}

#[tokio::test]
async fn a_closed_file_is_read_to_its_end_after_its_link_is_gone() {
    let setup = Setup::new(Duration::ZERO);
    linked(&setup);
    let mut monitor = setup.monitor(vec![setup.target("links/*.log")]);
    setup.poll(&mut monitor).await;
    setup.append("pods/0.log", "two\n");
    fs::remove_file(setup.logs.path().join("links/app.log")).unwrap();
    setup.poll(&mut monitor).await;
    assert_eq!(setup.lines(), ["one", "two"]);
}

#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread")]
async fn a_file_behind_a_link_is_read_when_it_grows_without_a_poll() {
    let setup = Setup::new(LONG);
    linked(&setup);
    let settings = MonitorSettings { poll: LONG, ..MonitorSettings::default() };
    let book = setup.state.path().join("monitor");
    let monitor = Monitor::new(vec![setup.target("links/*.log")], &book, settings).unwrap();
    let shutdown = Shutdown::new();
    let running = tokio::spawn(monitor.run(setup.recorder.sink(), shutdown.clone()));
    let patience = Duration::from_secs(60);
    let first = || async { setup.lines() == ["one"] };
    assert!(testkit::wait_until(first, patience).await);
    setup.append("pods/0.log", "two\n");
    let both = || async { setup.lines() == ["one", "two"] };
    assert!(testkit::wait_until(both, patience).await);
    shutdown.stop();
    running.await.unwrap();
}

#[tokio::test]
async fn a_deleted_file_is_read_to_its_end_while_it_is_open() {
    let setup = Setup::new(LONG);
    let mut monitor = setup.directory();
    setup.append("app.log", "one\n");
    setup.poll(&mut monitor).await;
    setup.append("app.log", "two\nthr");
    fs::remove_file(setup.logs.path().join("app.log")).unwrap();
    setup.poll(&mut monitor).await;
    assert_eq!(setup.lines(), ["one", "two"]);
}

#[tokio::test]
async fn a_truncated_file_is_read_from_its_start_and_a_copy_from_where_it_was() {
    let setup = Setup::new(LONG);
    let mut monitor = setup.directory();
    let log = setup.logs.path().join("app.log");
    setup.append("app.log", &long("old"));
    setup.poll(&mut monitor).await;
    setup.append("app.log", "unread before the copy\n");
    fs::copy(&log, setup.logs.path().join("app.log.1")).unwrap();
    fs::write(&log, "new\n").unwrap();
    setup.poll(&mut monitor).await;
    setup.poll(&mut monitor).await;
    let lines = setup.lines();
    assert_eq!(lines.len(), 22, "{lines:?}");
    assert!(lines.contains(&"new".to_owned()) && lines.contains(&"unread before the copy".into()));
}

#[tokio::test]
async fn a_writer_that_does_not_append_goes_on_behind_a_hole() {
    let setup = Setup::new(LONG);
    let mut monitor = setup.directory();
    let path = |name: &str| setup.logs.path().join(name);
    let mut expected: Vec<String> = long("old").lines().map(str::to_owned).collect();
    let mut writer = fs::File::create(path("app.log")).unwrap();
    writer.write_all(long("old").as_bytes()).unwrap();
    setup.poll(&mut monitor).await;
    for round in 1..3 {
        fs::copy(path("app.log"), path(&format!("app.log.{round}"))).unwrap();
        writer.set_len(0).unwrap();
        for line in ["one", "two"] {
            let line = format!("round {round} line {line}");
            writer.write_all(format!("{line}\n").as_bytes()).unwrap();
            expected.push(line);
            for _ in 0..2 {
                setup.poll(&mut monitor).await;
            }
        }
    }
    drop(monitor);
    setup.restart(2).await;
    expected.sort();
    assert_eq!(setup.lines(), expected);
}

#[tokio::test]
async fn a_hole_in_a_file_ends_a_line_and_is_not_read() {
    let setup = Setup::new(LONG);
    let mut monitor = setup.directory();
    setup.append("app.log", "one\nunfinished");
    setup.poll(&mut monitor).await;
    for (hole, line) in [(8 << 20, "two\n"), (5000, "three\n")] {
        let file = fs::File::options().write(true).open(setup.logs.path().join("app.log")).unwrap();
        file.set_len(file.metadata().unwrap().len() + hole).unwrap();
        setup.poll(&mut monitor).await;
        setup.append("app.log", line);
        setup.poll(&mut monitor).await;
    }
    let expected = ["one", "three", "two", "unfinished"];
    assert_eq!(setup.lines(), expected);
    assert_eq!(setup.recorder.traffic().1, "one\nunfinishedtwo\nthree\n".len());
    drop(monitor);
    setup.restart(2).await;
    assert_eq!(setup.lines(), expected);
}

#[tokio::test]
async fn a_file_of_nuls_waits_for_its_text() {
    let setup = Setup::new(Duration::ZERO);
    let mut monitor = setup.directory();
    let path = setup.logs.path().join("app.log");
    let with_nuls = |text: &str, size: usize| {
        let mut bytes = text.as_bytes().to_vec();
        bytes.resize(size, 0);
        fs::write(&path, bytes).unwrap();
    };
    with_nuls("", 100);
    setup.poll(&mut monitor).await;
    assert_eq!(monitor.status().files()[0].state, FileState::Waiting);
    for (text, size) in [("one\n", 200), ("one\ntwo\n", 300)] {
        with_nuls(text, size);
        for _ in 0..2 {
            setup.poll(&mut monitor).await;
        }
    }
    assert_eq!(setup.lines(), ["one", "two"]);
    drop(monitor);
    with_nuls("one\ntwo\nthree\n", 400);
    let mut monitor = setup.directory();
    for _ in 0..2 {
        setup.poll(&mut monitor).await;
    }
    assert_eq!(setup.lines(), ["one", "three", "two"]);
    fs::remove_file(&path).unwrap();
    for _ in 0..2 {
        setup.poll(&mut monitor).await;
    }
    assert!(monitor.status().files().is_empty());
}

#[tokio::test]
async fn a_file_that_was_followed_stays_text() {
    let setup = Setup::new(LONG);
    let mut monitor = setup.directory();
    setup.append("app.log", &long("a"));
    setup.poll(&mut monitor).await;
    fs::write(setup.logs.path().join("app.log"), b"ab\0cd\n").unwrap();
    for _ in 0..2 {
        setup.poll(&mut monitor).await;
    }
    assert!(setup.lines().contains(&"ab\0cd".to_owned()));
}

#[tokio::test]
async fn a_packed_file_that_begins_with_a_hole_is_read_from_where_its_original_was() {
    let setup = Setup::new(Duration::ZERO);
    let bytes = [vec![0; 40_000], long("a").into_bytes()].concat();
    fs::write(setup.logs.path().join("app.log"), &bytes).unwrap();
    setup.restart(2).await;
    setup.append("app.log", "last words\n");
    setup.rename("app.log", "app.log.1");
    setup.gzip("app.log.1");
    let other = [vec![0; 40_000], b"new one\n".to_vec()].concat();
    fs::write(setup.logs.path().join("other.gz"), gzip(&other)).unwrap();
    setup.restart(2).await;
    assert_eq!(setup.lines().len(), 22, "{:?}", setup.lines());
}

#[tokio::test]
async fn a_copy_of_a_followed_file_is_not_read() {
    let setup = Setup::new(LONG);
    let mut monitor = setup.directory();
    setup.append("app.log", &long("a"));
    setup.poll(&mut monitor).await;
    let text = fs::read(setup.logs.path().join("app.log")).unwrap();
    fs::write(setup.logs.path().join("backup"), &text).unwrap();
    fs::write(setup.logs.path().join("half"), &text[..300]).unwrap();
    setup.append("app.log", "more\n");
    setup.poll(&mut monitor).await;
    setup.poll(&mut monitor).await;
    assert_eq!(setup.lines().len(), 21);
    let status = monitor.status().files();
    let waiting = status.iter().filter(|file| file.state == FileState::Waiting).count();
    assert_eq!((status.len(), waiting), (3, 2), "{status:?}");
}

#[tokio::test]
async fn a_copy_that_appears_together_with_its_original_is_not_read() {
    let setup = Setup::new(LONG);
    let mut monitor = setup.directory();
    for name in ["app.log", "copy.log", "other.log"] {
        setup.append(name, &long("a"));
    }
    setup.append("other.log", "one line more\n");
    let header = "#".repeat(400) + "\n";
    for name in ["b.log", "c.log"] {
        setup.append(name, &format!("{header}{name} has a line\n"));
    }
    for _ in 0..3 {
        setup.poll(&mut monitor).await;
    }
    setup.append("copy.log", "added to the copy\n");
    for _ in 0..2 {
        setup.poll(&mut monitor).await;
    }
    let lines = setup.lines();
    let found = |text: &str| lines.iter().filter(|line| line.contains(text)).count();
    assert_eq!(found("a line number"), 20, "{lines:?}");
    assert_eq!((found("one line more"), found("added to the copy")), (1, 1), "{lines:?}");
    assert_eq!(found("has a line"), 2, "{lines:?}");
}

#[tokio::test]
async fn the_status_has_the_unread_files_while_the_sink_has_no_room() {
    let setup = Setup::new(LONG);
    let mut monitor = setup.directory();
    let status = monitor.status();
    setup.append("old.log", "one\n");
    setup.poll(&mut monitor).await;
    setup.append("old.log", "two\n");
    setup.append("new.log", "three\n");
    let stalled: Arc<dyn Sink> = Arc::new(Stalled);
    let listed = || async {
        let files = status.files();
        let progress: Vec<_> = files.iter().map(|file| (file.position, file.size)).collect();
        progress == [(0, 6), (4, 8)]
    };
    tokio::select! {
        _ = monitor.poll_once(&stalled) => unreachable!("the sink takes nothing"),
        is_listed = testkit::wait_until(listed, Duration::from_secs(20)) => assert!(is_listed),
    }
}

#[tokio::test]
async fn files_that_begin_alike_are_told_apart_by_what_follows() {
    let setup = Setup::new(LONG);
    let mut monitor = setup.directory();
    let header = "#".repeat(400) + "\n";
    for name in ["a.log", "b.log", "c.log"] {
        setup.append(name, &header);
        setup.append(name, &format!("{name} has a line\n"));
        setup.poll(&mut monitor).await;
    }
    drop(monitor);
    setup.restart(1).await;
    let lines = setup.lines();
    assert_eq!(lines.iter().filter(|line| line.contains("has a line")).count(), 3, "{lines:?}");
}

#[tokio::test]
async fn a_written_over_file_of_any_size_is_noticed() {
    let setup = Setup::new(LONG);
    let mut monitor = setup.directory();
    let log = setup.logs.path().join("app.log");
    fs::write(&log, long("a")).unwrap();
    setup.poll(&mut monitor).await;
    fs::write(&log, long("b")).unwrap();
    setup.poll(&mut monitor).await;
    setup.poll(&mut monitor).await;
    fs::write(&log, long("c") + "and more\n").unwrap();
    setup.poll(&mut monitor).await;
    setup.poll(&mut monitor).await;
    assert_eq!(setup.lines().len(), 61);
}

#[tokio::test]
async fn a_packed_file_is_read_from_where_its_original_was() {
    let setup = Setup::new(Duration::ZERO);
    setup.append("app.log", &long("a"));
    setup.restart(2).await;
    setup.append("app.log", "last words\n");
    setup.rename("app.log", "app.log.1");
    setup.gzip("app.log.1");
    fs::write(setup.logs.path().join("other.gz"), gzip(b"new one\nnew two")).unwrap();
    let packed = zstd::bulk::compress(b"five\n", 1).unwrap();
    fs::write(setup.logs.path().join("other.zst"), packed).unwrap();
    setup.restart(2).await;
    assert_eq!(setup.lines().len(), 24, "{:?}", setup.lines());
    let before = setup.recorder.traffic();
    setup.rename("app.log.1.gz", "app.log.2.gz");
    setup.restart(2).await;
    assert_eq!(setup.recorder.traffic(), before);
}

#[tokio::test]
async fn the_last_line_of_a_packed_file_that_is_still_written_waits_for_its_end() {
    let setup = Setup::new(Duration::ZERO);
    let mut monitor = setup.directory();
    let mut expected = Vec::new();
    let mut files = Vec::new();
    for file in 0..4 {
        let noise = |line: u32| line.wrapping_mul(2_654_435_761);
        let lines = (0..4000_u32).map(|line| format!("{file}-{line:05} {:08x} end", noise(line)));
        let lines: Vec<String> = lines.collect();
        let packed = gzip((lines.join("\n") + "\n").as_bytes());
        let path = setup.logs.path().join(format!("{file}.log.gz"));
        fs::write(&path, &packed[..packed.len() / 2 + file]).unwrap();
        expected.extend(lines);
        files.push((path, packed));
    }
    for _ in 0..4 {
        setup.poll(&mut monitor).await;
    }
    let first = setup.lines();
    assert!(first.len() > 1000 && first.iter().all(|line| line.ends_with(" end")), "{first:?}");
    for (path, packed) in files {
        fs::write(path, packed).unwrap();
    }
    for _ in 0..4 {
        setup.poll(&mut monitor).await;
    }
    expected.sort();
    assert_eq!(setup.lines(), expected);
}

#[tokio::test]
async fn a_packed_file_that_grows_by_short_lines_is_read_once() {
    let setup = Setup::new(Duration::ZERO);
    let mut monitor = setup.directory();
    let mut expected: Vec<String> = (0..100).map(|line| format!("{line:05} first")).collect();
    let mut packed = gzip((expected.join("\n") + "\n").as_bytes());
    for more in ["", "second", "third", "fourth"] {
        if !more.is_empty() {
            packed.extend(gzip(format!("{more}\n").as_bytes()));
            expected.push(more.to_owned());
        }
        fs::write(setup.logs.path().join("app.log.gz"), &packed).unwrap();
        for _ in 0..4 {
            setup.poll(&mut monitor).await;
        }
        expected.sort();
        assert_eq!(setup.lines(), expected, "{more}");
    }
}

#[tokio::test]
async fn binary_and_broken_files_are_left_out_and_the_others_read() {
    let setup = Setup::new(Duration::ZERO);
    fs::write(setup.logs.path().join("a.bin"), b"ab\0cd\n").unwrap();
    fs::write(setup.logs.path().join("b.gz"), b"\x1f\x8b broken").unwrap();
    fs::write(setup.logs.path().join("c.bz2"), b"BZh91AY").unwrap();
    fs::write(setup.logs.path().join("d.tar.gz"), gzip(b"ustar\0\0\0")).unwrap();
    setup.append("e.log", "good\n");
    let mut monitor = setup.directory();
    for _ in 0..3 {
        setup.poll(&mut monitor).await;
    }
    assert_eq!(setup.lines(), ["good"]);
    let files = monitor.status().files();
    let described: Vec<String> = files.iter().map(FileStatus::described).collect();
    assert_eq!(described[0], "ignored file (binary)");
    assert_eq!(described[2], "ignored file (compressed with bzip2)");
    assert_eq!(described[4], "finished reading");
}

#[tokio::test]
async fn what_the_sink_refuses_is_read_again() {
    let setup = Setup::new(LONG);
    let mut monitor = setup.directory();
    setup.append("app.log", "one\n");
    setup.poll(&mut monitor).await;
    setup.append("app.log", "two\n");
    setup.recorder.fail(1);
    setup.poll(&mut monitor).await;
    setup.poll(&mut monitor).await;
    assert_eq!(setup.lines(), ["one", "two"]);
}

#[tokio::test]
async fn settings_decide_where_reading_begins_and_what_is_left() {
    let setup = Setup::new(LONG);
    setup.append("old.log", "before\n");
    setup.append("a.log", "before\nbefore");
    let aged = fs::OpenOptions::new().append(true).open(setup.logs.path().join("old.log"));
    let then = std::time::SystemTime::now() - Duration::from_secs(10_000);
    aged.unwrap().set_modified(then).unwrap();
    let mut target = setup.target("");
    target.follow_tail = true;
    target.ignore_older_than = Some(Duration::from_secs(5_000));
    let mut monitor = setup.monitor(vec![target]);
    setup.poll(&mut monitor).await;
    setup.append("a.log", " and after\n");
    setup.append("b.log", "new\n");
    setup.poll(&mut monitor).await;
    assert_eq!(setup.lines(), ["before and after", "new"]);
    setup.append("old.log", "written again\n");
    setup.poll(&mut monitor).await;
    assert_eq!(setup.lines(), ["before", "before and after", "new", "written again"]);
}

#[tokio::test]
async fn a_salt_makes_files_new() {
    let setup = Setup::new(LONG);
    setup.append("a.log", &long("a"));
    setup.restart(1).await;
    let salted = |salt: Salt| {
        let mut target = setup.target("");
        target.salt = salt;
        setup.monitor(vec![target])
    };
    setup.poll(&mut salted(Salt::Text("again".into()))).await;
    assert_eq!(setup.lines().len(), 40);
    setup.poll(&mut salted(Salt::Source)).await;
    assert_eq!(setup.lines().len(), 60);
    fs::copy(setup.logs.path().join("a.log"), setup.logs.path().join("b.log")).unwrap();
    setup.poll(&mut salted(Salt::Source)).await;
    assert_eq!(setup.lines().len(), 80);
}

#[tokio::test]
async fn the_closest_target_names_a_files_events() {
    let setup = Setup::new(LONG);
    fs::create_dir(setup.logs.path().join("x")).unwrap();
    setup.append("x/a.log", "one\n");
    let mut close = setup.target("x/*.log");
    close.sourcetype = Some("mine".into());
    close.source = Some("there".into());
    let mut monitor = setup.monitor(vec![setup.target(""), close]);
    setup.append("b.txt", "two\n");
    setup.poll(&mut monitor).await;
    let mut origins: Vec<_> = setup.recorder.origins();
    origins.sort_by(|a, b| a.sourcetype.cmp(&b.sourcetype));
    let kinds: Vec<_> = origins.iter().map(|o| o.sourcetype.clone().unwrap()).collect();
    assert_eq!(kinds, ["mine".into(), Arc::<str>::from("seen-txt")]);
    assert_eq!(&*origins[0].source, "there");
}

#[tokio::test]
async fn batch_files_are_deleted_once_they_are_safe() {
    let setup = Setup::new(Duration::ZERO);
    let mut target = setup.target("");
    target.delete_when_read = true;
    let mut monitor = setup.monitor(vec![target]);
    setup.append("a.log", "one\ntwo");
    fs::write(setup.logs.path().join("b.gz"), gzip(b"three\n")).unwrap();
    setup.recorder.fail(1);
    setup.poll(&mut monitor).await;
    assert!(setup.logs.path().join("a.log").exists() || setup.lines().len() == 2);
    for _ in 0..4 {
        setup.poll(&mut monitor).await;
    }
    assert_eq!(setup.lines(), ["one", "three", "two"]);
    assert_eq!(fs::read_dir(setup.logs.path()).unwrap().count(), 0);
    setup.append("a.log", "one\ntwo");
    for _ in 0..3 {
        setup.poll(&mut monitor).await;
    }
    assert_eq!(setup.lines(), ["one", "one", "three", "two", "two"]);
}

#[tokio::test]
async fn a_packed_batch_file_that_stalls_is_not_read_again() {
    let setup = Setup::new(Duration::ZERO);
    let mut target = setup.target("");
    target.delete_when_read = true;
    let mut monitor = setup.monitor(vec![target]);
    let noise = |line: u32| line.wrapping_mul(2_654_435_761);
    let expected: Vec<String> =
        (0..4000_u32).map(|line| format!("{line:05} {:08x} end", noise(line))).collect();
    let packed = gzip((expected.join("\n") + "\n").as_bytes());
    let path = setup.logs.path().join("a.gz");
    fs::write(&path, &packed[..packed.len() / 2]).unwrap();
    for _ in 0..4 {
        setup.poll(&mut monitor).await;
    }
    let first = setup.lines().len();
    assert!(first > 100 && path.exists(), "{first}");
    fs::write(&path, packed).unwrap();
    for _ in 0..8 {
        setup.poll(&mut monitor).await;
    }
    assert_eq!(setup.lines(), expected);
    assert!(!path.exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_running_monitor_follows_changes_and_stops_in_order() {
    let setup = Setup::new(LONG);
    let shutdown = Shutdown::new();
    let monitor = setup.directory();
    let running = tokio::spawn(monitor.run(setup.recorder.sink(), shutdown.clone()));
    let mut expected = Vec::new();
    for number in 0..50 {
        let line = format!("line {number:02}");
        setup.append(&format!("{}.log", number % 7), &format!("{line}\n"));
        expected.push(line);
    }
    let complete = || async { setup.lines() == expected };
    assert!(testkit::wait_until(complete, Duration::from_secs(20)).await, "{:?}", setup.lines());
    shutdown.stop();
    running.await.unwrap();
    setup.append("0.log", "after\n");
    setup.restart(1).await;
    assert_eq!(setup.lines().len(), 51);
    assert!(Knowledge::builtin().errors().is_empty());
}
