//! `searchtxn`: transactions of a configured type.
//!
//! Split: as the commands it stands for: a search for the events of the type, `transaction`, and a
//! search over the transactions.

use futures::future::BoxFuture;
use spl::Span;
use spl::ast::{Command, Pipeline, SearchCommand, SearchtxnCommand, Spanned, TransactionCommand};

use super::{
    CommandPlan, Error, Expanded, First, Input, Origin, OutputFields, Place, RequiredFields, Step,
    transaction,
};
use context::planning::PlanningContext;

impl CommandPlan for SearchtxnCommand {
    fn place(&self) -> Place {
        Place::Generating(Origin::Expanded)
    }

    fn required_fields(&self, fields: &mut RequiredFields) {
        fields.all();
    }

    fn output_fields(&self) -> OutputFields {
        OutputFields::Unchanged
    }

    fn expand<'a>(&'a self, first: First<'a>) -> BoxFuture<'a, Result<Option<Expanded>, Error>> {
        Box::pin(async move { expand(self, first.span, first.env).map(Some) })
    }

    fn plan(&self, input: Input<'_>) -> Result<Step, Error> {
        input.only_begins()
    }
}

pub(super) fn expand(
    command: &SearchtxnCommand,
    span: Span,
    env: &PlanningContext<'_>,
) -> Result<Expanded, Error> {
    let name = &command.name;
    let definition = transaction::definition(name, env)?;
    if definition.fields.is_empty() {
        let message = format!("the transaction type \"{}\" has no fields", name.node);
        return Err(Error::at(message, name.span));
    }
    let conf = env.context.knowledge.conf("transactiontypes");
    let search = conf.get(&name.node, "search").map_or("*", |entry| entry.value.as_str());
    let parsed: Pipeline = spl::parse(search).map_err(|error| {
        let message = format!("transactiontypes.conf [{}] search: {error}", name.node);
        Error::at(message, name.span)
    })?;
    let mut commands: Vec<Spanned<Command>> = parsed.commands;
    commands.iter_mut().for_each(|command| command.span = span);
    if let Some(Command::Search(first)) = commands.first_mut().map(|command| &mut command.node) {
        first.time.extend(command.search.time.iter().cloned());
    }
    if !command.eventsonly {
        let joined =
            TransactionCommand { name: Some(name.clone()), ..TransactionCommand::default() };
        commands.push(Spanned::new(Command::Transaction(joined), span));
    }
    if let Some(expr) = &command.search.expr {
        let found = SearchCommand { expr: Some(expr.clone()), time: Vec::new() };
        commands.push(Spanned::new(Command::Search(found), span));
    }
    Ok(Expanded::of(commands, env))
}
