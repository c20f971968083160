//! `streamstats`: adds running aggregates to each row.
//!
//! Split: adds no work at the indexers; the search head reads rows in order.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use arrow::datatypes::Field;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::logical_expr::Expr;
use exprs::Typed;
use exprs::types::ValueType;
use frames::stream::{ResultCondition, StreamNode, Streamstats, Window};
use frames::{Frame, FrameColumn, column};
use spl::ast::StreamstatsCommand;
use tables::bins::length_of;

use super::eval::{condition, reads_any};
use super::stats::{Rules, aggregates_by, by_fields, refuse_names_of_keys, refuse_span};
use super::{CommandPlan, Error, Input, OutputFields, Place, RequiredFields, Rest, Step, presence};
use context::planning::PlanningContext;

impl CommandPlan for StreamstatsCommand {
    fn place(&self) -> Place {
        Place::SearchHead
    }

    fn required_fields(&self, fields: &mut RequiredFields) {
        fields.stats(&self.calls, &self.by);
        self.reset_before.iter().chain(&self.reset_after).for_each(|expr| fields.expr(expr));
    }

    fn output_fields(&self) -> OutputFields {
        OutputFields::Unchanged
    }

    fn needs_presence(&self, frame: &Frame, _: Rest<'_>) -> bool {
        presence::any(&self.calls, frame) || presence::keys(&self.by, frame)
    }

    fn plan(&self, input: Input<'_>) -> Result<Step, Error> {
        plan(self, input.frame, input.env).map(Step::Next)
    }
}

pub(super) fn plan(
    command: &StreamstatsCommand,
    mut frame: Frame,
    env: &PlanningContext<'_>,
) -> Result<Frame, Error> {
    if command.calls.is_empty() {
        return Ok(frame);
    }
    let limits = &env.context.limits;
    let rows = usize::try_from(command.window).ok().filter(|rows| *rows <= limits.stream_window);
    let Some(rows) = rows else {
        let limit = limits.stream_window;
        let message = format!("a window of streamstats holds at most {limit} rows");
        return Err(Error::invalid_anywhere(message));
    };
    let window = match &command.time_window {
        Some(span) => Window::Time { span: length_of(span), rows: (rows > 0).then_some(rows) },
        None if rows == 0 => Window::All,
        None => Window::Rows(rows),
    };
    refuse_span("streamstats", &command.by)?;
    let keys = by_fields(&command.by, &frame);
    refuse_names_of_keys("streamstats", &command.calls, &keys, &frame)?;
    let unknown = keys.iter().any(|name| frame.kind(name).is_none());
    let rules = Rules { only_numbers: command.allnum, ..Rules::default() };
    let values = aggregates_by(&command.calls, &keys, &frame, env, rules)?;
    if unknown {
        let nulls = values.into_iter().map(|(name, value)| (name, Typed::null(value.kind)));
        return frame.with_columns(nulls.collect());
    }
    let mut arguments: Vec<Expr> = keys.iter().map(|name| column(name)).collect();
    if matches!(window, Window::Time { .. }) {
        if frame.kind("_time").is_none() {
            let message = "time_window needs the field _time";
            return Err(Error::invalid_anywhere(message));
        }
        arguments.push(frame.field("_time").to(ValueType::Time).expr);
    }
    let results: HashSet<&str> = values.iter().map(|(name, _)| name.as_str()).collect();
    let after = command.reset_after.as_ref();
    let after_results = after.filter(|expr| reads_any(expr, &results));
    let after_rows = after.filter(|_| after_results.is_none());
    for expr in command.reset_before.iter().chain(after_rows) {
        arguments.push(condition(expr, &frame, env)?);
    }
    let mut lifted = Vec::new();
    let mut outputs = Vec::new();
    for (name, Typed { expr, kind }) in values {
        let expr = frame.lift_aggregates(expr, &mut lifted)?;
        outputs.push((name, Typed::new(expr, kind)));
    }
    let mut added = Vec::with_capacity(lifted.len());
    for aggregate in &lifted {
        use datafusion::logical_expr::ExprSchemable;
        let (_, field) = aggregate.to_field(frame.schema())?;
        added.push(Field::new(field.name(), field.data_type().clone(), true));
    }
    let mut reset_after_result = None;
    if let Some(expr) = after_results {
        let (found, inputs) = on_results(expr, &frame, &outputs, &added, env)?;
        arguments.extend(inputs.iter().map(|name| column(name)));
        reset_after_result = Some(found);
    }
    let op = Streamstats {
        keys: keys.len(),
        window,
        current: command.current,
        global: command.global,
        reset_on_change: command.reset_on_change,
        reset_before: command.reset_before.is_some(),
        reset_after: after_rows.is_some(),
        reset_after_result,
        groups: limits.groups,
        window_rows: limits.stream_window,
    };
    let order = frame.sort_exprs();
    let plan = frame.plan().clone();
    let node = StreamNode::try_new(plan, Arc::new(op), arguments, order, added)?;
    frame.stream(node.with_aggregates(lifted)).with_columns(outputs)
}

/// Compiles a condition on the results of a row; also returns the input columns that it reads.
fn on_results(
    expr: &spl::ast::Expr,
    frame: &Frame,
    outputs: &[(String, Typed)],
    added: &[Field],
    env: &PlanningContext<'_>,
) -> Result<(ResultCondition, Vec<String>), Error> {
    let results: HashMap<&str, &Typed> =
        outputs.iter().map(|(name, value)| (name.as_str(), value)).collect();
    let output = |name: &str| results.get(name).copied();
    let others = frame.columns().iter().filter(|column| output(&column.name).is_none()).cloned();
    let named =
        outputs.iter().map(|(name, value)| FrameColumn { name: name.clone(), kind: value.kind });
    let shape = Frame::new(frame.plan().clone(), others.chain(named).collect());
    let over_results = condition(expr, &shape, env)?.transform_up(|expr| {
        let found = match &expr {
            Expr::Column(of) => output(&of.name),
            _ => None,
        };
        Ok(match found {
            Some(value) => Transformed::yes(value.expr.clone()),
            None => Transformed::no(expr),
        })
    })?;
    let over_results = over_results.data;
    let read = over_results.column_refs().into_iter().map(|of| of.name.clone());
    let mut inputs: Vec<String> =
        read.filter(|name| !added.iter().any(|field| field.name() == name)).collect();
    inputs.sort_unstable();
    let mut fields = Vec::with_capacity(inputs.len());
    for name in &inputs {
        let field = frame.schema().field_with_unqualified_name(name)?;
        fields.push(Field::new(name, field.data_type().clone(), true));
    }
    Ok((ResultCondition::new(over_results, &fields, added)?, inputs))
}
