//! `accum` and `delta`: running totals and differences.
//!
//! Split: both run at the search head, which sees rows in order.

use std::sync::Arc;

use arrow::datatypes::{DataType, Field};
use exprs::Typed;
use exprs::types::ValueType;
use frames::Frame;
use frames::stream::{Delta, RunningTotal, StreamNode, StreamOp};
use spl::ast::{AccumCommand, DeltaCommand};

use crate::Error;
use context::planning::PlanningContext;

pub(super) fn accum(command: &AccumCommand, frame: Frame) -> Result<Frame, Error> {
    let name = &command.field.node;
    let target = command.alias.as_ref().map_or(name, |alias| &alias.node).clone();
    add(frame, name, target, Arc::new(RunningTotal))
}

pub(super) fn delta(
    command: &DeltaCommand,
    frame: Frame,
    env: &PlanningContext<'_>,
) -> Result<Frame, Error> {
    let name = &command.field.node;
    let target = command.alias.as_ref().map(|alias| alias.node.clone());
    let target = target.unwrap_or_else(|| format!("delta({name})"));
    let limit = env.context.limits.stream_window;
    let back = usize::try_from(command.p).ok().filter(|back| (1..=limit).contains(back));
    let Some(back) = back else {
        let message = format!("p= must be a number of rows from 1 to {limit}");
        return Err(Error::at(message, command.field.span));
    };
    add(frame, name, target, Arc::new(Delta { back }))
}

fn add(
    mut frame: Frame,
    name: &str,
    target: String,
    op: Arc<dyn StreamOp>,
) -> Result<Frame, Error> {
    let added = frame.fresh("running");
    let field = Field::new(&added, DataType::Float64, true);
    let (order, argument) = (frame.sort_exprs(), frame.field(name).expr);
    let plan = frame.plan().clone();
    let node = StreamNode::try_new(plan, op, vec![argument], order, vec![field])?;
    frame.stream(node).with_columns(vec![(target, Typed::column(&added, ValueType::Float))])
}
