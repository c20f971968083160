//! The definition of a custom search command: its stanza, and the information about the search that its
//! program gets.

use std::fmt;
use std::time::Duration;

use crate::program::Script;

/// A command of `commands.conf`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    /// Its name in a search.
    pub name: String,
    /// Its program.
    pub script: Script,
    /// The protocol of the program.
    pub protocol: Protocol,
    /// Maximum number of rows per request.
    pub maxinputs: usize,
    /// Time limit for an answer; `None` for the limit of `limits.conf [scripts] maxwait`.
    pub maxwait: Option<Duration>,
    /// Size limit of an answer in bytes; `None` for the limit of `limits.conf [scripts] maxchunksize`.
    pub maxchunksize: Option<u64>,
}

/// The protocol of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Protocol {
    /// Protocol 2 (`chunked = true`): one process, a request and an answer per chunk.
    Chunked,
    /// Protocol 1: one process per chunk, CSV in and out.
    Legacy(Legacy),
}

/// The settings in `commands.conf` of a command of protocol 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools, reason = "each is a setting")]
pub struct Legacy {
    /// Whether the rows are preceded by lines `name:value` and an empty line.
    pub enableheader: bool,
    /// Whether the program prints lines `name=value` and an empty line before its rows.
    pub outputheader: bool,
    /// Whether the program is first asked for its properties.
    pub supports_getinfo: bool,
    /// Whether arguments keep their quotes.
    pub supports_rawargs: bool,
    /// Whether rows have columns `__mv_<field>`.
    pub supports_multivalues: bool,
    /// The properties, if the program is not asked for them.
    pub behaviour: Behaviour,
}

/// The properties of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Behaviour {
    /// Whether it generates rows and begins a search.
    pub generating: bool,
    /// Whether it processes each row independently, so that rows can be split in any way.
    pub streaming: bool,
}

/// Information about the search for a program.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SearchInfo {
    /// The search job.
    pub sid: String,
    /// The app of the search.
    pub app: String,
    /// Its user.
    pub owner: String,
    /// Its text.
    pub search: String,
    /// Start of the time range in epoch seconds; 0 if unlimited.
    pub earliest: String,
    /// End of the time range.
    pub latest: String,
    /// The version of Splunk that Karst reports.
    pub version: String,
    /// The address of the management port; empty if there is none.
    pub uri: String,
    /// A session of the user at the management port; empty if the command gets none.
    pub session_key: SessionKey,
    /// The arguments, as written.
    pub raw_arguments: Vec<String>,
    /// The arguments, without quotes.
    pub arguments: Vec<String>,
}

/// The key of a session, which is not shown with the information that it belongs to.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct SessionKey(String);

impl SessionKey {
    /// A key.
    #[must_use]
    pub fn new(key: String) -> Self {
        Self(key)
    }

    /// The key, for the program.
    pub(crate) fn text(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for SessionKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_empty() { "no key" } else { "a key" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_key_is_not_in_the_text_of_what_it_belongs_to() {
        let info =
            SearchInfo { session_key: SessionKey::new("k3y".to_owned()), ..SearchInfo::default() };
        let shown = format!("{info:?}");
        assert!(shown.contains("session_key: a key") && !shown.contains("k3y"), "{shown}");
    }
}
