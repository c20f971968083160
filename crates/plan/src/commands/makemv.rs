//! `makemv`: a text cut into several values; planned in `multivalue`.

use spl::ast::MakemvCommand;

use super::{CommandPlan, Error, Input, OutputFields, Place, RequiredFields, Step, multivalue};

impl CommandPlan for MakemvCommand {
    fn place(&self) -> Place {
        Place::Streaming
    }

    fn required_fields(&self, fields: &mut RequiredFields) {
        fields.name(&self.field.node);
    }

    fn output_fields(&self) -> OutputFields {
        OutputFields::Unchanged
    }

    fn plan(&self, input: Input<'_>) -> Result<Step, Error> {
        multivalue::makemv(self, input.frame).map(Step::Next)
    }
}
