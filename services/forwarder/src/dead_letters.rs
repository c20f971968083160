//! Batches that an indexer refuses permanently: kept as files for an administrator.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use protocol::{Batch, content_body::Body};
use serde::Serialize;

use crate::Error;
use crate::queue::Place;
use crate::status::DeadLetterStatus;

/// Interval of counting letters, which administrators remove.
const LOOK: Duration = Duration::from_secs(2);

/// Time between two counts while own letters arrive: counting lists the directory, on the task that sends.
const RECOUNT: Duration = Duration::from_secs(60);

/// The dead letters of an output.
#[derive(Debug)]
pub(crate) struct DeadLetters {
    directory: PathBuf,
    status: DeadLetterStatus,
    looked: Option<Instant>,
    /// Time of the last change of the directory that is counted; `None` without a directory.
    changed: Option<SystemTime>,
    counted: Option<Instant>,
    /// Whether own letters, which the status has already, have changed the directory since.
    has_kept: bool,
}

impl DeadLetters {
    pub(crate) fn new(directory: PathBuf) -> Self {
        let shown = directory.display().to_string();
        let status = DeadLetterStatus { directory: shown, ..DeadLetterStatus::default() };
        Self { directory, status, looked: None, changed: None, counted: None, has_kept: false }
    }

    /// Keeps a batch; returns the path of its text.
    ///
    /// # Errors
    /// As [`keep`].
    pub(crate) fn keep(&mut self, place: &Place, reason: &str) -> Result<PathBuf, Error> {
        let path = keep(&self.directory, place, reason)?;
        self.kept(reason);
        Ok(path)
    }

    fn kept(&mut self, reason: &str) {
        self.status.batches += 1;
        self.status.last_reason = Some(reason.to_owned());
        self.has_kept = true;
    }

    /// The current status. Letters are counted if the directory has changed: while own ones arrive, once a
    /// minute, because others may remove letters meanwhile.
    pub(crate) fn status(&mut self, now: Instant) -> DeadLetterStatus {
        let is_due = self.looked.is_none_or(|looked| now.duration_since(looked) >= LOOK);
        if is_due {
            self.looked = Some(now);
            let directory = fs::metadata(&self.directory);
            let changed = directory.and_then(|directory| directory.modified()).ok();
            let is_recent = self.counted.is_some_and(|then| now.duration_since(then) < RECOUNT);
            if changed != self.changed && !(self.has_kept && is_recent) {
                self.changed = changed;
                self.counted = Some(now);
                self.has_kept = false;
                self.count();
            }
        }
        self.status.clone()
    }

    fn count(&mut self) {
        let entries = fs::read_dir(&self.directory).into_iter().flatten().flatten();
        let paths = entries.map(|entry| entry.path());
        let is_letter = |path: &PathBuf| path.extension().is_some_and(|end| end == "txt");
        let (mut batches, mut last) = (0, None::<PathBuf>);
        for path in paths.filter(is_letter) {
            batches += 1;
            // The names are numbers of one length, in the order of the batches.
            last = last.max(Some(path));
        }
        self.status.batches = batches;
        self.status.last_reason = last.and_then(|path| reason_of(&path));
    }
}

/// The reason in the file beside the text of a letter.
fn reason_of(path: &Path) -> Option<String> {
    let letter = fs::read(path.with_extension("json")).ok()?;
    let letter: serde_json::Value = serde_json::from_slice(&letter).ok()?;
    letter["reason"].as_str().map(str::to_owned)
}

/// Metadata of a refused batch.
#[derive(Debug, Serialize)]
struct Letter<'a> {
    reason: &'a str,
    stream: &'a str,
    origins: Vec<[&'a str; 4]>,
    bytes: usize,
}

/// Writes the text of a batch and, beside it, the reason for the refusal; returns the path of the text.
///
/// # Errors
/// If the batch cannot be read or the files cannot be written.
fn keep(directory: &Path, place: &Place, reason: &str) -> Result<PathBuf, Error> {
    let header = place.header;
    let batch = Batch {
        sequence: header.sequence,
        settled: 0,
        compression: i32::from(header.compression),
        plain_len: header.plain_len,
        content: place.read()?,
    };
    let path = directory.join(format!("{:020}.txt", header.sequence));
    let fail = |error| Error::queue("write", &path, error);
    let content = protocol::unpack(&batch, usize::MAX >> 1)
        .map_err(|error| fail(std::io::Error::other(error)))?;
    let (origins, text) = match &content.body {
        None => (&[][..], &[][..]),
        Some(Body::Text(text)) => (text.origin.as_slice(), &text.bytes[..]),
        Some(Body::Events(events)) => (&events.origins[..], &events.text[..]),
    };
    let named = origins.iter().map(|origin| {
        let sourcetype = origin.sourcetype.as_deref().unwrap_or_default();
        [&*origin.index, &*origin.host, &*origin.source, sourcetype]
    });
    let letter =
        Letter { reason, stream: &content.stream, origins: named.collect(), bytes: text.len() };
    let write = || -> std::io::Result<()> {
        fs::create_dir_all(directory)?;
        let mut file = File::create(&path)?;
        file.write_all(text)?;
        file.sync_all()?;
        fs::write(path.with_extension("json"), serde_json::to_vec_pretty(&letter)?)
    };
    write().map_err(fail)?;
    Ok(path)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn own_letters_are_counted_again_once_a_minute() {
        let folder = tempfile::tempdir().unwrap();
        let directory = folder.path().join("dead-letters");
        let begin = Instant::now();
        let mut letters = DeadLetters::new(directory.clone());
        assert_eq!(letters.status(begin).batches, 0);
        fs::create_dir(&directory).unwrap();
        assert_eq!(letters.status(begin + LOOK).batches, 0);
        std::thread::sleep(Duration::from_millis(50));
        // The second one stands for a change by others.
        for sequence in [1, 2] {
            fs::write(directory.join(format!("{sequence:020}.txt")), "text").unwrap();
        }
        letters.kept("there is no index");
        let told = letters.status(begin + LOOK * 2);
        assert_eq!((told.batches, told.last_reason.as_deref()), (1, Some("there is no index")));
        assert_eq!(letters.status(begin + LOOK + RECOUNT).batches, 2);
    }

    #[test]
    fn letters_are_counted_after_a_restart_and_when_they_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        let directory = folder.path().join("dead-letters");
        let begin = Instant::now();
        let mut letters = DeadLetters::new(directory.clone());
        assert_eq!(letters.status(begin).batches, 0);
        fs::create_dir(&directory).unwrap();
        for (sequence, index) in [(3, "a"), (20, "b")] {
            let path = directory.join(format!("{sequence:020}.txt"));
            let reason = format!("{{\"reason\":\"there is no index {index}\"}}");
            fs::write(path.with_extension("json"), reason).unwrap();
            fs::write(path, "text").unwrap();
        }
        let mut restarted = DeadLetters::new(directory.clone());
        for told in [letters.status(begin + LOOK), restarted.status(begin)] {
            assert_eq!(told.batches, 2);
            assert_eq!(told.last_reason.as_deref(), Some("there is no index b"));
        }
        // File systems tell changes within a few milliseconds apart by luck only.
        std::thread::sleep(Duration::from_millis(50));
        for entry in fs::read_dir(&directory).unwrap() {
            fs::remove_file(entry.unwrap().path()).unwrap();
        }
        let told = letters.status(begin + LOOK * 2);
        assert_eq!((told.batches, told.last_reason), (0, None));
    }
}
