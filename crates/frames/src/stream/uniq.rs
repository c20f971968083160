//! `uniq`: drops rows that equal the previous row.

use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanBuilder};
use arrow::row::{OwnedRow, RowConverter, SortField};
use datafusion::error::Result;
use datafusion::physical_expr::aggregate::AggregateFunctionExpr;

use super::{Output, StreamOp, StreamRun};

/// The rows whose arguments differ from those of the previous row; two nulls are equal.
#[derive(Debug, Clone)]
pub struct Uniq;

impl StreamOp for Uniq {
    fn name(&self) -> &'static str {
        "Uniq"
    }

    fn start(&self, _: &[Arc<AggregateFunctionExpr>]) -> Result<Box<dyn StreamRun>> {
        Ok(Box::new(Run { converter: None, last: None }))
    }
}

struct Run {
    converter: Option<RowConverter>,
    last: Option<OwnedRow>,
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
            let same = match row {
                0 => self.last.as_ref().is_some_and(|last| last.row() == keys.row(0)),
                row => keys.row(row - 1) == keys.row(row),
            };
            keep.append_value(!same);
        }
        if rows > 0 {
            self.last = Some(keys.row(rows - 1).owned());
        }
        Ok(Output { keep: Some(keep.finish()), ..Output::default() })
    }
}
