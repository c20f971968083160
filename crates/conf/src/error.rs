//! Errors of configuration files.

use std::fmt;
use std::path::PathBuf;

use model::ErrorKind;

use crate::file::Place;

/// A configuration directory or file that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("cannot read {path}: {source}; check that it exists and is readable", path = .path.display())]
pub struct Error {
    /// The file or directory.
    pub path: PathBuf,
    /// The error of the operating system.
    pub source: std::io::Error,
}

impl Error {
    /// The kind of the error, which tells the caller how to react.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self.source.kind() {
            std::io::ErrorKind::NotFound => ErrorKind::NotFound,
            _ => ErrorKind::Unavailable,
        }
    }
}

/// An invalid value of a setting, or a required setting without a value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct Invalid {
    /// File and line: those of the stanza if the setting is missing, `None` if the stanza is missing, too.
    pub place: Option<Place>,
    /// The file, without `.conf`.
    pub conf: String,
    /// The stanza; empty where the settings of several stanzas are combined.
    pub stanza: String,
    /// The key.
    pub key: String,
    /// The value in the file; empty for a missing setting.
    pub value: String,
    /// The expected value, or a sentence of its own.
    pub reason: String,
}

impl Invalid {
    /// The text without file and line.
    #[must_use]
    pub fn without_place(&self) -> String {
        let stanza = match self.stanza.as_str() {
            "" => String::new(),
            name => format!("[{name}] "),
        };
        match self.value.as_str() {
            "" => format!("{stanza}{}: {}", self.key, self.reason),
            value => format!("{stanza}{} = {value}: {}", self.key, self.reason),
        }
    }
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            Some(place) => write!(f, "{place}: ")?,
            None => write!(f, "{}.conf: ", self.conf)?,
        }
        f.write_str(&self.without_place())
    }
}
