//! `append` and `appendpipe`: rows of another pipeline below the rows so far.

use async_trait::async_trait;
use frames::Frame;
use spl::ast::Pipeline;

use super::inner::Inner;
use super::{Rows, TableOp};
use crate::Error;
use crate::context::{PlanningContext, plan_stage};
use crate::run::run_to_rows;

/// The rows of a search of its own follow.
#[derive(Debug)]
pub(crate) struct Append(pub(crate) Inner);

#[async_trait]
impl TableOp for Append {
    async fn apply(&self, rows: Rows, env: &PlanningContext<'_>) -> Result<Rows, Error> {
        Ok(rows.append(self.0.rows(env).await?)?)
    }
}

/// The rows of a pipeline over these rows follow.
#[derive(Debug)]
pub(crate) struct Appendpipe(pub(crate) Box<Pipeline>);

#[async_trait]
impl TableOp for Appendpipe {
    async fn apply(&self, rows: Rows, env: &PlanningContext<'_>) -> Result<Rows, Error> {
        let stage = plan_stage(Frame::of_rows(rows.clone())?, &self.0.commands, env).await?;
        let more = run_to_rows(stage, env).await?;
        Ok(rows.append(more)?)
    }
}
