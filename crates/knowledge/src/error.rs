//! What can go wrong with configuration, with the place and the remedy.

use model::ErrorKind;

use conf::Place;

/// Everything this crate refuses.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// An invalid value of a setting.
    #[error(transparent)]
    Setting(#[from] conf::Invalid),
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
    /// File and line, where they are known.
    #[must_use]
    pub fn place(&self) -> Option<&Place> {
        match self {
            Self::Setting(invalid) => invalid.place.as_ref(),
            Self::Regex { place, .. }
            | Self::Expression { place, .. }
            | Self::Missing { place, .. } => Some(place),
        }
    }

    /// What the caller can do about it.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        ErrorKind::Invalid
    }
}
