//! Composed texts, such as `strftime(...)` and `"hello"`: what an assignment of one to `_time` or `_indextime`
//! means.
//!
//! Guarantees: such a field holds the text from there on, and commands that need times read it as epoch
//! seconds or as no time. All other texts, as those of fields of events, are read as epoch seconds on
//! assignment.

use exprs::types::ValueType;
use frames::Frame;
use spl::ast::{BinaryOperator, Call, Expr, ExprKind};

use crate::Error;
use crate::value::parse_number;

/// Whether the value of an expression is a text that is not a number, as far as the expression tells.
pub(super) fn is_composed(expr: &Expr, frame: &Frame) -> bool {
    match &expr.kind {
        ExprKind::String(text) => is_text(text),
        ExprKind::Field(field) => frame.is_composed(&field.name),
        ExprKind::Binary(BinaryOperator::Concat, left, right) => {
            is_part(left, frame) || is_part(right, frame)
        }
        ExprKind::Call(call) => gives_composed(call, frame),
        _ => false,
    }
}

/// Whether a constant is a text that is not a number.
pub(super) fn is_text(text: &str) -> bool {
    parse_number(text).is_none()
}

/// Whether a format of `strftime` gives epoch seconds.
pub(super) fn is_epoch(format: &str) -> bool {
    format == "%s" || format.starts_with("%s.")
}

/// Whether a concatenation with this part is not a number: `seconds.".".millis` is one.
fn is_part(expr: &Expr, frame: &Frame) -> bool {
    match &expr.kind {
        ExprKind::String(text) => {
            !text.chars().all(|character| character.is_ascii_digit() || character == '.')
        }
        _ => is_composed(expr, frame),
    }
}

fn gives_composed(call: &Call, frame: &Frame) -> bool {
    let arguments = &call.arguments;
    let behind = |at: usize| arguments.iter().skip(at);
    match call.function.node.as_str() {
        "strftime" => match arguments.get(1).map(|format| &format.kind) {
            Some(ExprKind::String(format)) => !is_epoch(format),
            _ => true,
        },
        // With a format, such as "duration" and "commas".
        "tostring" => arguments.len() > 1,
        "lower" | "upper" | "trim" | "ltrim" | "rtrim" => are_composed(behind(0).take(1), frame),
        "if" => are_composed(behind(1), frame),
        "case" => are_composed(behind(1).step_by(2), frame),
        "coalesce" => are_composed(behind(0), frame),
        _ => false,
    }
}

/// Whether all values that an expression may have are composed; null may be one of them.
fn are_composed<'e>(values: impl Iterator<Item = &'e Expr>, frame: &Frame) -> bool {
    let is_null =
        |expr: &Expr| matches!(&expr.kind, ExprKind::Call(call) if call.function.node == "null");
    let mut values = values.filter(|value| !is_null(value)).peekable();
    values.peek().is_some() && values.all(|value| is_composed(value, frame))
}

/// The rows with a field of times: values of another type are read as epoch seconds.
pub(super) fn timed(frame: Frame, name: &str) -> Result<Frame, Error> {
    match frame.kind(name) {
        None | Some(ValueType::Time) => Ok(frame),
        Some(_) => {
            let time = frame.field(name).to(ValueType::Time);
            Ok(frame.with_columns(vec![(name.to_owned(), time)])?)
        }
    }
}
