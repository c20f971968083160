//! Operators that end a stream: `head` with a condition, and limits that report truncation.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray};
use datafusion::error::Result;
use datafusion::physical_expr::aggregate::AggregateFunctionExpr;

use super::{Output, Reduction, StreamOp, StreamRun};
use crate::{MessageKind, MessageLog};

/// Rows as long as a condition (argument 0) is true, but at most `limit`.
#[derive(Debug, Clone)]
pub struct HeadWhile {
    /// Maximum number of rows.
    pub limit: u64,
    /// Whether the first row for which the condition is not true is kept, too.
    pub keep_last: bool,
    /// Whether rows for which the condition is null are kept.
    pub null: bool,
}

impl HeadWhile {
    /// The name of the operator in plans.
    pub const NAME: &'static str = "HeadWhile";
}

impl StreamOp for HeadWhile {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn reduction(&self) -> Option<Reduction> {
        // An unlimited command has `u64::MAX`; then the rows are not counted.
        let first = usize::try_from(self.limit).ok();
        Some(Reduction::While { null: self.null, first })
    }

    fn start(&self, _: &[Arc<AggregateFunctionExpr>]) -> Result<Box<dyn StreamRun>> {
        Ok(Box::new(HeadRun { op: self.clone(), taken: 0 }))
    }
}

struct HeadRun {
    op: HeadWhile,
    taken: u64,
}

impl StreamRun for HeadRun {
    fn push(&mut self, arguments: &[ArrayRef], rows: usize) -> Result<Output> {
        let condition = arguments[0].as_boolean();
        let mut keep = 0;
        let mut done = false;
        while keep < rows && !done {
            if self.taken == self.op.limit {
                done = true;
                break;
            }
            let holds = if condition.is_null(keep) { self.op.null } else { condition.value(keep) };
            done = !holds;
            if holds || self.op.keep_last {
                keep += 1;
                self.taken += 1;
            }
        }
        Ok(Output { keep: Some(first(keep, rows)), added: Vec::new(), done })
    }
}

/// The first `limit` rows, with a message if there are more.
#[derive(Debug, Clone)]
pub struct NoticedLimit {
    limit: u64,
    message: String,
    log: Log,
}

/// A message log that is ignored when operators are compared.
#[derive(Clone)]
struct Log(MessageLog);

impl std::fmt::Debug for Log {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("log")
    }
}

impl NoticedLimit {
    /// Returns at most `limit` rows; `message` is added to `log` if there are more.
    pub fn new(limit: u64, message: String, log: &MessageLog) -> Self {
        Self { limit, message, log: Log(log.clone()) }
    }
}

impl StreamOp for NoticedLimit {
    fn name(&self) -> &'static str {
        "NoticedLimit"
    }

    fn start(&self, _: &[Arc<AggregateFunctionExpr>]) -> Result<Box<dyn StreamRun>> {
        Ok(Box::new(LimitRun { op: self.clone(), taken: 0 }))
    }
}

struct LimitRun {
    op: NoticedLimit,
    taken: u64,
}

impl StreamRun for LimitRun {
    fn push(&mut self, _: &[ArrayRef], rows: usize) -> Result<Output> {
        let room = usize::try_from(self.op.limit - self.taken).unwrap_or(usize::MAX);
        let keep = rows.min(room);
        self.taken += keep as u64;
        let done = keep < rows;
        if done {
            self.op.log.0.add(MessageKind::Warning, &self.op.message);
        }
        Ok(Output { keep: Some(first(keep, rows)), added: Vec::new(), done })
    }
}

fn first(keep: usize, rows: usize) -> BooleanArray {
    (0..rows).map(|row| Some(row < keep)).collect()
}
