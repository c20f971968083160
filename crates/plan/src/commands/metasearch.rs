//! `metasearch`: the metadata of events that satisfy search terms.
//!
//! Split: as `search`, but only the default fields of events are read.

use futures::future::BoxFuture;
use model::columns;
use spl::Span;
use spl::ast::{Command, FieldPattern, MetasearchCommand, Spanned, TableCommand};

use super::{
    CommandPlan, Error, Expanded, First, Input, Origin, OutputFields, Place, RequiredFields, Step,
};
use context::planning::PlanningContext;

impl CommandPlan for MetasearchCommand {
    fn place(&self) -> Place {
        Place::Generating(Origin::Expanded)
    }

    fn required_fields(&self, _: &mut RequiredFields) {}

    fn output_fields(&self) -> OutputFields {
        OutputFields::Unchanged
    }

    fn expand<'a>(&'a self, first: First<'a>) -> BoxFuture<'a, Result<Option<Expanded>, Error>> {
        Box::pin(async move { Ok(Some(expand(self, first.span, first.env))) })
    }

    fn plan(&self, input: Input<'_>) -> Result<Step, Error> {
        input.only_begins()
    }
}

/// The fields of the result, in the order in which they are shown.
const FIELDS: [&str; 5] =
    [columns::TIME, columns::HOST, columns::INDEX, columns::SOURCE, columns::SOURCETYPE];

pub(super) fn expand(
    command: &MetasearchCommand,
    span: Span,
    env: &PlanningContext<'_>,
) -> Expanded {
    let fields = FIELDS.iter().map(|name| FieldPattern::new(*name, span)).collect();
    let commands = vec![
        Spanned::new(Command::Search(command.search.clone()), span),
        Spanned::new(Command::Table(TableCommand { fields }), span),
    ];
    Expanded::of(commands, env)
}
