//! `addtotals`: sums across the numeric fields of a row, and down the columns.
//!
//! Split: row totals run where the rows are, column totals at the search head.

use exprs::kernel::number;
use frames::Frame;
use spl::ast::AddtotalsCommand;

use super::fields::expand_or_all;
use super::{CommandPlan, Error, Input, OutputFields, Place, RequiredFields, Step};
use context::planning::PlanningContext;
use context::stage::{Breaker, ColumnTotals};

impl CommandPlan for AddtotalsCommand {
    fn place(&self) -> Place {
        if self.col { Place::SearchHead } else { Place::Streaming }
    }

    fn required_fields(&self, fields: &mut RequiredFields) {
        fields.patterns_or_all(&self.fields);
    }

    fn output_fields(&self) -> OutputFields {
        OutputFields::Unchanged
    }

    fn plan(&self, input: Input<'_>) -> Result<Step, Error> {
        plan(self, input.frame, input.env)
    }
}

pub(super) fn plan(
    command: &AddtotalsCommand,
    mut frame: Frame,
    _: &PlanningContext<'_>,
) -> Result<Step, Error> {
    let mut fields = expand_or_all(&command.fields, &frame);
    if command.row {
        let arguments: Vec<_> = fields
            .iter()
            .filter(|name| **name != command.fieldname)
            .map(|name| frame.field(name))
            .collect();
        let total = number("row_total", |row| {
            Some(row.values().filter_map(exprs::column::Value::number).sum())
        });
        let total = total.call(arguments);
        frame = frame.with_columns(vec![(command.fieldname.clone(), total)])?;
        if !fields.contains(&command.fieldname) {
            fields.push(command.fieldname.clone());
        }
    }
    if !command.col {
        return Ok(Step::Next(frame));
    }
    let totals = ColumnTotals {
        fields,
        label_field: command.labelfield.clone(),
        label: command.label.clone(),
    };
    Ok(Step::Materialize(frame, Breaker::table(totals)))
}
