//! `delta`: differences from an earlier row; planned in `running`, beside `accum`.

use spl::ast::DeltaCommand;

use super::required::is_source;
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

    fn changes_source(&self) -> bool {
        self.alias.as_ref().is_some_and(|alias| is_source(&alias.node))
    }

    fn plan(&self, input: Input<'_>) -> Result<Step, Error> {
        running::delta(self, input.frame, input.env).map(Step::Next)
    }
}
