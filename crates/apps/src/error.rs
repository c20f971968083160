//! Why an object cannot be read or changed.

use model::ErrorKind;

/// An error of this crate.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The catalog failed.
    #[error("catalog: {0}")]
    Catalog(#[from] catalog::Error),
    /// Object storage failed.
    #[error("{action} {path}: {source}")]
    Store {
        /// What was tried.
        action: &'static str,
        /// Which object.
        path: String,
        /// What it said.
        source: object_store::Error,
    },
    /// A file cannot be read or written.
    #[error("{action} {path}: {source}")]
    File {
        /// What was tried.
        action: &'static str,
        /// Which file.
        path: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// A configuration file cannot be read.
    #[error(transparent)]
    Configuration(#[from] conf::Error),
    /// What was asked for does not make sense.
    #[error("{0}")]
    Invalid(String),
    /// There is no such thing.
    #[error("Could not find object id={0}")]
    NotFound(String),
    /// There is one already.
    #[error("An object with name={0} already exists")]
    Exists(String),
    /// Something else has been changed meanwhile, or is being changed.
    #[error("{0}")]
    Changed(String),
    /// It belongs to an app's files, which are not written.
    #[error("{0} stands in the files of its app and cannot be removed")]
    Builtin(String),
    /// What is stored is not what was written.
    #[error("{what} is damaged: {reason}")]
    Damaged {
        /// Which document or object.
        what: String,
        /// What does not fit.
        reason: String,
    },
}

impl Error {
    /// What the caller can do about it.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Catalog(error) => error.kind(),
            Self::Store { .. } | Self::File { .. } => ErrorKind::Unavailable,
            Self::Configuration(_) | Self::Invalid(_) | Self::Builtin(_) => ErrorKind::Invalid,
            Self::NotFound(_) => ErrorKind::NotFound,
            Self::Exists(_) | Self::Changed(_) => ErrorKind::Conflict,
            Self::Damaged { .. } => ErrorKind::Corrupt,
        }
    }
}
