//! `appendpipe`: appends the result of a pipeline over the current rows to these rows; planned in `append`,
//! as is a pipeline that generates its own rows.

use spl::ast::AppendpipeCommand;

use super::required::add_commands;
use super::{CommandPlan, Error, Input, OutputFields, Place, RequiredFields, Step, append};

impl CommandPlan for AppendpipeCommand {
    fn place(&self) -> Place {
        Place::SearchHead
    }

    fn required_fields(&self, fields: &mut RequiredFields) {
        add_commands(fields, &self.subsearch.pipeline.commands);
    }

    fn output_fields(&self) -> OutputFields {
        OutputFields::Collected
    }

    fn plan(&self, input: Input<'_>) -> Result<Step, Error> {
        let tail = input.tail();
        Ok(append::appendpipe(self, input.frame, tail))
    }
}
