//! `require`: fails a search that has no rows.
//!
//! Split: runs at the search head.

use std::sync::Arc;

use frames::stream::{Require, StreamNode};
use spl::ast::RequireCommand;

use super::{CommandPlan, Error, Input, OutputFields, Place, RequiredFields, Step};

impl CommandPlan for RequireCommand {
    fn place(&self) -> Place {
        Place::SearchHead
    }

    fn required_fields(&self, _: &mut RequiredFields) {}

    fn output_fields(&self) -> OutputFields {
        OutputFields::Unchanged
    }

    fn plan(&self, input: Input<'_>) -> Result<Step, Error> {
        let frame = input.frame;
        let order = frame.sort_exprs();
        let plan = frame.plan().clone();
        let node = StreamNode::try_new(plan, Arc::new(Require), Vec::new(), order, Vec::new())?;
        Ok(Step::Next(frame.stream(node)))
    }
}
