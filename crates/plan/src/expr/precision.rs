//! How many decimals a number is written with.
//!
//! A result is as precise as the least precise number it is computed from: a product has as many
//! significant digits, a sum as many decimals. So `8.250 * 0.2` is 2, `8.250 * 0.200` is 1.65 and
//! `round(5, 2)` is 5.00. Whole numbers, and results of other functions, are exact.
//!
//! Guarantees: precision is looked at where a value becomes that of a field, or text; what is
//! computed on the way is computed with all digits. Numbers without decimals cost nothing: the
//! integers that a bucket stores are not written as text to learn that they have none.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, Float64Array, Int64Array};
use datafusion::common::ScalarValue;
use datafusion::common::tree_node::TreeNode;
use datafusion::logical_expr::Expr;

use crate::expr::Typed;
use crate::expr::column::{Argument, Values};
use crate::expr::convert::numbers;
use crate::expr::kernel::{columns, text};
use crate::functions::rounded;
use crate::parts::FieldPart;
use crate::types::ValueType;
use crate::value::{NumberText, parse_number};

/// The function that carries a number and its decimals: `decimals(value, places)`.
const CARRIER: &str = "decimals";
/// More significant digits than this a number does not have.
const MOST_DIGITS: i64 = 15;

impl Typed {
    /// The number, written with so many decimals.
    pub(crate) fn with_decimals(self, places: i64) -> Self {
        self.with_places(Expr::Literal(ScalarValue::Int64(Some(places)), None))
    }

    /// The number, written with as many decimals as the second expression says; null: as many as
    /// it takes.
    pub(crate) fn with_places(self, places: Expr) -> Self {
        let function = columns(CARRIER, ValueType::Float, |arguments, rows| {
            Ok(whole_column(&arguments[0], rows))
        });
        function.call(vec![self, Typed::new(places, ValueType::Integer)])
    }

    /// The number and its decimals, if it carries them.
    pub(crate) fn carried(&self) -> Option<(&Expr, &Expr)> {
        match &self.expr {
            Expr::ScalarFunction(call) if call.name() == CARRIER => match call.args.as_slice() {
                [value, places] => Some((value, places)),
                _ => None,
            },
            _ => None,
        }
    }

    /// The value to compute with.
    pub(crate) fn plain(self) -> Self {
        match self.carried() {
            Some((value, _)) => Self::new(value.clone(), self.kind),
            None => self,
        }
    }

    /// The value as a field holds it: rounded to its precision, and text if zeros at its end count.
    pub(crate) fn shown(self) -> Self {
        let Some((value, places)) = self.carried() else { return self };
        let zeros_count = is_given(places);
        let value = Typed::new(value.clone(), ValueType::Float);
        let arguments = vec![value, Typed::new(places.clone(), ValueType::Integer)];
        if zeros_count {
            let function = text("with_decimals", |row, out| {
                let number = row.number(0)?;
                match row.value(1).whole() {
                    Some(places) => write(number, places, out),
                    None => out.push_str(&NumberText::float(number)),
                }
                Some(())
            });
            return function.call(arguments);
        }
        let function = columns("to_decimals", ValueType::Float, |arguments, rows| {
            let places = &arguments[1];
            if is_null(places) {
                return Ok(whole_column(&arguments[0], rows));
            }
            let values = (0..rows).map(|row| {
                let number = arguments[0].get(row).number()?;
                Some(match places.get(row).whole() {
                    Some(places) => rounded(number, places.max(0)),
                    None => number,
                })
            });
            Ok(Arc::new(values.collect::<Float64Array>()) as ArrayRef)
        });
        function.call(arguments)
    }
}

/// Whether the search itself says how precise a number is, rather than the data.
fn is_given(places: &Expr) -> bool {
    let literal = |expr: &Expr| matches!(expr, Expr::Literal(ScalarValue::Int64(Some(_)), _));
    places.exists(|expr| Ok(literal(expr))).unwrap_or(false)
}

fn whole_column(argument: &Argument, rows: usize) -> ArrayRef {
    match &argument.values {
        Values::Float(array) if !argument.constant => Arc::new(array.clone()),
        _ => Arc::new(numbers(argument, rows)),
    }
}

/// A number with exactly so many decimals; none if there are fewer than none.
pub(crate) fn write(number: f64, places: i64, out: &mut String) {
    let places = places.clamp(0, MOST_DIGITS);
    let rounded = rounded(number, places);
    if !rounded.is_finite() {
        out.push_str(&NumberText::float(rounded));
        return;
    }
    let digits = usize::try_from(places).unwrap_or(0);
    // Zero has no sign.
    out.push_str(&format!("{:.digits$}", rounded + 0.0));
}

