//! A login as a response tells of it, and what the response has to fit.

pub(crate) const PROTOCOL: &str = "urn:oasis:names:tc:SAML:2.0:protocol";
pub(crate) const ASSERTION: &str = "urn:oasis:names:tc:SAML:2.0:assertion";

/// Whom the provider logged in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Login {
    /// The subject.
    pub subject: Subject,
    /// Values of the attribute `realName`, the first.
    pub real_name: Option<String>,
    /// Values of the attribute `mail`, the first.
    pub mail: Option<String>,
    /// Values of the attribute `role`.
    pub groups: Vec<String>,
    /// The assertion's ID, good once.
    pub assertion_id: String,
    /// When the assertion expires, with the skew; epoch seconds.
    pub expires: i64,
    /// When the session has to end (`SessionNotOnOrAfter`), if the provider says so; epoch seconds.
    pub session_end: Option<i64>,
}

/// The user as the provider names them, needed again for a logout.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subject {
    /// `NameID`.
    pub name_id: String,
    /// Its format.
    pub format: Option<String>,
    /// The session at the provider.
    pub session_index: Option<String>,
}

/// What the answer has to fit.
#[derive(Debug, Clone, Copy)]
pub struct Expected<'a> {
    /// The ID of the request that the browser was sent away with.
    pub request_id: &'a str,
    /// Epoch seconds.
    pub now: i64,
}
