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
        /// The operation that failed.
        action: &'static str,
        /// The path of the object.
        path: String,
        /// The error of the object store.
        source: object_store::Error,
    },
    /// A file cannot be read or written.
    #[error("{action} {path}: {source}")]
    File {
        /// The operation that failed.
        action: &'static str,
        /// The path of the file.
        path: String,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// A configuration file cannot be read.
    #[error(transparent)]
    Configuration(#[from] conf::Error),
    /// The request is invalid.
    #[error("{0}")]
    Invalid(String),
    /// The object does not exist.
    #[error("Could not find object id={0}")]
    NotFound(String),
    /// The object already exists.
    #[error("An object with name={0} already exists")]
    Exists(String),
    /// Another object is where the object would be moved to.
    #[error("{0}")]
    Taken(String),
    /// Something else has been changed meanwhile, or is being changed.
    #[error("{0}")]
    Changed(String),
    /// The files cannot be read again in this process alone, or it is stopping.
    #[error("{0}")]
    NotReloadable(String),
    /// The server does as much of this as it does at the same time.
    #[error("{0}")]
    Busy(String),
    /// The object belongs to an app's files, which are read-only.
    #[error("{0} stands in the files of its app and cannot be removed")]
    Builtin(String),
    /// The stored data differs from the data that was written.
    #[error("{what} is damaged: {reason}")]
    Damaged {
        /// The name of the document or object.
        what: String,
        /// Why it is damaged.
        reason: String,
    },
}

impl Error {
    /// Returns the kind of the error, which tells the caller how to react.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Catalog(error) => error.kind(),
            Self::Store { .. } | Self::File { .. } | Self::Busy(_) => ErrorKind::Unavailable,
            Self::Configuration(_) | Self::Invalid(_) | Self::Builtin(_) => ErrorKind::Invalid,
            Self::NotFound(_) => ErrorKind::NotFound,
            Self::Exists(_) | Self::Taken(_) | Self::Changed(_) | Self::NotReloadable(_) => {
                ErrorKind::Conflict
            }
            Self::Damaged { .. } => ErrorKind::Corrupt,
        }
    }
}
