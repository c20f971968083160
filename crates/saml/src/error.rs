//! Errors of SAML logins.

/// Errors of SAML logins. Texts that come from a message are shortened; none contains a secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// A certificate that cannot be used.
    #[error("certificate: {0}")]
    Certificate(String),
    /// A private key that cannot be used.
    #[error("private key: {0}")]
    Key(String),
    /// A message above the limits.
    #[error("the message is too large: {0}")]
    TooLarge(&'static str),
    /// A message that is not XML of the accepted subset.
    #[error("the message is not acceptable XML: {0}")]
    Xml(String),
    /// The provider reports that the login failed.
    #[error("the provider answered {code}{}", after_colon(message.as_deref()))]
    Status {
        /// Last part of the status codes, outer and inner.
        code: String,
        /// The provider's text.
        message: Option<String>,
    },
    /// A signature that is missing, invalid or made in an unaccepted way.
    #[error("signature: {0}")]
    Signature(String),
    /// A message that is not a valid answer to the request.
    #[error("the response is refused: {0}")]
    Response(String),
    /// A valid message that needs something that is not supported.
    #[error("not supported: {0}")]
    Unsupported(&'static str),
    /// An assertion that was used before.
    #[error("the assertion was used before")]
    Replayed,
}

impl Error {
    pub(crate) fn xml(reason: impl Into<String>) -> Self {
        Self::Xml(short(&reason.into()))
    }

    pub(crate) fn signature(reason: impl Into<String>) -> Self {
        Self::Signature(short(&reason.into()))
    }

    pub(crate) fn response(reason: impl Into<String>) -> Self {
        Self::Response(reason.into())
    }
}

fn after_colon(text: Option<&str>) -> String {
    text.map_or_else(String::new, |text| format!(": {text}"))
}

/// A text of a message, shortened for a log line.
pub(crate) fn short(text: &str) -> String {
    let clean = text.chars().map(|c| if c.is_control() { ' ' } else { c });
    clean.take(200).collect::<String>().trim().to_owned()
}
