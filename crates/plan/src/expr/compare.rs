//! Comparison of values: numbers where both sides are, else exact text; several values if any
//! matches.
//!
//! Guarantees: null on either side gives null. Statically numeric sides become DataFusion's own
//! comparison, which scans can prune by.

use std::cmp::Ordering;
use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, StringViewArray};
use datafusion::logical_expr::{BinaryExpr, Expr, Operator};
use spl::ast::ComparisonOperator;

use crate::expr::Typed;
use crate::expr::column::{Argument, Value, Values};
use crate::expr::kernel::columns;
use crate::types::ValueType;
use crate::value::{compare_numbers, parse_number};

/// `left <operator> right` in `eval` and `where`, case-sensitive.
pub(crate) fn compare(operator: ComparisonOperator, left: Typed, right: Typed) -> Typed {
    if left.kind == ValueType::Null || right.kind == ValueType::Null {
        return Typed::null(ValueType::Boolean);
    }
    let same = left.kind == right.kind && left.kind != ValueType::Text;
    let native = left.kind.is_number() && right.kind.is_number();
    if native || (same && left.kind == ValueType::Boolean) {
        let (left, right) = if same {
            (left, right)
        } else {
            (left.to(ValueType::Float), right.to(ValueType::Float))
        };
        return binary(left.expr, arrow_operator(operator), right.expr);
    }
    let function = columns("compare", ValueType::Boolean, move |arguments, rows| {
        Ok(Arc::new(compare_columns(operator, arguments, rows)) as ArrayRef)
    });
    function.with(operator.symbol()).call(vec![left, right])
}

fn binary(left: Expr, operator: Operator, right: Expr) -> Typed {
    let expr = Expr::BinaryExpr(BinaryExpr::new(Box::new(left), operator, Box::new(right)));
    Typed::new(expr, ValueType::Boolean)
}

fn arrow_operator(operator: ComparisonOperator) -> Operator {
    match operator {
        ComparisonOperator::Equal => Operator::Eq,
        ComparisonOperator::NotEqual => Operator::NotEq,
        ComparisonOperator::Less => Operator::Lt,
        ComparisonOperator::LessOrEqual => Operator::LtEq,
        ComparisonOperator::Greater => Operator::Gt,
        ComparisonOperator::GreaterOrEqual => Operator::GtEq,
    }
}

/// Whether an order satisfies an operator.
pub(crate) fn satisfies(operator: ComparisonOperator, order: Ordering) -> bool {
    match operator {
        ComparisonOperator::Equal => order.is_eq(),
        ComparisonOperator::NotEqual => order.is_ne(),
        ComparisonOperator::Less => order.is_lt(),
        ComparisonOperator::LessOrEqual => order.is_le(),
        ComparisonOperator::Greater => order.is_gt(),
        ComparisonOperator::GreaterOrEqual => order.is_ge(),
    }
}

fn compare_columns(
    operator: ComparisonOperator,
    arguments: &[Argument],
    rows: usize,
) -> BooleanArray {
    if let [Argument { values: Values::Text(texts), constant: false }, right] = arguments
        && right.constant
    {
        match right.get(0) {
            Value::Text(text) => return compare_with_text(operator, texts, text),
            number @ (Value::Integer(_) | Value::Float(_)) => {
                return compare_with_text(
                    operator,
                    texts,
                    &number.text().expect("a number has a text"),
                );
            }
            _ => {}
        }
    }
    (0..rows)
        .map(|row| compare_values(operator, arguments[0].get(row), arguments[1].get(row)))
        .collect()
}

/// A column of texts against one text, whose number is known beforehand.
fn compare_with_text(
    operator: ComparisonOperator,
    texts: &StringViewArray,
    right: &str,
) -> BooleanArray {
    let number = parse_number(right);
    let order = |left: &str| match number {
        _ if left == right => Ordering::Equal,
        None => left.cmp(right),
        Some(right_number) => match parse_number(left) {
            Some(left_number) => compare_numbers(left_number, right_number),
            None => left.cmp(right),
        },
    };
    texts.iter().map(|left| left.map(|left| satisfies(operator, order(left)))).collect()
}

/// Two values; null if either is, any of several.
pub(crate) fn compare_values(
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

/// The truth that a value is or names; none if it is another text.
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

/// A text that names no truth equals neither.
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

/// The order of two single values: as numbers where both are, else as texts.
pub(crate) fn order(left: Value<'_>, right: Value<'_>) -> Option<Ordering> {
    match (left.number(), right.number()) {
        (Some(left), Some(right)) => Some(compare_numbers(left, right)),
        _ => Some((*left.text()?).cmp(&*right.text()?)),
    }
}
