//! `addcoltotals`: a last row with the sums of numeric columns.
//!
//! Split: runs at the search head, over all rows.

use spl::ast::AddcoltotalsCommand;

use super::fields::expand_or_all;
use super::{CommandPlan, Error, Input, OutputFields, Place, RequiredFields, Step};
use context::stage::{Breaker, ColumnTotals};

impl CommandPlan for AddcoltotalsCommand {
    fn place(&self) -> Place {
        Place::SearchHead
    }

    fn required_fields(&self, fields: &mut RequiredFields) {
        fields.patterns_or_all(&self.fields);
    }

    fn output_fields(&self) -> OutputFields {
        OutputFields::Collected
    }

    fn plan(&self, input: Input<'_>) -> Result<Step, Error> {
        let frame = input.frame;
        let totals = ColumnTotals {
            fields: expand_or_all(&self.fields, &frame),
            label_field: self.labelfield.clone(),
            label: self.label.clone(),
        };
        Ok(Step::Materialize(frame, Breaker::table(totals)))
    }
}
