//! Comparison of values: numeric if both sides are numbers, otherwise by exact text; for several values,
//! whether any matches.
//!
//! Guarantees: null on either side gives null. If both sides are statically numeric, the comparison is
//! DataFusion's own, which scans can use for pruning.

use std::cmp::Ordering;
use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, StringViewArray};
use datafusion::common::ScalarValue;
use datafusion::logical_expr::{BinaryExpr, Expr, Operator, ScalarUDFImpl};
use eval::value::{Value, compare_numbers, compare_values, parse_number, satisfies};
use spl::ast::ComparisonOperator;

use crate::Typed;
use crate::column::{Argument, Values};
use crate::kernel::{EvalFunction, columns};
use crate::types::ValueType;

/// The name of the function that compares values.
const COMPARE: &str = "compare";

const OPERATORS: [ComparisonOperator; 6] = [
    ComparisonOperator::Equal,
    ComparisonOperator::NotEqual,
    ComparisonOperator::Less,
    ComparisonOperator::LessOrEqual,
    ComparisonOperator::Greater,
    ComparisonOperator::GreaterOrEqual,
];

/// A comparison of the values of a column with a constant, as `where` and `eval` make it.
#[derive(Debug, Clone, PartialEq)]
pub struct ColumnComparison<'a> {
    /// Exact name of the column.
    pub column: &'a str,
    /// The comparison.
    pub operator: ComparisonOperator,
    /// The text of the constant.
    pub text: String,
    /// The number of the constant, if it is one. Values that are numbers in any notation are then compared
    /// with it as numbers, all others with the text.
    pub number: Option<f64>,
}

/// Analyzes a part of a filter; `None` if it does not compare one column with a constant text or number.
#[must_use]
pub fn column_comparison(expr: &Expr) -> Option<ColumnComparison<'_>> {
    let Expr::ScalarFunction(call) = expr else { return None };
    let function = call.func.inner().downcast_ref::<EvalFunction>()?;
    let [Expr::Column(column), Expr::Literal(constant, _)] = call.args.as_slice() else {
        return None;
    };
    if function.name() != COMPARE {
        return None;
    }
    let is_this = |operator: &ComparisonOperator| operator.symbol() == function.parameters();
    let operator = OPERATORS.into_iter().find(is_this)?;
    let value = match constant {
        ScalarValue::Float64(Some(number)) => Value::Float(*number),
        ScalarValue::Int64(Some(number)) => Value::Integer(*number),
        other => Value::Text(other.try_as_str()??),
    };
    let text = (*value.text()?).to_owned();
    let number = parse_number(&text);
    // Texts are compared with the number of its text, lists with the number itself.
    let is_same = value.number().map(f64::to_bits) == number.map(f64::to_bits);
    is_same.then(|| ColumnComparison { column: &column.name, operator, text, number })
}

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
    let function = columns(COMPARE, ValueType::Boolean, move |arguments, rows| {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn analyzed(left: Typed, right: Typed) -> Option<(ComparisonOperator, String, Option<f64>)> {
        let made = compare(ComparisonOperator::GreaterOrEqual, left, right);
        let found = column_comparison(&made.expr)?;
        assert_eq!(found.column, "f");
        Some((found.operator, found.text, found.number))
    }

    #[test]
    fn comparisons_of_a_column_with_a_constant_are_recognized() {
        let field = || Typed::column("f", ValueType::Text);
        let found = |text: &str, number| {
            Some((ComparisonOperator::GreaterOrEqual, text.to_owned(), number))
        };
        assert_eq!(analyzed(field(), Typed::number(500.0)), found("500", Some(500.0)));
        assert_eq!(analyzed(field(), Typed::text("007")), found("007", Some(7.0)));
        assert_eq!(analyzed(field(), Typed::text("web-1")), found("web-1", None));
        assert_eq!(analyzed(field(), Typed::text("")), found("", None));
        let list = Typed::column("f", ValueType::Multi);
        assert_eq!(analyzed(list, Typed::number(1.5)), found("1.5", Some(1.5)));
    }

    #[test]
    fn others_are_not() {
        let field = || Typed::column("f", ValueType::Text);
        assert_eq!(analyzed(field(), field()), None);
        assert_eq!(analyzed(Typed::number(1.0), field()), None);
        // Its text is that of another number.
        assert_eq!(analyzed(field(), Typed::number(-0.0)), None);
        assert_eq!(analyzed(field(), Typed::number(f64::NAN)), None);
        let computed = compare(ComparisonOperator::Less, field(), Typed::number(1.0));
        assert_eq!(analyzed(computed, Typed::text("true")), None);
        assert_eq!(column_comparison(&field().expr), None);
    }
}
