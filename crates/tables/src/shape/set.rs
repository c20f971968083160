//! Set operations on the rows of two tables; whole rows are compared, by hash.

use std::collections::HashSet;

use spl::ast::SetOperation;

use crate::error::Error;
use crate::rows::Rows;

/// Returns the distinct rows of both tables that a set operation keeps; those of the first table come first.
///
/// # Errors
/// [`Error::Exhausted`] if there are more than `most`.
pub fn combined(
    one: &Rows,
    other: &Rows,
    operation: SetOperation,
    most: usize,
) -> Result<Rows, Error> {
    let (one_keys, other_keys) = (one.whole_keys()?, other.whole_keys()?);
    let in_one: HashSet<&str> = one_keys.iter().map(String::as_str).collect();
    let in_other: HashSet<&str> = other_keys.iter().map(String::as_str).collect();
    let of_one = distinct(&one_keys, |key| match operation {
        SetOperation::Union => true,
        SetOperation::Diff => !in_other.contains(key),
        SetOperation::Intersect => in_other.contains(key),
    });
    let of_other =
        distinct(&other_keys, |key| operation != SetOperation::Intersect && !in_one.contains(key));
    let (one, other) = (one.take(&of_one)?, other.take(&of_other)?);
    Rows::stacked(vec![one, other], most)
}

/// Returns the indexes of the first rows with each of the wanted keys.
fn distinct(keys: &[String], wanted: impl Fn(&str) -> bool) -> Vec<usize> {
    let mut seen = HashSet::with_capacity(keys.len());
    let found = keys.iter().enumerate().filter(|(_, key)| wanted(key) && seen.insert(key.as_str()));
    found.map(|(place, _)| place).collect()
}
