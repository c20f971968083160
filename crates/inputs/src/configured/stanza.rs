//! One stanza of `inputs.conf`, read by declaration; mistakes are collected.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use conf::{Effective, FromValue, Invalid, Key, Place, Reader, Stanza};
use knowledge::Pattern;
use model::IndexName;

use super::home::{Home, owner};
use crate::Error;
use crate::settings as keys;

/// A stanza with its defaults, and the mistakes found in it so far.
#[derive(Debug)]
pub(crate) struct Keys<'a> {
    reader: Reader<'a>,
    stanza: &'a Stanza,
    pub(crate) errors: Vec<Error>,
}

impl<'a> Keys<'a> {
    pub(crate) fn new(conf: &'a Effective, stanza: &'a Stanza) -> Self {
        Self { reader: Reader::new(conf, &stanza.name), stanza, errors: Vec::new() }
    }

    pub(crate) fn name(&self) -> &'a str {
        &self.stanza.name
    }

    /// The folder of the app whose file has the stanza: relative paths begin there.
    pub(crate) fn app_folder(&self) -> Option<PathBuf> {
        owner(self.file()?).map(Path::to_owned)
    }

    /// Returns the file of the stanza; `None` for a stanza that was set over REST, whose inherited settings
    /// are in files.
    fn file(&self) -> Option<&'a Path> {
        let entries = self.stanza.entries.iter().map(|entry| &entry.place);
        let files = std::iter::once(&self.stanza.place).chain(entries);
        files.map(|place| Path::new(&*place.file)).find(|file| owner(file).is_some())
    }

    fn home(&self) -> Option<Home> {
        Home::of(self.file()?)
    }

    /// The variables for a program.
    pub(crate) fn variables(&self) -> Vec<(String, String)> {
        self.home().map(|home| home.variables()).unwrap_or_default()
    }

    /// Expands a path in the stanza's name.
    ///
    /// # Errors
    /// If the path is impossible, with the reason.
    pub(crate) fn path(&self, text: &str) -> Result<String, String> {
        match self.home() {
            Some(home) => home.expand(text),
            None => Ok(text.to_owned()),
        }
    }

    /// A setting; its default where it is not set or invalid.
    pub(crate) fn get<T: FromValue>(&mut self, key: &Key<T>) -> T {
        self.reader.get(key).unwrap_or_else(|invalid| {
            self.errors.push(invalid.into());
            key.default_value()
        })
    }

    /// The same, of another stanza where this one does not have it.
    pub(crate) fn get_or<T: FromValue>(&mut self, key: &Key<T>, stanza: &'a str) -> T {
        self.reader.or(stanza).get(key).unwrap_or_else(|invalid| {
            self.errors.push(invalid.into());
            key.default_value()
        })
    }

    /// Returns a text; an empty one counts as not set, as over REST.
    pub(crate) fn shared(&self, key: &Key<Option<String>>) -> Option<Arc<str>> {
        self.reader.text(key).filter(|text| !text.is_empty()).map(Into::into)
    }

    /// Returns the place where the stanza sets an empty value.
    pub(crate) fn empty<T>(&self, key: &Key<T>) -> Option<&'a Place> {
        let entry = self.stanza.get(key.name()).filter(|entry| entry.value.trim().is_empty());
        entry.map(|entry| &entry.place)
    }

    /// Returns the place where the stanza itself sets a value.
    pub(crate) fn own<T>(&self, key: &Key<T>) -> Option<&'a Place> {
        self.stanza.get(key.name()).map(|entry| &entry.place)
    }

    /// Returns the place of a setting's value; `None` for the default.
    pub(crate) fn place_of<T>(&self, key: &Key<T>) -> Option<&'a Place> {
        self.reader.entry(&key.setting).map(|entry| &entry.place)
    }

    /// Returns the place where another stanza enables a setting, if it does.
    pub(crate) fn switched_on(&self, key: &Key<bool>, stanza: &str) -> Option<&'a Place> {
        let entry = self.reader.conf.stanza(stanza)?.get(key.name())?;
        (key.value(&entry.value) == Some(true)).then_some(&entry.place)
    }

    /// Returns the place of the stanza.
    pub(crate) fn place(&self) -> &'a Place {
        &self.stanza.place
    }

    /// Notes that something else is expected of a setting.
    pub(crate) fn wrong<T>(&mut self, key: &Key<T>, expected: impl Into<String>) {
        self.errors.push(self.reader.wrong(key, expected).into());
    }

    /// Notes that the value of a setting cannot be used.
    pub(crate) fn refused<T>(&mut self, key: &Key<T>, reason: String) {
        self.errors.push(self.reader.refused(&key.setting, reason).into());
    }

    /// Notes that something else is expected in the stanza's name.
    pub(crate) fn wrong_name(&mut self, part: &str, expected: impl Into<String>) {
        let invalid = Invalid {
            place: Some(self.stanza.place.clone()),
            conf: "inputs".to_owned(),
            stanza: self.stanza.name.clone(),
            key: part.to_owned(),
            value: String::new(),
            reason: format!("expected {}", expected.into()),
        };
        self.errors.push(invalid.into());
    }

    pub(crate) fn pattern(&mut self, key: &Key<Pattern>) -> Option<Pattern> {
        match Pattern::compile(self.reader.text(key)?) {
            Ok(pattern) => Some(pattern),
            Err(reason) => {
                self.wrong(key, format!("a regular expression: {reason}"));
                None
            }
        }
    }

    pub(crate) fn index(&mut self) -> IndexName {
        let name = self.get(&keys::INDEX);
        match IndexName::new(&name) {
            Ok(index) => index,
            Err(error) => {
                self.refused(&keys::INDEX, error.to_string());
                IndexName::new("main").expect("the name is valid")
            }
        }
    }

    /// The stanza's `host`, unless it leaves the choice to the machine.
    pub(crate) fn host(&self) -> Option<Arc<str>> {
        self.shared(&keys::HOST).filter(|host| &**host != "$decideOnStartup")
    }
}
