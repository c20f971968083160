//! JSON as a tree that keeps numbers as they are written: `1.50`, `1e5`, `-0.0` (docs/decisions/0048).
//!
//! Guarantees: invalid JSON gives no tree. Values nested deeper than `LEVELS` stay text, which bounds the
//! recursion. Members of objects keep their order; if a name is repeated, its last member is used.

use std::borrow::Cow;
use std::fmt::{self, Display, Formatter};

use serde_json::value::RawValue;

/// Maximum number of nested objects and arrays that are parsed; the same as in `serde_json`.
pub(crate) const LEVELS: usize = 127;

/// A JSON value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JsonTree<'t> {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number as it is written.
    Number(&'t str),
    /// A string without quotes and escapes.
    Text(Cow<'t, str>),
    /// The items of an array.
    Array(Vec<JsonTree<'t>>),
    /// The members of an object.
    Object(Vec<(Cow<'t, str>, JsonTree<'t>)>),
    /// An array or object as text, because it is nested too deeply to be parsed.
    Deep(&'t str),
}

impl<'t> JsonTree<'t> {
    /// Parses a text as JSON.
    #[must_use]
    pub fn parse(text: &'t str) -> Option<Self> {
        // Validates the whole text without recursion, so that the reader below need not.
        let text = serde_json::from_str::<&RawValue>(text).ok()?.get();
        Self::of_valid(text, LEVELS)
    }

    /// Parses a text that is known to be valid JSON; values nested deeper than these levels stay text.
    pub(crate) fn of_valid(text: &'t str, levels: usize) -> Option<Self> {
        Reader { text, at: 0 }.value(levels)
    }

    /// Returns the member of an object with this name, the last one if the name is repeated.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Self> {
        match self {
            Self::Object(members) => {
                members.iter().rev().find(|(known, _)| known == name).map(|(_, value)| value)
            }
            _ => None,
        }
    }

    /// Returns whether a part of the value is nested too deeply to be parsed.
    pub(crate) fn has_deep(&self) -> bool {
        match self {
            Self::Array(items) => items.iter().any(Self::has_deep),
            Self::Object(members) => members.iter().any(|(_, value)| value.has_deep()),
            other => matches!(other, Self::Deep(_)),
        }
    }

    /// Returns the value as a field value: texts without quotes, other values as JSON. Null gives `None`.
    #[must_use]
    pub fn text(&self) -> Option<Cow<'_, str>> {
        match self {
            Self::Null => None,
            Self::Number(text) => Some(Cow::Borrowed(text)),
            Self::Text(text) => Some(Cow::Borrowed(text)),
            other => Some(Cow::Owned(other.to_string())),
        }
    }
}

/// Writes JSON without blanks, except in parts that are nested too deeply.
impl Display for JsonTree<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("null"),
            Self::Bool(truth) => write!(f, "{truth}"),
            Self::Number(text) | Self::Deep(text) => f.write_str(text),
            Self::Text(text) => quoted(text, f),
            Self::Array(items) => {
                f.write_str("[")?;
                for (at, item) in items.iter().enumerate() {
                    if at > 0 {
                        f.write_str(",")?;
                    }
                    write!(f, "{item}")?;
                }
                f.write_str("]")
            }
            Self::Object(members) => {
                f.write_str("{")?;
                for (at, (name, value)) in members.iter().enumerate() {
                    if at > 0 {
                        f.write_str(",")?;
                    }
                    quoted(name, f)?;
                    write!(f, ":{value}")?;
                }
                f.write_str("}")
            }
        }
    }
}

fn quoted(text: &str, f: &mut Formatter<'_>) -> fmt::Result {
    write!(f, "{}", serde_json::Value::from(text))
}

