//! Smaller batches for wide rows.
//!
//! A batch has 8,192 rows, independently of their width: with 10,000 columns, as `eval` of many fields
//! creates them, a batch takes more than a gigabyte. Batches are sliced below such a projection, so that its
//! output for one batch is limited.

use std::fmt;
use std::sync::Arc;

use arrow::array::RecordBatch;
use datafusion::error::Result;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use exprs::pass_through::PassThrough;
use futures::{StreamExt, stream};

use super::rewrites::{Rewritten, with_below};

/// Approximate maximum number of cells of a batch.
const CELLS: usize = 1 << 20;
/// Number of columns from which on batches are sliced; with fewer columns, a whole batch is within [`CELLS`].
const WIDE: usize = 128;

/// Inserts a [`Slice`] below wide projections.
pub(super) fn below_wide(node: &Arc<dyn ExecutionPlan>) -> Rewritten {
    let columns = node.downcast_ref::<ProjectionExec>().map_or(0, |of| of.expr().len());
    if columns <= WIDE {
        return Ok(None);
    }
    with_below(node, Slice { rows: (CELLS / columns).max(1) })
}

#[derive(Debug)]
struct Slice {
    rows: usize,
}

impl PassThrough for Slice {
    const NAME: &'static str = "SliceExec";

    fn parameters(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, ": rows={}", self.rows)
    }

    fn run(
        self: &Arc<Self>,
        input: &Arc<dyn ExecutionPlan>,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let input = input.execute(partition, context)?;
        let schema = input.schema();
        let most = self.rows;
        let batches = input.flat_map(move |batch| stream::iter(sliced(batch, most)));
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, batches)))
    }
}

/// Slices a batch into batches of at most `most` rows.
fn sliced(batch: Result<RecordBatch>, most: usize) -> Vec<Result<RecordBatch>> {
    match batch {
        Ok(batch) if batch.num_rows() > most => {
            let starts = (0..batch.num_rows()).step_by(most);
            let rows = batch.num_rows();
            starts.map(|start| Ok(batch.slice(start, most.min(rows - start)))).collect()
        }
        whole => vec![whole],
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use arrow::array::{ArrayRef, Int64Array};

    use super::*;

    #[test]
    fn a_batch_is_cut_into_parts_that_hold_all_of_its_rows() {
        let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(0..10));
        let batch = RecordBatch::try_from_iter([("n", numbers)]).unwrap();
        let parts = |most| -> Vec<usize> {
            let parts = sliced(Ok(batch.clone()), most);
            parts.into_iter().map(|part| part.unwrap().num_rows()).collect()
        };
        assert_eq!(parts(4), [4, 4, 2]);
        assert_eq!(parts(10), [10]);
    }
}
