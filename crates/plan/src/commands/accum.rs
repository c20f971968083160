//! `accum`: a running total; planned in `running`, beside `delta`.

use spl::ast::AccumCommand;

use super::required::is_source;
use super::{CommandPlan, Error, Input, OutputFields, Place, RequiredFields, Step, running};

impl CommandPlan for AccumCommand {
    fn place(&self) -> Place {
        Place::SearchHead
    }

    fn required_fields(&self, fields: &mut RequiredFields) {
        fields.name(&self.field.node);
    }

    fn output_fields(&self) -> OutputFields {
        OutputFields::Unchanged
    }

    fn changes_source(&self) -> bool {
        is_source(&self.alias.as_ref().unwrap_or(&self.field).node)
    }

    fn plan(&self, input: Input<'_>) -> Result<Step, Error> {
        running::accum(self, input.frame).map(Step::Next)
    }
}
