//! `untable`: columns become rows; planned in `reshape`.

use spl::ast::UntableCommand;

use super::{CommandPlan, Error, Input, OutputFields, Place, RequiredFields, Step, reshape};

impl CommandPlan for UntableCommand {
    fn place(&self) -> Place {
        Place::Streaming
    }

    fn required_fields(&self, fields: &mut RequiredFields) {
        fields.all();
    }

    fn output_fields(&self) -> OutputFields {
        OutputFields::Replaced
    }

    fn plan(&self, input: Input<'_>) -> Result<Step, Error> {
        Ok(reshape::untable(self, input.frame))
    }
}
