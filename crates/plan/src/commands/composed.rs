//! Assignments of composed texts, such as `strftime(...)` and `"hello"`, to `_time` and `_indextime`.
//!
//! Guarantees: such a field contains the text from then on, and commands that need times read it as epoch
//! seconds, or as a missing time. All other texts, such as fields of events, are converted to times (epoch
//! seconds) when they are assigned.

use exprs::types::ValueType;
use frames::Frame;
use model::columns;
use spl::ast::{BinaryOperator, Call, Expr, ExprKind, Spanned};

use crate::Error;
use crate::value::parse_number;

/// Whether the value of an expression is certainly a text that is not a number.
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

/// Whether a format of `strftime` produces epoch seconds.
pub(super) fn is_epoch(format: &str) -> bool {
    format == "%s" || format.starts_with("%s.")
}

/// Whether a concatenation that contains this operand is not a number: `seconds.".".millis` is a number.
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
        // With a format argument, such as "duration" or "commas".
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

/// The indexes of the arguments from which a function returns one unchanged; `None` for other functions.
fn value_places(call: &Call) -> Option<impl Iterator<Item = usize>> {
    let (first, step) = match call.function.node.as_str() {
        "if" => (1, 1),
        "case" => (1, 2),
        "coalesce" => (0, 1),
        _ => return None,
    };
    Some((first..call.arguments.len()).step_by(step))
}

/// Whether a format of `printf` contains, outside its conversions, characters other than digits and dots.
fn has_other_than_numbers(format: &str) -> bool {
    let mut characters = format.chars();
    while let Some(character) = characters.next() {
        match character {
            // Flags, width and precision precede the letter that ends the conversion; `%%` is a percent sign.
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

/// Rewrites an expression whose values are composed texts or the row's time, such as `if(isnull(_time),
/// "Total", _time)`, so that the time is formatted as a text; `None` for other expressions.
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

/// Whether an expression is the field `_time` and this field contains times.
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

/// Whether all possible values of an expression are composed texts or null.
fn are_composed<'e>(values: impl Iterator<Item = &'e Expr>, frame: &Frame) -> bool {
    let is_null =
        |expr: &Expr| matches!(&expr.kind, ExprKind::Call(call) if call.function.node == "null");
    let mut values = values.filter(|value| !is_null(value)).peekable();
    values.peek().is_some() && values.all(|value| is_composed(value, frame))
}

/// Returns the rows with a field converted to times: values of other types are read as epoch seconds.
pub(super) fn timed(frame: Frame, name: &str) -> Result<Frame, Error> {
    match frame.kind(name) {
        None | Some(ValueType::Time) => Ok(frame),
        Some(_) => {
            let time = frame.field(name).to(ValueType::Time);
            Ok(frame.with_columns(vec![(name.to_owned(), time)])?)
        }
    }
}
