//! `addcoltotals`: a last row with the sums of numeric columns.
//!
//! Split: runs at the search head, over all rows.

use spl::ast::AddcoltotalsCommand;

use super::Step;
use super::fields::expand_or_all;
use crate::frame::Frame;
use crate::stage::{ColumnTotals, Finish};

pub(super) fn plan(command: &AddcoltotalsCommand, frame: Frame) -> Step {
    let totals = ColumnTotals {
        fields: expand_or_all(&command.fields, &frame),
        label_field: command.labelfield.clone(),
        label: command.label.clone(),
    };
    Step::Finish(frame, Finish::table(totals))
}
