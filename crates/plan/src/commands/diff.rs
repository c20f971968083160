//! `diff`: the differences of two rows, line by line.
//!
//! Split: runs at the search head, over the first rows.

use exprs::required_fields::field_or;
use spl::ast::DiffCommand;
use tables::text::diff::Diff;

use super::{CommandPlan, Error, Input, OutputFields, Place, RequiredFields, Step};
use context::stage::Breaker;

impl CommandPlan for DiffCommand {
    fn place(&self) -> Place {
        Place::SearchHead
    }

    fn required_fields(&self, fields: &mut RequiredFields) {
        fields.name(field_or(&self.attribute, "_raw"));
    }

    fn output_fields(&self) -> OutputFields {
        OutputFields::Replaced
    }

    fn plan(&self, input: Input<'_>) -> Result<Step, Error> {
        let frame = input.frame;
        let last = self.position1.max(self.position2);
        let frame = frame.limit(usize::try_from(last).unwrap_or(usize::MAX));
        let op = Diff {
            field: field_or(&self.attribute, "_raw").to_owned(),
            first: self.position1,
            second: self.position2,
            context: self.context,
            header: self.diffheader,
            most: self.maxlen,
        };
        Ok(Step::Materialize(frame, Breaker::table(op)))
    }
}
