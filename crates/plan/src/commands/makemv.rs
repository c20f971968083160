//! `makemv`: splits a text into several values; planned in `multivalue`.

use spl::ast::MakemvCommand;

use super::required::is_source;
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

    fn changes_source(&self) -> bool {
        is_source(&self.field.node)
    }

    fn plan(&self, input: Input<'_>) -> Result<Step, Error> {
        multivalue::makemv(self, input.frame).map(Step::Next)
    }
}
