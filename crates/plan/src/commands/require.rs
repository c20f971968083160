//! `require`: fails a search that has no rows.
//!
//! Split: runs at the search head.

use std::sync::Arc;

use spl::ast::RequireCommand;

use super::{CommandPlan, Input, Step};
use crate::Error;
use crate::frame::Frame;
use crate::place::Place;
use crate::required_fields::{OutputFields, RequiredFields};
use crate::stream::{Require, StreamNode};

impl CommandPlan for RequireCommand {
    fn place(&self) -> Place {
        Place::SearchHead
    }

    fn required_fields(&self, _: &mut RequiredFields) {}

    fn output_fields(&self) -> OutputFields {
        OutputFields::Unchanged
    }

    fn plan(&self, input: Input<'_>) -> Result<Step, Error> {
        plan(input.frame).map(Step::Next)
    }
}

pub(super) fn plan(frame: Frame) -> Result<Frame, Error> {
    let order = frame.sort_exprs();
    let plan = frame.plan().clone();
    let node = StreamNode::try_new(plan, Arc::new(Require), Vec::new(), order, Vec::new())?;
    Ok(frame.stream(node))
}
