//! `head` and `tail`: the first or last rows.
//!
//! Split: each indexer delivers its first N, the search head takes the first N of those; a
//! condition is checked at the search head alone.

use std::sync::Arc;

use spl::ast::{HeadCommand, TailCommand};

use crate::Error;
use crate::frame::Frame;
use crate::pipeline::Env;
use crate::stream::{HeadWhile, StreamNode};

/// Rows without a count.
const DEFAULT: u64 = 10;

pub(super) fn head(command: &HeadCommand, frame: Frame, env: &Env<'_>) -> Result<Frame, Error> {
    let Some(condition) = &command.condition else {
        return Ok(frame.limit(rows(command.limit.unwrap_or(DEFAULT))));
    };
    let condition = super::eval::condition(condition, &frame, env)?;
    let op = HeadWhile {
        limit: command.limit.unwrap_or(u64::MAX),
        keep_last: command.keeplast,
        null: command.null,
    };
    let order = frame.sort_exprs();
    let plan = frame.plan().clone();
    let node = StreamNode::try_new(plan, Arc::new(op), vec![condition], order, Vec::new())?;
    Ok(frame.stream(node))
}

/// The last rows, in reverse order as documented.
pub(super) fn tail(command: &TailCommand, frame: Frame) -> Frame {
    frame.reverse().limit(rows(command.limit))
}

fn rows(count: u64) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}
