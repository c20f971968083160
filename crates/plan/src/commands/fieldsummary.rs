//! `fieldsummary`: a row of statistics for each field.
//!
//! Split: runs at the search head, over all rows.

use spl::ast::FieldsummaryCommand;
use tables::analysis::fieldsummary::Fieldsummary;

use super::{CommandPlan, Error, Input, OutputFields, Place, RequiredFields, Step};
use crate::stage::Breaker;

impl CommandPlan for FieldsummaryCommand {
    fn place(&self) -> Place {
        Place::SearchHead
    }

    fn required_fields(&self, fields: &mut RequiredFields) {
        fields.patterns_or_all(&self.fields);
    }

    fn output_fields(&self) -> OutputFields {
        OutputFields::Replaced
    }

    fn plan(&self, input: Input<'_>) -> Result<Step, Error> {
        let frame = input.frame;
        let values = usize::try_from(self.maxvals).unwrap_or(usize::MAX);
        let op = Fieldsummary { values, fields: self.fields.clone() };
        Ok(Step::Materialize(frame, Breaker::table(op)))
    }
}
