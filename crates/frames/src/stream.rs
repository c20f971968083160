//! Stream operators: row by row in the frame's order, in one partition, with bounded state.
//!
//! A [`StreamOp`] sees the values of its arguments, decides which rows stay and computes columns
//! that come behind those of its input. It guarantees that input columns pass unchanged, so that
//! unused ones are never read, and that rows keep their order.

pub(crate) mod condition;
mod dedup;
mod exec;
mod head;
mod node;
mod reduce;
mod require;
mod running;
mod streamstats;
mod uniq;

use std::fmt::Debug;
use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray};
use datafusion::error::Result;
use datafusion::physical_expr::aggregate::AggregateFunctionExpr;
use exprs::ledger::Charge;
use tables::Stop;

pub use condition::ResultCondition;
pub use dedup::Dedup;
pub(crate) use exec::{StreamPlanner, reduced};
pub use head::{HeadWhile, NoticedLimit};
pub use node::StreamNode;
pub use reduce::Reduction;
pub use require::Require;
pub use running::{Delta, FillDown, RunningTotal};
pub use streamstats::{Streamstats, Window};
pub use uniq::Uniq;

/// What an operator says about a batch.
#[derive(Debug, Default)]
pub struct Output {
    /// Which rows stay; all if absent.
    pub keep: Option<BooleanArray>,
    /// The columns the operator adds, one value for each row of the batch.
    pub added: Vec<ArrayRef>,
    /// Whether no later row can stay.
    pub done: bool,
}

/// An operator, as planned. Two with the same `Debug` text are the same operator.
pub trait StreamOp: Debug + Send + Sync {
    /// Names it in plans.
    fn name(&self) -> &'static str;

    /// Which rows it uses, if it does not use all: the sort below need not see the others.
    fn reduction(&self) -> Option<Reduction> {
        None
    }

    /// Starts it over a fresh stream.
    fn start(&self, aggregates: &[Arc<AggregateFunctionExpr>]) -> Result<Box<dyn StreamRun>>;
}

/// An operator at work on one stream.
pub trait StreamRun: Send {
    /// Takes the next batch: the values of the arguments, and how many rows there are.
    fn push(&mut self, arguments: &[ArrayRef], rows: usize) -> Result<Output>;

    /// Where to count what results take beyond the rows they belong to.
    fn counts(&mut self, memory: Charge) {
        let _ = memory;
    }

    /// Tells whether anybody still waits, for operators that take long for a batch.
    fn until(&mut self, stop: Stop) {
        let _ = stop;
    }

    /// Says that there are no more rows; not called where the rest is not wanted.
    fn end(&mut self) -> Result<()> {
        Ok(())
    }
}
