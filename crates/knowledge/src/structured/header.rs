//! Values between delimiters, and what makes a header's names fit for fields.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;

use model::columns::{ORIGIN_AND_INDEX, extracted_name};

use super::Delimiter;
use crate::timestamp::is_time;

/// The field a column becomes: what is neither letter, digit, blank nor accepted becomes `_`. Names
/// that every event has, and such that begin with `_`, get `extracted_` in front. A column without a
/// name is no field.
pub(super) fn clean(name: &str, special: &str) -> Option<Arc<str>> {
    let kept = |c: char| c.is_alphanumeric() || matches!(c, '_' | ' ') || special.contains(c);
    let cleaned: String = name.trim().chars().map(|c| if kept(c) { c } else { '_' }).collect();
    if cleaned.is_empty() {
        return None;
    }
    if cleaned.starts_with('_') || ORIGIN_AND_INDEX.contains(&cleaned.as_str()) {
        return Some(extracted_name(&cleaned).into());
    }
    Some(cleaned.into())
}

/// Whether the first record of a table names its columns: no cell is a number, an address or a time, none
/// occurs twice, and none is empty but the first, of a column with row numbers, or the last.
pub(super) fn are_names(cells: &[Cow<'_, str>]) -> bool {
    let last = cells.len().saturating_sub(1);
    let mut seen = HashSet::with_capacity(cells.len());
    cells.iter().enumerate().all(|(at, cell)| {
        let cell = cell.trim();
        if cell.is_empty() {
            return at == 0 || at == last;
        }
        !is_value(cell) && seen.insert(cell)
    })
}

/// Whether a cell is a number with its sign or unit, an address, or a time.
fn is_value(cell: &str) -> bool {
    let number = cell.trim_start_matches(['-', '+', '$', '€', '£', '(', '.']);
    let begins = number.as_bytes().first().is_some_and(u8::is_ascii_digit);
    let no_letter = !number.chars().any(char::is_alphabetic);
    begins && (no_letter || cell.parse::<f64>().is_ok() || is_time(cell))
}

/// Visits the values of a record in order, without their quotes.
pub(super) fn each_value<'t>(
    text: &'t str,
    delimiter: Delimiter,
    quote: Option<char>,
    mut visit: impl FnMut(Cow<'t, str>),
) {
    let mut rest = text;
    loop {
        if delimiter == Delimiter::Blanks {
            rest = rest.trim_start_matches([' ', '\t']);
        }
        let (value, after) = match quote.and_then(|quote| quoted(rest, delimiter, quote)) {
            Some(found) => found,
            None => {
                let end = find(rest, delimiter).unwrap_or(rest.len());
                (Cow::Borrowed(&rest[..end]), &rest[end..])
            }
        };
        visit(value);
        let Some(first) = after.chars().next() else { return };
        rest = match delimiter {
            Delimiter::One(_) => &after[first.len_utf8()..],
            Delimiter::Blanks => {
                let rest = after.trim_start_matches([' ', '\t']);
                if rest.is_empty() {
                    return;
                }
                rest
            }
        };
    }
}

fn find(text: &str, delimiter: Delimiter) -> Option<usize> {
    match delimiter {
        Delimiter::One(one) => text.find(one),
        Delimiter::Blanks => text.find([' ', '\t']),
    }
}

/// A value in quotes and what follows it, if it ends where a value can end. Doubled quotes inside are
/// one; blanks around the quotes do not count.
fn quoted(text: &str, delimiter: Delimiter, quote: char) -> Option<(Cow<'_, str>, &str)> {
    let blank_is_delimiter = matches!(delimiter, Delimiter::One(' ' | '\t') | Delimiter::Blanks);
    let trimmed = if blank_is_delimiter { text } else { text.trim_start_matches([' ', '\t']) };
    let inner = trimmed.strip_prefix(quote)?;
    let (mut from, mut doubled) = (0, false);
    loop {
        let close = from + inner[from..].find(quote)?;
        let after = &inner[close + quote.len_utf8()..];
        if let Some(rest) = after.strip_prefix(quote) {
            doubled = true;
            from = inner.len() - rest.len();
            continue;
        }
        let end = if blank_is_delimiter {
            after
        } else {
            after.trim_start_matches([' ', '\t', '\r', '\n'])
        };
        if !(end.is_empty() || find(end, delimiter) == Some(0)) {
            // The quote stands inside of a value.
            return None;
        }
        let value = &inner[..close];
        let value = if doubled {
            let (two, one) = (format!("{quote}{quote}"), quote.to_string());
            Cow::Owned(value.replace(&two, &one))
        } else {
            Cow::Borrowed(value)
        };
        return Some((value, end));
    }
}
