//! `delta`: differences to the row before; planned in `running`, beside `accum`.

use spl::ast::DeltaCommand;

use super::{CommandPlan, Error, Input, OutputFields, Place, RequiredFields, Step, running};

impl CommandPlan for DeltaCommand {
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
        running::delta(self, input.frame, input.env).map(Step::Next)
    }
}
