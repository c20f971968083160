//! `len`, `lower`, `upper`, `trim`, `ltrim`, `rtrim`, `substr`, `urldecode`, `like`.
//!
//! Guarantees: lengths and positions count characters, not bytes.

use crate::Error;
use crate::expr::Typed;
use crate::expr::column::{Row, Value};
use crate::expr::kernel::{number, text_of_each};
use crate::expr::operators;
use crate::functions::{Function, Invocation, shown_values};

pub(crate) const FUNCTIONS: &[Function] = &[
    shown_values(&["len", "length"], (1, 1), len),
    shown_values(&["lower"], (1, 1), |call| {
        map("lower", call, |row, out| lower(&row.text(0)?, out))
    }),
    shown_values(&["upper"], (1, 1), |call| {
        map("upper", call, |row, out| upper(&row.text(0)?, out))
    }),
    shown_values(&["trim"], (1, 2), |call| {
        map("trim", call, |row, out| trim(row, out, true, true))
    }),
    shown_values(&["ltrim"], (1, 2), |call| {
        map("ltrim", call, |row, out| trim(row, out, true, false))
    }),
    shown_values(&["rtrim"], (1, 2), |call| {
        map("rtrim", call, |row, out| trim(row, out, false, true))
    }),
    shown_values(&["substr"], (2, 3), |call| map("substr", call, substr)),
    shown_values(&["urldecode"], (1, 1), |call| map("urldecode", call, urldecode)),
    shown_values(&["like"], (2, 2), like),
];

type RowText = for<'a> fn(Row<'a>, &mut String) -> Option<()>;

fn map(name: &'static str, call: Invocation<'_>, kernel: RowText) -> Result<Typed, Error> {
    Ok(text_of_each(name, kernel).call(call.texts()))
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
    Ok(function.call(call.texts()))
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

/// `substr(text, start, length)` as SQLite has it: the first character is 1, a negative start counts
/// from the end, a negative length takes what stands before the start.
fn substr(row: Row<'_>, out: &mut String) -> Option<()> {
    let text = row.text(0)?;
    let total = i64::try_from(text.chars().count()).ok()?;
    let length = if row.arguments.len() > 2 { row.value(2).whole()? } else { i64::MAX };
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
    let mut arguments = call.texts().into_iter();
    match (arguments.next(), arguments.next()) {
        (Some(value), Some(pattern)) => Ok(operators::like(value, pattern)),
        _ => Err(Error::internal("like has two arguments")),
    }
}
