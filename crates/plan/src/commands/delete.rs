//! `delete`: the message that refuses it and names the alternatives.

use spl::Span;
use spl::ast::DeleteCommand;

use super::{CommandPlan, Error, Input, OutputFields, Place, RequiredFields, Step};

impl CommandPlan for DeleteCommand {
    fn place(&self) -> Place {
        Place::SearchHead
    }

    fn required_fields(&self, _: &mut RequiredFields) {}

    fn output_fields(&self) -> OutputFields {
        OutputFields::Unchanged
    }

    fn plan(&self, input: Input<'_>) -> Result<Step, Error> {
        Err(refused(input.span()))
    }
}

/// Buckets are immutable, so events cannot be marked as deleted in them.
pub(super) fn refused(span: Span) -> Error {
    let message = "delete: buckets are immutable, so events cannot be removed from them; exclude them \
                   with a filter (NOT ... in the search or in srchFilter of a role), or let them expire \
                   (frozenTimePeriodInSecs of indexes.conf, or removing the index)";
    Error::at(message, span)
}
