//! `transpose`: rows become columns; planned in `reshape`.

use frames::Frame;
use spl::ast::TransposeCommand;

use super::{CommandPlan, Error, Input, OutputFields, Place, RequiredFields, Rest, Step, reshape};

impl CommandPlan for TransposeCommand {
    fn place(&self) -> Place {
        Place::SearchHead
    }

    fn required_fields(&self, fields: &mut RequiredFields) {
        fields.all();
    }

    fn output_fields(&self) -> OutputFields {
        OutputFields::Replaced
    }

    /// Fields that only rows beyond the limit have are shown too, without values.
    fn needs_presence(&self, frame: &Frame, _: Rest<'_>) -> bool {
        self.limit > 0 && self.include_empty && frame.possible().next().is_some()
    }

    fn plan(&self, input: Input<'_>) -> Result<Step, Error> {
        Ok(reshape::transpose(self, input.frame))
    }
}
