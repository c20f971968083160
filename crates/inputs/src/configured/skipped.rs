//! Enabled inputs that do not run, because their stanza is invalid or their port is taken.

use std::fmt;

use crate::Error;

/// An enabled input that does not run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skipped {
    /// The stanza.
    pub stanza: String,
    /// The reason.
    pub reason: String,
}

impl Skipped {
    pub(super) fn new(stanza: &str, error: &Error) -> Self {
        Self { stanza: stanza.to_owned(), reason: error.to_string() }
    }
}

impl fmt::Display for Skipped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; the input [{}] is skipped", self.reason, self.stanza)
    }
}
