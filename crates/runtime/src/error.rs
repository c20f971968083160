//! What can go wrong at the door to effects.

use std::time::Duration;

use model::ErrorKind;

/// Why a part of the process could not be set up or ended.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The log level is not understood.
    #[error(
        "log level \"{level}\" is not valid ({reason}); use error, warn, info, debug or trace, \
             optionally per crate as in \"info,ingest=debug\""
    )]
    Level {
        /// What was given.
        level: String,
        /// What the filter's parser says.
        reason: String,
    },
    /// Metrics or logs are set up once per process, and this was the second time.
    #[error("{what} is already installed in this process; install it once, at start")]
    AlreadyInstalled {
        /// Which part.
        what: &'static str,
    },
    /// The store's URL or its settings cannot be used.
    #[error("object store \"{url}\" cannot be used: {reason}")]
    StoreUrl {
        /// What was given.
        url: String,
        /// What is wrong and how to fix it.
        reason: String,
    },
    /// The store does not answer, or refuses.
    #[error(
        "object store \"{url}\" does not answer: {source}; check the address, the bucket's \
             name and the credentials (AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_ENDPOINT)"
    )]
    StoreAway {
        /// What was given.
        url: String,
        /// What the client says.
        source: object_store::Error,
    },
    /// A setting is out of its range.
    #[error("setting {name} is not valid: {reason}")]
    Setting {
        /// Its name.
        name: &'static str,
        /// The rule it breaks.
        reason: &'static str,
    },
    /// Tasks still run after the grace time.
    #[error("{tasks} background tasks still run {waited:?} after the stop signal")]
    StillRunning {
        /// How many.
        tasks: usize,
        /// How long they were waited for.
        waited: Duration,
    },
}

impl Error {
    /// What the caller can do.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Level { .. } | Self::StoreUrl { .. } | Self::Setting { .. } => ErrorKind::Invalid,
            Self::AlreadyInstalled { .. } => ErrorKind::Conflict,
            Self::StillRunning { .. } | Self::StoreAway { .. } => ErrorKind::Unavailable,
        }
    }
}
