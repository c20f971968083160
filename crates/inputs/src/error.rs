//! Errors of inputs and sinks.

use std::io;
use std::sync::Arc;

use model::ErrorKind;

/// Failures of inputs, and responses of a sink.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file or socket failed.
    #[error("cannot read {what}: {source}")]
    Read {
        /// The file or address.
        what: String,
        /// The error of the operating system.
        source: Arc<io::Error>,
    },
    /// The record of what an input has taken in cannot be read or written.
    #[error("cannot use the checkpoints {path}: {source}")]
    Checkpoints {
        /// The file.
        path: String,
        /// The error of the operating system.
        source: Arc<io::Error>,
    },
    /// A port cannot be listened at.
    #[error("cannot listen on {address}: {source}; is another server running there?")]
    Listen {
        /// The address, such as `tcp://127.0.0.1:514`.
        address: String,
        /// The error of the operating system.
        source: Arc<io::Error>,
    },
    /// A setting of an input does not fit.
    #[error(transparent)]
    Setting(#[from] conf::Invalid),
    /// The sink takes nothing more.
    #[error("intake is shutting down; send again when it is back")]
    Closed,
    /// The sink ended before it acknowledged the input.
    #[error("the input was lost before it was durable; send it again")]
    Abandoned,
    /// The sink has the events in its journal, and ends before they have the durability that their index
    /// requires: its next start has them, so a sender that sends them again may duplicate them.
    #[error(
        "the events were received and are in the journal of this server, but it stops before they are as \
         durable as their index requires (ackLevel): if they are sent again, they may be indexed twice"
    )]
    Unacknowledged,
    /// The sink refused.
    #[error("{reason}")]
    Refused {
        /// The kind of the error, which tells the sender how to react.
        kind: ErrorKind,
        /// The reason, and a remedy.
        reason: Arc<str>,
    },
}

impl Error {
    /// A failure of a source.
    pub fn read(what: impl ToString, source: io::Error) -> Self {
        Self::Read { what: what.to_string(), source: Arc::new(source) }
    }

    /// A failure of the checkpoints of an input.
    pub(crate) fn checkpoints(path: impl ToString, source: io::Error) -> Self {
        Self::Checkpoints { path: path.to_string(), source: Arc::new(source) }
    }

    /// Whether the disk of checkpoints has no space.
    pub(crate) fn is_full_disk(&self) -> bool {
        let is_full = |source: &io::Error| {
            matches!(source.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
        };
        matches!(self, Self::Checkpoints { source, .. } if is_full(source))
    }

    /// Returns the kind of the error, which tells the caller how to react.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Read { source, .. } | Self::Checkpoints { source, .. } => match source.kind() {
                io::ErrorKind::NotFound => ErrorKind::NotFound,
                io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput => ErrorKind::Invalid,
                _ => ErrorKind::Unavailable,
            },
            Self::Listen { .. } => ErrorKind::Unavailable,
            Self::Setting(_) => ErrorKind::Invalid,
            Self::Closed | Self::Unacknowledged => ErrorKind::Unavailable,
            Self::Abandoned => ErrorKind::Internal,
            Self::Refused { kind, .. } => *kind,
        }
    }
}
