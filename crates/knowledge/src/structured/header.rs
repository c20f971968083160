//! Delimited values, and the conversion of header cells to field names.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;

use model::columns::{ORIGIN_AND_INDEX, extracted_name};

use super::Delimiter;
use crate::timestamp::is_time;

/// Returns the field name of a column: characters other than letters, digits, blanks and accepted ones become
/// `_`. Names that every event has, and names that begin with `_`, get the prefix `extracted_`. A column
/// without a name gives no field.
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

/// Returns whether the first record of a table is a header: no cell is a number, an address or a time, no
/// cell is repeated, and only the first cell (of a column with row numbers) or the last one may be empty.
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

/// Returns whether a cell is a number (with sign or unit), an address, or a time.
fn is_value(cell: &str) -> bool {
    let number = cell.trim_start_matches(['-', '+', '$', '€', '£', '(', '.']);
    let begins = number.as_bytes().first().is_some_and(u8::is_ascii_digit);
    let no_letter = !number.chars().any(char::is_alphabetic);
    begins && (no_letter || cell.parse::<f64>().is_ok() || is_time(cell))
}

/// Visits the values of a record in order, without quotes.
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

/// Reads a quoted value, and returns it with the text after it; `None` if the value does not end where a
/// value can end. Doubled quotes inside become one; blanks around the quotes are ignored.
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
            // The quote is inside of a value.
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
