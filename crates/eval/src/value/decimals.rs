//! The number of decimals (the precision) of a number.
//!
//! A result is as precise as its least precise operand: a product has the same number of significant digits,
//! a sum the same number of decimals. So `8.250 * 0.2` is 2, `8.250 * 0.200` is 1.65 and `round(5, 2)` is
//! 5.00. Whole numbers, and results of other functions, are exact.

use super::{NumberText, parse_number, rounded};

/// Maximum number of significant digits of a number.
const MOST_DIGITS: i64 = 15;

/// How an operation changes the precision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// Sums and differences.
    Sum,
    /// Products and quotients.
    Product,
}

impl Operation {
    /// Returns the number of decimals of a result, given values and decimals of the operands; `None` if
    /// exact.
    #[must_use]
    pub fn places(self, result: f64, operands: [(f64, Option<i64>); 2]) -> Option<i64> {
        match self {
            Self::Sum => sum_places(result, operands.map(|(_, places)| places)),
            Self::Product => product_places(result, operands),
        }
    }
}

/// Writes a number with exactly this number of decimals; a negative number counts as 0.
pub fn write_decimals(number: f64, places: i64, out: &mut String) {
    let places = places.clamp(0, MOST_DIGITS);
    let rounded = rounded(number, places);
    if !rounded.is_finite() {
        out.push_str(&NumberText::float(rounded));
        return;
    }
    let digits = usize::try_from(places).unwrap_or(0);
    // Adding zero removes the sign of a negative zero.
    out.push_str(&format!("{:.digits$}", rounded + 0.0));
}

/// Returns the number of digits after the decimal point of a numeric text; `None` if it has no decimal point.
#[must_use]
pub fn decimals_in(text: &str) -> Option<i64> {
    let text = text.trim_matches([' ', '\t']);
    let (_, decimals) = text.split_once('.')?;
    let plain = decimals.bytes().all(|byte| byte.is_ascii_digit());
    (plain && parse_number(text).is_some()).then(|| i64::try_from(decimals.len()).ok())?
}

/// Returns the position of the first digit that is not zero: 2 for 123, -1 for 0.5.
#[allow(clippy::cast_possible_truncation)]
fn magnitude(number: f64) -> i64 {
    if number == 0.0 || !number.is_finite() { 0 } else { number.abs().log10().floor() as i64 }
}

/// Returns the decimals if they limit the number; a number with all its digits needs no limit.
fn meaningful(places: i64, result: f64) -> Option<i64> {
    (places + magnitude(result).max(0) < MOST_DIGITS).then_some(places)
}

/// Returns the decimals of a product or quotient; a negative number means zeros before the decimal point.
fn product_places(result: f64, operands: [(f64, Option<i64>); 2]) -> Option<i64> {
    let digits =
        |(value, places): (f64, Option<i64>)| Some((places? + magnitude(value) + 1).max(1));
    let least = operands.into_iter().filter_map(digits).min()?;
    meaningful(least - 1 - magnitude(result), result)
}

/// Returns the decimals of a sum or difference.
fn sum_places(result: f64, operands: [Option<i64>; 2]) -> Option<i64> {
    meaningful(operands.into_iter().flatten().min()?, result)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_have_the_digits_of_the_least_precise_operand() {
        // Value and decimals of both operands, and the decimals of the product.
        let cases = [
            ((8.25, Some(3)), (0.2, Some(1)), Some(0)),
            ((8.25, Some(3)), (0.2, Some(2)), Some(1)),
            ((8.25, Some(3)), (0.2, Some(3)), Some(2)),
            ((8.25, Some(3)), (0.2, None), Some(3)),
            ((0.014, Some(3)), (0.23, Some(2)), Some(4)),
            ((3.0, None), (0.5, Some(1)), Some(0)),
            ((2.1, Some(4)), (1024.0, None), Some(1)),
            ((1.0, Some(2)), (1111.0, None), Some(-1)),
            ((3.0, None), (2.0, None), None),
        ];
        for (left, right, expected) in cases {
            assert_eq!(
                product_places(left.0 * right.0, [left, right]),
                expected,
                "{left:?} {right:?}"
            );
        }
    }

    #[test]
    fn sums_have_the_decimals_of_the_least_precise_operand() {
        assert_eq!(sum_places(0.3, [Some(1), Some(1)]), Some(1));
        assert_eq!(sum_places(127.567, [Some(1), Some(3)]), Some(1));
        assert_eq!(sum_places(3.5, [None, Some(1)]), Some(1));
        assert_eq!(sum_places(3.0, [None, None]), None);
        assert_eq!(sum_places(4.0, [Some(15), None]), None);
    }

    #[test]
    fn decimals_are_counted_in_numbers_only() {
        let cases = [
            ("1.50", Some(2)),
            (" 1.5 ", Some(1)),
            ("-.25", Some(2)),
            ("5.", Some(0)),
            ("15", None),
            ("1.5e3", None),
            ("1.2.3", None),
            ("a.b", None),
        ];
        for (text, expected) in cases {
            assert_eq!(decimals_in(text), expected, "{text}");
        }
    }

    #[test]
    fn numbers_are_written_with_their_decimals() {
        let written = |number, places| {
            let mut out = String::new();
            write_decimals(number, places, &mut out);
            out
        };
        assert_eq!(written(5.0, 2), "5.00");
        assert_eq!(written(1.65, 1), "1.7");
        assert_eq!(written(1.65, 0), "2");
        assert_eq!(written(1111.0, -1), "1111");
        assert_eq!(written(-0.001, 2), "0.00");
        assert_eq!(written(f64::INFINITY, 2), "inf");
    }
}
