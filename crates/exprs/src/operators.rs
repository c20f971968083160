//! Operators of `eval` other than comparison: arithmetic, concatenation, logic, `LIKE`.
//!
//! Guarantees: null operands give null (logic is three-valued); division by zero gives null; arithmetic is
//! 64-bit floating-point, as in Splunk, and its results carry their precision.

use std::sync::Arc;

use arrow::array::{ArrayRef, Float64Array};
use datafusion::logical_expr::{BinaryExpr, Expr, Operator};
use eval::value::Operation;
use spl::ast::{BinaryOperator, UnaryOperator};

use crate::Typed;
use crate::compare::compare;
use crate::convert::numbers;
use crate::convert::precise;
use crate::kernel::{columns, text};
use crate::types::ValueType;
use crate::udf::of_values;

/// Compiles `operator operand`.
pub(crate) fn unary(operator: UnaryOperator, operand: Typed) -> Typed {
    match operator {
        UnaryOperator::Plus => operand,
        UnaryOperator::Negate => negated(operand),
        UnaryOperator::Not => {
            let operand = operand.to(ValueType::Boolean);
            Typed::new(Expr::Not(Box::new(operand.expr)), ValueType::Boolean)
        }
    }
}

fn negated(operand: Typed) -> Typed {
    let places = operand.carried().map(|(_, places)| places.clone());
    let operand = operand.plain();
    let value = match operand.literal_number() {
        Some(number) => Typed::number(-number),
        None => {
            let operand = operand.to(ValueType::Float);
            Typed::new(Expr::Negative(Box::new(operand.expr)), ValueType::Float)
        }
    };
    match places {
        Some(places) => value.with_places(places),
        None => value,
    }
}

/// Compiles `left operator right`.
pub(crate) fn binary(operator: BinaryOperator, left: Typed, right: Typed) -> Typed {
    match operator {
        BinaryOperator::And => logic(Operator::And, left, right),
        BinaryOperator::Or => logic(Operator::Or, left, right),
        BinaryOperator::Xor => exclusive_or(left, right),
        BinaryOperator::Compare(operator) => compare(operator, left.plain(), right.plain()),
        BinaryOperator::Like => like(left, right),
        BinaryOperator::Add => add(left, right),
        BinaryOperator::Subtract => arithmetic(Operator::Minus, left, right),
        BinaryOperator::Multiply => arithmetic(Operator::Multiply, left, right),
        BinaryOperator::Concat => concatenate(left, right),
        BinaryOperator::Divide => {
            let (one, two) = (left.clone().plain(), right.clone().plain());
            let quotient = guarded("divide", one, two, |left, right| left / right);
            precise(Operation::Product, quotient, &left, &right)
        }
        BinaryOperator::Remainder => {
            guarded("remainder", left.plain(), right.plain(), |left, right| left % right)
        }
    }
}

fn native(left: Expr, operator: Operator, right: Expr, kind: ValueType) -> Typed {
    let expr = Expr::BinaryExpr(BinaryExpr::new(Box::new(left), operator, Box::new(right)));
    Typed::new(expr, kind)
}

fn logic(operator: Operator, left: Typed, right: Typed) -> Typed {
    let (left, right) = (left.to(ValueType::Boolean), right.to(ValueType::Boolean));
    native(left.expr, operator, right.expr, ValueType::Boolean)
}

fn exclusive_or(left: Typed, right: Typed) -> Typed {
    let (left, right) = (left.to(ValueType::Boolean), right.to(ValueType::Boolean));
    native(left.expr, Operator::NotEq, right.expr, ValueType::Boolean)
}

fn arithmetic(operator: Operator, left: Typed, right: Typed) -> Typed {
    let operation = match operator {
        Operator::Multiply => Operation::Product,
        _ => Operation::Sum,
    };
    let number = |operand: &Typed| operand.clone().plain().to(ValueType::Float).expr;
    let result = native(number(&left), operator, number(&right), ValueType::Float);
    precise(operation, result, &left, &right)
}

/// Compiles division or remainder, which is null for a zero divisor.
fn guarded(name: &'static str, left: Typed, right: Typed, compute: fn(f64, f64) -> f64) -> Typed {
    let function = columns(name, ValueType::Float, move |arguments, rows| {
        let left = numbers(&arguments[0], rows);
        let right = numbers(&arguments[1], rows);
        let pairs = left.iter().zip(right.iter());
        let results = pairs.map(|pair| match pair {
            (Some(left), Some(right)) if right != 0.0 => Some(compute(left, right)),
            _ => None,
        });
        Ok(Arc::new(results.collect::<Float64Array>()) as ArrayRef)
    });
    function.call(vec![left, right])
}

/// Compiles `+`: numeric expressions are added; dynamic values are added if both are numbers, and
/// concatenated otherwise.
fn add(left: Typed, right: Typed) -> Typed {
    if left.kind == ValueType::Null || right.kind == ValueType::Null {
        return Typed::null(ValueType::Text);
    }
    let strings = left.literal_text().is_some() || right.literal_text().is_some();
    if strings {
        return concatenate(left, right);
    }
    if left.kind.is_number() || right.kind.is_number() {
        return arithmetic(Operator::Plus, left, right);
    }
    text("add", eval::operators::add).call(vec![left, right])
}

fn concatenate(left: Typed, right: Typed) -> Typed {
    text("concat", eval::operators::join).call(vec![left.shown(), right.shown()])
}

/// Compiles `LIKE` as the function of the same name.
fn like(value: Typed, pattern: Typed) -> Typed {
    let like = eval::functions::find("like");
    let made = like.and_then(|like| of_values(like, vec![value, pattern], None).ok());
    made.unwrap_or_else(|| Typed::null(ValueType::Boolean))
}
