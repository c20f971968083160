//! `head` and `tail`: the first or last rows.
//!
//! Split: each indexer returns its first N rows, and the search head takes the first N of those; a condition
//! is evaluated only at the search head.

use std::sync::Arc;

use frames::Frame;
use frames::stream::{HeadWhile, StreamNode};
use spl::ast::{HeadCommand, TailCommand};

use super::first_rows::first_rows;
use super::{CommandPlan, Error, Input, OutputFields, Place, RequiredFields, Step, TwoStep};
use context::sql::{Layer, Reason, SqlText};

impl CommandPlan for HeadCommand {
    fn place(&self) -> Place {
        match (&self.condition, self.limit) {
            (Some(_), _) => Place::SearchHead,
            (None, limit) => {
                Place::TwoStep(TwoStep::Reduce { rows: Some(limit.unwrap_or(DEFAULT)) })
            }
        }
    }

    fn required_fields(&self, fields: &mut RequiredFields) {
        self.condition.iter().for_each(|expr| fields.expr(expr));
    }

    fn output_fields(&self) -> OutputFields {
        OutputFields::Unchanged
    }

    fn reads_declared(&self) -> bool {
        true
    }

    fn plan(&self, input: Input<'_>) -> Result<Step, Error> {
        head(self, input).map(Step::Next)
    }

    fn sql(&self, layer: Layer, _: &mut SqlText) -> Result<Layer, Reason> {
        select(self, layer)
    }
}

fn select(command: &HeadCommand, mut layer: Layer) -> Result<Layer, Reason> {
    if command.condition.is_some() {
        return Err("a condition".to_owned());
    }
    let limit = command.limit.unwrap_or(DEFAULT);
    layer.limit = Some(layer.limit.map_or(limit, |before| before.min(limit)));
    Ok(layer)
}

/// Default number of rows.
const DEFAULT: u64 = 10;

fn head(command: &HeadCommand, input: Input<'_>) -> Result<Frame, Error> {
    let Input { frame, rest, env, .. } = input;
    let Some(condition) = &command.condition else {
        return Ok(frame.limit(rows(command.limit.unwrap_or(DEFAULT))));
    };
    let condition = super::eval::condition(condition, &frame, env)?;
    let used = first_rows(rest).and_then(|used| u64::try_from(used).ok());
    let op = HeadWhile {
        limit: command.limit.unwrap_or(u64::MAX).min(used.unwrap_or(u64::MAX)),
        keep_last: command.keeplast,
        null: command.null,
    };
    let order = frame.sort_exprs();
    let plan = frame.plan().clone();
    let node = StreamNode::try_new(plan, Arc::new(op), vec![condition], order, Vec::new())?;
    Ok(frame.stream(node))
}

/// The maximum number of rows that the command returns, if it does not depend on their values.
pub(super) fn taken(command: &HeadCommand) -> Option<usize> {
    match (&command.condition, command.limit) {
        (Some(_), limit) => limit.map(rows),
        (None, limit) => Some(rows(limit.unwrap_or(DEFAULT))),
    }
}

/// Returns the last rows, in reverse order as documented.
pub(super) fn tail(command: &TailCommand, frame: Frame) -> Frame {
    frame.reverse().limit(rows(command.limit))
}

fn rows(count: u64) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}
