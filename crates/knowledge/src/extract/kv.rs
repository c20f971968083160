//! Automatic extraction of `key=value` and `key="value with blanks"`.
//!
//! A key consists of letters, digits, `_`, `.` and `-` directly before the equals sign. It is cleaned as by
//! `CLEAN_KEYS`: other characters become `_`, leading `_` and digits are removed. An unquoted value ends at
//! white space or one of `,;|&"`, without a final closing bracket that has no opening one in the value. Empty
//! values give no field.

use std::borrow::Cow;
use std::ops::ControlFlow;

use memchr::{memchr, memchr_iter};

/// `KV_MODE`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum KvMode {
    /// No automatic extraction.
    None,
    /// JSON from events that are JSON objects, key=value pairs from others.
    #[default]
    Auto,
    /// Like `Auto`, but with `\"` and `\\` inside of quoted values unescaped.
    AutoEscaped,
    /// Only JSON.
    Json,
    /// XML elements and attributes.
    Xml,
    /// The columns of tables such as the output of `ps`; each field has the values of all lines.
    Multi,
}

impl KvMode {
    /// Returns the mode that a value of the setting names.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim().to_ascii_lowercase();
        // The rest of the value names a stanza of multikv.conf, which is not needed: its settings, such as
        // the separator, are detected from the table.
        if text.starts_with("multi_") || text.starts_with("multi:") {
            return Some(Self::Multi);
        }
        Some(match text.as_str() {
            "none" | "false" | "0" => Self::None,
            "auto" | "true" | "1" => Self::Auto,
            "auto_escaped" => Self::AutoEscaped,
            "json" => Self::Json,
            "xml" => Self::Xml,
            "multi" => Self::Multi,
            _ => return None,
        })
    }
}

/// Visits all pairs, in order.
#[inline]
pub(super) fn pairs<'a>(
    raw: &'a str,
    escaped: bool,
    visit: &mut impl FnMut(&str, Cow<'a, str>) -> ControlFlow<()>,
) -> ControlFlow<()> {
    let bytes = raw.as_bytes();
    let mut resume = 0;
    for equals in memchr_iter(b'=', bytes) {
        if equals < resume {
            continue;
        }
        let Some(key) = key_before(raw, resume, equals) else { continue };
        let (value, end) = value_after(raw, equals + 1, escaped);
        resume = end;
        if value.is_empty() {
            continue;
        }
        match clean_key(key) {
            Cow::Borrowed("") => {}
            Cow::Borrowed(key) => visit(key, value)?,
            Cow::Owned(key) => visit(&key, value)?,
        }
    }
    ControlFlow::Continue(())
}

/// The character classes of each byte.
const CLASS: [u8; 256] = classes();
/// A character of a key in an event.
const KEY: u8 = 1;
/// A character of a clean key.
const CLEAN: u8 = 2;
/// A character that a clean key does not begin with.
const NOT_FIRST: u8 = 4;
/// A character that ends an unquoted value.
const STOP: u8 = 8;

const fn classes() -> [u8; 256] {
    let mut class = [0; 256];
    let mut at = 0;
    while at < 256 {
        let byte = at as u8;
        let clean = byte.is_ascii_alphanumeric() || byte == b'_';
        if clean {
            class[at] |= CLEAN;
        }
        if clean || byte == b'.' || byte == b'-' {
            class[at] |= KEY;
        }
        if byte.is_ascii_digit() || byte == b'_' {
            class[at] |= NOT_FIRST;
        }
        if byte.is_ascii_whitespace() || matches!(byte, b',' | b';' | b'|' | b'&' | b'"') {
            class[at] |= STOP;
        }
        at += 1;
    }
    class
}

#[inline]
fn is(byte: u8, class: u8) -> bool {
    CLASS[usize::from(byte)] & class != 0
}

#[inline]
fn key_before(raw: &str, from: usize, equals: usize) -> Option<&str> {
    let bytes = raw.as_bytes();
    let quoted = usize::from(equals > from && bytes[equals - 1] == b'"');
    let end = equals - quoted;
    let mut start = end;
    while start > from && is(bytes[start - 1], KEY) {
        start -= 1;
    }
    let opened = quoted == 0 || (start > from && bytes[start - 1] == b'"');
    (start < end && opened).then(|| &raw[start..end])
}

