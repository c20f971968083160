//! Reads declared settings from stanzas.

use std::collections::BTreeMap;

use crate::error::Invalid;
use crate::file::Entry;
use crate::layers::{Effective, Layers};
use crate::setting::{FromValue, Key, Setting};

/// The effective files of some layers, merged when they are first used.
#[derive(Debug)]
pub struct Confs<'a> {
    layers: &'a Layers,
    merged: BTreeMap<&'static str, Effective>,
}

impl<'a> Confs<'a> {
    /// The files of these layers.
    #[must_use]
    pub fn of(layers: &'a Layers) -> Self {
        Self { layers, merged: BTreeMap::new() }
    }

    /// Reads a setting from its own stanza; the default if it is not set.
    ///
    /// # Errors
    /// An invalid value, with its place.
    pub fn read<T: FromValue>(&mut self, setting: &Setting) -> Result<T, Invalid> {
        let conf = self.merged.entry(setting.conf);
        let conf = conf.or_insert_with(|| self.layers.effective(setting.conf));
        Reader::new(conf, setting.stanza).read(setting)
    }
}

/// A stanza, completed by `[default]`, from which declared settings are read. Values are trimmed; an empty
/// value counts as not set.
#[derive(Debug, Clone, Copy)]
pub struct Reader<'a> {
    /// The file.
    pub conf: &'a Effective,
    /// Name of the stanza.
    pub name: &'a str,
    between: Option<&'a str>,
}

impl<'a> Reader<'a> {
    /// Reads from a stanza, which need not exist.
    #[must_use]
    pub fn new(conf: &'a Effective, name: &'a str) -> Self {
        Self { conf, name, between: None }
    }

    /// Completes the stanza by another stanza, before `[default]`.
    #[must_use]
    pub fn or(self, stanza: &'a str) -> Self {
        Self { between: Some(stanza), ..self }
    }

    /// The effective value, with its place.
    #[must_use]
    pub fn entry(&self, setting: &Setting) -> Option<&'a Entry> {
        let of = |name: &str| self.conf.stanza(name).and_then(|stanza| stanza.get(setting.name));
        let own = of(self.name).or_else(|| of(self.between?)).or_else(|| of("default"));
        own.filter(|entry| !entry.value.trim().is_empty())
    }

    /// The text of a setting; `None` if it is not set.
    #[must_use]
    pub fn text<T>(&self, key: &Key<T>) -> Option<&'a str> {
        self.entry(&key.setting).map(|entry| entry.value.trim())
    }

    /// The value of a setting, or its default.
    ///
    /// # Errors
    /// If the value is invalid, or if there is neither a value nor a default.
    pub fn get<T: FromValue>(&self, key: &Key<T>) -> Result<T, Invalid> {
        self.read(&key.setting)
    }

    /// The value of a setting; `None` if it is not set.
    ///
    /// # Errors
    /// An invalid value.
    pub fn given<T: FromValue>(&self, key: &Key<T>) -> Result<Option<T>, Invalid> {
        self.entry(&key.setting).is_some().then(|| self.get(key)).transpose()
    }

    pub(crate) fn read<T: FromValue>(&self, setting: &Setting) -> Result<T, Invalid> {
        let value = match self.entry(setting) {
            Some(entry) => value_of(setting, entry.value.trim()),
            None => setting.default_value(),
        };
        value.ok_or_else(|| self.invalid(setting, setting.kind.expected()))
    }

    /// The error for a value other than expected.
    #[must_use]
    pub fn wrong<T>(&self, key: &Key<T>, expected: impl Into<String>) -> Invalid {
        self.invalid(&key.setting, expected)
    }

    /// The error for a value other than expected; at the place of the stanza if the setting is not set.
    #[must_use]
    pub fn invalid(&self, setting: &Setting, expected: impl Into<String>) -> Invalid {
        self.refused(setting, format!("expected {}", expected.into()))
    }

    /// The error for an unusable value, with a reason that is a sentence of its own; at the place of the
    /// stanza if the setting is not set.
    #[must_use]
    pub fn refused(&self, setting: &Setting, reason: String) -> Invalid {
        let entry = self.entry(setting);
        let stanza = || self.conf.stanza(self.name).map(|stanza| stanza.place.clone());
        Invalid {
            place: entry.map(|entry| entry.place.clone()).or_else(stanza),
            conf: self.conf.conf.clone(),
            stanza: self.name.to_owned(),
            key: setting.name.to_owned(),
            value: entry.map(|entry| entry.value.clone()).unwrap_or_default(),
            reason,
        }
    }
}

fn value_of<T: FromValue>(setting: &Setting, text: &str) -> Option<T> {
    setting.kind.read(text).and_then(T::from_value)
}

impl Setting {
    /// The default; `None` if a file has to set the value.
    #[must_use]
    pub fn default_value<T: FromValue>(&self) -> Option<T> {
        match self.default {
            "" => T::absent(),
            text => value_of(self, text),
        }
    }

    /// Reads a value from text.
    #[must_use]
    pub fn value<T: FromValue>(&self, text: &str) -> Option<T> {
        value_of(self, text.trim())
    }
}
