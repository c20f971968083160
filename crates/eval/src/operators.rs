//! Operators of dynamic values, and words that are constants.

use spl::ast::FieldRef;

use crate::row::{LONGEST_TEXT, Row};
use crate::value::{NumberText, Operation, Value, decimals_in, write_decimals};

/// Returns the value of the words `true` and `false`, which are fields only in single quotes.
#[must_use]
pub fn truth_word(field: &FieldRef) -> Option<bool> {
    match field.name.as_str() {
        _ if field.quoted => None,
        word if word.eq_ignore_ascii_case("true") => Some(true),
        word if word.eq_ignore_ascii_case("false") => Some(false),
        _ => None,
    }
}

/// Computes `+` of two dynamic values: their sum with its precision if both are numbers, otherwise both texts
/// joined.
pub fn add(row: Row<'_>, out: &mut String) -> Option<()> {
    let (Some(left), Some(right)) = (row.number(0), row.number(1)) else { return join(row, out) };
    let sum = left + right;
    let decimals = |at| row.text(at).and_then(|text| decimals_in(&text));
    match Operation::Sum.places(sum, [(left, decimals(0)), (right, decimals(1))]) {
        Some(places) => write_decimals(sum, places, out),
        None => out.push_str(&NumberText::float(sum)),
    }
    Some(())
}

/// Concatenates all arguments; null if an argument is null.
pub fn join(row: Row<'_>, out: &mut String) -> Option<()> {
    for value in row.values() {
        match value {
            // A longer text is rejected by the caller.
            _ if out.len() > LONGEST_TEXT => return Some(()),
            Value::Text(text) => out.push_str(text),
            other => out.push_str(&other.text()?),
        }
    }
    Some(())
}
