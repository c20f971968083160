//! `require`: fails a search that has no rows.
//!
//! Split: runs at the search head.

use std::sync::Arc;

use crate::Error;
use crate::frame::Frame;
use crate::stream::{Require, StreamNode};

pub(super) fn plan(frame: Frame) -> Result<Frame, Error> {
    let order = frame.sort_exprs();
    let plan = frame.plan().clone();
    let node = StreamNode::try_new(plan, Arc::new(Require), Vec::new(), order, Vec::new())?;
    Ok(frame.stream(node))
}
