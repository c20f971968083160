//! `addcoltotals`: a last row with the sums of numeric columns.
//!
//! Split: runs at the search head, over all rows.

use spl::ast::AddcoltotalsCommand;

use super::fields::expand_or_all;
use super::{CommandPlan, Input, Step};
use crate::Error;
use crate::frame::Frame;
use crate::place::Place;
use crate::required_fields::{OutputFields, RequiredFields};
use crate::stage::{Breaker, ColumnTotals};

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
        Ok(plan(self, input.frame))
    }
}

pub(super) fn plan(command: &AddcoltotalsCommand, frame: Frame) -> Step {
    let totals = ColumnTotals {
        fields: expand_or_all(&command.fields, &frame),
        label_field: command.labelfield.clone(),
        label: command.label.clone(),
    };
    Step::Materialize(frame, Breaker::table(totals))
}
