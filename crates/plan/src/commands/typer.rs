//! `typer`: the event types of each event; planned in `tags`.

use spl::ast::TyperCommand;

use super::{CommandPlan, Error, Input, OutputFields, Place, RequiredFields, Step, tags};

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
