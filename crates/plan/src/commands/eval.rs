//! `eval` and `where`: compute fields and filter rows.
//!
//! Split: both run where the rows are; nothing is left to the search head.

use std::collections::HashSet;

use datafusion::logical_expr::cast;
use exprs::kernel::{multi, number, text, truth};
use exprs::types::{ArrowType, ValueType};
use exprs::{Typed, compile};
use frames::Frame;
use model::columns;
use spl::ast::{EvalCommand, Expr, ExprKind, WhereCommand};

use super::composed::{is_composed, with_times_among_texts};
use super::eval_named::Piece;
use super::required::is_source;
use super::{CommandPlan, Input, OutputFields, Place, RequiredFields, Step, eval_named};
use crate::Error;
use context::planning::PlanningContext;
use context::sql;
use context::sql::layer::Kind;
use context::sql::{Layer, Reason, SqlText};

impl CommandPlan for EvalCommand {
    fn place(&self) -> Place {
        Place::Streaming
    }

    fn required_fields(&self, fields: &mut RequiredFields) {
        for assignment in &self.assignments {
            fields.expr(&assignment.expr);
            fields.name(&assignment.field.node);
            for piece in eval_named::pieces(&assignment.field.node).unwrap_or_default() {
                if let Piece::Field(name) = piece {
                    fields.name(&name);
                }
            }
        }
    }

    fn output_fields(&self) -> OutputFields {
        OutputFields::Unchanged
    }

    fn reads_declared(&self) -> bool {
        true
    }

    fn changes_source(&self) -> bool {
        self.assignments.iter().any(|one| is_source(&one.field.node))
    }

    fn plan(&self, input: Input<'_>) -> Result<Step, Error> {
        let span = input.span();
        let Input { frame, rest, env, .. } = input;
        let first = self.assignments.first();
        let pieces = first.and_then(|first| eval_named::pieces(&first.field.node));
        match (self.assignments.as_slice(), pieces) {
            ([assignment], Some(pieces)) => eval_named::plan(assignment, pieces, frame, rest, env),
            _ => match eval_named::split(self, span) {
                Some(parts) => Ok(Step::Replace(frame, parts)),
                None => assign(self, frame, env).map(Step::Next),
            },
        }
    }

    fn sql(&self, layer: Layer, _: &mut SqlText) -> Result<Layer, Reason> {
        select(self, layer)
    }
}

fn select(command: &EvalCommand, mut layer: Layer) -> Result<Layer, Reason> {
    for assignment in &command.assignments {
        let value = sql::expr::value(&assignment.expr, &layer)?;
        let name = assignment.field.node.as_str();
        if value.kind == Kind::Boolean {
            return Err(format!("{name} would be a condition"));
        }
        layer.replace(name, value);
    }
    Ok(layer)
}

/// Functions whose Boolean result is stored in fields as a text.
const SHOWN_TRUTH: [&str; 5] = ["if", "json_has_key", "json_has_key_exact", "json_valid", "tobool"];

/// Sets fields. Assignments that do not read each other's results are applied in one projection.
fn assign(
    command: &EvalCommand,
    mut frame: Frame,
    env: &PlanningContext<'_>,
) -> Result<Frame, Error> {
    let mut values: Vec<(String, Typed)> = Vec::new();
    let mut texts: Vec<String> = Vec::new();
    let mut set: HashSet<&str> = HashSet::new();
    for assignment in &command.assignments {
        env.context.planning.check()?;
        let name = &assignment.field.node;
        if name.starts_with("__") {
            let message = "field names that start with two underscores are reserved";
            return Err(Error::at(message, assignment.field.span));
        }
        if !set.is_empty() && reads_any(&assignment.expr, &set) {
            frame = frame.with_columns(std::mem::take(&mut values))?;
            frame = frame.with_composed(std::mem::take(&mut texts));
            set.clear();
        }
        let among_texts = match name == columns::TIME {
            true => with_times_among_texts(&assignment.expr, &frame),
            false => None,
        };
        let expr = among_texts.as_ref().unwrap_or(&assignment.expr);
        let value = compile(expr, &env.scope(&frame))?;
        let is_composed = among_texts.is_some() || is_composed(expr, &frame);
        let is_text = value.kind == ValueType::Text && is_composed;
        let is_time = is_time(name) && !is_text;
        let value = if is_time { value } else { value.shown() };
        let value = stored(value, &assignment.expr)?;
        let value = if is_time { convert(value, ValueType::Time) } else { value };
        values.push((name.clone(), value));
        // If a field is assigned several times, the last assignment counts.
        texts.retain(|text| text != name);
        texts.extend(is_text.then(|| name.clone()));
        set.insert(name);
    }
    Ok(frame.with_columns(values)?.with_composed(texts))
}

