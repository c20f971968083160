//! Stream operators: they process rows one by one in the frame's order, in one partition, with bounded state.
//!
//! A [`StreamOp`] receives the values of its arguments, decides which rows to keep, and computes columns that
//! are appended to those of its input. It guarantees that input columns pass unchanged, so that unused
//! columns are never read, and that rows keep their order.

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

/// The output of an operator for a batch.
#[derive(Debug, Default)]
pub struct Output {
    /// The rows to keep; `None` means all.
    pub keep: Option<BooleanArray>,
    /// The columns the operator adds, one value for each row of the batch.
    pub added: Vec<ArrayRef>,
    /// Whether no later row can be kept.
    pub done: bool,
}

/// An operator, as planned. Two with the same `Debug` text are the same operator.
pub trait StreamOp: Debug + Send + Sync {
    /// Returns the name in plans.
    fn name(&self) -> &'static str;

    /// Returns which rows it uses, if it does not use all. The sort below can drop the others.
    fn reduction(&self) -> Option<Reduction> {
        None
    }

    /// Starts the operator on a new stream.
    fn start(&self, aggregates: &[Arc<AggregateFunctionExpr>]) -> Result<Box<dyn StreamRun>>;
}

/// The execution of an operator on one stream.
pub trait StreamRun: Send {
    /// Processes the next batch, given the values of the arguments and the number of rows.
    fn push(&mut self, arguments: &[ArrayRef], rows: usize) -> Result<Output>;

    /// Sets the charge for memory that results take beyond their rows.
    fn counts(&mut self, memory: Charge) {
        let _ = memory;
    }

    /// Sets the cancellation check, for operators that take long for a batch.
    fn until(&mut self, stop: Stop) {
        let _ = stop;
    }

    /// Ends the stream after the last row. Not called if the remaining rows are not needed.
    fn end(&mut self) -> Result<()> {
        Ok(())
    }
}
