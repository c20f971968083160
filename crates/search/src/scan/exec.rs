//! The scan as a DataFusion operator: partitions that pull buckets from one queue.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use bucket::{GranuleSet, TermQuery};
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{EquivalenceProperties, PhysicalExpr};
use datafusion::physical_plan::execution_plan::{
    Boundedness, EmissionType, ReplaceChildrenOptions,
};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, Partitioning, PlanProperties,
};
use futures::stream::{self, BoxStream, StreamExt, TryStreamExt};
use model::{BucketEntry, IndexName, TimeRange};

use super::prune::Pruning;
use super::queue::{Piece, Queue};
use super::unit::{FieldPlace, Opened, Unit};
use super::work::Work;
use crate::control::ScanControl;
use crate::readers::Readers;
use crate::report::ScanReport;

/// Granules of a piece of a bucket: large enough that reading it is mostly decoding, small enough
/// that a few pieces keep every partition busy.
const PIECE_GRANULES: usize = 64;

/// Everything the partitions of one scan share.
#[derive(Debug)]
pub(super) struct Scan {
    pub(super) queue: Queue,
    pub(super) work: Work,
    pub(super) range: TimeRange,
    pub(super) pruning: Pruning,
    pub(super) limit: Option<usize>,
    pub(super) batch_rows: usize,
    pub(super) readers: Arc<Readers>,
    pub(super) control: Arc<ScanControl>,
    pub(super) report: Arc<ScanReport>,
}

impl Scan {
    /// The parts of a bucket that may have matching rows, newest first.
    async fn open(&self, unit: Unit) -> Result<Vec<Opened>> {
        let parts = match unit {
            Unit::Hot(hot) => {
                let batches = hot.batches.into_iter().rev();
                let batches = batches.filter(|batch| in_range(batch, &self.range));
                batches.map(|batch| Opened::Hot(hot.index.clone(), batch)).collect()
            }
            Unit::Stored(entry) => self.open_stored(&entry).await?,
        };
        if parts.is_empty() {
            self.report.buckets_searched.fetch_add(1, Relaxed);
        }
        Ok(parts)
    }

    async fn open_stored(&self, entry: &Arc<BucketEntry>) -> Result<Vec<Opened>> {
        let reader = self.readers.open(entry).await?;
        let mut granules = reader.granules_in(&self.range);
        let terms = self.pruning.terms(self.readers.rules_hold(&entry.summary));
        if terms != TermQuery::All && !granules.is_empty() {
            let candidates = reader.candidates(&terms).await;
            granules.intersect(&candidates.map_err(|error| unreadable(entry, &error))?);
        }
        self.report.granules_considered.fetch_add(reader.granules() as u64, Relaxed);
        self.report.granules_read.fetch_add(granules.len() as u64, Relaxed);
        if granules.is_empty() {
            self.report.buckets_pruned_by_terms.fetch_add(1, Relaxed);
        }
        let numbers: Vec<usize> = granules.iter().collect();
        let part = |numbers: &[usize]| {
            let mut part = GranuleSet::none(granules.granules());
            numbers.iter().for_each(|granule| part.insert(*granule));
            Opened::Stored(Arc::clone(entry), Arc::clone(&reader), part)
        };
        Ok(numbers.rchunks(PIECE_GRANULES).map(part).collect())
    }

