//! The status of the monitored files, for users and for the REST API.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;

/// The state of a file in the monitor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileState {
    /// The file is read, or waits for its turn.
    Open,
    /// The file has been read to its end, and is checked from time to time.
    Finished,
    /// The file is left out.
    Ignored,
    /// A copy of a file that is still followed, or a packed file that may still be written.
    Waiting,
}

impl FileState {
    /// Splunk's words for it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open file",
            Self::Finished => "finished reading",
            Self::Ignored => "ignored file",
            Self::Waiting => "waiting",
        }
    }
}

/// The progress of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileStatus {
    /// The file.
    pub path: PathBuf,
    /// Everything before is safe.
    pub position: u64,
    /// Its size when it was looked at last.
    pub size: u64,
    /// The state in the monitor.
    pub state: FileState,
    /// Why the file is left out.
    pub reason: Option<String>,
}

impl FileStatus {
    /// Returns Splunk's words for the state, and the reason why the file is left out:
    /// `ignored file (binary)`.
    #[must_use]
    pub fn described(&self) -> String {
        match &self.reason {
            Some(reason) => format!("{} ({reason})", self.state.as_str()),
            None => self.state.as_str().to_owned(),
        }
    }

    /// Returns how much of the file is safe, in percent.
    #[must_use]
    #[allow(clippy::cast_precision_loss)]
    pub fn percent(&self) -> f64 {
        if self.size == 0 {
            return 100.0;
        }
        (self.position.min(self.size) as f64 / self.size as f64) * 100.0
    }
}

/// The state of all files; clones share it.
#[derive(Debug, Clone, Default)]
pub struct MonitorStatus(Arc<Mutex<BTreeMap<PathBuf, FileStatus>>>);

impl MonitorStatus {
    /// All files in the order of their names.
    #[must_use]
    pub fn files(&self) -> Vec<FileStatus> {
        self.0.lock().values().cloned().collect()
    }

    pub(crate) fn set(&self, path: &Path, position: u64, size: u64, state: FileState) {
        let mut files = self.0.lock();
        if let Some(known) = files.get_mut(path) {
            (known.position, known.size, known.state) = (position, size, state);
            known.reason = None;
            return;
        }
        let status = FileStatus { path: path.to_owned(), position, size, state, reason: None };
        files.insert(path.to_owned(), status);
    }

    /// Adds the reason for the state of a file.
    pub(crate) fn explain(&self, path: &Path, reason: String) {
        if let Some(known) = self.0.lock().get_mut(path) {
            known.reason = Some(reason);
        }
    }

    /// Removes all files, because another monitor adds its own.
    pub(crate) fn clear(&self) {
        self.0.lock().clear();
    }

    pub(crate) fn remove(&self, path: &Path) {
        self.0.lock().remove(path);
    }
}
