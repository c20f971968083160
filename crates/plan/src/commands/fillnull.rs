//! `fillnull`: replaces missing values with a fixed value.
//!
//! Split: runs where the rows are.

use datafusion::functions::core::expr_fn::coalesce;
use exprs::Typed;
use exprs::types::ValueType;
use frames::Frame;
use spl::ast::FillnullCommand;

use super::eval::convert;
use super::fields::expand_or_all;
use super::required::{choose_fields, reaches_source, required_by};
use super::{CommandPlan, Error, Input, OutputFields, Place, RequiredFields, Rest, Step, presence};
use crate::value::parse_number;
use context::sql::layer::{Kind, Value, names};
use context::sql::{Layer, Reason, SqlText, literal};

impl CommandPlan for FillnullCommand {
    fn place(&self) -> Place {
        Place::Streaming
    }

    fn required_fields(&self, fields: &mut RequiredFields) {
        fields.patterns_or_all(&self.fields);
    }

    fn output_fields(&self) -> OutputFields {
        OutputFields::Unchanged
    }

    fn changes_source(&self) -> bool {
        // Without field names, the command changes none of the source fields, as every event has a value of
        // each.
        self.fields.iter().any(reaches_source)
    }

    fn needs_presence(&self, frame: &Frame, rest: Rest<'_>) -> bool {
        // If later commands choose all fields that are shown by exact names, other fields do not matter.
        let later = required_by(rest);
        let named = choose_fields(rest) && later.patterns.is_empty();
        !named && presence::reaches(&self.fields, frame)
    }

    fn plan(&self, input: Input<'_>) -> Result<Step, Error> {
        let frame = input.frame;
        let mut values = Vec::new();
        for name in expand_or_all(&self.fields, &frame) {
            let filled = filled(frame.field(&name), &self.value);
            values.push((name, filled));
        }
        frame.with_columns(values).map(Step::Next)
    }

    fn sql(&self, layer: Layer, _: &mut SqlText) -> Result<Layer, Reason> {
        select(self, layer)
    }
}

fn select(command: &FillnullCommand, mut layer: Layer) -> Result<Layer, Reason> {
    let mut names = names(&command.fields)?;
    if names.is_empty() {
        names = layer.columns.clone().ok_or("fields that are not named")?;
    }
    for name in names {
        let value = layer.field(&name);
        let number = command.value.parse::<f64>().is_ok();
        let filled = match value.kind {
            Kind::Integer | Kind::Number if number => {
                Value::new(format!("COALESCE({}, {})", value.sql, command.value), value.kind)
            }
            _ => {
                let text = value.text()?;
                Value::new(format!("COALESCE({text}, {})", literal(&command.value)), Kind::Text)
            }
        };
        layer.set(&name, filled);
    }
    Ok(layer)
}

/// Returns the value, or the given text if it is null.
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
