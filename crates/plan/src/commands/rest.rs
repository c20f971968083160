//! `rest`: entries of the REST API as rows.
//!
//! Split: runs at the search head.

use futures::future::BoxFuture;
use spl::ast::RestCommand;

use super::{Begin, CommandPlan, First, Input, Origin, OutputFields, Place, RequiredFields, Step};
use crate::{Error, MessageKind, RestRequest};
use context::planning::{PlanningContext, SourceRows};
use context::stage::{Breaker, Rows, TableOp};

impl CommandPlan for RestCommand {
    fn place(&self) -> Place {
        Place::Generating(Origin::SearchHead)
    }

    fn required_fields(&self, fields: &mut RequiredFields) {
        fields.all();
    }

    fn output_fields(&self) -> OutputFields {
        OutputFields::Unchanged
    }

    fn begin<'a>(&'a self, first: First<'a>) -> BoxFuture<'a, Result<Begin, Error>> {
        Box::pin(async move { begin(self, first.env) })
    }

    fn plan(&self, input: Input<'_>) -> Result<Step, Error> {
        input.only_begins()
    }
}

/// Begins a search with this command: the rows are requested when the search runs.
pub(super) fn begin(command: &RestCommand, env: &PlanningContext<'_>) -> Result<Begin, Error> {
    let path = command.path.node.trim();
    let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
    if !["/services/", "/servicesNS/"].iter().any(|root| path.starts_with(root)) {
        let message = "the path begins with /services/ or /servicesNS/";
        return Err(Error::at(message, command.path.span));
    }
    let (path, query) = match path.split_once('?') {
        Some((path, query)) => (path.to_owned(), query.to_owned()),
        None => (path, String::new()),
    };
    let of_query = query.split('&').filter_map(|pair| pair.split_once('='));
    let mut parameters: Vec<(String, String)> =
        of_query.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    parameters.extend(command.parameters.iter().cloned());
    parameters.push(("count".to_owned(), command.count.to_string()));
    let request = RestRequest { owner: String::new(), path, parameters };
    Ok(Begin::Materialize(SourceRows::nothing(env)?, Breaker::table(Ask(request))))
}

#[derive(Debug)]
struct Ask(RestRequest);

impl TableOp for Ask {
    fn apply<'a>(
        &'a self,
        _: Rows,
        env: &'a PlanningContext<'a>,
    ) -> BoxFuture<'a, Result<Rows, Error>> {
        Box::pin(async move {
            // An endpoint that does not exist returns no rows instead of an error, so that other branches of
            // the search keep their results, as in Splunk.
            match env.context.host.rest(&self.0).await {
                Err(Error::Invalid { message, .. }) => {
                    env.log.add(MessageKind::Warning, message);
                    Ok(Rows::blank(0))
                }
                answer => answer,
            }
        })
    }
}
