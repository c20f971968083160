//! A login as described by a response, and the values that the response has to match.

pub(crate) const PROTOCOL: &str = "urn:oasis:names:tc:SAML:2.0:protocol";
pub(crate) const ASSERTION: &str = "urn:oasis:names:tc:SAML:2.0:assertion";

/// A user logged in by the provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Login {
    /// The subject.
    pub subject: Subject,
    /// The first value of the attribute `realName`.
    pub real_name: Option<String>,
    /// The first value of the attribute `mail`.
    pub mail: Option<String>,
    /// Values of the attribute `role`.
    pub groups: Vec<String>,
    /// The assertion's ID; an assertion is accepted once.
    pub assertion_id: String,
    /// When the assertion expires, with the skew; epoch seconds.
    pub expires: i64,
    /// When the session has to end (`SessionNotOnOrAfter`), if the provider says so; epoch seconds.
    pub session_end: Option<i64>,
}

/// The user by the provider's name, which a logout needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subject {
    /// `NameID`.
    pub name_id: String,
    /// Its format.
    pub format: Option<String>,
    /// The ID of the session at the provider.
    pub session_index: Option<String>,
}

/// The values that the response has to match.
#[derive(Debug, Clone, Copy)]
pub struct Expected<'a> {
    /// The ID of the request with which the browser was sent to the provider.
    pub request_id: &'a str,
    /// Epoch seconds.
    pub now: i64,
}
