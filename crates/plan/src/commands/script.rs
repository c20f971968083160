//! `script`: programs of apps are not run; the rows stay as they are, and a message says so.
//!
//! Split: nothing is left to do anywhere.

use spl::ast::ScriptCommand;

use super::{CommandPlan, Input, OutputFields, Place, RequiredFields, Step};
use crate::context::PlanningContext;
use crate::frame::Frame;
use crate::{Error, MessageKind};

impl CommandPlan for ScriptCommand {
    fn place(&self) -> Place {
        Place::SearchHead
    }

    fn required_fields(&self, _: &mut RequiredFields) {}

    fn output_fields(&self) -> OutputFields {
        OutputFields::Unchanged
    }

    fn plan(&self, input: Input<'_>) -> Result<Step, Error> {
        Ok(Step::Next(plan(self, input.frame, input.env)))
    }
}

pub(super) fn plan(command: &ScriptCommand, frame: Frame, env: &PlanningContext<'_>) -> Frame {
    let name = command.name();
    let text =
        format!("the script \"{name}\" was not run, and its rows are as they were before it");
    env.log.add(MessageKind::Warning, text);
    frame
}
