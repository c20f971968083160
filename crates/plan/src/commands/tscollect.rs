//! `tscollect`: refused, as there are no namespaces; `delete` has the message.

use spl::ast::TscollectCommand;

use super::{CommandPlan, Error, Input, OutputFields, Place, RequiredFields, Step, delete};

impl CommandPlan for TscollectCommand {
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
        Err(delete::uncollected(self, input.span()))
    }
}
