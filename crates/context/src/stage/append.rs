//! `append` and `appendpipe`: rows of another pipeline below the rows so far.

use frames::Frame;
use futures::future::BoxFuture;
use spl::ast::Pipeline;

use super::inner::Inner;
use super::{Rows, TableOp};
use crate::planning::{PlanningContext, plan_stage};
use crate::run::run_to_rows;
use frames::Error;

/// The rows of a search of its own follow.
#[derive(Debug)]
pub struct Append(pub Inner);

impl TableOp for Append {
    fn apply<'a>(
        &'a self,
        rows: Rows,
        env: &'a PlanningContext<'a>,
    ) -> BoxFuture<'a, Result<Rows, Error>> {
        Box::pin(async move { Ok(rows.append(self.0.rows(env).await?)?) })
    }
}

/// The rows of a pipeline over these rows follow.
#[derive(Debug)]
pub struct Appendpipe(pub Box<Pipeline>);

impl TableOp for Appendpipe {
    fn apply<'a>(
        &'a self,
        rows: Rows,
        env: &'a PlanningContext<'a>,
    ) -> BoxFuture<'a, Result<Rows, Error>> {
        Box::pin(async move {
            let stage = plan_stage(Frame::of_rows(rows.clone())?, &self.0.commands, env).await?;
            let more = run_to_rows(stage, env).await?;
            Ok(rows.append(more)?)
        })
    }
}
