//! Rows that leave a large sort, without the memory they do not show.
//!
//! Merging takes rows from many spilled batches into one, and texts are views: a batch of 8,192 rows then
//! holds on to every batch that one of its texts came from. The operator above accounts for all of that,
//! as it has to, and a sort of more than its memory fails at its last step. Copying the texts that are
//! seen costs one pass over them.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use arrow::datatypes::DataType;
use datafusion::error::Result;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::sorts::sort_preserving_merge::SortPreservingMergeExec;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use exprs::pass_through::PassThrough;
use futures::StreamExt;

use super::rewrites::{Rewritten, with_below};

/// Bytes that a column may hold without anybody looking at them.
const SLACK: usize = 1 << 16;

/// Puts a [`Compact`] between a sort that may spill and the merge of its partitions.
pub(super) fn below_merge(node: &Arc<dyn ExecutionPlan>) -> Rewritten {
    if node.downcast_ref::<SortPreservingMergeExec>().is_none() {
        return Ok(None);
    }
    let spills = |sort: &SortExec| sort.fetch().is_none();
    let sorted = node.children().into_iter().all(|input| input.downcast_ref().is_some_and(spills));
    if sorted { with_below(node, Compact) } else { Ok(None) }
}

#[derive(Debug)]
struct Compact;

impl PassThrough for Compact {
    const NAME: &'static str = "CompactExec";

    fn run(
        self: &Arc<Self>,
        input: &Arc<dyn ExecutionPlan>,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let input = input.execute(partition, context)?;
        let schema = input.schema();
        let batches = input.map(|batch| compact(&batch?));
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, batches)))
    }
}

fn compact(batch: &RecordBatch) -> Result<RecordBatch> {
    let columns = batch.columns().iter().map(compact_column).collect();
    Ok(RecordBatch::try_new(batch.schema(), columns)?)
}

fn compact_column(column: &ArrayRef) -> ArrayRef {
    if *column.data_type() != DataType::Utf8View {
        return Arc::clone(column);
    }
    let texts = column.as_string_view();
    let held: usize = texts.data_buffers().iter().map(|buffer| buffer.capacity()).sum();
    if held <= texts.total_buffer_bytes_used() * 2 + SLACK {
        return Arc::clone(column);
    }
    Arc::new(texts.gc())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use arrow::array::StringViewArray;

    use super::*;

    #[test]
    fn texts_of_a_few_rows_let_go_of_the_others() {
        let text = |row| format!("a text that is longer than a view: {row}");
        let texts = StringViewArray::from_iter_values((0..10_000).map(text));
        let few: ArrayRef = Arc::new(texts.slice(5_000, 3));
        let compacted = compact_column(&few);
        assert_eq!(compacted.as_ref(), few.as_ref());
        assert!(compacted.get_array_memory_size() < few.get_array_memory_size() / 100);
        let all: ArrayRef = Arc::new(texts);
        assert!(Arc::ptr_eq(&compact_column(&all), &all), "nothing to gain");
    }
}
