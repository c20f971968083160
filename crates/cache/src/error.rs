//! Errors of opening, closing and clearing the cache. Reads through it return the errors of the store.

use std::path::PathBuf;

use model::ErrorKind;

/// An error of opening, closing or clearing the cache.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A setting is out of its range.
    #[error("cache setting {name} is not valid: {reason}")]
    Setting {
        /// Its name.
        name: &'static str,
        /// The rule it breaks.
        reason: String,
    },
    /// The directory cannot be used.
    #[error("cache directory {} cannot be used: {reason}; check that it is writable and has room, or \
             set the NVMe size to 0", path.display())]
    Directory {
        /// The directory.
        path: PathBuf,
        /// The error of the operating system.
        reason: String,
    },
    /// Two processes must not write into one cache.
    #[error("cache directory {} is used by another process; give each process its own", path.display())]
    InUse {
        /// The directory.
        path: PathBuf,
    },
    /// The NVMe tier failed.
    #[error("cache cannot {what}: {reason}")]
    Tier {
        /// The action that failed.
        what: &'static str,
        /// The error of the tier.
        reason: String,
    },
}

impl Error {
    /// The kind of the error, which tells the caller how to react.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Setting { .. } | Self::Directory { .. } => ErrorKind::Invalid,
            Self::InUse { .. } => ErrorKind::Conflict,
            Self::Tier { .. } => ErrorKind::Unavailable,
        }
    }
}
