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

use super::Kept;
use crate::scan::Slices;

/// States below which merging them is not worth it.
const FEW_STATES: usize = 1 << 13;
/// A slice is at least so many times longer than it takes to hand its states over.
const SLICE_TO_OVERHEAD: u32 = 4;

/// The operator in a plan; its input is the partial aggregation.
pub(super) type SlicesExec = PassThroughExec<KeptSlices>;

#[derive(Debug)]
pub(super) struct KeptSlices {
    pub(super) slices: Arc<Slices>,
    pub(super) kept: Arc<Kept>,
    pub(super) length: Duration,
}

impl KeptSlices {
    /// The states of a partition, those of the same group merged.
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

/// A partition on its way.
struct Run {
    operator: Arc<KeptSlices>,
    aggregation: Arc<dyn ExecutionPlan>,
    partition: usize,
    context: Arc<TaskContext>,
    /// The aggregation of the slice at hand.
    input: Option<SendableRecordBatchStream>,
    /// Its states so far.
    slice: Vec<RecordBatch>,
    /// States to hand on.
    ready: VecDeque<RecordBatch>,
    /// States there were after the last merge.
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
            // They stay where they are until the other partitions are at their end, too.
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
                    merged = merging => break merged,
                    // It begins again when the search goes on: what is kept is still as it was.
                    () = control.pauses() => {
                        was_paused = true;
                        control.goes_on().await;
                    }
                }
            };
            match merged {
                Ok(states) => {
                    kept.replace(self.partition, states);
                    self.merged_rows = kept.size(self.partition).0;
                }
                Err(error) => kept.end_by(error),
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
        // How long it took beside a pause is not known.
        if !was_paused {
            let overhead = slices.since_cut(self.partition) * SLICE_TO_OVERHEAD;
            slices.set_length(self.partition, self.operator.length.max(overhead));
        }
        if !kept.is_open() {
            self.let_go();
        }
    }

    /// Hands on what is kept; the rest is one slice.
    fn let_go(&mut self) {
        self.operator.slices.stop();
        self.ready.extend(self.operator.kept.take(self.partition));
        self.ready.extend(self.slice.drain(..));
        self.reservation.free();
    }
}
