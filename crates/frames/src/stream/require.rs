//! `require`: fails at the end of a stream that had no rows.

use std::sync::Arc;

use arrow::array::ArrayRef;
use datafusion::error::Result;
use datafusion::physical_expr::aggregate::AggregateFunctionExpr;

use super::{Output, StreamOp, StreamRun};
use crate::Error;

/// An operator that passes all rows, and fails if there are none.
#[derive(Debug, Clone)]
pub struct Require;

impl StreamOp for Require {
    fn name(&self) -> &'static str {
        "Require"
    }

    fn start(&self, _: &[Arc<AggregateFunctionExpr>]) -> Result<Box<dyn StreamRun>> {
        Ok(Box::new(Run { some: false }))
    }
}

struct Run {
    some: bool,
}

impl StreamRun for Run {
    fn push(&mut self, _: &[ArrayRef], rows: usize) -> Result<Output> {
        self.some |= rows > 0;
        Ok(Output::default())
    }

    fn end(&mut self) -> Result<()> {
        if self.some {
            return Ok(());
        }
        let message = "there are no results where the search requires some (require)";
        Err(Error::invalid_anywhere(message).into())
    }
}
