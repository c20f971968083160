//! `noop`: does nothing.

use spl::ast::NoopCommand;

use super::{CommandPlan, Error, Input, OutputFields, Place, RequiredFields, Step};

impl CommandPlan for NoopCommand {
    fn place(&self) -> Place {
        Place::Streaming
    }

    fn required_fields(&self, _: &mut RequiredFields) {}

    fn output_fields(&self) -> OutputFields {
        OutputFields::Unchanged
    }

    fn plan(&self, input: Input<'_>) -> Result<Step, Error> {
        Ok(Step::Next(input.frame))
    }
}
