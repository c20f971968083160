//! `accum`: a running total; planned in `running`, beside `delta`.

use spl::ast::AccumCommand;

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

    fn plan(&self, input: Input<'_>) -> Result<Step, Error> {
        running::accum(self, input.frame).map(Step::Next)
    }
}
