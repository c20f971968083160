//! `loadjob`: the rows of a search that has ended.
//!
//! Split: runs at the search head.

use spl::ast::{LoadedJob, LoadjobCommand};

use crate::pipeline::{Env, Start};
use crate::{Error, Message, MessageKind};

pub(super) async fn start(command: &LoadjobCommand, env: &Env<'_>) -> Result<Start, Error> {
    let (LoadedJob::Id(name) | LoadedJob::Saved(name)) = &command.job;
    let rows = env.context.surroundings.job(&name.node).await.map_err(|error| match error {
        Error::Invalid { message, span: None } => Error::at(message, name.span),
        other => other,
    })?;
    let mut messages = Vec::new();
    if command.artifact_offset > 0 {
        let text =
            "loadjob gives the last run: earlier ones (artifact_offset) are not kept".to_owned();
        messages.push(Message { kind: MessageKind::Warning, text });
    }
    let frame = rows.into_frame()?;
    Ok(Start { frame, range: env.context.range, indexes: Vec::new(), messages })
}
