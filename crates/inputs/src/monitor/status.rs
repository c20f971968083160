//! Where the monitored files are, for people and for the REST API.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;

/// What the monitor does with a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileState {
    /// It is open and read.
    Open,
    /// It is read to its end and looked at from time to time.
    Finished,
    /// It is left out.
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

/// How far a file has been taken in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileStatus {
    /// The file.
    pub path: PathBuf,
    /// Everything before is safe.
    pub position: u64,
    /// Its size when it was looked at last.
    pub size: u64,
    /// What is done with it.
    pub state: FileState,
}

impl FileStatus {
    /// How much of it is safe, in percent.
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
            return;
        }
        let status = FileStatus { path: path.to_owned(), position, size, state };
        files.insert(path.to_owned(), status);
    }

    /// Forgets all files: another monitor follows its own.
    pub(crate) fn clear(&self) {
        self.0.lock().clear();
    }

    pub(crate) fn remove(&self, path: &Path) {
        self.0.lock().remove(path);
    }
}
