//! Why the cache cannot be opened; reading through it has the store's own errors.

use std::path::PathBuf;

use model::ErrorKind;

/// Why the cache cannot be opened, closed or emptied.
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
        /// Where.
        path: PathBuf,
        /// What the system said.
        reason: String,
    },
    /// Two processes must not write into one cache.
    #[error("cache directory {} is used by another process; give each process its own", path.display())]
    InUse {
        /// Where.
        path: PathBuf,
    },
    /// The NVMe tier failed.
    #[error("cache cannot {what}: {reason}")]
    Tier {
        /// What was being done.
        what: &'static str,
        /// What the tier said.
        reason: String,
    },
}

impl Error {
    /// What the caller can do.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Setting { .. } | Self::Directory { .. } => ErrorKind::Invalid,
            Self::InUse { .. } => ErrorKind::Conflict,
            Self::Tier { .. } => ErrorKind::Unavailable,
        }
    }
}
