//! `len`, `lower`, `upper`, `trim`, `ltrim`, `rtrim`, `substr`, `urldecode`, `like`, `match`,
//! `replace`.
//!
//! Guarantees: lengths and positions count characters, not bytes; literal regular expressions are
//! compiled once.

use std::borrow::Cow;

use super::{Function, Prepared, ResultKind, each, prepared, values};
use crate::eval::node::{Arguments, Kind, Node};
use crate::eval::value::Value;
use crate::pattern::{Groups, Pattern};

pub(super) const FUNCTIONS: &[Function] = &[
    values(&["len", "length"], Kind::Number, len),
    each(&["lower"], |arguments| arguments.each(|text| Some(text.to_lowercase()))),
    each(&["upper"], |arguments| arguments.each(|text| Some(text.to_uppercase()))),
    each(&["trim"], |arguments| trim(arguments, true, true)),
    each(&["ltrim"], |arguments| trim(arguments, true, false)),
    each(&["rtrim"], |arguments| trim(arguments, false, true)),
    each(&["substr"], substr),
    each(&["urldecode"], |arguments| arguments.each(|text| Some(urldecode(text)))),
    prepared(&["like"], ResultKind::Always(Kind::Truth), prepare_like, |arguments| {
        matches(arguments, |text| Pattern::compile(&like_regex(text)).ok())
    }),
    prepared(
        &["match"],
        ResultKind::Always(Kind::Truth),
        |all| pattern(all, 1),
        |arguments| matches(arguments, |text| Pattern::compile(text).ok()),
    ),
    prepared(&["replace"], ResultKind::OfEach, prepare_replace, replace),
];

#[allow(clippy::cast_precision_loss)]
fn len<'a>(arguments: &Arguments<'a, '_>) -> Value<'a> {
    Value::optional_number(arguments.text(0).map(|text| text.chars().count() as f64))
}

/// Removes the characters of the second argument, spaces and tabs by default, from the ends.
fn trim<'a>(arguments: &Arguments<'a, '_>, left: bool, right: bool) -> Value<'a> {
    let given = if arguments.given(1) { arguments.text(1) } else { Some(Cow::Borrowed(" \t")) };
    let Some(removed) = given else { return Value::Null };
    arguments.each(|text| {
        let mut kept = text;
        if left {
            kept = kept.trim_start_matches(|character| removed.contains(character));
        }
        if right {
            kept = kept.trim_end_matches(|character| removed.contains(character));
        }
        Some(kept.to_owned())
    })
}

/// `substr(text, start, length)`: the first character is 1, negative starts count from the end.
fn substr<'a>(arguments: &Arguments<'a, '_>) -> Value<'a> {
    let Some(start) = arguments.value(1).whole() else { return Value::Null };
    let length = if arguments.given(2) { arguments.value(2).whole().map(Some) } else { Some(None) };
    let Some(length) = length else { return Value::Null };
    arguments.each(|text| {
        let total = i64::try_from(text.chars().count()).ok()?;
        let first = match start {
            1.. => start - 1,
            0 => 0,
            _ => (total + start).max(0),
        };
        let end = length.map_or(total, |length| first.saturating_add(length.max(0)).min(total));
        let taken = usize::try_from(end - first).unwrap_or(0);
        Some(text.chars().skip(usize::try_from(first).ok()?).take(taken).collect())
    })
}

