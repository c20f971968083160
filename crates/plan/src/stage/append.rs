//! `append` and `appendpipe`: rows of another pipeline below the rows so far.

use async_trait::async_trait;
use spl::ast::Pipeline;

use super::{Rows, TableOp};
use crate::execute::run_to_rows;
use crate::pipeline::{Env, plan_pipeline, plan_stage};
use crate::{Error, MessageKind};

/// The rows of a search of its own follow.
#[derive(Debug)]
pub(crate) struct Append {
    pub(crate) pipeline: Box<Pipeline>,
    pub(crate) limit: Option<u64>,
}

#[async_trait]
impl TableOp for Append {
    async fn apply(&self, rows: Rows, env: &Env<'_>) -> Result<Rows, Error> {
        rows.append(subsearch_rows(&self.pipeline, self.limit, "append", env).await?)
    }
}

/// The rows of a search within a search, as many as its command may take.
pub(crate) async fn subsearch_rows(
    pipeline: &Pipeline,
    limit: Option<u64>,
    command: &str,
    env: &Env<'_>,
) -> Result<Rows, Error> {
    let planned = Box::pin(plan_pipeline(pipeline, env)).await?;
    for message in &planned.messages {
        env.log.add(message.kind, message.text.clone());
    }
    let rows = Box::pin(run_to_rows(planned.stage(), env)).await?;
    let most = env.context.limits.subsearch_rows;
    let most = limit.map_or(most, |limit| most.min(usize::try_from(limit).unwrap_or(most)));
    if rows.count <= most {
        return Ok(rows);
    }
    let text = format!(
        "{command} took the first {most} of {} rows of its subsearch (maxout)",
        rows.count
    );
    env.log.add(MessageKind::Warning, text);
    Ok(rows.slice(0, most))
}

/// The rows of a pipeline over these rows follow.
#[derive(Debug)]
pub(crate) struct Appendpipe(pub(crate) Box<Pipeline>);

#[async_trait]
impl TableOp for Appendpipe {
    async fn apply(&self, rows: Rows, env: &Env<'_>) -> Result<Rows, Error> {
        let stage = plan_stage(rows.clone().into_frame()?, &self.0.commands, env)?;
        let more = Box::pin(run_to_rows(stage, env)).await?;
        rows.append(more)
    }
}
