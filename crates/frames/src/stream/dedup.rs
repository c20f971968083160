//! `dedup`: keeps rows whose combination of values has not yet occurred often enough.

use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, BooleanBuilder};
use arrow::row::{OwnedRow, RowConverter, SortField};
use datafusion::error::Result;
use datafusion::physical_expr::aggregate::AggregateFunctionExpr;
use hashbrown::HashMap;

use super::reduce::{MOST, missing};
use super::{Output, Reduction, StreamOp, StreamRun};
use crate::Error;

/// Maximum number of rows per combination for which rows are dropped below the sort. Above this, maintaining
/// them in order takes longer than sorting all rows.
const MOST_EACH: u64 = 1_000;

/// Keeps the first `count` rows of each combination of the arguments.
#[derive(Debug, Clone)]
pub struct Dedup {
    /// Maximum number of rows of each combination that are kept.
    pub count: u64,
    /// Whether rows that lack one of the values are kept.
    pub keep_empty: bool,
    /// Whether only adjacent rows are duplicates.
    pub consecutive: bool,
    /// Whether duplicates are marked in a column instead of dropped.
    pub keep_events: bool,
    /// Maximum number of remembered combinations.
    pub limit: usize,
    /// The number of kept rows that are used; `None` for all.
    pub first: Option<usize>,
}

impl StreamOp for Dedup {
    fn name(&self) -> &'static str {
        "Dedup"
    }

    fn reduction(&self) -> Option<Reduction> {
        if self.keep_events || self.count > MOST_EACH {
            return None;
        }
        let count = usize::try_from(self.count).unwrap_or(usize::MAX);
        if self.consecutive {
            let runs = |first| Reduction::Runs { count, keep_empty: self.keep_empty, first };
            // Rows are dropped only after the end, which is not searched for among more of them.
            return self.first.filter(|first| *first <= MOST).map(runs);
        }
        Some(Reduction::Each { count, keep_empty: self.keep_empty, first: self.first })
    }

    fn start(&self, _: &[Arc<AggregateFunctionExpr>]) -> Result<Box<dyn StreamRun>> {
        Ok(Box::new(Run { op: self.clone(), converter: None, seen: HashMap::new(), last: None }))
    }
}

struct Run {
    op: Dedup,
    converter: Option<RowConverter>,
    seen: HashMap<OwnedRow, u64>,
    last: Option<(OwnedRow, u64)>,
}

impl Run {
    fn admit(&mut self, key: OwnedRow) -> Result<bool> {
        if self.op.consecutive {
            let run = match self.last.take() {
                Some((last, run)) if last == key => run + 1,
                _ => 1,
            };
            self.last = Some((key, run));
            return Ok(run <= self.op.count);
        }
        let limit = self.op.limit;
        if self.seen.len() >= limit && !self.seen.contains_key(&key) {
            let message = format!("dedup met more than {limit} combinations (a fixed limit)");
            return Err(Error::Exhausted { message }.into());
        }
        let seen = self.seen.entry(key).or_insert(0);
        *seen += 1;
        Ok(*seen <= self.op.count)
    }
}

impl StreamRun for Run {
    fn push(&mut self, arguments: &[ArrayRef], rows: usize) -> Result<Output> {
        let converter = match &mut self.converter {
            Some(converter) => converter,
            empty => {
                let types = arguments.iter().map(|a| SortField::new(a.data_type().clone()));
                empty.insert(RowConverter::new(types.collect())?)
            }
        };
        let keys = converter.convert_columns(arguments)?;
        let mut keep = BooleanBuilder::with_capacity(rows);
        for row in 0..rows {
            if arguments.iter().any(|argument| missing(argument, row)) {
                keep.append_value(self.op.keep_empty);
            } else {
                keep.append_value(self.admit(keys.row(row).owned())?);
            }
        }
        let keep: BooleanArray = keep.finish();
        Ok(if self.op.keep_events {
            Output { keep: None, added: vec![Arc::new(keep)], done: false }
        } else {
            Output { keep: Some(keep), added: Vec::new(), done: false }
        })
    }
}
