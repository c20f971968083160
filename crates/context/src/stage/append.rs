//! `append` and `appendpipe`: rows of another pipeline below the rows so far.

use frames::Frame;
use futures::future::BoxFuture;
use spl::ast::Pipeline;

use super::inner::Inner;
use super::stack::Stack;
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
        Box::pin(async move {
            let mut stack = Stack::new(env)?;
            stack.push(rows)?;
            stack.push(self.0.rows(env).await?)?;
            stack.stacked(usize::MAX)
        })
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
            let mut stack = Stack::new(env)?;
            let frame = Frame::of_rows(rows.clone())?;
            stack.push(rows)?;
            let stage = plan_stage(frame, &self.0.commands, env).await?;
            stack.push(run_to_rows(stage, env).await?)?;
            stack.stacked(usize::MAX)
        })
    }
}
