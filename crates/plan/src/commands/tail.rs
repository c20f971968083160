//! `tail`: the last rows; planned in `head`.

use spl::ast::TailCommand;

use super::{CommandPlan, Error, Input, OutputFields, Place, RequiredFields, Step, TwoStep, head};

impl CommandPlan for TailCommand {
    fn place(&self) -> Place {
        Place::TwoStep(TwoStep::Reduce { rows: Some(self.limit) })
    }

    fn required_fields(&self, _: &mut RequiredFields) {}

    fn output_fields(&self) -> OutputFields {
        OutputFields::Unchanged
    }

    fn plan(&self, input: Input<'_>) -> Result<Step, Error> {
        Ok(Step::Next(head::tail(self, input.frame)))
    }
}
