//! `addtotals`: sums across the numeric fields of a row, and down the columns.
//!
//! Split: row totals run where the rows are, column totals at the search head.

use spl::ast::AddtotalsCommand;

use super::Step;
use super::fields::expand_or_all;
use crate::Error;
use crate::expr::kernel::number;
use crate::frame::Frame;
use crate::pipeline::Env;
use crate::stage::{ColumnTotals, Finish};

pub(super) fn plan(
    command: &AddtotalsCommand,
    mut frame: Frame,
    _: &Env<'_>,
) -> Result<Step, Error> {
    let mut fields = expand_or_all(&command.fields, &frame);
    if command.row {
        let arguments: Vec<_> = fields
            .iter()
            .filter(|name| **name != command.fieldname)
            .map(|name| frame.field(name))
            .collect();
        let total = number("row_total", |row| {
            Some(row.values().filter_map(crate::expr::column::Value::number).sum())
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
    Ok(Step::Finish(frame, Finish::table(totals)))
}
