//! `append` and `appendpipe`: rows of another pipeline below the rows so far.

use spl::ast::Pipeline;

use super::batch::Rows;
use crate::execute::run_to_rows;
use crate::pipeline::{Env, plan_pipeline, plan_stage};
use crate::{Error, MessageKind};

/// The rows of a search of its own follow.
pub(crate) async fn append(
    rows: Rows,
    pipeline: &Pipeline,
    limit: Option<u64>,
    env: &Env<'_>,
) -> Result<Rows, Error> {
    let planned = Box::pin(plan_pipeline(pipeline, env)).await?;
    let mut more = Box::pin(run_to_rows(planned.stage(), env)).await?;
    let most = env.context.limits.subsearch_rows;
    let most = limit.map_or(most, |limit| most.min(usize::try_from(limit).unwrap_or(most)));
    if more.count > most {
        let text = format!("append took the first {most} of {} rows", more.count);
        env.log.add(MessageKind::Warning, text);
        for column in &mut more.columns {
            column.array = column.array.slice(0, most);
        }
        more.count = most;
    }
    rows.append(more)
}

/// The rows of a pipeline over these rows follow.
pub(crate) async fn appendpipe(
    rows: Rows,
    pipeline: &Pipeline,
    env: &Env<'_>,
) -> Result<Rows, Error> {
    let stage = plan_stage(rows.clone().into_frame()?, &pipeline.commands, env)?;
    let more = Box::pin(run_to_rows(stage, env)).await?;
    rows.append(more)
}
