//! A record as text, in the format of Splunk's `audittrail`.
//!
//! ```text
//! Audit:[timestamp="11-22-2026 10:15:00.123 +0000", seq=7, user=ann, action=search, ...][prev=.. hash=..]
//! ```
//!
//! Values that are plain words are unquoted; all others and the last one are quoted, with `\"` and `\\`
//! for quotes and backslashes, and `\n` for line ends: a record is one line, and no value can look like a
//! field. Records of earlier versions whose last value is unquoted are read, too.

use std::borrow::Cow;
use std::fmt::Write;

use jiff::Timestamp;
use model::EventTime;

use crate::chain::{Digest, Key};

/// The action of records about repairs.
pub(crate) const REPAIR: &str = "audit_repair";
/// The action of records about expired files.
pub(crate) const EXPIRE: &str = "audit_expire";

const HEAD: &str = "Audit:[timestamp=\"";
const SEQUENCE: &str = "\", seq=";
const PREVIOUS: &str = "][prev=";
const HASH: &str = " hash=";
/// Bytes of `][prev=.. hash=..]`.
const TAIL: usize = PREVIOUS.len() + HASH.len() + 2 * Digest::DIGITS + 1;

/// The outcome, in Splunk's terms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Info {
    /// Allowed; it starts.
    Granted,
    /// Not permitted.
    Denied,
    /// Done.
    Succeeded,
    /// Tried and failed.
    Failed,
    /// A search has ended.
    Completed,
    /// A search was cancelled.
    Canceled,
}

impl Info {
    /// The text form.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Granted => "granted",
            Self::Denied => "denied",
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Completed => "completed",
            Self::Canceled => "canceled",
        }
    }
}

/// The contents of a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    fields: Vec<(Cow<'static, str>, String)>,
}

impl Record {
    /// An action of a user; `n/a` for none, `splunk-system-user` for the server.
    #[must_use]
    pub fn new(user: &str, action: &str, info: Info) -> Self {
        let user = if user.is_empty() { "n/a" } else { user };
        Self { fields: Vec::new() }
            .with("user", user)
            .with("action", action)
            .with("info", info.word())
    }

    /// An action of the server.
    #[must_use]
    pub fn of_server(action: &str, info: Info) -> Self {
        Self::new("splunk-system-user", action, info)
    }

    /// A marker that ends the queue.
    pub(crate) fn end() -> Self {
        Self { fields: Vec::new() }
    }

    pub(crate) fn is_end(&self) -> bool {
        self.fields.is_empty()
    }

    /// Adds a field; an empty value is ignored.
    #[must_use]
    pub fn with(mut self, name: impl Into<Cow<'static, str>>, value: impl ToString) -> Self {
        let value = value.to_string();
        if !value.is_empty() {
            self.fields.push((name.into(), value));
        }
        self
    }

    /// Adds a field, if there is a value.
    #[must_use]
    pub fn with_some(self, name: &'static str, value: Option<impl ToString>) -> Self {
        match value {
            Some(value) => self.with(name, value),
            None => self,
        }
    }

    /// Approximate size in bytes.
    #[must_use]
    pub fn size(&self) -> usize {
        let fields = self.fields.iter().map(|(name, value)| name.len() + value.len() + 5);
        fields.sum::<usize>() + TAIL + 64
    }

    /// Truncates values so that the record has about `most` bytes. A truncated value ends with its
    /// length and SHA-256.
    #[must_use]
    pub fn within(mut self, most: usize) -> Self {
        while self.size() > most {
            let over = self.size() - most;
            let Some((_, longest)) = self.fields.iter_mut().max_by_key(|(_, value)| value.len())
            else {
                return self;
            };
            let mark = format!(
                "...[{} bytes, sha256 {}]",
                longest.len(),
                Digest::sha256(longest.as_bytes())
            );
            let mut keep = longest.len().saturating_sub(over + mark.len());
            while !longest.is_char_boundary(keep) {
                keep -= 1;
            }
            if keep + mark.len() >= longest.len() {
                return self;
            }
            longest.truncate(keep);
            longest.push_str(&mark);
        }
        self
    }

