//! The operator below a sort that keeps the first N rows: passes every row on, and keeps those that would
//! be among the first N if the search ended now.
//!
//! It leaves the sort alone, whose filter tells the scan what is not wanted any more. Rows behind the N
//! first of the ones seen before are dropped at once, by one comparison.

use std::fmt;
use std::sync::Arc;

use arrow::array::{Array, AsArray, RecordBatch};
use arrow::compute::{filter_record_batch, prep_null_mask_filter};
use datafusion::datasource::memory::MemorySourceConfig;
use datafusion::error::Result;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{LexOrdering, PhysicalExpr};
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{ExecutionPlan, collect};
use exprs::compact::{Slack, compact_batch};
use exprs::pass_through::{PassThrough, PassThroughExec};
use futures::{StreamExt, stream};

use super::PreviewState;

/// Number of additional rows above N that are collected before a sort-out.
const SPARE_ROWS: usize = 1 << 13;

/// The operator in a physical plan.
pub(super) type NewestExec = PassThroughExec<Newest>;

#[derive(Debug)]
pub(super) struct Newest {
    pub(super) order: LexOrdering,
    pub(super) first: usize,
    pub(super) kept: Arc<PreviewState>,
}

impl PassThrough for Newest {
    const NAME: &'static str = "NewestExec";

    fn parameters(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, ": rows={}", self.first)
    }

    fn run(
        self: &Arc<Self>,
        input: &Arc<dyn ExecutionPlan>,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let consumer = MemoryConsumer::new(format!("NewestExec[{partition}]"));
        let schema = input.schema();
        let run = Run {
            reservation: consumer.register(context.memory_pool()),
            input: input.execute(partition, Arc::clone(&context))?,
            newest: Arc::clone(self),
            partition,
            context,
            wanted: None,
        };
        let rows = stream::try_unfold(run, Run::next);
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, rows)))
    }
}

/// The execution of a partition.
struct Run {
    newest: Arc<Newest>,
    partition: usize,
    context: Arc<TaskContext>,
    input: SendableRecordBatchStream,
    /// The condition that a row may be among the first N, once there are N rows.
    wanted: Option<Arc<dyn PhysicalExpr>>,
    reservation: MemoryReservation,
}

impl Run {
    async fn next(mut self) -> Result<Option<(RecordBatch, Self)>> {
        let Some(batch) = self.input.next().await else {
            self.newest.kept.finish(self.partition);
            return Ok(None);
        };
        let batch = batch?;
        if self.newest.kept.is_open()
            && let Err(error) = self.keep(&batch).await
        {
            // A failure of previews does not fail the search, which continues without them.
            self.newest.kept.end_by(error);
        }
        if !self.newest.kept.is_open() {
            drop(self.newest.kept.take(self.partition));
            self.reservation.free();
        }
        Ok(Some((batch, self)))
    }

    async fn keep(&mut self, batch: &RecordBatch) -> Result<()> {
        let batch = match &self.wanted {
            Some(wanted) => {
                let mask = wanted.evaluate(batch)?.into_array(batch.num_rows())?;
                let mask = mask.as_boolean();
                let mask = match mask.null_count() {
                    0 => mask.clone(),
                    _ => prep_null_mask_filter(mask),
                };
                filter_record_batch(batch, &mask)?
            }
            None => batch.clone(),
        };
        if batch.num_rows() == 0 {
            return Ok(());
        }
        let kept = Arc::clone(&self.newest.kept);
        kept.add(self.partition, vec![compact_batch(&batch, Slack::Kept)?]);
        let (rows, _) = kept.size(self.partition);
        if rows > self.newest.first + SPARE_ROWS.max(self.newest.first) {
            self.sort_out().await?;
        }
        let (_, bytes) = kept.size(self.partition);
        if self.reservation.try_resize(bytes).is_err() || !kept.is_within_limit() {
            let limit = kept.limit();
            kept.end(format!(
                "previews ended: their intermediate data takes more than {limit} bytes (preview_memory_mb)"
            ));
        }
        Ok(())
    }

    /// Reduces the kept rows to the first N.
    async fn sort_out(&mut self) -> Result<()> {
        let kept = &self.newest.kept;
        let memory = MemorySourceConfig::try_new_exec(
            &[kept.of(self.partition)],
            self.input.schema(),
            None,
        )?;
        let sort =
            SortExec::new(self.newest.order.clone(), memory).with_fetch(Some(self.newest.first));
        let sort: Arc<dyn ExecutionPlan> = Arc::new(sort);
        let first = collect(Arc::clone(&sort), Arc::clone(&self.context)).await?;
        let first = first.iter().map(|batch| compact_batch(batch, Slack::Kept));
        kept.replace(self.partition, first.collect::<Result<Vec<_>, _>>()?);
        self.wanted = sort.dynamic_expressions_produced().into_iter().next();
        Ok(())
    }
}
