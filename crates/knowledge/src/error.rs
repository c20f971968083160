//! Errors in configuration, with the place and a hint.

use model::ErrorKind;

use conf::Place;

/// Errors of this crate.
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
        /// The message of the regex compiler.
        reason: String,
    },
    /// An expression or script in a setting is invalid.
    #[error("{place}: {key}: {reason}")]
    Expression {
        /// File and line.
        place: Place,
        /// The name of the setting, after that of its stanza if that is not obvious.
        key: String,
        /// What is wrong, and how to fix it.
        reason: String,
    },
    /// A setting refers to a stanza that does not exist.
    #[error("{place}: {key} names [{target}], which {conf}.conf does not define{}", separator(.target))]
    Missing {
        /// File and line.
        place: Place,
        /// The setting.
        key: String,
        /// The name of the missing stanza.
        target: String,
        /// The file in which the stanza is expected.
        conf: &'static str,
    },
}

/// Returns the hint for a name that may be a list of names.
fn separator(target: &str) -> &'static str {
    if target.contains(char::is_whitespace) { ": commas separate names, blanks do not" } else { "" }
}

impl Error {
    /// Returns file and line, if they are known.
    #[must_use]
    pub fn place(&self) -> Option<&Place> {
        match self {
            Self::Setting(invalid) => invalid.place.as_ref(),
            Self::Regex { place, .. }
            | Self::Expression { place, .. }
            | Self::Missing { place, .. } => Some(place),
        }
    }

    /// Returns the kind of the error, which says what the caller can do about it.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        ErrorKind::Invalid
    }
}
