//! `eventstats`: adds the aggregates of its group to every row.
//!
//! Split: adds no work at the indexers; the search head needs all rows.

use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::logical_expr::expr::{AggregateFunction, WindowFunction};
use datafusion::logical_expr::{
    Expr, ExprFunctionExt, ExprSchemable, LogicalPlan, Window, WindowFunctionDefinition, when,
};
use exprs::present::all_present;
use exprs::{Typed, repeated};
use frames::{Frame, column};
use spl::ast::EventstatsCommand;

use super::stats::{Rules, aggregates_by, by_fields, joined, refuse_names_of_keys, refuse_span};
use super::{CommandPlan, Error, Input, OutputFields, Place, RequiredFields, Rest, Step, presence};
use context::planning::PlanningContext;

impl CommandPlan for EventstatsCommand {
    fn place(&self) -> Place {
        Place::SearchHead
    }

    fn required_fields(&self, fields: &mut RequiredFields) {
        fields.stats(&self.calls, &self.by);
    }

    fn output_fields(&self) -> OutputFields {
        OutputFields::Unchanged
    }

    fn reads_declared(&self) -> bool {
        true
    }

    fn needs_presence(&self, frame: &Frame, _: Rest<'_>) -> bool {
        presence::any(&self.calls, frame) || presence::keys(&self.by, frame)
    }

    fn plan(&self, input: Input<'_>) -> Result<Step, Error> {
        plan(self, input.frame, input.env).map(Step::Next)
    }
}

pub(super) fn plan(
    command: &EventstatsCommand,
    frame: Frame,
    env: &PlanningContext<'_>,
) -> Result<Frame, Error> {
    refuse_span("eventstats", &command.by)?;
    let keys = by_fields(&command.by, &frame);
    refuse_names_of_keys("eventstats", &command.calls, &keys, &frame)?;
    let rules = Rules { only_numbers: command.allnum, ..Rules::default() };
    let values = aggregates_by(&command.calls, &keys, &frame, env, rules)?;
    if keys.iter().any(|name| frame.kind(name).is_none()) {
        let nulls = values.into_iter().map(|(name, value)| (name, Typed::null(value.kind)));
        return frame.with_columns(nulls.collect());
    }
    let (frame, mut outputs) = windowed(frame, &keys, values)?;
    if let Some(delimiter) = &command.delim {
        outputs = outputs.into_iter().map(|output| joined(output, delimiter)).collect();
    }
    frame.with_columns(outputs)
}

/// Plans aggregates as window functions over whole groups.
fn windowed(
    mut frame: Frame,
    keys: &[String],
    values: Vec<(String, Typed)>,
) -> Result<(Frame, Vec<(String, Typed)>), Error> {
    let partition: Vec<Expr> = keys.iter().map(|name| frame.field(name).expr).collect();
    let present = all_present(partition.clone());
    let mut windows = Vec::new();
    let mut outputs = Vec::new();
    for (name, Typed { expr, kind }) in values {
        let expr = over(expr, &partition, &mut windows, &mut frame)?;
        // Rows without a group key get no value.
        let expr = match &present {
            Some(present) => when(present.clone(), expr).end()?,
            None => expr,
        };
        outputs.push((name, Typed::new(expr, kind)));
    }
    if windows.is_empty() {
        return Ok((frame, outputs));
    }
    let frame = frame
        .map_plan(|plan| Ok(LogicalPlan::Window(Window::try_new(windows, Arc::new(plan))?)))?;
    Ok((frame, outputs))
}

/// Replaces aggregate calls by columns of window functions.
fn over(
    expr: Expr,
    partition: &[Expr],
    windows: &mut Vec<Expr>,
    frame: &mut Frame,
) -> Result<Expr, Error> {
    let lifted = expr.transform_down(|node| {
        let Expr::AggregateFunction(AggregateFunction { func, params }) = node else {
            return Ok(Transformed::no(node));
        };
        let types = params.args.iter().map(|arg| arg.get_type(frame.schema()));
        let types = types.collect::<datafusion::error::Result<Vec<_>>>()?;
        let is_large = repeated::is_large(&func.return_type(&types)?);
        let func = if is_large { repeated::once(func).into() } else { func };
        let definition = WindowFunctionDefinition::AggregateUDF(func);
        let name = frame.fresh("window");
        let window = Expr::from(WindowFunction::new(definition, params.args))
            .partition_by(partition.to_vec())
            .build()?;
        windows.push(window.alias(&name));
        let value = column(&name);
        let value = if is_large { repeated::written_out(value) } else { value };
        Ok(Transformed::new(value, true, TreeNodeRecursion::Jump))
    })?;
    Ok(lifted.data)
}
