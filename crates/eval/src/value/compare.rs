//! Rules for truth, equality and order of values.
//!
//! Guarantees: two numbers are compared as numbers, other values as texts, byte by byte; several values match
//! if one of them does; null on either side gives null.

use std::cmp::Ordering;

use spl::ast::ComparisonOperator;

use super::{Value, parse_number};

/// Returns whether a text is true as a condition: `true` or `t` in any case, or a number that is not zero.
#[must_use]
pub fn text_truth(text: &str) -> bool {
    match parse_number(text) {
        Some(number) => number != 0.0,
        None => text.eq_ignore_ascii_case("true") || text.eq_ignore_ascii_case("t"),
    }
}

/// Compares two numbers; NaN sorts last, so that the order is total.
#[must_use]
pub fn compare_numbers(left: f64, right: f64) -> Ordering {
    left.partial_cmp(&right).unwrap_or_else(|| left.is_nan().cmp(&right.is_nan()))
}

/// Returns whether an order satisfies an operator.
#[must_use]
pub fn satisfies(operator: ComparisonOperator, order: Ordering) -> bool {
    match operator {
        ComparisonOperator::Equal => order.is_eq(),
        ComparisonOperator::NotEqual => order.is_ne(),
        ComparisonOperator::Less => order.is_lt(),
        ComparisonOperator::LessOrEqual => order.is_le(),
        ComparisonOperator::Greater => order.is_gt(),
        ComparisonOperator::GreaterOrEqual => order.is_ge(),
    }
}

/// Compares two values; null if one of them is null. Several values match if one of them does.
#[must_use]
pub fn compare_values(
    operator: ComparisonOperator,
    left: Value<'_>,
    right: Value<'_>,
) -> Option<bool> {
    match (left, right) {
        (Value::Null, _) | (_, Value::Null) => None,
        (Value::Multi(values), right) => Some(
            values
                .iter()
                .any(|left| compare_values(operator, Value::Text(left), right) == Some(true)),
        ),
        (left, Value::Multi(values)) => Some(
            values
                .iter()
                .any(|right| compare_values(operator, left, Value::Text(right)) == Some(true)),
        ),
        (Value::Boolean(left), right) => compare_truth(operator, Some(left), truth_of(right)),
        (left, Value::Boolean(right)) => compare_truth(operator, truth_of(left), Some(right)),
        (left, right) => Some(satisfies(operator, order(left, right)?)),
    }
}

/// Returns the Boolean that a value is or names; `None` for any other text.
fn truth_of(value: Value<'_>) -> Option<bool> {
    let is =
        |text: &str, words: [&str; 2]| words.iter().any(|word| text.eq_ignore_ascii_case(word));
    match value {
        Value::Text(text) if is(text, ["true", "t"]) => Some(true),
        Value::Text(text) if is(text, ["false", "f"]) => Some(false),
        Value::Boolean(truth) => Some(truth),
        other => other.number().map(|number| number != 0.0),
    }
}

/// Compares a value with a Boolean. A text that is not a Boolean equals neither true nor false.
fn compare_truth(
    operator: ComparisonOperator,
    left: Option<bool>,
    right: Option<bool>,
) -> Option<bool> {
    match (left, right, operator) {
        (Some(left), Some(right), _) => Some(satisfies(operator, left.cmp(&right))),
        (_, _, ComparisonOperator::Equal) => Some(false),
        (_, _, ComparisonOperator::NotEqual) => Some(true),
        _ => None,
    }
}

/// Compares two single values: as numbers if both are numbers, otherwise as texts.
#[must_use]
pub fn order(left: Value<'_>, right: Value<'_>) -> Option<Ordering> {
    match (left.number(), right.number()) {
        (Some(left), Some(right)) => Some(compare_numbers(left, right)),
        _ => Some((*left.text()?).cmp(&*right.text()?)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_compare_as_numbers_only_when_both_are() {
        let check = |left, right, expected| {
            assert_eq!(order(Value::Text(left), Value::Text(right)), Some(expected));
        };
        check("9", "10", Ordering::Less);
        check("9", "10a", Ordering::Greater);
        check("1.0", "1", Ordering::Equal);
        check("a", "B", Ordering::Greater);
    }
}