/// Returns the value that begins at a position, and the position after it.
#[inline]
fn value_after(raw: &str, at: usize, escaped: bool) -> (Cow<'_, str>, usize) {
    let bytes = raw.as_bytes();
    if bytes.get(at) == Some(&b'"') {
        let start = at + 1;
        let close = match escaped {
            true => closing_quote(bytes, start),
            false => memchr(b'"', &bytes[start..]).map(|length| start + length),
        };
        if let Some(close) = close {
            let text = &raw[start..close];
            return (if escaped { unescape(text) } else { Cow::Borrowed(text) }, close + 1);
        }
        return (Cow::Borrowed(""), start);
    }
    let length = bytes[at..].iter().position(|byte| is(*byte, STOP)).unwrap_or(bytes.len() - at);
    let mut value = &raw[at..at + length];
    if value.starts_with('=') {
        return (Cow::Borrowed(""), at + 1);
    }
    if let Some(b')' | b']' | b'}') = value.as_bytes().last() {
        value = without_closing(value);
    }
    (Cow::Borrowed(value), at + length)
}

#[cold]
fn without_closing(mut value: &str) -> &str {
    for (open, close) in [('(', ')'), ('[', ']'), ('{', '}')] {
        if value.ends_with(close) && !value.contains(open) {
            value = value.trim_end_matches(close);
        }
    }
    value
}

fn closing_quote(bytes: &[u8], start: usize) -> Option<usize> {
    let mut at = start;
    loop {
        at += memchr::memchr2(b'"', b'\\', &bytes[at..])?;
        if bytes[at] == b'"' {
            return Some(at);
        }
        at = (at + 2).min(bytes.len());
    }
}

fn unescape(text: &str) -> Cow<'_, str> {
    if !text.contains('\\') {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match (c, chars.peek()) {
            ('\\', Some(next @ ('"' | '\\'))) => {
                out.push(*next);
                chars.next();
            }
            _ => out.push(c),
        }
    }
    Cow::Owned(out)
}

/// Applies `CLEAN_KEYS`: characters other than letters, digits and `_` become `_`; leading `_` and digits are
/// removed.
#[inline]
pub(super) fn clean_key(key: &str) -> Cow<'_, str> {
    let bytes = key.as_bytes();
    let first = bytes.iter().position(|byte| !is(*byte, NOT_FIRST)).unwrap_or(bytes.len());
    let key = &key[first..];
    if bytes[first..].iter().all(|byte| is(*byte, CLEAN)) {
        return Cow::Borrowed(key);
    }
    replaced_key(key)
}

#[cold]
fn replaced_key(key: &str) -> Cow<'_, str> {
    let clean = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let replaced: String = key.chars().map(|c| if clean(c) { c } else { '_' }).collect();
    let stripped = replaced.trim_start_matches(|c: char| c == '_' || c.is_ascii_digit());
    match stripped.len() {
        0 => Cow::Borrowed(""),
        length if length == replaced.len() => Cow::Owned(replaced),
        _ => Cow::Owned(stripped.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn found(raw: &str, escaped: bool) -> Vec<(String, String)> {
        let mut out = Vec::new();
        let _ = pairs(raw, escaped, &mut |key, value| {
            out.push((key.to_owned(), value.into_owned()));
            ControlFlow::Continue(())
        });
        out
    }

    fn check(raw: &str, expected: &[(&str, &str)]) {
        let expected: Vec<_> =
            expected.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        assert_eq!(found(raw, false), expected, "{raw}");
    }

    #[test]
    fn plain_and_quoted_values_are_found() {
        check(
            "a=1 b=\"x y\", c=2;d=3|e=4",
            &[("a", "1"), ("b", "x y"), ("c", "2"), ("d", "3"), ("e", "4")],
        );
        check("\"key\"=\"v\" k=é", &[("key", "v"), ("k", "é")]);
    }

    #[test]
    fn empty_values_and_comparisons_are_no_fields() {
        check("logname= uid=0 a=\"\" b==c d = e", &[("uid", "0")]);
    }

    #[test]
    fn keys_are_cleaned() {
        check(
            "user.name=x x-id=1 _a=2 9b=3 --=4",
            &[("user_name", "x"), ("x_id", "1"), ("a", "2"), ("b", "3")],
        );
    }

    #[test]
    fn brackets_that_the_value_did_not_open_are_not_part_of_it() {
        check("(uid=0) [b=f(x)] {c=1}", &[("uid", "0"), ("b", "f(x)"), ("c", "1")]);
    }

    #[test]
    fn values_may_contain_equals_signs_and_queries_split() {
        check("t=YWI= u=/a?x=1&y=2", &[("t", "YWI="), ("u", "/a?x=1"), ("y", "2")]);
    }

    #[test]
    fn escapes_count_only_in_their_mode() {
        let raw = r#"a="x \"y\" \\ z" b=1"#;
        assert_eq!(found(raw, true)[0].1, r#"x "y" \ z"#);
        assert_eq!(found(raw, false)[0].1, r"x \");
    }

    proptest! {
        #[test]
        fn any_text_is_survived(raw in "\\PC{0,60}|[a=\" \\\\(),é]{0,40}", escaped: bool) {
            for (key, value) in found(&raw, escaped) {
                prop_assert!(!key.is_empty() && !value.is_empty());
            }
        }
    }
}
