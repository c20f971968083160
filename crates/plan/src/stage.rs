//! Stages: where a pipeline needs all rows before it can tell what comes next.
//!
//! The columns of `timechart by`, `transpose` or `xyseries` are values of their input, and default
//! bins depend on the extent of the data, so they are not known when the search is planned. Such a
//! command ends a stage: the rows so far, which are few after a transforming command, are
//! collected, a [`Finish`] turns them into the frame of the next stage, and the rest of the
//! pipeline is planned over that. Rows are bounded by `Limits::stage_rows`.

mod append;
pub(crate) mod batch;
pub(crate) mod pivot;
mod reshape;
mod totals;

use spl::ast::{Command, Pipeline, Spanned};

pub(crate) use batch::Rows;
pub(crate) use pivot::Pivot;
pub(crate) use reshape::{Transpose, Untable, Xyseries};
pub(crate) use totals::ColumnTotals;

use crate::frame::Frame;
use crate::pipeline::Env;
use crate::{Error, PlanContext};

/// What happens with the rows of a stage.
#[derive(Debug, Clone)]
pub(crate) enum Finish {
    /// Long rows (row key, series, values) become wide ones.
    Pivot(Box<Pivot>),
    /// Rows become columns.
    Transpose(Transpose),
    /// Columns become rows.
    Untable(Untable),
    /// The values of a column become columns.
    Xyseries(Xyseries),
    /// A last row with the totals of columns.
    ColumnTotals(ColumnTotals),
    /// The rows of another search follow.
    Append(Box<Pipeline>, Option<u64>),
    /// The rows of a pipeline over these rows follow.
    Appendpipe(Box<Pipeline>),
    /// Every field of a JSON text becomes a column.
    Spath(String),
    /// The only row holds the least and the greatest value of a field of this frame, which goes on.
    Extent(Box<Frame>),
}

/// The part of a pipeline that is planned once the rows before it are known.
#[derive(Debug, Clone)]
pub struct Continuation {
    pub(crate) finish: Finish,
    pub(crate) commands: Vec<Spanned<Command>>,
    pub(crate) context: PlanContext,
}

impl Finish {
    /// Turns the rows of the stage before into the frame of the next.
    pub(crate) async fn apply(&self, rows: Rows, env: &Env<'_>) -> Result<Frame, Error> {
        let rows = match self {
            Self::Pivot(pivot) => pivot.apply(&rows, env).await?,
            Self::Transpose(transpose) => transpose.apply(&rows, env)?,
            Self::Untable(untable) => untable.apply(&rows)?,
            Self::Xyseries(xyseries) => xyseries.apply(&rows, env)?,
            Self::ColumnTotals(totals) => totals.apply(&rows)?,
            Self::Append(pipeline, limit) => append::append(rows, pipeline, *limit, env).await?,
            Self::Appendpipe(pipeline) => append::appendpipe(rows, pipeline, env).await?,
            Self::Spath(input) => reshape::spath(rows, input)?,
            Self::Extent(frame) => {
                let mut frame = frame.as_ref().clone();
                frame.extent = Some(rows.extent()?);
                return Ok(frame);
            }
        };
        rows.into_frame()
    }
}
