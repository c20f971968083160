//! `transpose`: rows become columns; planned in `reshape`.

use spl::ast::TransposeCommand;

use super::{CommandPlan, Error, Input, OutputFields, Place, RequiredFields, Step, reshape};

impl CommandPlan for TransposeCommand {
    fn place(&self) -> Place {
        Place::SearchHead
    }

    fn required_fields(&self, fields: &mut RequiredFields) {
        fields.all();
    }

    fn output_fields(&self) -> OutputFields {
        OutputFields::Replaced
    }

    fn plan(&self, input: Input<'_>) -> Result<Step, Error> {
        Ok(reshape::transpose(self, input.frame))
    }
}
