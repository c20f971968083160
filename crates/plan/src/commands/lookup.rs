//! `lookup`: adds fields from the matching rows of a lookup.
//!
//! Split: the rows of the lookup are sent to where the events are; nothing is left to the search head.

mod group;

use std::sync::Arc;

use frames::Frame;
use knowledge::StanzaMatcher;
use spl::ast::{Field, LookupCommand, LookupField, LookupOutput};

pub(super) use group::{Applied, apply_all, time_field};

use super::required::is_source;
use super::{CommandPlan, Error, Input, OutputFields, Place, RequiredFields, Step};
use context::lookup::{self, Lookup};
use context::planning::PlanningContext;

impl CommandPlan for LookupCommand {
    fn place(&self) -> Place {
        Place::Streaming
    }

    fn required_fields(&self, fields: &mut RequiredFields) {
        self.inputs.iter().for_each(|input| fields.name(input.event_name()));
        // OUTPUTNEW keeps existing values, so the output fields are read, too.
        let new = self.output.iter().filter(|output| output.only_new);
        let outputs = new.flat_map(|output| &output.fields);
        outputs.for_each(|field| fields.name(field.event_name()));
        fields.fields(&self.event_time_field);
    }

    fn table(&self) -> Option<&LookupCommand> {
        Some(self)
    }

    fn output_fields(&self) -> OutputFields {
        OutputFields::Unchanged
    }

    fn changes_source(&self) -> bool {
        let mut outputs = self.output.iter().flat_map(|output| &output.fields);
        outputs.any(|field| is_source(field.event_name()))
    }

    fn plan(&self, input: Input<'_>) -> Result<Step, Error> {
        plan(self, input).map(Step::Next)
    }
}

fn plan(command: &LookupCommand, input: Input<'_>) -> Result<Frame, Error> {
    let lookup = input.table.ok_or_else(|| Error::internal("the rows of a lookup are not read"))?;
    apply(command, &lookup, input.frame)
}

/// Reads the lookup of a command; errors have the position of its name. The beginning of the error message is
/// Splunk's, as programs match it.
pub(super) async fn read(
    command: &LookupCommand,
    env: &PlanningContext<'_>,
) -> Result<Arc<Lookup>, Error> {
    Box::pin(prepare(command, None, env)).await.map_err(|error| match error {
        Error::Invalid { message, span: None } => {
            let name = &command.name.node;
            let text = format!(
                "Error in 'lookup' command: Could not construct lookup '{name}': {message}"
            );
            Error::at(text, command.name.span)
        }
        other => other,
    })
}

/// Returns the lookup, prepared for the inputs of a command; `automatic` is the location of the setting that
/// applies it, if there is one.
pub(super) async fn prepare(
    command: &LookupCommand,
    automatic: Option<String>,
    env: &PlanningContext<'_>,
) -> Result<Arc<Lookup>, Error> {
    let inputs: Vec<String> = command.inputs.iter().map(|i| i.lookup.node.clone()).collect();
    let (context, log, is_dry_run) = (env.context, env.log, env.is_dry_run());
    let asking = lookup::Asking { context, log, is_dry_run, automatic };
    lookup::open_any(&command.name.node, &inputs, &wanted(command), asking).await
}

/// Returns all fields of the lookup that a command names.
fn wanted(command: &LookupCommand) -> Vec<&Field> {
    let outputs = command.output.iter().flat_map(|output| &output.fields);
    command.inputs.iter().chain(outputs).map(|field| &field.lookup).collect()
}

/// Refuses a command that names fields that the lookup does not have.
pub(super) fn check(command: &LookupCommand, lookup: &Lookup) -> Result<(), Error> {
    lookup.check(&wanted(command))
}

/// Adds the outputs of a lookup to the rows.
fn apply(command: &LookupCommand, lookup: &Arc<Lookup>, frame: Frame) -> Result<Frame, Error> {
    let matcher = &StanzaMatcher::Everything;
    apply_all(&[Applied { command, lookup, matcher }], frame)
}

/// Returns the output fields: those that the command names, or all fields that are not inputs.
pub(super) fn outputs(command: &LookupCommand, lookup: &Lookup) -> Vec<LookupField> {
    if let Some(LookupOutput { fields, .. }) = &command.output {
        return fields.clone();
    }
    let compared = |name: &String| command.inputs.iter().any(|input| input.lookup.node == *name);
    let is_time =
        |name: &String| lookup.definition.time.as_ref().is_some_and(|time| time.field == *name);
    let names = lookup.rows.names().into_iter();
    let names = names.filter(|name| !compared(name) && !is_time(name) && !name.starts_with('_'));
    let span = command.name.span;
    names.map(|name| LookupField { lookup: spl::Spanned::new(name, span), event: None }).collect()
}
