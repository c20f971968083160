//! `typelearner`: proposes event types; planned in `findtypes`.

use spl::ast::TypelearnerCommand;

use super::{CommandPlan, Error, Input, OutputFields, Place, RequiredFields, Step, findtypes};

impl CommandPlan for TypelearnerCommand {
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
        Ok(findtypes::typelearner(self, input.frame))
    }
}
