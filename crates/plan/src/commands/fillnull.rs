//! `fillnull`: gives missing values a value.
//!
//! Split: runs where the rows are.

use datafusion::functions::core::expr_fn::coalesce;
use spl::ast::FillnullCommand;

use super::eval::convert;
use super::fields::expand_or_all;
use crate::Error;
use crate::expr::Typed;
use crate::frame::Frame;
use crate::types::ValueType;
use crate::value::parse_number;

pub(super) fn plan(command: &FillnullCommand, frame: Frame) -> Result<Frame, Error> {
    let mut values = Vec::new();
    for name in expand_or_all(&command.fields, &frame) {
        let filled = filled(frame.field(&name), &command.value);
        values.push((name, filled));
    }
    frame.with_columns(values)
}

/// The value, or the text given where it is null.
fn filled(value: Typed, text: &str) -> Typed {
    let number = parse_number(text);
    #[allow(clippy::cast_possible_truncation)]
    let fill = match (value.kind, number) {
        (ValueType::Integer, Some(number)) if number.fract() == 0.0 && number.abs() < 1e15 => {
            Typed::new(datafusion::logical_expr::lit(number as i64), ValueType::Integer)
        }
        (ValueType::Float | ValueType::Integer, Some(number)) => Typed::number(number),
        (ValueType::Time, Some(number)) => convert(Typed::number(number), ValueType::Time),
        (ValueType::Multi, _) => convert(Typed::text(text), ValueType::Multi),
        _ => Typed::text(text),
    };
    let kind = fill.kind;
    let value = convert(value, kind);
    Typed::new(coalesce(vec![value.expr, fill.expr]), kind)
}
