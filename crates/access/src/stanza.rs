//! A stanza of authentication.conf or server.conf: typed values, and errors that name the place.

use std::time::Duration;

use knowledge::conf::Entry;
use knowledge::layers::Effective;

use crate::Error;

/// A stanza of a `.conf` file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stanza<'a> {
    pub(crate) conf: &'a Effective,
    pub(crate) name: &'a str,
}

impl<'a> Stanza<'a> {
    /// The content of `caCertFile`.
    pub(crate) fn certificates(&self) -> Result<Option<Vec<u8>>, Error> {
        let Some(path) = self.text("caCertFile") else { return Ok(None) };
        std::fs::read(path)
            .map(Some)
            .map_err(|error| self.wrong("caCertFile", format!("a file that can be read ({error})")))
    }

    /// A stanza that goes with this one: `[<prefix>_<strategy>]`, or `[<prefix>_<kind>]`, as Splunk
    /// calls it whatever the strategy's name.
    pub(crate) fn companion(&self, prefix: &str, kind: &str) -> String {
        let own = format!("{prefix}_{}", self.name);
        if self.conf.stanza(&own).is_some() { own } else { format!("{prefix}_{kind}") }
    }

    fn entry(&self, key: &str) -> Option<&'a Entry> {
        self.conf.get(self.name, key).filter(|entry| !entry.value.trim().is_empty())
    }

    pub(crate) fn text(&self, key: &str) -> Option<&'a str> {
        self.entry(key).map(|entry| entry.value.trim())
    }

    pub(crate) fn required(
        &self,
        key: &'static str,
        expected: &'static str,
    ) -> Result<String, Error> {
        self.text(key).map(str::to_owned).ok_or_else(|| self.wrong(key, expected))
    }

    pub(crate) fn text_or(&self, key: &str, default: &str) -> String {
        self.text(key).unwrap_or(default).to_owned()
    }

    /// A list separated by `;`.
    pub(crate) fn list(&self, key: &str) -> Vec<String> {
        split(self.text(key).unwrap_or_default())
    }

    pub(crate) fn flag(&self, key: &'static str) -> Result<Option<bool>, Error> {
        let Some(text) = self.text(key) else { return Ok(None) };
        match text.to_ascii_lowercase().as_str() {
            "1" | "t" | "true" | "yes" | "enabled" => Ok(Some(true)),
            "0" | "f" | "false" | "no" | "disabled" => Ok(Some(false)),
            _ => Err(self.wrong(key, "true or false")),
        }
    }

    pub(crate) fn number(
        &self,
        key: &'static str,
        least: u64,
        most: u64,
    ) -> Result<Option<u64>, Error> {
        let Some(text) = self.text(key) else { return Ok(None) };
        match text.parse::<u64>() {
            Ok(value) if (least..=most).contains(&value) => Ok(Some(value)),
            _ => Err(self.wrong(key, format!("a whole number from {least} to {most}"))),
        }
    }

    pub(crate) fn span(&self, key: &'static str) -> Result<Option<Duration>, Error> {
        let Some(text) = self.text(key) else { return Ok(None) };
        let span = time_span(text);
        span.map(Some).ok_or_else(|| self.wrong(key, "a time span such as 90s, 30m, 1h or 2d"))
    }

    /// A secret: the value, or the contents of the file it names.
    pub(crate) fn secret(&self, key: &'static str) -> Result<Option<String>, Error> {
        let Some(text) = self.text(key) else { return Ok(None) };
        let Some(path) = text.strip_prefix("file:") else { return Ok(Some(text.to_owned())) };
        let read = std::fs::read_to_string(path.trim());
        read.map(|secret| Some(secret.trim_end().to_owned()))
            .map_err(|error| self.wrong(key, format!("a file that can be read ({error})")))
    }

    /// The mapping of groups to roles: `[roleMap_<strategy>]`, or `[roleMap_<kind>]`, with
    /// `role = group;group`.
    pub(crate) fn role_map(&self, kind: &str) -> Vec<(String, Vec<String>)> {
        let stanza = self.conf.stanza(&self.companion("roleMap", kind));
        let entries = stanza.map_or(&[][..], |stanza| &stanza.entries);
        entries.iter().map(|entry| (entry.key.to_lowercase(), split(&entry.value))).collect()
    }

    pub(crate) fn wrong(&self, key: &'static str, expected: impl Into<String>) -> Error {
        let entry = self.conf.get(self.name, key);
        Error::Authentication {
            place: entry.map_or_else(|| "authentication.conf".to_owned(), |e| e.place.to_string()),
            stanza: self.name.to_owned(),
            name: key,
            value: entry.map(|entry| entry.value.clone()).unwrap_or_default(),
            expected: expected.into(),
        }
    }
}

fn split(text: &str) -> Vec<String> {
    text.split(';').map(str::trim).filter(|part| !part.is_empty()).map(str::to_owned).collect()
}

/// Parses a time span in Splunk's format: `90`, `90s`, `30m`, `1h`, `2d`; `None` if invalid or
/// empty.
#[must_use]
pub fn time_span(text: &str) -> Option<Duration> {
    let text = text.trim();
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match &text[digits.len()..] {
        "" | "s" | "sec" | "secs" | "second" | "seconds" => 1,
        "m" | "min" | "mins" | "minute" | "minutes" => 60,
        "h" | "hr" | "hrs" | "hour" | "hours" => 3_600,
        "d" | "day" | "days" => 86_400,
        _ => return None,
    };
    let seconds = digits.trim().parse::<u64>().ok()?.checked_mul(unit)?;
    (seconds > 0).then(|| Duration::from_secs(seconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_spans_have_a_number_and_a_unit() {
        let seconds = |text| time_span(text).map(|span| span.as_secs());
        assert_eq!(
            ["90", "5m", "42h", "2 days"].map(seconds),
            [90, 300, 151_200, 172_800].map(Some)
        );
        assert_eq!(["", "h", "1y", "-1h", "0"].map(seconds), [None; 5]);
    }
}
