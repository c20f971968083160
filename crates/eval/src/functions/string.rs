//! `len`, `lower`, `upper`, `trim`, `ltrim`, `rtrim`, `substr`, `urldecode`, `like`.
//!
//! Guarantees: lengths and positions count characters, not bytes.

use regex::Regex;

use super::{Call, Function, Preparation, number, shown, text_of_each, truth};
use crate::value::Value;
use crate::{Cached, Row};

pub(super) const FUNCTIONS: &[Function] = &[
    shown("len", |_| Ok(number(len))),
    shown("lower", |_| Ok(text_of_each(|row, out| lower(&row.text(0)?, out)))),
    shown("upper", |_| Ok(text_of_each(|row, out| upper(&row.text(0)?, out)))),
    shown("trim", |_| Ok(text_of_each(|row, out| trim(row, out, true, true)))),
    shown("ltrim", |_| Ok(text_of_each(|row, out| trim(row, out, true, false)))),
    shown("rtrim", |_| Ok(text_of_each(|row, out| trim(row, out, false, true)))),
    shown("substr", |_| Ok(text_of_each(substr))),
    shown("urldecode", |_| Ok(text_of_each(urldecode))),
    shown("like", like),
];

#[allow(clippy::cast_precision_loss)]
fn len(row: Row<'_>) -> Option<f64> {
    let characters = |text: &str| {
        if text.is_ascii() { text.len() } else { text.chars().count() }
    };
    match row.value(0) {
        Value::Text(text) => Some(characters(text) as f64),
        other => Some(characters(&other.text()?) as f64),
    }
}

fn lower(text: &str, out: &mut String) -> Option<()> {
    if text.is_ascii() {
        out.extend(text.bytes().map(|byte| char::from(byte.to_ascii_lowercase())));
    } else {
        out.push_str(&text.to_lowercase());
    }
    Some(())
}

fn upper(text: &str, out: &mut String) -> Option<()> {
    if text.is_ascii() {
        out.extend(text.bytes().map(|byte| char::from(byte.to_ascii_uppercase())));
    } else {
        out.push_str(&text.to_uppercase());
    }
    Some(())
}

/// Removes the characters of the second argument (default: spaces and tabs) from the ends of a text.
fn trim(row: Row<'_>, out: &mut String, left: bool, right: bool) -> Option<()> {
    let text = row.text(0)?;
    let given = if row.len() > 1 { Some(row.text(1)?) } else { None };
    let removed = given.as_deref().unwrap_or(" \t");
    let mut kept: &str = &text;
    if left {
        kept = kept.trim_start_matches(|character| removed.contains(character));
    }
    if right {
        kept = kept.trim_end_matches(|character| removed.contains(character));
    }
    out.push_str(kept);
    Some(())
}

/// `substr(text, start, length)` as in SQLite: positions start at 1, a negative start counts from the end,
/// and a negative length takes the characters before the start.
fn substr(row: Row<'_>, out: &mut String) -> Option<()> {
    let text = row.text(0)?;
    let total = i64::try_from(text.chars().count()).ok()?;
    let length = if row.len() > 2 { row.value(2).whole()? } else { i64::MAX };
    let (mut first, mut taken) = (row.value(1).whole()?, length.saturating_abs());
    if first < 0 {
        first = first.saturating_add(total);
        if first < 0 {
            taken = taken.saturating_add(first).max(0);
            first = 0;
        }
    } else if first > 0 {
        first -= 1;
    } else if taken > 0 && length != i64::MAX {
        taken -= 1;
    }
    if length < 0 {
        first = first.saturating_sub(taken);
        if first < 0 {
            taken = taken.saturating_add(first).max(0);
            first = 0;
        }
    }
    let (first, taken) = (usize::try_from(first).ok()?, usize::try_from(taken).ok()?);
    out.extend(text.chars().skip(first).take(taken));
    Some(())
}

/// Decodes `%41` to `A`; invalid escapes stay, and so does `+`.
fn urldecode(row: Row<'_>, out: &mut String) -> Option<()> {
    let text = row.text(0)?;
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
    out.push_str(&String::from_utf8_lossy(&bytes));
    Some(())
}

/// Prepares `LIKE`: `%` matches any run of characters and `_` one character, case-sensitively.
fn like(call: &Call<'_>) -> Preparation {
    if let Some(literal) = call.text(1)
        && let Some(regex) = like_regex(literal)
    {
        return Ok(truth(move |row| any_text(row.value(0), &regex)).with(literal));
    }
    let cache = Cached::new(like_regex);
    Ok(truth(move |row| any_text(row.value(0), &*cache.get(&row.text(1)?)?)))
}

fn any_text(value: Value<'_>, regex: &Regex) -> Option<bool> {
    match value {
        Value::Null => None,
        Value::Multi(values) => Some(values.iter().any(|text| regex.is_match(text))),
        single => Some(regex.is_match(&single.text()?)),
    }
}

fn like_regex(pattern: &str) -> Option<Regex> {
    let mut source = String::from("(?s)^");
    for character in pattern.chars() {
        match character {
            '%' => source.push_str(".*"),
            '_' => source.push('.'),
            other => source.push_str(&regex::escape(other.encode_utf8(&mut [0; 4]))),
        }
    }
    source.push('$');
    Regex::new(&source).ok()
}
