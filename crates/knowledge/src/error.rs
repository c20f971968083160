//! What can go wrong with configuration, with the place and the remedy.

use std::path::PathBuf;

use model::ErrorKind;

use crate::conf::Place;

/// Everything this crate refuses.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A configuration directory or file cannot be read.
    #[error("cannot read {path}: {source}; check that it exists and is readable", path = .path.display())]
    Read {
        /// The file or directory.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A setting's value does not have its type.
    #[error("{place}: {key} = {value}: expected {expected}")]
    Value {
        /// File and line.
        place: Place,
        /// The setting.
        key: String,
        /// What is written.
        value: String,
        /// What should be written.
        expected: String,
    },
    /// A regular expression does not compile.
    #[error("{place}: {key}: bad regular expression: {reason}")]
    Regex {
        /// File and line.
        place: Place,
        /// The setting.
        key: String,
        /// What the compiler of the expression said.
        reason: String,
    },
    /// A setting's expression or script does not hold.
    #[error("{place}: {key}: {reason}")]
    Expression {
        /// File and line.
        place: Place,
        /// The setting, after its stanza where that is not obvious.
        key: String,
        /// What is wrong and what to do about it.
        reason: String,
    },
    /// A setting refers to a stanza that does not exist.
    #[error("{place}: {key} names [{target}], which {conf}.conf does not define")]
    Missing {
        /// File and line.
        place: Place,
        /// The setting.
        key: String,
        /// The stanza it names.
        target: String,
        /// The file the stanza should be in.
        conf: &'static str,
    },
}

impl Error {
    /// What the caller can do about it.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Read { source, .. } if source.kind() == std::io::ErrorKind::NotFound => {
                ErrorKind::NotFound
            }
            Self::Read { .. } => ErrorKind::Unavailable,
            _ => ErrorKind::Invalid,
        }
    }
}
