//! One value of an expression, and SPL's rules for it: when text is a number, how a number is
//! written, what is true, what is larger.
//!
//! Guarantees: the same answers as the search language gives for the same value.

use std::borrow::Cow;
use std::cmp::Ordering;

use spl::ast::ComparisonOperator;

/// A value.
#[derive(Debug, Clone, PartialEq)]
pub enum Value<'a> {
    /// Nothing.
    Null,
    /// Dynamic text: text that looks like a number acts as one.
    Text(Cow<'a, str>),
    /// Several texts, at least one.
    Multi(Vec<String>),
    /// A number.
    Number(f64),
    /// Truth.
    Truth(bool),
    /// Microseconds since 1970, which act as epoch seconds.
    Time(i64),
}

impl<'a> Value<'a> {
    /// Text, borrowed.
    #[must_use]
    pub fn text_of(text: &'a str) -> Self {
        Self::Text(Cow::Borrowed(text))
    }

    pub(crate) fn owned_text(text: String) -> Self {
        Self::Text(Cow::Owned(text))
    }

    /// Several texts; none is null.
    #[must_use]
    pub fn multi(texts: Vec<String>) -> Self {
        if texts.is_empty() { Self::Null } else { Self::Multi(texts) }
    }

    pub(crate) fn optional_number(number: Option<f64>) -> Self {
        number.map_or(Self::Null, Self::Number)
    }

    pub(crate) fn optional_truth(truth: Option<bool>) -> Self {
        truth.map_or(Self::Null, Self::Truth)
    }

    /// Whether it is nothing.
    #[must_use]
    pub fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }

    /// The number it is or stands for. Several values stand for none.
    #[must_use]
    #[allow(clippy::cast_precision_loss)]
    pub fn number(&self) -> Option<f64> {
        match self {
            Self::Null | Self::Truth(_) => None,
            Self::Text(text) => parse_number(text),
            Self::Multi(texts) => match texts.as_slice() {
                [one] => parse_number(one),
                _ => None,
            },
            Self::Number(number) => Some(*number),
            Self::Time(micros) => Some(*micros as f64 / 1e6),
        }
    }

    /// The number, cut to a whole one.
    #[must_use]
    #[allow(clippy::cast_possible_truncation)]
    pub fn whole(&self) -> Option<i64> {
        self.number().map(|number| number as i64)
    }

    /// Its text; several values are joined by spaces.
    #[must_use]
    pub fn text(&self) -> Option<Cow<'_, str>> {
        Some(match self {
            Self::Null => return None,
            Self::Text(text) => Cow::Borrowed(text.as_ref()),
            Self::Multi(texts) => match texts.as_slice() {
                [one] => Cow::Borrowed(one.as_str()),
                all => Cow::Owned(all.join(" ")),
            },
            Self::Number(number) => Cow::Owned(number_text(*number)),
            Self::Truth(truth) => Cow::Borrowed(if *truth { "True" } else { "False" }),
            Self::Time(micros) => Cow::Owned(time_text(*micros)),
        })
    }

    /// Whether it is true as a condition.
    #[must_use]
    pub fn truth(&self) -> Option<bool> {
        match self {
            Self::Null => None,
            Self::Truth(truth) => Some(*truth),
            Self::Text(text) => Some(text_truth(text)),
            Self::Multi(texts) => Some(texts.iter().any(|text| text_truth(text))),
            number => number.number().map(|number| number != 0.0),
        }
    }

    /// How many values it is.
    #[must_use]
    pub fn count(&self) -> usize {
        match self {
            Self::Null => 0,
            Self::Multi(texts) => texts.len(),
            _ => 1,
        }
    }

    /// Its texts one by one; none for null.
    #[must_use]
    pub fn texts(&self) -> Vec<Cow<'_, str>> {
        match self {
            Self::Multi(texts) => texts.iter().map(|text| Cow::Borrowed(text.as_str())).collect(),
            single => single.text().into_iter().collect(),
        }
    }

    /// The same without borrowing.
    #[must_use]
    pub fn into_owned(self) -> Value<'static> {
        match self {
            Self::Null => Value::Null,
            Self::Text(text) => Value::Text(Cow::Owned(text.into_owned())),
            Self::Multi(texts) => Value::Multi(texts),
            Self::Number(number) => Value::Number(number),
            Self::Truth(truth) => Value::Truth(truth),
            Self::Time(micros) => Value::Time(micros),
        }
    }

    /// The event time it stands for.
    #[must_use]
    #[allow(clippy::cast_possible_truncation)]
    pub fn micros(&self) -> Option<i64> {
        match self {
            Self::Time(micros) => Some(*micros),
            other => other.number().map(|seconds| (seconds * 1e6).round() as i64),
        }
    }
}

/// The number a text stands for: optional spaces around, sign, decimals, exponent.
/// `inf`, `nan`, hexadecimal and everything else is text.
#[must_use]
pub fn parse_number(text: &str) -> Option<f64> {
    let text = text.trim_matches([' ', '\t']);
    let first = *text.as_bytes().first()?;
    if !(first.is_ascii_digit() || matches!(first, b'-' | b'+' | b'.')) {
        return None;
    }
    let allowed = |b: u8| b.is_ascii_digit() || matches!(b, b'.' | b'-' | b'+' | b'e' | b'E');
    if !text.bytes().all(allowed) {
        return None;
    }
    text.parse().ok().filter(|number: &f64| number.is_finite())
}

