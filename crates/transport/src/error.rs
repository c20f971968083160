//! Errors of connections between processes.

use std::path::PathBuf;

use model::ErrorKind;

/// Errors of connections between processes.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There are credentials already.
    #[error(
        "{} exists already: credentials are not overwritten; delete the directory's files only if no process \
         uses them",
        path.display()
    )]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// A file of the credentials is missing, or cannot be read or written.
    #[error(
        "{}: {reason}; karst cluster init writes the credentials of a new cluster, and every process needs a copy \
         of the directory",
        path.display()
    )]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// A certificate or key is not usable.
    #[error("{}: {reason}; replace the cluster's credentials on all processes", path.display())]
    Certificate {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// An address cannot be used.
    #[error("the address {address:?} of a process is not usable: {reason}")]
    Address {
        /// The address.
        address: String,
        /// What is wrong.
        reason: String,
    },
    /// The other process, or this one, does not accept the other.
    #[error("{address}: {reason}")]
    Refused {
        /// The address of the other process.
        address: String,
        /// Why, and what helps.
        reason: String,
    },
    /// The other process cannot be reached.
    #[error("{address} cannot be reached: {reason}")]
    Unreachable {
        /// The address of the other process.
        address: String,
        /// The failure.
        reason: String,
    },
}

impl Error {
    /// What the caller can do.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Exists { .. } => ErrorKind::Conflict,
            Self::File { .. } | Self::Certificate { .. } | Self::Address { .. } => {
                ErrorKind::Invalid
            }
            Self::Refused { .. } | Self::Unreachable { .. } => ErrorKind::Unavailable,
        }
    }

    /// The refusal behind the failure of a request, if the two processes do not belong together: repeating
    /// the request does not help.
    #[must_use]
    pub fn refusal(failure: &(dyn std::error::Error + 'static)) -> Option<String> {
        let mut next = Some(failure);
        while let Some(error) = next {
            if let Some(refused @ Self::Refused { .. }) = error.downcast_ref() {
                return Some(refused.to_string());
            }
            next = error.source();
        }
        None
    }
}

pub(crate) type Result<T> = std::result::Result<T, Error>;
