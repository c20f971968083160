//! Why accounts, roles, tokens or secrets cannot be read or changed.

use model::ErrorKind;

/// Why accounts, roles, tokens or secrets cannot be read or changed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The catalog failed.
    #[error("catalog: {0}")]
    Catalog(#[from] catalog::Error),
    /// A document of the catalog is not what was written.
    #[error("the document {kind}/{name} of the catalog is damaged: {reason}")]
    Document {
        /// Users, roles, tokens.
        kind: &'static str,
        /// Which one.
        name: String,
        /// What does not fit.
        reason: String,
    },
    /// Another token has the same secret.
    #[error("the token \"{name}\" has the same secret; choose another")]
    SecretTaken {
        /// The other token's name.
        name: String,
    },
    /// There are too many.
    #[error("there are {limit} tokens already (max_number_of_tokens)")]
    TooManyTokens {
        /// The limit.
        limit: usize,
    },
    /// There are too many.
    #[error("there are {limit} {what} already, the limit")]
    TooMany {
        /// Of what.
        what: &'static str,
        /// The limit.
        limit: usize,
    },
    /// Something sealed that this server has no key for.
    #[error("\"{name}\" cannot be opened: it was sealed with another key, or is damaged")]
    Sealed {
        /// Which one.
        name: String,
    },
    /// A password that does not fit the rules; it is not in the text.
    #[error("{reason}")]
    Password {
        /// What it lacks.
        reason: String,
    },
    /// A name that is none of a user.
    #[error("{reason}")]
    UserName {
        /// What is wrong with it.
        reason: String,
    },
    /// A setting of authentication.conf or server.conf that does not fit.
    #[error("{place}: [{stanza}] {name} = {value}: expected {expected}")]
    Authentication {
        /// File and line.
        place: String,
        /// The stanza.
        stanza: String,
        /// The key.
        name: &'static str,
        /// What it says.
        value: String,
        /// What it could say.
        expected: String,
    },
    /// An identity provider failed, or says what is not to be believed.
    #[error("identity provider \"{name}\": {reason}")]
    Provider {
        /// Its stanza.
        name: String,
        /// Why.
        reason: String,
    },
    /// More passwords wait to be checked than may.
    #[error("too many logins at a time; try again later")]
    Busy,
    /// A defect in Karst.
    #[error("internal error: {0}")]
    Internal(String),
}

impl Error {
    /// What the caller can do about it.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Catalog(error) => error.kind(),
            Self::Document { .. } | Self::Sealed { .. } => ErrorKind::Corrupt,
            Self::SecretTaken { .. } => ErrorKind::Conflict,
            Self::TooManyTokens { .. } | Self::TooMany { .. } => ErrorKind::Exhausted,
            Self::Password { .. } | Self::UserName { .. } | Self::Authentication { .. } => {
                ErrorKind::Invalid
            }
            Self::Provider { .. } | Self::Busy => ErrorKind::Unavailable,
            Self::Internal(_) => ErrorKind::Internal,
        }
    }

    pub(crate) fn document(kind: &'static str, name: &str, reason: &serde_json::Error) -> Self {
        Self::Document { kind, name: name.to_owned(), reason: reason.to_string() }
    }
}
