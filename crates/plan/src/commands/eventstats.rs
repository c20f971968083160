//! `eventstats`: adds the aggregates of its group to every row.
//!
//! Split: nothing runs at the indexers beyond what came before; the search head needs all rows.

use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::logical_expr::expr::{AggregateFunction, WindowFunction};
use datafusion::logical_expr::{
    Expr, ExprFunctionExt, LogicalPlan, Window, WindowFrame, WindowFrameBound, WindowFrameUnits,
    WindowFunctionDefinition, when,
};
use spl::ast::EventstatsCommand;

use super::stats::{aggregates, by_fields};
use crate::Error;
use crate::expr::Typed;
use crate::frame::{Frame, column};
use crate::pipeline::Env;

pub(super) fn plan(
    command: &EventstatsCommand,
    mut frame: Frame,
    env: &Env<'_>,
) -> Result<Frame, Error> {
    let keys = by_fields(&command.by, &frame);
    let partition: Vec<Expr> = keys.iter().map(|name| frame.field(name).expr).collect();
    let values = aggregates(&command.calls, &keys, &frame, env)?;
    let present = partition.iter().map(|key| key.clone().is_not_null()).reduce(Expr::and);
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
        return Ok(frame);
    }
    let frame = frame.map_plan(|plan| {
        Ok(LogicalPlan::Window(Window::try_new(windows, Arc::new(plan))?))
    })?;
    frame.with_columns(outputs)
}

/// Replaces aggregate calls by columns of window functions over whole groups.
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
        let definition = WindowFunctionDefinition::AggregateUDF(func);
        let unbounded = datafusion::common::ScalarValue::UInt64(None);
        let whole = WindowFrame::new_bounds(
            WindowFrameUnits::Rows,
            WindowFrameBound::Preceding(unbounded.clone()),
            WindowFrameBound::Following(unbounded),
        );
        let name = frame.fresh("window");
        let window = Expr::from(WindowFunction::new(definition, params.args))
            .partition_by(partition.to_vec())
            .order_by(params.order_by)
            .window_frame(whole)
            .build()?;
        windows.push(window.alias(&name));
        Ok(Transformed::new(column(&name), true, TreeNodeRecursion::Jump))
    })?;
    Ok(lifted.data)
}