/// The decimals an operand is written with, as a whole number; none if it is exact in every row.
fn places_of(operand: &Typed) -> Option<Expr> {
    if let Some((_, places)) = operand.carried() {
        return Some(places.clone());
    }
    if operand.kind != ValueType::Text {
        return None;
    }
    if let Some(literal) = operand.literal_text() {
        return decimals_in(literal)
            .map(|places| Expr::Literal(ScalarValue::Int64(Some(places)), None));
    }
    let others = Typed::new(FieldPart::Other.of(operand), ValueType::Text);
    let function = columns("decimals_in", ValueType::Integer, |arguments, rows| {
        let Values::Text(texts) = &arguments[0].values else {
            return Ok(Arc::new(Int64Array::new_null(rows)) as ArrayRef);
        };
        if texts.null_count() == texts.len() {
            return Ok(Arc::new(Int64Array::new_null(rows)));
        }
        let places = (0..rows).map(|row| decimals_in(&arguments[0].get(row).text()?));
        Ok(Arc::new(places.collect::<Int64Array>()))
    });
    Some(function.call(vec![others]).expr)
}

/// The digits behind the point of a text that is a number; none if it has no point.
pub(crate) fn decimals_in(text: &str) -> Option<i64> {
    let text = text.trim_matches([' ', '\t']);
    let (_, decimals) = text.split_once('.')?;
    let plain = decimals.bytes().all(|byte| byte.is_ascii_digit());
    (plain && parse_number(text).is_some()).then(|| i64::try_from(decimals.len()).ok())?
}

/// The place of the first digit that is not zero: 2 for 123, -1 for 0.5.
#[allow(clippy::cast_possible_truncation)]
fn magnitude(number: f64) -> i64 {
    if number == 0.0 || !number.is_finite() { 0 } else { number.abs().log10().floor() as i64 }
}

/// Decimals that say something; all digits of a number are as good as no limit.
fn meaningful(places: i64, result: f64) -> Option<i64> {
    (places + magnitude(result).max(0) < MOST_DIGITS).then_some(places)
}

/// The decimals of a product or quotient; below zero they are zeros before the point.
fn product_places(result: f64, operands: [(f64, Option<i64>); 2]) -> Option<i64> {
    let digits =
        |(value, places): (f64, Option<i64>)| Some((places? + magnitude(value) + 1).max(1));
    let least = operands.into_iter().filter_map(digits).min()?;
    meaningful(least - 1 - magnitude(result), result)
}

/// The decimals of a sum or difference.
pub(crate) fn sum_places(result: f64, operands: [Option<i64>; 2]) -> Option<i64> {
    meaningful(operands.into_iter().flatten().min()?, result)
}

/// What an operation does to precision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operation {
    Sum,
    Product,
}

/// The result of an operation on two numbers, with the decimals that it has.
pub(crate) fn precise(operation: Operation, result: Typed, left: &Typed, right: &Typed) -> Typed {
    let places = (places_of(left), places_of(right));
    if places == (None, None) {
        return result;
    }
    let whole = |places: Option<Expr>| match places {
        Some(expr) => Typed::new(expr, ValueType::Integer),
        None => Typed::null(ValueType::Integer),
    };
    let number = |operand: &Typed| operand.clone().plain().to(ValueType::Float);
    let function = columns("places", ValueType::Integer, move |arguments, rows| {
        if let (true, true) = (is_null(&arguments[3]), is_null(&arguments[4])) {
            return Ok(Arc::new(Int64Array::new_null(rows)) as ArrayRef);
        }
        let of = |row| {
            let value = |at: usize| arguments[at].get(row);
            let (result, left, right) =
                (value(0).number()?, value(1).number()?, value(2).number()?);
            let places = [value(3).whole(), value(4).whole()];
            match operation {
                Operation::Sum => sum_places(result, places),
                Operation::Product => {
                    product_places(result, [(left, places[0]), (right, places[1])])
                }
            }
        };
        Ok(Arc::new((0..rows).map(of).collect::<Int64Array>()))
    });
    let arguments =
        vec![result.clone(), number(left), number(right), whole(places.0), whole(places.1)];
    let places = function.with(format!("{operation:?}")).call(arguments);
    result.with_places(places.expr)
}

fn is_null(argument: &Argument) -> bool {
    match &argument.values {
        Values::Null => true,
        Values::Integer(array) => array.null_count() == array.len(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_have_the_digits_of_the_least_precise_operand() {
        // Value and decimals of both operands, the decimals of the product.
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
            write(number, places, &mut out);
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
