//! `loadjob`: the results of a finished search job.
//!
//! Split: runs at the search head.

use frames::Frame;
use futures::future::BoxFuture;
use spl::ast::{LoadedJob, LoadjobCommand};

use super::{Begin, CommandPlan, First, Input, Origin, OutputFields, Place, RequiredFields, Step};
use crate::{Error, Message, MessageKind};
use context::planning::{PlanningContext, SourceRows};

impl CommandPlan for LoadjobCommand {
    fn place(&self) -> Place {
        Place::Generating(Origin::SearchHead)
    }

    fn required_fields(&self, _: &mut RequiredFields) {}

    fn output_fields(&self) -> OutputFields {
        OutputFields::Unchanged
    }

    fn begin<'a>(&'a self, first: First<'a>) -> BoxFuture<'a, Result<Begin, Error>> {
        Box::pin(async move { start(self, first.env).await.map(Begin::Rows) })
    }

    fn plan(&self, input: Input<'_>) -> Result<Step, Error> {
        input.only_begins()
    }
}

pub(super) async fn start(
    command: &LoadjobCommand,
    env: &PlanningContext<'_>,
) -> Result<SourceRows, Error> {
    let (LoadedJob::Id(name) | LoadedJob::Saved(name)) = &command.job;
    let rows = env.context.host.job(&name.node).await.map_err(|error| match error {
        Error::Invalid { message, span: None } => Error::at(message, name.span),
        other => other,
    })?;
    let mut messages = Vec::new();
    if command.artifact_offset > 0 {
        let text =
            "loadjob returns the last run: earlier ones (artifact_offset) are not kept".to_owned();
        messages.push(Message { kind: MessageKind::Warning, text });
    }
    let frame = Frame::of_rows(rows)?;
    Ok(SourceRows { frame, range: env.context.range, indexes: Vec::new(), messages })
}
