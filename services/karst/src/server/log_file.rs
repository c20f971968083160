//! `karst.log`: renamed when it reaches its maximum size, and tolerant of a full disk.
//!
//! Guarantees: no line is torn, and every lost line is counted. Lines that cannot be written are counted;
//! once there is space, a line reports the number of missing ones. No caller waits for the log, or fails
//! because of it.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use introspection::{OwnEvent, SplunkdLog};
use jiff::Timestamp;
use model::EventTime;
use parking_lot::{Mutex, MutexGuard};
use runtime::{Clock, OpenDirectory, Shutdown, SystemClock, metrics as names};
use serde_json::json;
use tokio::sync::watch;
use tracing_subscriber::fmt::MakeWriter;

/// A log file is renamed at this size, as Splunk does.
const MAX_BYTES: u64 = 25_000_000;
/// Renamed files kept.
const KEPT: usize = 5;
/// Interval between attempts to write a log after a failure, even without new lines.
const RETRY: Duration = Duration::from_secs(2);

/// The file; clones share it.
#[derive(Debug, Clone)]
pub(crate) struct LogFile(Arc<Mutex<Open>>);

#[derive(Debug)]
struct Open {
    path: PathBuf,
    directory: OpenDirectory,
    file: File,
    size: u64,
    /// Lines that could not be written since the last that could.
    missing: u64,
    /// Warnings and errors, for the events about this process.
    warnings: SplunkdLog,
    failing: watch::Sender<Option<Arc<str>>>,
}

impl LogFile {
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().create(true).append(true).open(path)?;
        let size = file.metadata()?.len();
        let failing = watch::Sender::new(None);
        let open = Open {
            path: path.to_owned(),
            directory: OpenDirectory::of_file(path)?,
            file,
            size,
            missing: 0,
            warnings: SplunkdLog::default(),
            failing,
        };
        Ok(Self(Arc::new(Mutex::new(open))))
    }

    /// Why it cannot be written, while that is so.
    pub(crate) fn failing(&self) -> watch::Receiver<Option<Arc<str>>> {
        self.0.lock().failing.subscribe()
    }

    /// Warnings and errors since the last call, as events about this process.
    pub(crate) fn take_warnings(
        &self,
        now: EventTime,
        component: impl Fn(&str) -> String,
    ) -> Vec<OwnEvent> {
        let mut taken = std::mem::take(&mut self.0.lock().warnings);
        taken.take(now, component)
    }

    /// Tries again while it cannot be written, until the server stops.
    pub(crate) async fn keep_trying(self, shutdown: Shutdown) {
        while shutdown.sleep(RETRY).await {
            // If it fails again, nothing has changed.
            let _ = self.0.lock().say_what_is_missing();
        }
    }
}

impl Open {
    fn line(&mut self, bytes: &[u8]) {
        self.warnings.line(bytes);
        // No log line may be written here: it would recurse into this function.
        let written = self.say_what_is_missing().and_then(|()| self.put(bytes));
        let Err(error) = written else { return };
        self.missing += 1;
        metrics::counter!(names::LOG_LOST).increment(1);
        let path = self.path.display();
        let text = format!("{path} cannot be written: {error}; lines are missing until it can be");
        self.failing.send_if_modified(|failing| failing.replace(text.into()).is_none());
    }

    fn say_what_is_missing(&mut self) -> io::Result<()> {
        if self.missing == 0 {
            return Ok(());
        }
        let now = Timestamp::from_microsecond(SystemClock.now().0).unwrap_or_default();
        let now = now.strftime("%Y-%m-%dT%H:%M:%S%.6fZ").to_string();
        let line = json!({
            "timestamp": now, "level": "WARN", "target": "karst",
            "message": "lines are missing here, which could not be written", "lines": self.missing,
        });
        self.put(format!("{line}\n").as_bytes())?;
        self.missing = 0;
        self.failing.send_replace(None);
        Ok(())
    }

    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.size >= MAX_BYTES {
            self.rotate()?;
        }
        if let Err(error) = self.file.write_all(bytes) {
            // The written part of the line would be a prefix of the next one.
            let _ = self.file.set_len(self.size);
            return Err(error);
        }
        self.size += bytes.len() as u64;
        Ok(())
    }

    fn rotate(&mut self) -> io::Result<()> {
        let name = Path::new(self.path.file_name().unwrap_or_default());
        let kept = |number: usize| name.with_extension(format!("log.{number}"));
        for number in (1..KEPT).rev() {
            match self.directory.rename(kept(number), kept(number + 1)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        self.directory.rename(name, kept(1))?;
        self.file = self.directory.create_new(name)?;
        self.size = 0;
        Ok(())
    }
}

/// Access to the file for one line.
#[derive(Debug)]
pub(crate) struct Line<'a>(MutexGuard<'a, Open>);

impl Write for Line<'_> {
    /// Takes whole lines, always: who logs could not do anything about a full disk.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.line(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for LogFile {
    type Writer = Line<'a>;

    fn make_writer(&'a self) -> Line<'a> {
        Line(self.0.lock())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_log_whose_directory_was_replaced_leaves_the_log_of_another_server() {
        let root = tempfile::tempdir().unwrap();
        let (data, moved) = (root.path().join("data"), root.path().join("moved"));
        fs::create_dir(&data).unwrap();
        let log = LogFile::open(&data.join("karst.log")).unwrap();
        fs::rename(&data, &moved).unwrap();
        fs::create_dir(&data).unwrap();
        fs::write(data.join("karst.log"), "other").unwrap();
        log.0.lock().size = MAX_BYTES;
        log.make_writer().write_all(b"line\n").unwrap();
        assert_eq!(fs::read(moved.join("karst.log")).unwrap(), b"line\n");
        assert!(moved.join("karst.log.1").exists());
        assert_eq!(fs::read_dir(&data).unwrap().count(), 1);
        assert_eq!(fs::read(data.join("karst.log")).unwrap(), b"other");
    }

    #[test]
    fn lines_that_cannot_be_written_are_counted_and_told_once_there_is_room() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("karst.log");
        let log = LogFile::open(&path).unwrap();
        let failing = log.failing();
        let say = |text: &str| log.make_writer().write_all(text.as_bytes()).unwrap();
        say("first\n");
        let there = log.0.lock().file.try_clone().unwrap();
        log.0.lock().file = OpenOptions::new().append(true).open("/dev/full").unwrap();
        say("second\n");
        say("third\n");
        assert!(failing.borrow().as_ref().unwrap().contains("cannot be written"));
        log.0.lock().file = there;
        say("fourth\n");
        assert_eq!(*failing.borrow(), None);
        let text = fs::read_to_string(&path).unwrap();
        let lines: Vec<_> = text.lines().collect();
        assert_eq!((lines.len(), lines[0], lines[2]), (3, "first", "fourth"));
        assert!(lines[1].contains("\"lines\":2"), "{}", lines[1]);
    }
}
