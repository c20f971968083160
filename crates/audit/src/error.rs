//! Errors of the audit trail.

use std::path::{Path, PathBuf};

use model::ErrorKind;

/// An error of the audit trail.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    /// A file cannot be read or written.
    #[error("the audit trail cannot {action} {path}: {reason}")]
    File {
        /// Read, write, create.
        action: &'static str,
        /// Which one.
        path: PathBuf,
        /// The error of the operating system.
        reason: String,
    },
    /// The queue stayed full.
    #[error("the audit trail is too slow: its queue ([audit] queueSize) is full")]
    QueueFull,
    /// The server is stopping.
    #[error("the audit trail is closed")]
    Closed,
}

impl Error {
    pub(crate) fn file(action: &'static str, path: &Path, error: &std::io::Error) -> Self {
        Self::File { action, path: path.to_owned(), reason: error.to_string() }
    }

    /// The kind of the error, which tells the caller how to react.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::File { .. } | Self::QueueFull | Self::Closed => ErrorKind::Unavailable,
        }
    }
}
