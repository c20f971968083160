//! Files with events that cannot be stored in a bucket: `data/rejected/<index>/<index time>.json` has the
//! metadata of the event and the reason, and the `.txt` file next to it has its text.
//!
//! An event is set aside only after it was acknowledged, if it turns out that no bucket can hold it. It is
//! not lost, and it does not prevent the other events from being stored. Setting the same event aside again
//! writes the same files.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use model::IndexName;
use parking_lot::Mutex;
use runtime::metrics as names;
use serde::Serialize;
use tokio::sync::watch;

/// Number of bytes of a text that are kept above [`Aside::limit`].
const HEAD: usize = 64 << 10;

/// The events that were set aside and whose files still exist.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SetAside {
    /// Number of events with a file.
    pub events: u64,
    /// Size of their files in bytes.
    pub bytes: u64,
    /// The directory of the files.
    pub directory: PathBuf,
    /// Why the last event was set aside.
    pub reason: String,
}

/// An event that cannot be stored in a bucket.
#[derive(Debug, Clone, Copy, Serialize)]
pub(crate) struct Rejected<'a> {
    pub(crate) index: &'a IndexName,
    pub(crate) host: &'a str,
    pub(crate) source: &'a str,
    pub(crate) sourcetype: &'a str,
    /// `_time` in microseconds.
    pub(crate) time: i64,
    /// `_indextime` in microseconds, which is unique.
    pub(crate) index_time: i64,
    /// Indexed fields, as JSON.
    pub(crate) fields: Option<&'a str>,
    #[serde(skip)]
    pub(crate) raw: &'a str,
    pub(crate) reason: &'a str,
}

/// The directory of rejected events.
#[derive(Debug)]
pub(crate) struct Aside {
    root: PathBuf,
    /// Size of all files, in bytes, up to which texts are kept completely.
    limit: u64,
    writing: Mutex<()>,
    now: watch::Sender<SetAside>,
}

impl Aside {
    /// Opens the directory and counts the existing files.
    pub(crate) fn open(root: &Path, limit: u64) -> Self {
        let mut found = SetAside { directory: root.to_owned(), ..SetAside::default() };
        // Without the directory, or the permission to read it, there are no events to count.
        let indexes = fs::read_dir(root).into_iter().flatten().flatten();
        let files = indexes.filter_map(|index| fs::read_dir(index.path()).ok()).flatten().flatten();
        for file in files {
            found.bytes += file.metadata().map_or(0, |metadata| metadata.len());
            let is_event = file.path().extension().is_some_and(|extension| extension == "json");
            found.events += u64::from(is_event);
        }
        if found.events > 0 {
            "set aside before this start".clone_into(&mut found.reason);
        }
        Self {
            root: root.to_owned(),
            limit,
            writing: Mutex::new(()),
            now: watch::Sender::new(found),
        }
    }

    /// Returns the current counts, and later changes of them.
    pub(crate) fn watch(&self) -> watch::Receiver<SetAside> {
        self.now.subscribe()
    }

    /// Writes the files of an event.
    pub(crate) fn put(&self, event: &Rejected<'_>) -> io::Result<()> {
        let _one = self.writing.lock();
        let directory = self.root.join(event.index.as_str());
        fs::create_dir_all(&directory)?;
        let file = |extension: &str| directory.join(format!("{}.{extension}", event.index_time));
        let is_full = self.now.borrow().bytes.saturating_add(event.raw.len() as u64) > self.limit;
        let kept = if is_full { event.raw.floor_char_boundary(HEAD) } else { event.raw.len() };
        let mut told = serde_json::to_value(event)?;
        told["bytes"] = event.raw.len().into();
        told["keptBytes"] = kept.into();
        let told = told.to_string();
        let is_new = !file("json").exists();
        fs::write(file("txt"), &event.raw.as_bytes()[..kept])?;
        fs::write(file("json"), &told)?;
        if is_new {
            self.now.send_modify(|now| {
                now.events += 1;
                now.bytes += (kept + told.len()) as u64;
                event.reason.clone_into(&mut now.reason);
            });
        }
        metrics::counter!(names::INGEST_SET_ASIDE).increment(1);
        tracing::error!(
            index = %event.index, source = event.source, host = event.host, bytes = event.raw.len(),
            kept, reason = event.reason, file = %file("json").display(),
            "an event that no bucket can hold was set aside; docs/operations.md (rejected events) has the commands \
             that index it again"
        );
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_set_aside_once_with_its_text_and_the_reason() {
        let directory = tempfile::tempdir().unwrap();
        let aside = Aside::open(directory.path(), 1 << 20);
        aside.put(&event("größe", 7)).unwrap();
        aside.put(&event("größe", 7)).unwrap();
        let file =
            |name: &str| fs::read_to_string(directory.path().join("main").join(name)).unwrap();
        assert_eq!(file("7.txt"), "größe");
        let told: serde_json::Value = serde_json::from_str(&file("7.json")).unwrap();
        assert_eq!((told["reason"].as_str(), told["bytes"].as_u64()), (Some("too large"), Some(7)));
        let now = aside.watch().borrow().clone();
        assert_eq!((now.events, &*now.reason), (1, "too large"));
        assert_eq!(Aside::open(directory.path(), 1).watch().borrow().events, 1);
    }

    #[test]
    fn above_the_limit_only_the_beginning_of_a_text_is_kept() {
        let directory = tempfile::tempdir().unwrap();
        let aside = Aside::open(directory.path(), 100);
        aside.put(&event(&"x".repeat(HEAD * 2), 7)).unwrap();
        assert_eq!(fs::read(directory.path().join("main/7.txt")).unwrap().len(), HEAD);
    }

    fn event(raw: &str, index_time: i64) -> Rejected<'_> {
        static INDEX: std::sync::LazyLock<IndexName> =
            std::sync::LazyLock::new(|| IndexName::new("main").unwrap());
        let (host, source, sourcetype) = ("h", "s", "t");
        let (index, time, fields, reason) = (&*INDEX, 1, None, "too large");
        Rejected { index, host, source, sourcetype, time, index_time, fields, raw, reason }
    }
}
