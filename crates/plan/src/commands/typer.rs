//! `typer`: the event types of each event; planned in `tags`.

use spl::ast::TyperCommand;

use super::{CommandPlan, Input, Step, tags};
use crate::Error;
use crate::place::Place;
use crate::required_fields::{OutputFields, RequiredFields};

impl CommandPlan for TyperCommand {
    fn place(&self) -> Place {
        Place::Streaming
    }

    fn required_fields(&self, fields: &mut RequiredFields) {
        fields.name("eventtype");
    }

    fn output_fields(&self) -> OutputFields {
        OutputFields::Unchanged
    }

    fn plan(&self, input: Input<'_>) -> Result<Step, Error> {
        tags::typer(input.frame, input.env).map(Step::Next)
    }
}
