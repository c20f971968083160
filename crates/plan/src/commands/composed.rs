//! Composed texts, such as `strftime(...)` and `"hello"`: what an assignment of one to `_time` or
//! `_indextime` means.
//!
//! Guarantees: such a field holds the text from there on, and commands that need times read it as epoch
//! seconds or as no time. All other texts, as those of fields of events, are read as epoch seconds on
//! assignment.

use exprs::types::ValueType;
use frames::Frame;
use model::columns;
use spl::ast::{BinaryOperator, Call, Expr, ExprKind, Spanned};

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
    if let Some(places) = value_places(call) {
        return are_composed(places.filter_map(|at| arguments.get(at)), frame);
    }
    match call.function.node.as_str() {
        "strftime" => match arguments.get(1).map(|format| &format.kind) {
            Some(ExprKind::String(format)) => !is_epoch(format),
            _ => true,
        },
        // With a format, such as "duration" and "commas".
        "tostring" => arguments.len() > 1,
        "lower" | "upper" | "trim" | "ltrim" | "rtrim" | "substr" | "replace" | "urldecode" => {
            are_composed(arguments.iter().take(1), frame)
        }
        "mvjoin" => arguments.get(1).is_some_and(|delimiter| is_part(delimiter, frame)),
        "printf" => match arguments.first().map(|format| &format.kind) {
            Some(ExprKind::String(format)) => {
                has_other_than_numbers(format)
                    || arguments.iter().skip(1).any(|argument| is_composed(argument, frame))
            }
            _ => false,
        },
        _ => false,
    }
}

/// The places of the arguments of which a function gives one; `None` if it is not such a function.
fn value_places(call: &Call) -> Option<impl Iterator<Item = usize>> {
    let (first, step) = match call.function.node.as_str() {
        "if" => (1, 1),
        "case" => (1, 2),
        "coalesce" => (0, 1),
        _ => return None,
    };
    Some((first..call.arguments.len()).step_by(step))
}

/// Whether a format of `printf` has other characters than digits and dots beside its conversions.
fn has_other_than_numbers(format: &str) -> bool {
    let mut characters = format.chars();
    while let Some(character) = characters.next() {
        match character {
            // Flags, width and precision end at the letter of the conversion; `%%` is a percent sign.
            '%' => match characters.find(|c| c.is_ascii_alphabetic() || *c == '%') {
                Some('%') | None => return true,
                Some(_) => {}
            },
            other if other.is_ascii_digit() || other == '.' || other == ' ' => {}
            _ => return true,
        }
    }
    false
}

/// An expression that gives composed texts or the time of the row, such as `if(isnull(_time), "Total",
/// _time)`, with the time as it is written among texts; `None` for others.
pub(super) fn with_times_among_texts(expr: &Expr, frame: &Frame) -> Option<Expr> {
    let ExprKind::Call(call) = &expr.kind else { return None };
    let places: Vec<usize> = value_places(call)?.collect();
    let values = places.iter().filter_map(|at| call.arguments.get(*at));
    let (times, texts): (Vec<&Expr>, Vec<&Expr>) =
        values.partition(|value| is_row_time(value, frame));
    if times.is_empty() || !are_composed(texts.into_iter(), frame) {
        return None;
    }
    let mut call = call.clone();
    for at in places {
        if let Some(value) = call.arguments.get_mut(at)
            && is_row_time(value, frame)
        {
            *value = time_among_texts(value);
        }
    }
    Some(Expr { kind: ExprKind::Call(call), span: expr.span })
}

/// Whether an expression is the field `_time`, and that holds times.
fn is_row_time(expr: &Expr, frame: &Frame) -> bool {
    let is_named = matches!(&expr.kind, ExprKind::Field(field) if field.name == columns::TIME);
    is_named && frame.kind(columns::TIME) == Some(ValueType::Time)
}

/// The text of a time as [`crate::value::time_among_texts`] writes it; null if there is no time.
fn time_among_texts(time: &Expr) -> Expr {
    let span = time.span;
    let format = Expr { kind: ExprKind::String("%s.%6N".to_owned()), span };
    let function = Spanned::new("strftime".to_owned(), span);
    let call = Call { function, arguments: vec![time.clone(), format] };
    Expr { kind: ExprKind::Call(call), span }
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
