//! `sendemail`: sends the rows by email; planned in `sendalert`.

use spl::ast::SendemailCommand;

use super::{CommandPlan, Error, Input, OutputFields, Place, RequiredFields, Step, sendalert};

impl CommandPlan for SendemailCommand {
    fn place(&self) -> Place {
        Place::SearchHead
    }

    fn required_fields(&self, fields: &mut RequiredFields) {
        fields.all();
    }

    fn output_fields(&self) -> OutputFields {
        OutputFields::Unchanged
    }

    fn plan(&self, input: Input<'_>) -> Result<Step, Error> {
        Ok(sendalert::email(self, input.frame))
    }
}
