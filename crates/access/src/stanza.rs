//! A stanza of a strategy in authentication.conf, with the stanzas and files that go with it.

use conf::{Effective, FromValue, Key, Reader};

use crate::Error;
use crate::settings as keys;

/// A stanza of a `.conf` file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stanza<'a> {
    pub(crate) conf: &'a Effective,
    pub(crate) name: &'a str,
}

impl<'a> Stanza<'a> {
    pub(crate) fn reader(&self) -> Reader<'a> {
        Reader::new(self.conf, self.name)
    }

    pub(crate) fn get<T: FromValue>(&self, key: &Key<T>) -> Result<T, Error> {
        Ok(self.reader().get(key)?)
    }

    pub(crate) fn wrong<T>(&self, key: &Key<T>, expected: impl Into<String>) -> Error {
        self.reader().wrong(key, expected).into()
    }

    pub(crate) fn required(
        &self,
        key: &Key<Option<String>>,
        expected: &'static str,
    ) -> Result<String, Error> {
        self.get(key)?.ok_or_else(|| self.wrong(key, expected))
    }

    /// The content of `caCertFile`.
    pub(crate) fn certificates(&self) -> Result<Option<Vec<u8>>, Error> {
        let Some(path) = self.get(&keys::CA_CERT_FILE)? else { return Ok(None) };
        std::fs::read(path).map(Some).map_err(|error| {
            self.wrong(&keys::CA_CERT_FILE, format!("a file that can be read ({error})"))
        })
    }

    /// Returns a stanza that belongs to this one: `[<prefix>_<strategy>]`, or `[<prefix>_<kind>]`, which is
    /// Splunk's name independent of the strategy.
    pub(crate) fn companion(&self, prefix: &str, kind: &str) -> String {
        let own = format!("{prefix}_{}", self.name);
        if self.conf.stanza(&own).is_some() { own } else { format!("{prefix}_{kind}") }
    }

    /// A secret: the value, or the contents of the file it names.
    pub(crate) fn secret(&self, key: &Key<Option<String>>) -> Result<Option<String>, Error> {
        let Some(text) = self.get(key)? else { return Ok(None) };
        let Some(path) = text.strip_prefix("file:") else { return Ok(Some(text)) };
        let read = std::fs::read_to_string(path.trim());
        read.map(|secret| Some(secret.trim_end().to_owned()))
            .map_err(|error| self.wrong(key, format!("a file that can be read ({error})")))
    }

    /// The mapping of groups to roles: `[roleMap_<strategy>]`, or `[roleMap_<kind>]`, with
    /// `role = group;group`.
    pub(crate) fn role_map(&self, kind: &str) -> Vec<(String, Vec<String>)> {
        let stanza = self.conf.stanza(&self.companion("roleMap", kind));
        let entries = stanza.map_or(&[][..], |stanza| &stanza.entries);
        let groups = |text: &str| keys::ROLE_GROUPS.value(text).unwrap_or_default();
        entries.iter().map(|entry| (entry.key.to_lowercase(), groups(&entry.value))).collect()
    }
}
