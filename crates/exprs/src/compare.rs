//! Comparison of values: numeric if both sides are numbers, otherwise by exact text; for several values,
//! whether any matches.
//!
//! Guarantees: null on either side gives null. If both sides are statically numeric, the comparison is
//! DataFusion's own, which scans can use for pruning.

use std::cmp::Ordering;
use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, StringViewArray};
use datafusion::logical_expr::{BinaryExpr, Expr, Operator};
use eval::value::{Value, compare_numbers, compare_values, parse_number, satisfies};
use spl::ast::ComparisonOperator;

use crate::Typed;
use crate::column::{Argument, Values};
use crate::kernel::columns;
use crate::types::ValueType;

/// Compiles `left <operator> right` of `eval` and `where`; case-sensitive.
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

/// Compares a column of texts with one text, whose numeric value is computed once.
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