    /// The line of the record (without line end) and its hash, given the previous hash.
    pub(crate) fn line(
        &self,
        time: EventTime,
        seq: u64,
        previous: &Digest,
        key: &Key,
    ) -> (String, Digest) {
        let moment = Timestamp::from_microsecond(time.0).unwrap_or(Timestamp::UNIX_EPOCH);
        let moment = moment.strftime("%m-%d-%Y %H:%M:%S%.3f +0000");
        let mut line = format!("{HEAD}{moment}{SEQUENCE}{seq}");
        let last = self.fields.len().saturating_sub(1);
        for (at, (name, value)) in self.fields.iter().enumerate() {
            line.push_str(", ");
            line.push_str(name);
            line.push('=');
            // Searches that extract key=value would take `][prev=` for a part of an unquoted last value.
            write_value(value, at == last, &mut line);
        }
        let hash = key.link(previous, line.as_bytes());
        // Writing to a string cannot fail.
        let _ = write!(line, "{PREVIOUS}{previous}{HASH}{hash}]");
        (line, hash)
    }
}

fn write_value(value: &str, quoted: bool, out: &mut String) {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"_-./:@*+%".contains(&b);
    if !quoted && !value.is_empty() && value.bytes().all(plain) {
        out.push_str(value);
        return;
    }
    out.push('"');
    for c in value.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c.is_control() || c == '\u{2028}' || c == '\u{2029}' => {
                let _ = write!(out, "\\u{{{:x}}}", c as u32);
            }
            c => out.push(c),
        }
    }
    out.push('"');
}

/// A parsed record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line<'a> {
    /// Its number.
    pub seq: u64,
    /// The previous hash.
    pub previous: Digest,
    /// Its stated hash.
    pub hash: Digest,
    /// The text covered by the hash.
    pub(crate) body: &'a str,
}

impl<'a> Line<'a> {
    /// Parses a line without its line end; `None` if it is not a record.
    #[must_use]
    pub fn parse(line: &'a [u8]) -> Option<Self> {
        let line = std::str::from_utf8(line).ok()?;
        let split = line.len().checked_sub(TAIL)?;
        let (body, tail) = (line.get(..split)?, line.get(split..)?);
        let (previous, hash) = tail.strip_prefix(PREVIOUS)?.split_once(HASH)?;
        let hash = hash.strip_suffix(']')?.parse().ok()?;
        let after = body.strip_prefix(HEAD)?.split_once(SEQUENCE)?.1;
        let digits = after.split(|c: char| !c.is_ascii_digit()).next()?;
        let seq = digits.parse().ok().filter(|seq: &u64| seq.to_string() == digits)?;
        Some(Self { seq, previous: previous.parse().ok()?, hash, body })
    }

    /// Whether the hash matches the text.
    #[must_use]
    pub fn is_genuine(&self, key: &Key) -> bool {
        key.link(&self.previous, self.body.as_bytes()) == self.hash
    }

    /// Its time.
    #[must_use]
    pub fn time(&self) -> Option<EventTime> {
        let text = self.body.strip_prefix(HEAD)?.split_once('"')?.0;
        let moment = jiff::fmt::strtime::parse("%m-%d-%Y %H:%M:%S%.f %z", text).ok()?;
        Some(EventTime(moment.to_timestamp().ok()?.as_microsecond()))
    }

    /// The value of a field.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<String> {
        let mut rest = self.body.strip_prefix("Audit:[")?;
        loop {
            let (key, after) = rest.split_once('=')?;
            let (value, next) = read_value(after)?;
            if key == name {
                return Some(value);
            }
            rest = next.strip_prefix(", ")?;
        }
    }
}

