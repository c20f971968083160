//! `len`, `lower`, `upper`, `trim`, `ltrim`, `rtrim`, `substr`, `urldecode`, `like`.
//!
//! Guarantees: lengths and positions count characters, not bytes.

use crate::Error;
use crate::expr::Typed;
use crate::expr::column::{Row, Value};
use crate::expr::kernel::{number, text_of_each};
use crate::expr::operators;
use crate::functions::{Function, Invocation, values};

pub(crate) const FUNCTIONS: &[Function] = &[
    values(&["len", "length"], (1, 1), len),
    values(&["lower"], (1, 1), |call| map("lower", call, |row, out| lower(&row.text(0)?, out))),
    values(&["upper"], (1, 1), |call| map("upper", call, |row, out| upper(&row.text(0)?, out))),
    values(&["trim"], (1, 2), |call| map("trim", call, |row, out| trim(row, out, true, true))),
    values(&["ltrim"], (1, 2), |call| map("ltrim", call, |row, out| trim(row, out, true, false))),
    values(&["rtrim"], (1, 2), |call| map("rtrim", call, |row, out| trim(row, out, false, true))),
    values(&["substr"], (2, 3), |call| map("substr", call, substr)),
    values(&["urldecode"], (1, 1), |call| map("urldecode", call, urldecode)),
    values(&["like"], (2, 2), like),
];

type RowText = for<'a> fn(Row<'a>, &mut String) -> Option<()>;

fn map(name: &'static str, call: Invocation<'_>, kernel: RowText) -> Result<Typed, Error> {
    Ok(text_of_each(name, kernel).call(call.arguments))
}

#[allow(clippy::cast_precision_loss)]
fn len(call: Invocation<'_>) -> Result<Typed, Error> {
    let characters = |text: &str| {
        if text.is_ascii() { text.len() } else { text.chars().count() }
    };
    let function = number("len", move |row| match row.value(0) {
        Value::Text(text) => Some(characters(text) as f64),
        other => Some(characters(&other.text()?) as f64),
    });
    Ok(function.call(call.arguments))
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

/// Removes the characters of the second argument, spaces and tabs by default, from the ends.
fn trim(row: Row<'_>, out: &mut String, left: bool, right: bool) -> Option<()> {
    let text = row.text(0)?;
    let given = if row.arguments.len() > 1 { Some(row.text(1)?) } else { None };
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

/// `substr(text, start, length)`: the first character is 1, negative starts count from the end.
fn substr(row: Row<'_>, out: &mut String) -> Option<()> {
    let text = row.text(0)?;
    let start = row.value(1).whole()?;
    let length = if row.arguments.len() > 2 { Some(row.value(2).whole()?) } else { None };
    let total = i64::try_from(text.chars().count()).ok()?;
    let first = match start {
        1.. => start - 1,
        0 => 0,
        _ => (total + start).max(0),
    };
    let end = length.map_or(total, |length| first.saturating_add(length.max(0)).min(total));
    let taken = usize::try_from(end - first).unwrap_or(0);
    out.extend(text.chars().skip(usize::try_from(first).ok()?).take(taken));
    Some(())
}

/// `%41` becomes `A`; what is no escape stays, and so does `+`.
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

fn like(call: Invocation<'_>) -> Result<Typed, Error> {
    let mut arguments = call.arguments.into_iter();
    match (arguments.next(), arguments.next()) {
        (Some(value), Some(pattern)) => Ok(operators::like(value, pattern)),
        _ => Err(Error::internal("like has two arguments")),
    }
}