/// Parses a whole number in a base from 2 to 36; `0x` is allowed before hexadecimal digits.
#[allow(clippy::cast_precision_loss)]
pub(crate) fn parse_in_base(text: &str, base: u32) -> Option<f64> {
    if base == 10 {
        return parse_number(text);
    }
    if !(2..=36).contains(&base) {
        return None;
    }
    let text = text.trim();
    let (negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let hexadecimal = digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X"));
    let digits = if base == 16 { hexadecimal.unwrap_or(digits) } else { digits };
    if !digits.bytes().all(|b| b.is_ascii_alphanumeric()) {
        return None;
    }
    let value = i128::from_str_radix(digits, base).ok()? as f64;
    Some(if negative { -value } else { value })
}

/// A number as text: whole numbers have no decimals, others the fewest digits that read back as the
/// same number, very large and very small ones an exponent.
#[must_use]
#[allow(clippy::cast_possible_truncation)]
pub fn number_text(number: f64) -> String {
    let size = number.abs();
    if size < 1e15 && number.trunc() == number {
        return (number as i64).to_string();
    }
    if number.is_nan() {
        "nan".to_owned()
    } else if number.is_infinite() {
        if number > 0.0 { "inf" } else { "-inf" }.to_owned()
    } else if (1e-6..1e21).contains(&size) {
        number.to_string()
    } else {
        format!("{number:e}")
    }
}

/// Epoch seconds of a time in microseconds; whole seconds have no decimals, others six.
fn time_text(micros: i64) -> String {
    let fraction = micros.unsigned_abs() % 1_000_000;
    if fraction == 0 {
        return (micros / 1_000_000).to_string();
    }
    let sign = if micros < 0 { "-" } else { "" };
    format!("{sign}{}.{fraction:06}", micros.unsigned_abs() / 1_000_000)
}

/// `true` or `t` in any case, or a number that is not zero.
fn text_truth(text: &str) -> bool {
    match parse_number(text) {
        Some(number) => number != 0.0,
        None => text.eq_ignore_ascii_case("true") || text.eq_ignore_ascii_case("t"),
    }
}

/// Numbers in order; nan last, so that the order is total.
fn compare_numbers(left: f64, right: f64) -> Ordering {
    left.partial_cmp(&right).unwrap_or_else(|| left.is_nan().cmp(&right.is_nan()))
}

/// The order of two single values: as numbers where both are, else as texts.
pub(crate) fn order(left: &Value<'_>, right: &Value<'_>) -> Option<Ordering> {
    match (left.number(), right.number()) {
        (Some(left), Some(right)) => Some(compare_numbers(left, right)),
        _ => Some(left.text()?.cmp(&right.text()?)),
    }
}

fn satisfies(operator: ComparisonOperator, order: Ordering) -> bool {
    match operator {
        ComparisonOperator::Equal => order.is_eq(),
        ComparisonOperator::NotEqual => order.is_ne(),
        ComparisonOperator::Less => order.is_lt(),
        ComparisonOperator::LessOrEqual => order.is_le(),
        ComparisonOperator::Greater => order.is_gt(),
        ComparisonOperator::GreaterOrEqual => order.is_ge(),
    }
}

/// Compares two values; null if either is, any of several.
pub(crate) fn compare(
    operator: ComparisonOperator,
    left: &Value<'_>,
    right: &Value<'_>,
) -> Option<bool> {
    match (left, right) {
        (Value::Null, _) | (_, Value::Null) => None,
        (Value::Multi(texts), right) => Some(
            texts.iter().any(|left| compare(operator, &Value::text_of(left), right) == Some(true)),
        ),
        (left, Value::Multi(texts)) => Some(
            texts.iter().any(|right| compare(operator, left, &Value::text_of(right)) == Some(true)),
        ),
        (Value::Truth(left), right) => Some(satisfies(operator, left.cmp(&right.truth()?))),
        (left, Value::Truth(right)) => Some(satisfies(operator, left.truth()?.cmp(right))),
        (left, right) => Some(satisfies(operator, order(left, right)?)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_that_look_like_numbers_are_numbers() {
        let cases =
            [("0", 0.0), (" 42 ", 42.0), ("-7", -7.0), (".5", 0.5), ("5.", 5.0), ("1e3", 1000.0)];
        for (text, expected) in cases {
            assert_eq!(parse_number(text), Some(expected), "{text:?}");
        }
        for text in ["", " ", "-", "abc", "1a", "1 2", "inf", "nan", "0x10", "1.2.3", "1e999"] {
            assert_eq!(parse_number(text), None, "{text:?}");
        }
    }

    #[test]
    fn numbers_are_written_the_short_way() {
        let cases = [(0.0, "0"), (-5.0, "-5"), (0.5, "0.5"), (1e21, "1e21"), (1e-7, "1e-7")];
        for (number, expected) in cases {
            assert_eq!(number_text(number), expected);
        }
        assert_eq!(time_text(1_500_000), "1.500000");
        assert_eq!(time_text(-1_500_000), "-1.500000");
    }
}
