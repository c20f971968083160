//! What can go wrong between a source and a sink.

use std::io;
use std::sync::Arc;

use model::ErrorKind;

/// Failures of inputs, and what a sink answers.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file or socket failed.
    #[error("cannot read {what}: {source}")]
    Read {
        /// The file or address.
        what: String,
        /// What the system said.
        source: Arc<io::Error>,
    },
    /// A port cannot be listened at.
    #[error("cannot listen on {address}: {source}; is another server running there?")]
    Listen {
        /// As `tcp://127.0.0.1:514`.
        address: String,
        /// What the system said.
        source: Arc<io::Error>,
    },
    /// A setting of an input does not fit.
    #[error(transparent)]
    Setting(#[from] conf::Invalid),
    /// The sink takes nothing more.
    #[error("intake is shutting down; send again when it is back")]
    Closed,
    /// The sink ended with the input in hand.
    #[error("the input was lost before it was durable; send it again")]
    Abandoned,
    /// The sink refused.
    #[error("{reason}")]
    Refused {
        /// What the sender can do.
        kind: ErrorKind,
        /// Why, and what helps.
        reason: Arc<str>,
    },
}

impl Error {
    /// A failure of a source.
    pub fn read(what: impl ToString, source: io::Error) -> Self {
        Self::Read { what: what.to_string(), source: Arc::new(source) }
    }

    /// What the caller can do.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Read { source, .. } => match source.kind() {
                io::ErrorKind::NotFound => ErrorKind::NotFound,
                io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput => ErrorKind::Invalid,
                _ => ErrorKind::Unavailable,
            },
            Self::Listen { .. } => ErrorKind::Unavailable,
            Self::Setting(_) => ErrorKind::Invalid,
            Self::Closed => ErrorKind::Unavailable,
            Self::Abandoned => ErrorKind::Internal,
            Self::Refused { kind, .. } => *kind,
        }
    }
}