/// `%41` becomes `A`; what is no escape stays, and so does `+`.
fn urldecode(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        let escape = after.get(..2).and_then(|hex| std::str::from_utf8(hex).ok());
        let decoded = escape.filter(|hex| hex.bytes().all(|digit| digit.is_ascii_hexdigit()));
        match decoded.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(value) if byte == b'%' => {
                bytes.push(value);
                rest = &after[2..];
            }
            _ => {
                bytes.push(byte);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn like_regex(pattern: &str) -> String {
    let mut source = String::from("(?s)^");
    for character in pattern.chars() {
        match character {
            '%' => source.push_str(".*"),
            '_' => source.push('.'),
            other => source.push_str(&regex::escape(other.encode_utf8(&mut [0; 4]))),
        }
    }
    source.push_str(r"\z");
    source
}

fn prepare_like(arguments: &[Node]) -> Result<Prepared, String> {
    match arguments[1].literal_text() {
        None => Ok(Prepared::Nothing),
        Some(text) => Pattern::compile(&like_regex(text)).map(Prepared::Pattern),
    }
}

/// The regular expression in an argument, if it is a literal.
pub(super) fn pattern(arguments: &[Node], at: usize) -> Result<Prepared, String> {
    match arguments[at].literal_text() {
        None => Ok(Prepared::Nothing),
        Some(text) => Pattern::compile(text)
            .map(Prepared::Pattern)
            .map_err(|reason| format!("bad regular expression \"{text}\": {reason}")),
    }
}

/// Whether any text of the first argument matches.
fn matches<'a>(
    arguments: &Arguments<'a, '_>,
    compile: impl Fn(&str) -> Option<Pattern>,
) -> Value<'a> {
    let texts = arguments.value(0).texts();
    if texts.is_empty() {
        return Value::Null;
    }
    let any = |pattern: &Pattern| texts.iter().any(|text| pattern.is_match(text));
    match arguments.prepared {
        Prepared::Pattern(pattern) => Value::Truth(any(pattern)),
        _ => {
            let pattern = arguments.text(1).and_then(|text| compile(&text));
            Value::optional_truth(pattern.map(|pattern| any(&pattern)))
        }
    }
}

/// What replaces a match: literals and groups (`\1`).
#[derive(Debug)]
pub(crate) struct Replacement(Vec<Part>);

#[derive(Debug)]
enum Part {
    Literal(String),
    Group(usize),
}

impl Replacement {
    fn new(source: &str) -> Self {
        let mut parts = Vec::new();
        let mut literal = String::new();
        let mut characters = source.chars().peekable();
        while let Some(character) = characters.next() {
            match (character, characters.peek().copied()) {
                ('\\', Some(digit)) if digit.is_ascii_digit() => {
                    characters.next();
                    parts.push(Part::Literal(std::mem::take(&mut literal)));
                    parts.push(Part::Group(digit.to_digit(10).unwrap_or(0) as usize));
                }
                ('\\', Some('\\')) => {
                    characters.next();
                    literal.push('\\');
                }
                _ => literal.push(character),
            }
        }
        parts.push(Part::Literal(literal));
        Self(parts)
    }

    fn expand(&self, groups: &Groups<'_>, out: &mut String) {
        for part in &self.0 {
            match part {
                Part::Literal(text) => out.push_str(text),
                Part::Group(number) => out.push_str(groups.get(*number).unwrap_or_default()),
            }
        }
    }
}

fn prepare_replace(arguments: &[Node]) -> Result<Prepared, String> {
    let pattern = match pattern(arguments, 1)? {
        Prepared::Pattern(pattern) => Some(pattern),
        _ => None,
    };
    Ok(Prepared::Replace(pattern, arguments[2].literal_text().map(Replacement::new)))
}

fn replace<'a>(arguments: &Arguments<'a, '_>) -> Value<'a> {
    let Prepared::Replace(literal_pattern, literal_replacement) = arguments.prepared else {
        return Value::Null;
    };
    let (own_pattern, own_replacement);
    let pattern = match literal_pattern {
        Some(pattern) => pattern,
        None => {
            let compiled = arguments.text(1).and_then(|text| Pattern::compile(&text).ok());
            let Some(compiled) = compiled else { return Value::Null };
            own_pattern = compiled;
            &own_pattern
        }
    };
    let replacement = match literal_replacement {
        Some(replacement) => replacement,
        None => {
            let Some(text) = arguments.text(2) else { return Value::Null };
            own_replacement = Replacement::new(&text);
            &own_replacement
        }
    };
    arguments.each(|text| {
        let mut out = String::with_capacity(text.len());
        let mut done = 0;
        pattern.each_match(text, |groups| {
            let (start, end) = groups.span(0).unwrap_or((done, done));
            out.push_str(&text[done..start]);
            replacement.expand(groups, &mut out);
            done = end;
            true
        });
        out.push_str(&text[done..]);
        Some(out)
    })
}