/// Parses a value; returns it and the rest.
fn read_value(text: &str) -> Option<(String, &str)> {
    let Some(quoted) = text.strip_prefix('"') else {
        let end = text.find(", ").unwrap_or(text.len());
        return Some((text[..end].to_owned(), &text[end..]));
    };
    let mut value = String::new();
    let mut chars = quoted.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return Some((value, &quoted[at + 1..])),
            '\\' => match chars.next()?.1 {
                'n' => value.push('\n'),
                'r' => value.push('\r'),
                't' => value.push('\t'),
                'u' => {
                    let digits: String =
                        chars.by_ref().skip(1).map(|(_, c)| c).take_while(|c| *c != '}').collect();
                    value.push(char::from_u32(u32::from_str_radix(&digits, 16).ok()?)?);
                }
                other => value.push(other),
            },
            other => value.push(other),
        }
    }
    None
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn line(record: &Record) -> String {
        record.line(EventTime(1_795_342_500_123_000), 7, &Digest::ZERO, &Key::new(&[1; 32])).0
    }

    #[test]
    fn a_record_reads_as_splunk_writes_it() {
        let record = Record::new("ann", "login attempt", Info::Succeeded)
            .with("clientip", "10.0.0.9")
            .with("search", "search \"a\\b\"\n| x")
            .with_some("none", None::<String>);
        let expected = "Audit:[timestamp=\"11-22-2026 10:15:00.123 +0000\", seq=7, user=ann, \
                        action=\"login attempt\", info=succeeded, clientip=10.0.0.9, \
                        search=\"search \\\"a\\\\b\\\"\\n| x\"][prev=0000";
        let text = line(&record);
        assert!(text.starts_with(expected), "{text}");
        let read = Line::parse(text.as_bytes()).unwrap();
        assert_eq!((read.seq, read.previous), (7, Digest::ZERO));
        assert_eq!(read.time(), Some(EventTime(1_795_342_500_123_000)));
        assert!(read.is_genuine(&Key::new(&[1; 32])) && !read.is_genuine(&Key::new(&[2; 32])));
    }

    #[test]
    fn the_last_value_is_quoted() {
        for (record, end) in [
            (
                Record::new("ann", "search", Info::Completed).with("search", "failed"),
                "search=\"failed\"",
            ),
            (Record::new("ann", "logout", Info::Succeeded), "info=\"succeeded\""),
        ] {
            let text = line(&record);
            assert!(text.contains(&format!(", {end}][prev=0000")), "{text}");
        }
    }

    #[test]
    fn a_record_of_an_earlier_version_is_genuine_and_read() {
        let key = Key::new(&[1; 32]);
        let body = "Audit:[timestamp=\"11-22-2026 10:15:00.123 +0000\", seq=7, user=ann, action=search, \
                    info=completed, search=failed";
        let hash = key.link(&Digest::ZERO, body.as_bytes());
        let text = format!("{body}{PREVIOUS}{}{HASH}{hash}]", Digest::ZERO);
        let read = Line::parse(text.as_bytes()).unwrap();
        assert!(read.is_genuine(&key));
        assert_eq!(read.field("search").as_deref(), Some("failed"));
        assert_eq!(read.field("user").as_deref(), Some("ann"));
    }

    #[test]
    fn a_long_value_is_cut_with_a_mark() {
        let record = Record::new("ann", "search", Info::Granted).with("search", "ä".repeat(5_000));
        let cut = record.within(2_000);
        assert!(cut.size() <= 2_000, "{}", cut.size());
        let text = line(&cut);
        let search = Line::parse(text.as_bytes()).unwrap().field("search").unwrap();
        assert!(search.contains("...[10000 bytes, sha256 "), "{search}");
    }

    proptest! {
        #[test]
        fn every_value_is_read_as_it_was_written(value in "\\PC*|[\"\\\\,=\\[\\]\n\r\t\u{0}-\u{1f} a]*") {
            prop_assume!(!value.is_empty());
            let record = Record::new(&value, "x", Info::Denied).with("search", &value).with("last", "y");
            let text = line(&record);
            prop_assert!(!text.contains(['\n', '\r']));
            let read = Line::parse(text.as_bytes()).unwrap();
            prop_assert_eq!(read.field("user"), Some(value.clone()));
            prop_assert_eq!(read.field("search"), Some(value));
            prop_assert_eq!(read.field("last"), Some("y".to_owned()));
        }
    }
}
