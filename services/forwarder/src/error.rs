//! What can go wrong in the forwarder.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use model::ErrorKind;

/// Failures of the forwarder, with the facts an operator needs.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A setting is wrong.
    #[error("{place}: {reason}")]
    Setting {
        /// File and line, or the stanza.
        place: String,
        /// What is wrong and what is expected.
        reason: String,
    },
    /// An invalid value of a setting.
    #[error(transparent)]
    Invalid(#[from] conf::Invalid),
    /// The queue's disk failed.
    #[error("cannot {what} {}: {source}", path.display())]
    Queue {
        /// What was tried.
        what: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// What the system said.
        source: Arc<io::Error>,
    },
    /// A file of the queue is not what was written.
    #[error("{} is damaged at byte {offset}: {reason}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Where.
        offset: u64,
        /// What does not fit.
        reason: &'static str,
    },
    /// The queue takes nothing more.
    #[error("the forwarder is shutting down")]
    Closed,
}

impl Error {
    /// What the caller can do.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Setting { .. } | Self::Invalid(_) => ErrorKind::Invalid,
            Self::Queue { source, .. } => match source.kind() {
                io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => ErrorKind::Exhausted,
                _ => ErrorKind::Unavailable,
            },
            Self::Damaged { .. } => ErrorKind::Corrupt,
            Self::Closed => ErrorKind::Unavailable,
        }
    }

    pub(crate) fn queue(what: &'static str, path: impl Into<PathBuf>, source: io::Error) -> Self {
        Self::Queue { what, path: path.into(), source: Arc::new(source) }
    }

    pub(crate) fn setting(place: impl ToString, reason: impl Into<String>) -> Self {
        Self::Setting { place: place.to_string(), reason: reason.into() }
    }
}
