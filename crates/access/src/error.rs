//! Errors of users, roles, tokens and secrets.

use model::ErrorKind;

/// Errors of users, roles, tokens and secrets.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The catalog failed.
    #[error("catalog: {0}")]
    Catalog(#[from] catalog::Error),
    /// A document of the catalog is invalid.
    #[error("the document {kind}/{name} of the catalog is damaged: {reason}")]
    Document {
        /// Users, roles, tokens.
        kind: &'static str,
        /// The name of the object.
        name: String,
        /// Why it is invalid.
        reason: String,
    },
    /// Another token has the same secret.
    #[error("the token \"{name}\" has the same secret; choose another")]
    SecretTaken {
        /// The other token's name.
        name: String,
    },
    /// A limit is reached.
    #[error("there are {limit} tokens already (max_number_of_tokens)")]
    TooManyTokens {
        /// The limit.
        limit: usize,
    },
    /// A limit is reached.
    #[error("there are {limit} {what} already, the limit")]
    TooMany {
        /// The kind of object.
        what: &'static str,
        /// The limit.
        limit: usize,
    },
    /// Encrypted data for which this server has no key.
    #[error("\"{name}\" cannot be opened: it was sealed with another key, or is damaged")]
    Sealed {
        /// The name of the object.
        name: String,
    },
    /// A password violates the policy; the error does not contain it.
    #[error("{reason}")]
    Password {
        /// The violated rules.
        reason: String,
    },
    /// An invalid user name.
    #[error("{reason}")]
    UserName {
        /// Why it is invalid.
        reason: String,
    },
    /// An invalid setting of authentication.conf or server.conf.
    #[error(transparent)]
    Setting(#[from] conf::Invalid),
    /// An invalid time span in a request.
    #[error("{name} = {value}: expected a time span such as 90s, 5m, 1h")]
    TimeSpan {
        /// The setting.
        name: &'static str,
        /// The value.
        value: String,
    },
    /// An identity provider failed, or its response failed verification.
    #[error("identity provider \"{name}\": {reason}")]
    Provider {
        /// Its stanza.
        name: String,
        /// Why.
        reason: String,
    },
    /// Too many password checks are queued.
    #[error("too many logins at a time; try again later")]
    Busy,
    /// A session has ended in this process of a cluster only: the catalog does not have its end yet.
    #[error(
        "the session has ended in this process, but the catalog does not answer: other processes accept the \
         session until it does. This process tells it again every second; check that a control plane runs \
         and reaches object storage"
    )]
    EndNotTold,
    /// The same of a single process.
    #[error(
        "the session has ended, but the catalog does not answer: the session is valid again if the process ends \
         before the end is stored, which it tries again every second; check that object storage answers"
    )]
    EndNotStored,
    /// An internal error.
    #[error("internal error: {0}")]
    Internal(String),
}

impl Error {
    /// Returns the kind of the error, which tells the caller how to react.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Catalog(error) => error.kind(),
            Self::Document { .. } | Self::Sealed { .. } => ErrorKind::Corrupt,
            Self::SecretTaken { .. } => ErrorKind::Conflict,
            Self::TooManyTokens { .. } | Self::TooMany { .. } => ErrorKind::Exhausted,
            Self::Password { .. }
            | Self::UserName { .. }
            | Self::Setting(_)
            | Self::TimeSpan { .. } => ErrorKind::Invalid,
            Self::Provider { .. } | Self::Busy | Self::EndNotTold | Self::EndNotStored => {
                ErrorKind::Unavailable
            }
            Self::Internal(_) => ErrorKind::Internal,
        }
    }

    pub(crate) fn document(kind: &'static str, name: &str, reason: &serde_json::Error) -> Self {
        Self::Document { kind, name: name.to_owned(), reason: reason.to_string() }
    }
}
