//! One stanza of `inputs.conf`, read by type; what is wrong is named by file, stanza and key.

use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use knowledge::Pattern;
use knowledge::conf::{Entry, Place, Stanza};
use knowledge::layers::Effective;
use model::IndexName;

use crate::Error;

/// A stanza with its defaults, and the mistakes found in it so far.
#[derive(Debug)]
pub(crate) struct Keys<'a> {
    conf: &'a Effective,
    stanza: &'a Stanza,
    pub(crate) errors: Vec<Error>,
}

impl<'a> Keys<'a> {
    pub(crate) fn new(conf: &'a Effective, stanza: &'a Stanza) -> Self {
        Self { conf, stanza, errors: Vec::new() }
    }

    pub(crate) fn name(&self) -> &'a str {
        &self.stanza.name
    }

    /// The folder of the app whose file has the stanza: relative paths begin there.
    pub(crate) fn app_folder(&self) -> Option<PathBuf> {
        let file = PathBuf::from(&*self.stanza.place.file);
        Some(file.parent()?.parent()?.to_owned())
    }

    fn entry(&self, key: &str) -> Option<&'a Entry> {
        self.conf.get(self.name(), key).filter(|entry| !entry.value.is_empty())
    }

    pub(crate) fn text(&self, key: &str) -> Option<&'a str> {
        self.entry(key).map(|entry| entry.value.as_str())
    }

    pub(crate) fn shared(&self, key: &str) -> Option<Arc<str>> {
        self.text(key).map(Into::into)
    }

    /// Notes a mistake in a key, or in the stanza's name if it does not have the key.
    pub(crate) fn wrong(&mut self, key: &str, expected: impl Into<String>) {
        let entry = self.entry(key);
        let place = entry.map_or(&self.stanza.place, |entry| &entry.place);
        self.errors.push(setting_error(place, self.name(), key, entry, expected.into()));
    }

    pub(crate) fn read<T>(
        &mut self,
        key: &str,
        expected: &str,
        read: impl Fn(&str) -> Option<T>,
    ) -> Option<T> {
        let text = self.text(key)?;
        let value = read(text);
        if value.is_none() {
            self.wrong(key, expected);
        }
        value
    }

    pub(crate) fn number<T: FromStr>(&mut self, key: &str) -> Option<T> {
        self.read(key, "a whole number", |text| text.parse().ok())
    }

    pub(crate) fn boolean(&mut self, key: &str) -> Option<bool> {
        self.read(key, "true or false", |text| match text.to_ascii_lowercase().as_str() {
            "1" | "true" | "t" | "yes" | "y" => Some(true),
            "0" | "false" | "f" | "no" | "n" => Some(false),
            _ => None,
        })
    }

    pub(crate) fn pattern(&mut self, key: &str) -> Option<Pattern> {
        match Pattern::compile(self.text(key)?) {
            Ok(pattern) => Some(pattern),
            Err(reason) => {
                self.wrong(key, format!("a regular expression: {reason}"));
                None
            }
        }
    }

    /// A time such as `7d`, `90m`, `30`; a bare number is seconds, 0 is none.
    pub(crate) fn duration(&mut self, key: &str) -> Option<Duration> {
        let found = self.read(key, "a number with s, m, h or d, such as 7d", duration);
        found.filter(|time| !time.is_zero())
    }

    pub(crate) fn index(&mut self) -> IndexName {
        let name = self.text("index").unwrap_or("main");
        match IndexName::new(name) {
            Ok(index) => index,
            Err(error) => {
                self.wrong("index", error.to_string());
                IndexName::new("main").expect("the name is valid")
            }
        }
    }

    /// The stanza's `host`, unless it leaves the choice to the machine.
    pub(crate) fn host(&self) -> Option<Arc<str>> {
        self.shared("host").filter(|host| &**host != "$decideOnStartup")
    }
}

fn setting_error(
    place: &Place,
    stanza: &str,
    key: &str,
    entry: Option<&Entry>,
    expected: String,
) -> Error {
    let key = match entry {
        Some(entry) => format!("{key} = {}", entry.value),
        None => key.to_owned(),
    };
    let place = place.to_string();
    Error::Setting { place, stanza: stanza.to_owned(), key, expected }
}

/// See [`Keys::duration`].
pub(crate) fn duration(text: &str) -> Option<Duration> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let number: u64 = text[..digits].parse().ok()?;
    let unit = match text[digits..].trim() {
        "" | "s" | "sec" | "secs" => 1,
        "m" | "min" | "mins" => 60,
        "h" | "hr" | "hrs" => 3_600,
        "d" | "day" | "days" => 86_400,
        _ => return None,
    };
    number.checked_mul(unit).map(Duration::from_secs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units() {
        let seconds = |text: &str| duration(text).map(|time| time.as_secs());
        assert_eq!(seconds("7d"), Some(604_800));
        assert_eq!((seconds("90m"), seconds("30"), seconds("0")), (Some(5_400), Some(30), Some(0)));
        assert_eq!((seconds("soon"), seconds("3w"), seconds("")), (None, None, None));
    }
}