/// Whether an expression may read one of these fields: it names the field, or calls a function that may read
/// any field.
pub(super) fn reads_any(expr: &Expr, set: &HashSet<&str>) -> bool {
    let mut read = RequiredFields::default();
    read.expr(expr);
    !read.patterns.is_empty() || read.names.iter().any(|name| set.contains(name.as_str()))
}

pub(super) fn filter(
    command: &WhereCommand,
    frame: Frame,
    env: &PlanningContext<'_>,
) -> Result<Frame, Error> {
    let condition = condition(&command.expr, &frame, env)?;
    frame.filter(condition)
}

/// Compiles an expression as a condition.
pub(super) fn condition(
    expr: &Expr,
    frame: &Frame,
    env: &PlanningContext<'_>,
) -> Result<datafusion::logical_expr::Expr, Error> {
    let value = compile(expr, &env.scope(frame))?;
    Ok(match value.kind {
        ValueType::Boolean => value.expr,
        _ => convert(value, ValueType::Boolean).expr,
    })
}

/// Whether a column of this name is a time, unless a composed text was assigned to it.
pub(super) fn is_time(name: &str) -> bool {
    matches!(name, "_time" | "_indextime")
}

/// Converts the value of an expression to a type that a field can store.
pub(super) fn stored(value: Typed, expr: &Expr) -> Result<Typed, Error> {
    match &expr.kind {
        ExprKind::Call(call)
            if value.kind == ValueType::Boolean
                && SHOWN_TRUTH.contains(&call.function.node.as_str()) =>
        {
            Ok(convert(value, ValueType::Text))
        }
        _ => storable(value, expr.span),
    }
}

/// Converts a value to a type that a field can store: Booleans are not storable, and times become numbers.
pub(super) fn storable(value: Typed, span: spl::ast::Span) -> Result<Typed, Error> {
    match value.kind {
        ValueType::Boolean => Err(Error::at(
            "a field cannot hold the result of a comparison; use if(..., \"true\", \"false\") \
             or tostring(...)",
            span,
        )),
        ValueType::Time => Ok(convert(value, ValueType::Float)),
        _ => Ok(value),
    }
}

/// Converts a value to another type.
pub(super) fn convert(value: Typed, kind: ValueType) -> Typed {
    if value.kind == kind {
        return value;
    }
    let value = match kind {
        ValueType::Text | ValueType::Multi => value.shown(),
        _ => value.plain(),
    };
    match (value.kind, kind) {
        (same, wanted) if same == wanted => value,
        (ValueType::Null, _) => Typed::null(kind),
        (ValueType::Integer, ValueType::Float) => {
            Typed::new(cast(value.expr, kind.data_type()), kind)
        }
        (_, ValueType::Multi) => multi("to_multi", |row, out| {
            row.value(0).each_text(|text| out.append_value(text));
            Some(())
        })
        .call(vec![value]),
        (_, ValueType::Float) => number("to_number", |row| row.number(0)).call(vec![value]),
        (_, ValueType::Integer) => {
            exprs::kernel::integer("to_integer", |row| row.value(0).whole()).call(vec![value])
        }
        (_, ValueType::Boolean) => truth("to_truth", |row| row.value(0).truth()).call(vec![value]),
        (_, ValueType::Time) => {
            let micros = exprs::kernel::integer("to_micros", |row| {
                row.number(0).map(|seconds| model::EventTime::from_seconds(seconds).0)
            });
            let micros = micros.call(vec![value]);
            Typed::new(cast(micros.expr, kind.data_type()), kind)
        }
        _ => text("to_text", |row, out| {
            out.push_str(&row.text(0)?);
            Some(())
        })
        .call(vec![value]),
    }
}
