//! `format` and `return`: convert rows to a search filter, as a subsearch does.
//!
//! Split: both run at the search head, over all rows.

use frames::Frame;
use spl::ast::{FormatCommand, ReturnCommand};
use tables::text::filter::{Format, Formatted, ReturnedRows};

use super::{CommandPlan, Error, Input, OutputFields, Place, RequiredFields, Step};
use context::stage::Breaker;

impl CommandPlan for FormatCommand {
    fn place(&self) -> Place {
        Place::SearchHead
    }

    fn required_fields(&self, fields: &mut RequiredFields) {
        fields.all();
    }

    fn output_fields(&self) -> OutputFields {
        OutputFields::Replaced
    }

    fn plan(&self, input: Input<'_>) -> Result<Step, Error> {
        Ok(format(self, input.frame))
    }
}

pub(super) fn format(command: &FormatCommand, frame: Frame) -> Step {
    let [row_prefix, column_prefix, column_separator, column_end, row_separator, row_end] =
        command.frame.clone();
    let format = Format {
        row_prefix,
        column_prefix,
        column_separator,
        column_end,
        row_separator,
        row_end,
        mvsep: command.mvsep.clone(),
        emptystr: command.emptystr.clone(),
    };
    let most = match command.maxresults {
        0 => usize::MAX,
        most => usize::try_from(most).unwrap_or(usize::MAX),
    };
    Step::Materialize(frame, Breaker::table(Formatted { format, most }))
}

pub(super) fn returned(command: &ReturnCommand, frame: Frame) -> Step {
    let most = usize::try_from(command.count).unwrap_or(usize::MAX);
    let frame = frame.limit(most);
    Step::Materialize(frame, Breaker::table(ReturnedRows(command.fields.clone())))
}
