//! Errors of this crate.

use std::time::Duration;

use model::ErrorKind;

/// Why a component of the process could not be set up or shut down.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Invalid log level.
    #[error(
        "log level \"{level}\" is not valid ({reason}); use error, warn, info, debug or trace, \
             optionally per crate as in \"info,ingest=debug\""
    )]
    Level {
        /// The given value.
        level: String,
        /// The error of the filter parser.
        reason: String,
    },
    /// Metrics or logs can only be set up once per process, and this was the second attempt.
    #[error("{what} is already installed in this process; install it once, at start")]
    AlreadyInstalled {
        /// The component.
        what: &'static str,
    },
    /// Invalid store URL or store settings.
    #[error("object store \"{url}\" cannot be used: {reason}")]
    StoreUrl {
        /// The given value.
        url: String,
        /// Why it is invalid, and what helps.
        reason: String,
    },
    /// The store does not respond, or refuses the request.
    #[error("object store \"{url}\" cannot be used: {reason}")]
    StoreAway {
        /// The given value.
        url: String,
        /// The error of the store, and what helps.
        reason: String,
    },
    /// A setting is out of its range.
    #[error("setting {name} is not valid: {reason}")]
    Setting {
        /// Its name.
        name: &'static str,
        /// The violated rule.
        reason: &'static str,
    },
    /// Tasks still run after the grace time.
    #[error("{tasks} background tasks still run {waited:?} after the stop signal")]
    StillRunning {
        /// Number of tasks.
        tasks: usize,
        /// The grace time.
        waited: Duration,
    },
}

impl Error {
    /// Returns the kind of the error, which tells the caller how to react.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Level { .. } | Self::StoreUrl { .. } | Self::Setting { .. } => ErrorKind::Invalid,
            Self::AlreadyInstalled { .. } => ErrorKind::Conflict,
            Self::StillRunning { .. } | Self::StoreAway { .. } => ErrorKind::Unavailable,
        }
    }
}
