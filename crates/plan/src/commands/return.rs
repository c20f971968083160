//! `return`: rows as terms of the outer search; planned in `format`.

use spl::ast::ReturnCommand;

use super::{CommandPlan, Error, Input, OutputFields, Place, RequiredFields, Step, format};

impl CommandPlan for ReturnCommand {
    fn place(&self) -> Place {
        Place::SearchHead
    }

    fn required_fields(&self, fields: &mut RequiredFields) {
        self.fields.iter().for_each(|returned| fields.name(&returned.field.node));
    }

    fn output_fields(&self) -> OutputFields {
        OutputFields::Replaced
    }

    fn plan(&self, input: Input<'_>) -> Result<Step, Error> {
        Ok(format::returned(self, input.frame))
    }
}
