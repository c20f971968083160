//! The operator above a partial aggregation that is run slice by slice: keeps the states of the slices, and
//! hands them on when the scan is at its end.
//!
//! Memory: states of one group from several slices are merged when they have doubled since the last time.
//! If they take too much all the same, they are handed on and the rest is run in one slice.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use arrow::array::RecordBatch;
use datafusion::common::internal_err;
use datafusion::datasource::memory::MemorySourceConfig;
use datafusion::error::Result;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateMode};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{ExecutionPlan, collect};
use exprs::pass_through::{PassThrough, PassThroughExec};
use futures::{StreamExt, stream};

use super::PreviewState;
use crate::scan::Slices;

/// Number of states below which merging is not worthwhile.
const FEW_STATES: usize = 1 << 13;
/// Minimum ratio of the duration of a slice to the time for taking over its states.
const SLICE_TO_OVERHEAD: u32 = 4;

/// The operator in a physical plan; its input is the partial aggregation.
pub(super) type SlicesExec = PassThroughExec<KeptSlices>;

#[derive(Debug)]
pub(super) struct KeptSlices {
    pub(super) slices: Arc<Slices>,
    pub(super) kept: Arc<PreviewState>,
    pub(super) length: Duration,
}

impl KeptSlices {
    /// Merges the states of a partition by group.
    async fn merged(
        &self,
        aggregation: &Arc<dyn ExecutionPlan>,
        partition: usize,
        context: &Arc<TaskContext>,
    ) -> Result<Vec<RecordBatch>> {
        let Some(partial) = aggregation.downcast_ref::<AggregateExec>() else {
            return internal_err!("slices are those of an aggregation");
        };
        let states = self.kept.of(partition);
        let schema = aggregation.schema();
        let memory = MemorySourceConfig::try_new_exec(&[states], Arc::clone(&schema), None)?;
        let merge = AggregateExec::try_new(
            AggregateMode::PartialReduce,
            partial.group_expr().as_final(),
            partial.aggr_expr().to_vec(),
            vec![None; partial.aggr_expr().len()],
            memory,
            partial.input_schema(),
        )?;
        let merged = collect(Arc::new(merge), Arc::clone(context)).await?;
        let same = |batch: RecordBatch| {
            Ok(RecordBatch::try_new(Arc::clone(&schema), batch.columns().to_vec())?)
        };
        merged.into_iter().map(same).collect()
    }
}

impl PassThrough for KeptSlices {
    const NAME: &'static str = "SlicesExec";
    const KEEPS_ORDER: bool = false;

    fn run(
        self: &Arc<Self>,
        input: &Arc<dyn ExecutionPlan>,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let consumer = MemoryConsumer::new(format!("SlicesExec[{partition}]"));
        let run = Run {
            reservation: consumer.register(context.memory_pool()),
            operator: Arc::clone(self),
            aggregation: Arc::clone(input),
            partition,
            context,
            input: None,
            slice: Vec::new(),
            ready: VecDeque::new(),
            merged_rows: 0,
            is_done: false,
        };
        let states = stream::try_unfold(run, Run::next);
        Ok(Box::pin(RecordBatchStreamAdapter::new(input.schema(), states)))
    }
}

/// The execution of a partition.
struct Run {
    operator: Arc<KeptSlices>,
    aggregation: Arc<dyn ExecutionPlan>,
    partition: usize,
    context: Arc<TaskContext>,
    /// The aggregation of the current slice.
    input: Option<SendableRecordBatchStream>,
    /// States of the current slice so far.
    slice: Vec<RecordBatch>,
    /// States to pass on.
    ready: VecDeque<RecordBatch>,
    /// Number of states after the last merge.
    merged_rows: usize,
    reservation: MemoryReservation,
    is_done: bool,
}

impl Run {
    async fn next(mut self) -> Result<Option<(RecordBatch, Self)>> {
        loop {
            if let Some(batch) = self.ready.pop_front() {
                return Ok(Some((batch, self)));
            }
            if self.is_done {
                return Ok(None);
            }
            let input = match &mut self.input {
                Some(input) => input,
                none => {
                    let context = Arc::clone(&self.context);
                    none.insert(self.aggregation.execute(self.partition, context)?)
                }
            };
            match input.next().await {
                Some(batch) => {
                    let batch = batch?;
                    if self.operator.kept.is_open() {
                        self.slice.extend((batch.num_rows() > 0).then_some(batch));
                    } else {
                        self.let_go();
                        self.ready.push_back(batch);
                    }
                }
                None => self.end_slice().await,
            }
        }
    }

    async fn end_slice(&mut self) {
        self.input = None;
        let (slices, kept) = (&self.operator.slices, &self.operator.kept);
        if slices.is_at_end(self.partition) {
            // The states stay available for previews until the other partitions have ended too.
            self.ready.extend(kept.of(self.partition));
            self.ready.extend(self.slice.drain(..));
            kept.finish(self.partition);
            self.is_done = true;
            return;
        }
        kept.add(self.partition, std::mem::take(&mut self.slice));
        let (rows, _) = kept.size(self.partition);
        let mut was_paused = false;
        if rows > FEW_STATES && rows > 2 * self.merged_rows {
            let control = slices.control();
            let merged = loop {
                let merging =
                    self.operator.merged(&self.aggregation, self.partition, &self.context);
                tokio::select! {
                    merged = merging => break Some(merged),
                    // The merge is restarted after the pause; the kept states are unchanged.
                    () = control.pauses() => {
                        was_paused = true;
                        control.goes_on().await;
                        // No preview shows the merged states of a search that has ended in the pause.
                        if control.is_closed() {
                            break None;
                        }
                    }
                }
            };
            match merged {
                Some(Ok(states)) => {
                    kept.replace(self.partition, states);
                    self.merged_rows = kept.size(self.partition).0;
                }
                Some(Err(error)) => kept.end_by(error),
                None => {}
            }
        }
        let (_, bytes) = kept.size(self.partition);
        let fits = self.reservation.try_resize(bytes).is_ok() && kept.is_within_limit();
        if !fits {
            let limit = kept.limit();
            kept.end(format!(
                "previews ended: their intermediate data takes more than {limit} bytes (preview_memory_mb)"
            ));
        }
        // With a pause in between, the duration is unknown.
        if !was_paused {
            let overhead = slices.since_cut(self.partition) * SLICE_TO_OVERHEAD;
            slices.set_length(self.partition, self.operator.length.max(overhead));
        }
        if !kept.is_open() {
            self.let_go();
        }
    }

    /// Passes on the kept states; the rest of the scan is one slice.
    fn let_go(&mut self) {
        self.operator.slices.stop();
        self.ready.extend(self.operator.kept.take(self.partition));
        self.ready.extend(self.slice.drain(..));
        self.reservation.free();
    }
}
