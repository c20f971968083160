//! `untable`: columns become rows; planned in `reshape`.

use spl::ast::UntableCommand;

use super::{CommandPlan, Input, Step, reshape};
use crate::Error;
use crate::place::Place;
use crate::required_fields::{OutputFields, RequiredFields};

impl CommandPlan for UntableCommand {
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
        Ok(reshape::untable(self, input.frame))
    }
}
