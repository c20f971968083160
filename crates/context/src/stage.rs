//! Stages: where a pipeline needs all rows before it can tell what comes next.
//!
//! The columns of `timechart by`, `transpose` or `xyseries` are values of their input, and default
//! bins depend on the extent of the data, so they are not known when the search is planned. Such a
//! command ends a stage: the rows so far, which are few after a transforming command, are
//! collected, a [`Breaker`] turns them into the frame of the next stage, and the rest of the
//! pipeline is planned over that. Rows are bounded by `Limits::stage_rows`.

pub mod append;
pub mod inner;
pub mod pivot;
pub mod stack;

pub use tables::shape::reshape::{SpathAll, Transpose, Untable, Xyseries};
pub use tables::shape::totals::ColumnTotals;
pub use tables::{Record, Rows};

pub use crate::planning::{Breaker, TableOp};
