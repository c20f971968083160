//! Compacts the rows that leave a large sort, so that they do not keep unused memory alive.
//!
//! The merge collects rows from many spilled batches into one, and texts are views: a batch of 8,192 rows
//! keeps alive every batch from which one of its texts came. The operator above accounts for all of them, and
//! rightly so; thus a sort larger than its memory would fail at its last step. Copying the referenced texts
//! costs one pass over them.

use std::sync::Arc;

use arrow::array::RecordBatch;
use datafusion::error::Result;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::sorts::sort_preserving_merge::SortPreservingMergeExec;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use exprs::compact::{Slack, compact_batch};
use exprs::pass_through::PassThrough;
use futures::StreamExt;

use super::rewrites::{Rewritten, with_below};

/// Maximum number of unreferenced bytes that a column may keep alive.
const SLACK: Slack = Slack::Passing(1 << 16);

/// Inserts a [`Compact`] between a sort that may spill and the merge of its partitions.
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
    Ok(compact_batch(batch, SLACK)?)
}
