//! Errors of the forwarder.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use model::ErrorKind;

/// An error of the forwarder, with the facts that an operator needs.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An invalid setting.
    #[error("{place}: {reason}")]
    Setting {
        /// File and line, or the stanza.
        place: String,
        /// The problem, and what is expected.
        reason: String,
    },
    /// An invalid value of a setting.
    #[error(transparent)]
    Invalid(#[from] conf::Invalid),
    /// The queue's disk failed.
    #[error("cannot {what} {}: {source}", path.display())]
    Queue {
        /// The failed action.
        what: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The error of the operating system.
        source: Arc<io::Error>,
    },
    /// A damaged file of the queue.
    #[error("{} is damaged at byte {offset}: {reason}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The position of the damage.
        offset: u64,
        /// The reason.
        reason: &'static str,
    },
    /// The queue is closed.
    #[error("the forwarder is shutting down")]
    Closed,
}

impl Error {
    /// The kind of the error, which tells the caller how to react.
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
