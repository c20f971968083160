//! `sendemail`: a mail with the rows; planned in `sendalert`.

use spl::ast::SendemailCommand;

use super::{CommandPlan, Input, Step, sendalert};
use crate::Error;
use crate::place::Place;
use crate::required_fields::{OutputFields, RequiredFields};

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