    fn rows(self: Arc<Self>, opened: Opened) -> BoxStream<'static, Result<RecordBatch>> {
        match opened {
            Opened::Hot(index, batch) => {
                let place = |_: &str| FieldPlace::Raw { indexed: None };
                let rows = self.work.process(batch, &index, &place).transpose();
                stream::iter(rows).boxed()
            }
            Opened::Stored(entry, reader, granules) => {
                stream::once(self.stored_rows(entry, reader, granules)).try_flatten().boxed()
            }
        }
    }

    async fn stored_rows(
        self: Arc<Self>,
        entry: Arc<BucketEntry>,
        reader: Arc<bucket::BucketReader>,
        granules: GranuleSet,
    ) -> Result<BoxStream<'static, Result<RecordBatch>>> {
        let rules_hold = self.readers.rules_hold(&entry.summary);
        let summary = Arc::clone(&entry);
        let place = move |name: &str| FieldPlace::of(name, &summary.summary, rules_hold);
        let columns = self.work.stored_columns(&place);
        let rows = reader.read(&columns, &granules, self.batch_rows).await;
        let rows = rows.map_err(|error| unreadable(&entry, &error))?;
        let index: IndexName = entry.index.clone();
        let process = move |batch: std::result::Result<RecordBatch, bucket::Error>| {
            let batch = batch.map_err(|error| unreadable(&entry, &error))?;
            self.work.process(batch, &index, &place)
        };
        Ok(rows.map(process).try_filter_map(ready).boxed())
    }

    /// One partition: takes pieces until there are no more or the job closes the valve.
    fn partition(self: Arc<Self>) -> BoxStream<'static, Result<RecordBatch>> {
        let pieces = stream::try_unfold(Arc::clone(&self), |scan| async move {
            if !scan.control.admit().await {
                return Ok(None);
            }
            let piece = scan.queue.next(|unit| scan.open(unit)).await?;
            let rows = |piece| (Arc::clone(&scan).piece_rows(piece), Arc::clone(&scan));
            Ok::<_, DataFusionError>(piece.map(rows))
        });
        let gate = self;
        let rows = pieces.try_flatten();
        rows.take_while(move |_| {
            let gate = Arc::clone(&gate);
            // DataFusion makes every leaf give way to other tasks after some batches; giving way after
            // each one made the partitions take turns instead of running side by side.
            async move { gate.control.admit().await }
        })
        .boxed()
    }

    fn piece_rows(self: Arc<Self>, piece: Piece) -> BoxStream<'static, Result<RecordBatch>> {
        let Piece { opened, .. } = &piece;
        let rows = Arc::clone(&self).rows(opened.clone());
        let end = stream::once(async move {
            if piece.finish() {
                self.report.buckets_searched.fetch_add(1, Relaxed);
            }
            Ok(None)
        });
        rows.map_ok(Some).chain(end).try_filter_map(ready).boxed()
    }
}

async fn ready<T>(value: Option<T>) -> Result<Option<T>> {
    Ok(value)
}

/// Whether some row may lie in the range.
fn in_range(batch: &RecordBatch, range: &TimeRange) -> bool {
    use arrow::array::AsArray;
    use arrow::datatypes::TimestampMicrosecondType;
    let Some(times) = batch.column_by_name(model::columns::TIME) else { return true };
    let times = times.as_primitive::<TimestampMicrosecondType>();
    let span = (arrow::compute::min(times), arrow::compute::max(times));
    match span {
        (Some(first), Some(last)) => {
            range.overlaps(model::EventTime(first), model::EventTime(last))
        }
        _ => false,
    }
}

pub(super) fn unreadable(entry: &BucketEntry, error: &bucket::Error) -> DataFusionError {
    let error = crate::Error::Bucket { bucket: entry.path.clone(), message: error.to_string() };
    DataFusionError::External(Box::new(error))
}

/// Reads events of hot and stored buckets.
#[derive(Debug)]
pub(super) struct BucketScanExec {
    scan: Arc<Scan>,
    partitions: usize,
    properties: Arc<PlanProperties>,
}

impl BucketScanExec {
    pub(super) fn new(scan: Scan, partitions: usize) -> Self {
        let properties = PlanProperties::new(
            EquivalenceProperties::new(Arc::clone(&scan.work.output_schema)),
            Partitioning::UnknownPartitioning(partitions),
            EmissionType::Incremental,
            Boundedness::Bounded,
        );
        Self { scan: Arc::new(scan), partitions, properties: Arc::new(properties) }
    }
}

impl DisplayAs for BucketScanExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "BucketScanExec: buckets={}, partitions={}, terms={}",
            self.scan.queue.buckets(),
            self.partitions,
            self.scan.pruning
        )
    }
}

impl ExecutionPlan for BucketScanExec {
    fn name(&self) -> &'static str {
        "BucketScanExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        Vec::new()
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn replace_children(
        self: Arc<Self>,
        _: Vec<Arc<dyn ExecutionPlan>>,
        _: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(self)
    }

    fn with_new_children(
        self: Arc<Self>,
        _: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(self)
    }

    fn execute(&self, _: usize, _: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let schema: SchemaRef = self.schema();
        let rows = Arc::clone(&self.scan).partition();
        let rows = match self.scan.limit {
            // Rows that pass are all the same to a plan that asks for any N of them.
            Some(limit) => take_rows(rows, limit),
            None => rows,
        };
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, rows)))
    }
}

fn take_rows(
    rows: BoxStream<'static, Result<RecordBatch>>,
    limit: usize,
) -> BoxStream<'static, Result<RecordBatch>> {
    stream::try_unfold((rows, limit), |(mut rows, left)| async move {
        if left == 0 {
            return Ok(None);
        }
        let Some(batch) = rows.try_next().await? else { return Ok(None) };
        let batch = batch.slice(0, batch.num_rows().min(left));
        let left = left - batch.num_rows();
        Ok(Some((batch, (rows, left))))
    })
    .boxed()
}
