//! `delete` and `tscollect`: the messages that refuse them and name the alternatives.

use spl::Span;
use spl::ast::{DeleteCommand, TscollectCommand};

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

/// Namespaces of `tscollect` never exist, as the command is refused.
pub(super) fn unknown_namespace(namespace: &spl::ast::Field) -> Error {
    let message = format!(
        "tstats: there is no namespace \"{}\": tstats reads the fields of events themselves; choose them by \
         `tstats ... where index=...`, or a data model by `from datamodel=...`",
        namespace.node
    );
    Error::at(message, namespace.span)
}

/// `tscollect` is not needed: fields of events are stored as columns already.
pub(super) fn uncollected(command: &TscollectCommand, span: Span) -> Error {
    let name = command.namespace.as_ref().map_or("summary", |name| name.node.as_str());
    let message = format!(
        "tscollect: there are no namespaces, as tstats reads the fields of events themselves; to keep \
         the rows of this search, write `collect index={name}` and query them with `tstats ... where \
         index={name}`"
    );
    Error::at(message, span)
}