/// A reader of valid JSON. If the text is not valid, it ends early.
struct Reader<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Reader<'t> {
    fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    /// Returns the next byte that is not a blank.
    fn peek(&mut self) -> Option<u8> {
        let rest = self.rest().trim_ascii_start();
        self.at = self.text.len() - rest.len();
        rest.bytes().next()
    }

    /// Returns whether the next byte is this one, and consumes it if so.
    fn takes(&mut self, byte: u8) -> bool {
        let is_next = self.peek() == Some(byte);
        self.at += usize::from(is_next);
        is_next
    }

    fn value(&mut self, levels: usize) -> Option<JsonTree<'t>> {
        match (self.peek()?, levels.checked_sub(1)) {
            (b'{' | b'[', None) => self.deep(),
            (b'{', Some(levels)) => self.object(levels),
            (b'[', Some(levels)) => self.array(levels),
            (b'"', _) => self.string().map(JsonTree::Text),
            _ => Some(self.literal()),
        }
    }

    /// Returns the text of the array or object that begins here.
    fn deep(&mut self) -> Option<JsonTree<'t>> {
        let rest = self.rest();
        let (mut open, mut in_text, mut is_escaped) = (0_usize, false, false);
        for (at, byte) in rest.bytes().enumerate() {
            match byte {
                _ if is_escaped => is_escaped = false,
                b'\\' if in_text => is_escaped = true,
                b'"' => in_text = !in_text,
                b'[' | b'{' if !in_text => open += 1,
                b']' | b'}' if !in_text => {
                    open = open.checked_sub(1)?;
                    if open == 0 {
                        self.at += at + 1;
                        return rest.get(..=at).map(JsonTree::Deep);
                    }
                }
                _ => {}
            }
        }
        None
    }

    fn object(&mut self, levels: usize) -> Option<JsonTree<'t>> {
        let mut members = Vec::new();
        self.at += 1;
        if self.takes(b'}') {
            return Some(JsonTree::Object(members));
        }
        loop {
            self.peek()?;
            let name = self.string()?;
            if !self.takes(b':') {
                return None;
            }
            members.push((name, self.value(levels)?));
            if self.takes(b'}') {
                return Some(JsonTree::Object(members));
            }
            if !self.takes(b',') {
                return None;
            }
        }
    }

    fn array(&mut self, levels: usize) -> Option<JsonTree<'t>> {
        let mut items = Vec::new();
        self.at += 1;
        if self.takes(b']') {
            return Some(JsonTree::Array(items));
        }
        loop {
            items.push(self.value(levels)?);
            if self.takes(b']') {
                return Some(JsonTree::Array(items));
            }
            if !self.takes(b',') {
                return None;
            }
        }
    }

    /// Reads the string that begins here.
    fn string(&mut self) -> Option<Cow<'t, str>> {
        let rest = self.rest();
        let bytes = rest.as_bytes();
        let (mut end, mut is_escaped) = (1, false);
        loop {
            end += memchr::memchr2(b'"', b'\\', bytes.get(end..)?)?;
            if bytes[end] == b'"' {
                break;
            }
            is_escaped = true;
            end += 2;
        }
        self.at += end + 1;
        match is_escaped {
            true => serde_json::from_str(rest.get(..=end)?).ok().map(Cow::Owned),
            false => rest.get(1..end).map(Cow::Borrowed),
        }
    }

    /// Reads a number, `true`, `false` or `null`.
    fn literal(&mut self) -> JsonTree<'t> {
        let rest = self.rest();
        let ends =
            |character: char| matches!(character, ',' | ']' | '}') || character.is_whitespace();
        let literal = rest.split(ends).next().unwrap_or_default();
        self.at += literal.len();
        match literal {
            "null" => JsonTree::Null,
            "true" => JsonTree::Bool(true),
            "false" => JsonTree::Bool(false),
            number => JsonTree::Number(number),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn numbers_keep_their_text() {
        let text =
            r#" { "f" : 1.50 , "e":[1e5, -0.0,12345678901234567890.10] , "s":"a\"\u00e9\n" } "#;
        let tree = JsonTree::parse(text).unwrap();
        assert_eq!(
            tree.to_string(),
            r#"{"f":1.50,"e":[1e5,-0.0,12345678901234567890.10],"s":"a\"é\n"}"#
        );
        assert_eq!(tree.get("f").unwrap().text().unwrap(), "1.50");
        assert_eq!(tree.get("s").unwrap().text().unwrap(), "a\"é\n");
    }

    #[test]
    fn what_is_no_json_is_no_tree() {
        for text in ["", "{", "[1,]", "{\"a\" 1}", "nul", "1 2", "{\"a\":01}", "\"\\ud800\"", "'a'"]
        {
            assert_eq!(JsonTree::parse(text), None, "{text}");
        }
    }

    #[test]
    fn what_is_nested_too_deep_stays_as_it_is_written() {
        let nested = |levels: usize, inner: &str| {
            format!("{}{inner}{}", "[".repeat(levels), "]".repeat(levels))
        };
        let whole = nested(LEVELS, "1");
        assert!(!JsonTree::parse(&whole).unwrap().has_deep());
        for levels in [LEVELS + 1, 100_000] {
            let text = nested(levels, r#" "]\"}" "#);
            let tree = JsonTree::parse(&text).unwrap();
            assert!(tree.has_deep());
            assert_eq!(tree.to_string(), text);
        }
        assert_eq!(JsonTree::parse(&nested(LEVELS + 1, "x")), None);
        assert_eq!(JsonTree::parse(&"[".repeat(100_000)), None);
        // The member after the deeply nested one is parsed.
        let text = nested(LEVELS - 1, r#"{"a":[{"b": 1}],"c":2}"#);
        assert_eq!(JsonTree::parse(&text).unwrap().to_string(), text);
    }

    #[test]
    fn of_members_with_a_name_the_last_counts() {
        let tree = JsonTree::parse(r#"{"a":1,"a":null,"b":true}"#).unwrap();
        assert_eq!(tree.get("a"), Some(&JsonTree::Null));
        assert_eq!(tree.get("a").unwrap().text(), None);
        assert_eq!(tree.get("b").unwrap().text().unwrap(), "true");
    }

    proptest! {
        #[test]
        fn texts_and_names_are_those_of_serde_json(texts in prop::collection::vec(any::<String>(), 0..4)) {
            let name = texts.concat();
            let json = serde_json::json!({ "list": texts, "more": { name: [1, null, {}] } });
            for text in [json.to_string(), serde_json::to_string_pretty(&json).unwrap()] {
                prop_assert_eq!(JsonTree::parse(&text).unwrap().to_string(), json.to_string());
            }
        }
    }
}
