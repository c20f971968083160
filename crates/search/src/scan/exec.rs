//! The scan as a DataFusion operator: partitions that pull buckets from one queue.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use bucket::{BucketReader, GranuleSet, TermQuery};
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{EquivalenceProperties, PhysicalExpr};
use datafusion::physical_plan::execution_plan::{
    Boundedness, EmissionType, ReplaceChildrenOptions,
};
use datafusion::physical_plan::filter_pushdown::{
    ChildPushdownResult, FilterPushdownPhase, FilterPushdownPropagation, PushedDown,
};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, Partitioning, PlanProperties,
};
use futures::stream::{self, BoxStream, StreamExt, TryStreamExt};
use model::{BucketEntry, EventTime, IndexName, TimeRange};

use super::count::{self, Counted};
use super::prune::Pruning;
use super::queue::{Piece, Queue};
use super::unit::{FieldPlace, Opened, Unit, span_of};
use super::wanted::Wanted;
use super::work::Work;
use crate::control::ScanControl;
use crate::readers::Readers;
use crate::report::ScanReport;

/// Granules of a piece of a bucket: large enough that reading it is mostly decoding, small enough
/// that a few pieces keep every partition busy.
const PIECE_GRANULES: usize = 64;

/// Rows of a batch that only says how many rows there are.
const COUNTED_ROWS: u64 = 1 << 16;

/// Everything the partitions of one scan share.
#[derive(Debug, Clone)]
pub(super) struct Scan {
    pub(super) queue: Arc<Queue>,
    pub(super) work: Arc<Work>,
    pub(super) wanted: Wanted,
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
            unit if !self.wants(Some(unit.span())) => Vec::new(),
            Unit::Hot(hot) => {
                let batches = hot.batches.into_iter().rev();
                let overlaps = |batch: &RecordBatch| {
                    span_of(batch).is_some_and(|(first, last)| self.range.overlaps(first, last))
                };
                let batches = batches.filter(overlaps);
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
        self.report.granules_considered.fetch_add(reader.granules() as u64, Relaxed);
        if self.work.only_counts()
            && let Some(countable) = self.pruning.countable(entry)
        {
            let timeline = self.report.timeline();
            let counted = count::count(&reader, &self.range, countable, timeline.as_ref()).await;
            let counted = counted.map_err(|error| unreadable(entry, &error))?;
            let rows = self.note_counted(&counted);
            let mut parts = self.pieces(entry, &reader, &counted.rest);
            parts.extend((rows > 0).then_some(Opened::Counted(rows)));
            return Ok(parts);
        }
        let mut granules = reader.granules_in(&self.range);
        let terms = self.pruning.terms(self.readers.rules_hold(&entry.summary));
        if terms != TermQuery::All && !granules.is_empty() {
            let candidates = reader.candidates(&terms).await;
            granules.intersect(&candidates.map_err(|error| unreadable(entry, &error))?);
        }
        if granules.is_empty() {
            self.report.buckets_pruned_by_terms.fetch_add(1, Relaxed);
        }
        Ok(self.pieces(entry, &reader, &granules))
    }

    /// Granules to read, cut into pieces, newest first. Where the newest rows may be enough, the first
    /// pieces are small.
    fn pieces(
        &self,
        entry: &Arc<BucketEntry>,
        reader: &Arc<BucketReader>,
        granules: &GranuleSet,
    ) -> Vec<Opened> {
        self.report.granules_read.fetch_add(granules.len() as u64, Relaxed);
        let numbers: Vec<usize> = granules.iter().collect();
        let mut rest = numbers.as_slice();
        let mut size = if self.wanted.is_all() { PIECE_GRANULES } else { 1 };
        let mut pieces = Vec::new();
        while !rest.is_empty() {
            let (older, newest) = rest.split_at(rest.len().saturating_sub(size));
            let mut part = GranuleSet::none(granules.granules());
            newest.iter().for_each(|granule| part.insert(*granule));
            pieces.push(Opened::Stored(Arc::clone(entry), Arc::clone(reader), part));
            (rest, size) = (older, (size * 2).min(PIECE_GRANULES));
        }
        pieces
    }

    /// Reports granules that need not be read; gives their matching rows.
    fn note_counted(&self, counted: &Counted) -> u64 {
        let report = &self.report;
        report.granules_counted.fetch_add(counted.granules.len() as u64, Relaxed);
        for (first, _, rows) in &counted.granules {
            report.count_time(*first, *rows);
        }
        let rows = counted.granules.iter().map(|(_, _, rows)| rows).sum();
        report.events_matched.fetch_add(rows, Relaxed);
        rows
    }

    /// Whether rows of these times can still be part of the result.
    fn wants(&self, span: Option<(EventTime, EventTime)>) -> bool {
        self.control.must_count_all() || span.is_none_or(|span| self.wanted.allows(span))
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
            Opened::Counted(rows) => {
                let parts = (0..rows).step_by(COUNTED_ROWS as usize);
                let sizes = parts.map(move |start| COUNTED_ROWS.min(rows - start) as usize);
                stream::iter(sizes).map(move |rows| self.work.counted(rows)).boxed()
            }
        }
    }

    async fn stored_rows(
        self: Arc<Self>,
        entry: Arc<BucketEntry>,
        reader: Arc<BucketReader>,
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
        let rows = match self.wants(opened.span()) {
            true => Arc::clone(&self).rows(opened.clone()),
            false => stream::empty().boxed(),
        };
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

    pub(super) fn scan(&self) -> &Scan {
        &self.scan
    }

    /// The same over other buckets.
    pub(super) fn over(&self, queue: Queue) -> Self {
        let scan = Scan { queue: Arc::new(queue), ..self.scan.as_ref().clone() };
        Self::new(scan, self.partitions)
    }
}

impl DisplayAs for BucketScanExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "BucketScanExec: buckets={}, partitions={}, terms={}, newest_first={}",
            self.scan.queue.buckets(),
            self.partitions,
            self.scan.pruning,
            !self.scan.wanted.is_all()
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

    /// Takes note of what a sort above learns while it runs; it stays that sort's own business.
    fn handle_child_pushdown_result(
        &self,
        _: FilterPushdownPhase,
        result: ChildPushdownResult,
        _: &ConfigOptions,
    ) -> Result<FilterPushdownPropagation<Arc<dyn ExecutionPlan>>> {
        let filters = result.parent_filters;
        let kept = vec![PushedDown::No; filters.len()];
        let wanted = Wanted::of(filters.into_iter().map(|filter| filter.filter));
        let propagation = FilterPushdownPropagation::with_parent_pushdown_result(kept);
        if wanted.is_all() {
            return Ok(propagation);
        }
        let scan = Scan { wanted, ..self.scan.as_ref().clone() };
        Ok(propagation.with_updated_node(Arc::new(Self::new(scan, self.partitions))))
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
