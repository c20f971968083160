//! Stages: where a pipeline needs all rows before it can tell what comes next.
//!
//! The columns of `timechart by`, `transpose` or `xyseries` are values of their input, and default
//! bins depend on the extent of the data, so they are not known when the search is planned. Such a
//! command ends a stage: the rows so far, which are few after a transforming command, are
//! collected, a [`Breaker`] turns them into the frame of the next stage, and the rest of the
//! pipeline is planned over that. Rows are bounded by `Limits::stage_rows`.

pub(crate) mod append;
mod frames;
pub(crate) mod inner;
pub(crate) mod pivot;

use std::fmt::Debug;
use std::sync::Arc;

use async_trait::async_trait;
use spl::ast::{Command, Spanned};
use tables::{Note, Operation};

pub use frames::collected;
pub(crate) use tables::shape::reshape::{SpathAll, Transpose, Untable, Xyseries};
pub(crate) use tables::shape::totals::ColumnTotals;
pub use tables::{Column, Record, Rows};

use crate::formats::Formats;
use crate::frame::Frame;
use crate::pipeline::PlanningContext;
use crate::type_erased::TypeErased;
use crate::{Error, MessageKind, PlanContext};

/// What a command does with all rows of a stage at once.
#[async_trait]
pub(crate) trait TableOp: Debug + Send + Sync {
    /// The rows that come of rows.
    async fn apply(&self, rows: Rows, env: &PlanningContext<'_>) -> Result<Rows, Error>;
}

#[async_trait]
impl<T: Operation> TableOp for T {
    async fn apply(&self, rows: Rows, env: &PlanningContext<'_>) -> Result<Rows, Error> {
        let limits = &env.context.limits;
        let mut context = tables::Context::new(tables::Limits {
            rows: limits.stage_rows,
            columns: limits.columns,
            bins: limits.bins,
            bytes: limits.memory_bytes,
        });
        let rows = Operation::apply(self, rows, &mut context);
        for note in context.notes {
            match note {
                Note::Info(text) => env.log.add(MessageKind::Info, text),
                Note::Warning(text) => env.log.add(MessageKind::Warning, text),
            }
        }
        Ok(rows?)
    }
}

/// A pipeline breaker: what happens with the rows of a stage.
#[derive(Debug, Clone)]
pub(crate) enum Breaker {
    /// A command makes other rows of them.
    Table(Arc<dyn TableOp>),
    /// The only row holds the least and the greatest value of a field of this frame, which goes on.
    Extent(TypeErased<Frame>),
}

/// The part of a pipeline that is planned once the rows before it are known.
#[derive(Debug, Clone)]
pub struct Remainder {
    pub(crate) breaker: Breaker,
    pub(crate) commands: Vec<Spanned<Command>>,
    pub(crate) context: PlanContext,
    /// How fields are shown at the end.
    pub(crate) formats: Formats,
}

impl Remainder {
    /// The frame that the rest of the pipeline works on.
    pub(crate) async fn frame(
        &self,
        rows: Rows,
        env: &PlanningContext<'_>,
    ) -> Result<Frame, Error> {
        let mut frame = self.breaker.apply(rows, env).await?;
        if matches!(self.breaker, Breaker::Table(_)) {
            frame.formats = self.formats.clone();
        }
        Ok(frame)
    }
}

impl Breaker {
    /// A command over all rows.
    pub(crate) fn table(op: impl TableOp + 'static) -> Self {
        Self::Table(Arc::new(op))
    }

    /// Turns the rows of the stage before into the frame of the next.
    pub(crate) async fn apply(
        &self,
        rows: Rows,
        env: &PlanningContext<'_>,
    ) -> Result<Frame, Error> {
        match self {
            Self::Table(op) => {
                let rows = op.apply(rows, env).await?;
                rows.check_bytes(env.context.limits.memory_bytes)?;
                Frame::of_rows(rows)
            }
            Self::Extent(frame) => {
                let mut frame = (**frame).clone();
                frame.extent = Some(rows.extent()?);
                Ok(frame)
            }
        }
    }
}
