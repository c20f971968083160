//! The scan as a DataFusion operator: partitions that take pieces of buckets from one queue.
//!
//! Guarantees: each piece is read by one partition; pause, finalize and cancel act before the next stored
//! batch; a damaged bucket is left out as a whole, with a message, or it fails the search. Which buckets are
//! in the queue is decided by `table`, which of their rows pass by `work`.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, OnceLock};

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use bucket::{BucketReader, GranuleSet, RemoteView, RowTest, TermQuery};
use datafusion::common::config::ConfigOptions;
use datafusion::common::runtime::SpawnedTask;
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
use datafusion::physical_plan::metrics::{BaselineMetrics, ExecutionPlanMetricsSet, MetricsSet};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, Partitioning, PlanProperties,
};
use futures::stream::{self, BoxStream, StreamExt, TryStreamExt};
use model::{BucketHeader, BucketId, EventTime, TimeRange};
use object_store::ObjectStore;

use super::computed::ComputedFilter;
use super::count::{self, Counted};
use super::hot::HotFilters;
use super::passed::{ComputedValues, PassedRows};
use super::prune::Pruning;
use super::queue::{Piece, Queue};
use super::selectivity::{are_few, may_gain, sampled};
use super::slice::Slices;
use super::stale::Stale;
use super::unit::{FieldPlace, Known, Opened, Sparse, Stored, StoredPart, Unit, span_of_granules};
use super::wanted::Wanted;
use super::work::{Early, Origin, Output, ResidualFilters, Work};
use crate::control::ScanControl;
use crate::quarantine::{Finding, Quarantine, quarantined};
use crate::readers::{Readers, unreadable};
use crate::report::ScanReport;
use crate::times::Phase;
use rows::{PartRows, measured, take_rows};

mod kept;
mod rows;
mod values;

/// Maximum number of granules of a piece: those of a row group of default size. Large enough that most of the
/// time goes into decoding, small enough that a few pieces keep every partition busy.
const PIECE_GRANULES: usize = 128;

/// Number of rows of a batch without columns, which only carries a count.
const COUNTED_ROWS: u64 = 1 << 16;

/// A stream of rows with the columns of the plan.
type Rows = BoxStream<'static, Result<RecordBatch>>;

/// A stream of rows as a bucket stores them.
type StoredRows = BoxStream<'static, std::result::Result<RecordBatch, bucket::Error>>;

/// A stored bucket as the origin of rows.
#[derive(Debug)]
struct Source {
    header: Arc<BucketHeader>,
    reader: Arc<BucketReader>,
    stale: Stale,
    /// The columns that hold indexed fields.
    sent: Vec<String>,
}

impl Source {
    fn place(&self, name: &str) -> FieldPlace {
        place_in(&self.reader, name, &self.stale)
    }
}

/// Stored rows that are being read, and the filters that they have not passed yet.
struct Reading {
    rows: StoredRows,
    residual: ResidualFilters,
}

impl Reading {
    /// Reads all rows into memory.
    async fn ahead(self, header: &BucketHeader) -> Result<Self> {
        let rows: std::result::Result<Vec<_>, _> = self.rows.try_collect().await;
        let rows = rows.map_err(|error| unreadable(header, error))?;
        Ok(Self { rows: stream::iter(rows.into_iter().map(Ok)).boxed(), ..self })
    }
}

/// State that the partitions of one scan share.
#[derive(Debug, Clone)]
pub(super) struct Scan {
    pub(super) queue: Arc<Queue>,
    pub(super) work: Arc<Work>,
    pub(super) wanted: Wanted,
    pub(super) range: TimeRange,
    pub(super) pruning: Pruning,
    pub(super) hot: Arc<HotFilters>,
    pub(super) limit: Option<usize>,
    /// Whether a sort above keeps the oldest rows, so that buckets and pieces come oldest first.
    pub(super) oldest_first: bool,
    pub(super) batch_rows: usize,
    pub(super) readers: Arc<Readers>,
    pub(super) passed: Arc<PassedRows>,
    pub(super) values: Arc<ComputedValues>,
    pub(super) store: Arc<dyn ObjectStore>,
    pub(super) control: Arc<ScanControl>,
    pub(super) report: Arc<ScanReport>,
    pub(super) quarantine: Arc<Quarantine>,
    /// Whether damaged buckets may be skipped.
    pub(super) allow_partial: bool,
    /// Whether the buckets are a share that another process has assigned.
    pub(super) is_share: bool,
}

impl Scan {
    /// Whether every bucket will be read, so that read-ahead never wastes work.
    fn reads_all(&self) -> bool {
        self.control.must_count_all() || (self.wanted.is_all() && self.limit.is_none())
    }

    /// Returns the parts of a bucket that may have matching rows, in the direction of the scan.
    async fn open(self: Arc<Self>, unit: Unit) -> Result<Vec<Opened>> {
        let parts = match unit {
            // Checked when the bucket is opened, not when the queue is made: a sort above has learned more
            // since.
            unit if !self.wants(Some(unit.span())) => Vec::new(),
            Unit::Hot(hot) => self.open_hot(hot).await?,
            Unit::Stored(stored) => match self.open_stored(&stored).await {
                Ok(parts) => parts,
                Err(error) => match self.find(&stored.header, &error).await {
                    // The object is intact: the damaged blocks were in the cache, which has dropped them.
                    Finding::Whole => Box::pin(self.open_stored(&stored)).await?,
                    Finding::Quarantined if self.leaves_out(&stored.header) => Vec::new(),
                    _ => return Err(error),
                },
            },
        };
        // Other buckets are counted when their last piece ends, and this one has no piece.
        if parts.is_empty() {
            self.report.buckets_searched.fetch_add(1, Relaxed);
        }
        Ok(parts)
    }

    /// Whether the search may skip a quarantined bucket, of which it has returned no rows yet.
    fn leaves_out(&self, header: &BucketHeader) -> bool {
        if !self.allow_partial {
            return false;
        }
        let known = quarantined(&self.quarantine.snapshot());
        known.get(&header.id).is_some_and(|bucket| {
            self.report.leave_out(bucket);
            true
        })
    }

    /// Diagnoses a bucket that could not be read.
    async fn find(&self, header: &BucketHeader, error: &DataFusionError) -> Finding {
        let DataFusionError::External(error) = error.find_root() else { return Finding::Unknown };
        match error.downcast_ref::<crate::Error>() {
            Some(error) => self.quarantine.confirm(header, error).await,
            None => Finding::Unknown,
        }
    }

    async fn open_stored(&self, stored: &Stored) -> Result<Vec<Opened>> {
        let header = &stored.header;
        let timer = self.report.times.during(Phase::Open);
        let reader = self.readers.open(header, &self.store).await?;
        drop(timer);
        let summary = reader.summary();
        let known = Known { header, summary: Some(summary) };
        let stale = Stale::of(header.id, &reader, self.work.knowledge());
        // Planning does not read the summaries of all buckets.
        if stored.summary.is_none() && self.pruning.excludes(known, stale.is_nothing()) {
            self.report.buckets_pruned_by_terms.fetch_add(1, Relaxed);
            return Ok(Vec::new());
        }
        self.report.granules_considered.fetch_add(reader.granules() as u64, Relaxed);
        if self.work.only_counts()
            && let Some(countable) = self.pruning.countable(known)
        {
            let timeline = self.report.timeline();
            let timer = self.report.times.during(Phase::Terms);
            let counted = count::count(&reader, &self.range, countable, timeline.as_ref()).await;
            drop(timer);
            let counted = counted.map_err(|error| unreadable(header, error))?;
            let rows = self.note_counted(&counted);
            let mut parts = self.pieces(header, &reader, &counted.rest, Sparse::default());
            parts.extend((rows > 0).then_some(Opened::Counted(rows)));
            return Ok(parts);
        }
        let mut granules = reader.granules_in(&self.range);
        let place = |name: &str| place_in(&reader, name, &stale);
        let before = granules.len();
        self.work.prune_by_bounds(&reader, &place, &mut granules);
        self.report.granules_pruned_by_bounds.fetch_add((before - granules.len()) as u64, Relaxed);
        let terms = self.pruning.terms(&stale);
        let mut sparse = Sparse::default();
        // The term index is read only if it can exclude granules that would be read.
        if terms != TermQuery::All
            && !granules.is_empty()
            && !self.are_known(header, &reader, &stale, &granules)
        {
            let timer = self.report.times.during(Phase::Terms);
            let found = reader.find_rows(&terms).await;
            drop(timer);
            let found = found.map_err(|error| unreadable(header, error))?;
            // Both numbers are of the whole bucket, before time and bounds remove granules. The index knows
            // words, not fields: where few rows have the word, a granule often has it in another field only.
            sparse.rows = are_few(&found);
            sparse.texts =
                sparse.rows && self.has_few_texts(header, &reader, &stale, &terms).await?;
            granules.intersect(&found.granules);
        }
        if granules.is_empty() {
            self.report.buckets_pruned_by_terms.fetch_add(1, Relaxed);
        }
        Ok(self.pieces(header, &reader, &granules, sparse))
    }

    /// Granules to read, cut into pieces, in the direction of the scan. Where the first rows may be enough
    /// for a sort above, the first piece is one granule and each further one twice as large: such a sort
    /// reads little in vain, and one that needs all still reads large pieces.
    fn pieces(
        &self,
        header: &Arc<BucketHeader>,
        reader: &Arc<BucketReader>,
        granules: &GranuleSet,
        sparse: Sparse,
    ) -> Vec<Opened> {
        self.report.granules_read.fetch_add(granules.len() as u64, Relaxed);
        let numbers: Vec<usize> = granules.iter().collect();
        let mut rest = numbers.as_slice();
        let mut size = if self.wanted.is_all() { PIECE_GRANULES } else { 1 };
        let mut pieces = Vec::new();
        while !rest.is_empty() {
            let (first, others) = match self.oldest_first {
                true => rest.split_at(size.min(rest.len())),
                false => {
                    let (older, newest) = rest.split_at(rest.len().saturating_sub(size));
                    (newest, older)
                }
            };
            let mut part = GranuleSet::none(granules.granules());
            first.iter().for_each(|granule| part.insert(*granule));
            let (header, reader) = (Arc::clone(header), Arc::clone(reader));
            pieces.push(Opened::Stored(StoredPart { header, reader, granules: part, sparse }));
            (rest, size) = (others, (size * 2).min(PIECE_GRANULES));
        }
        pieces
    }

    /// Reports granules that need not be read, and returns the number of their matching rows.
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

    /// Whether rows in this time span can still be part of the result.
    fn wants(&self, span: Option<(EventTime, EventTime)>) -> bool {
        self.control.must_count_all() || span.is_none_or(|span| self.wanted.allows(span))
    }

    /// Whether a time span lies within the range of the search.
    pub(super) fn is_inside(&self, (first, last): (EventTime, EventTime)) -> bool {
        self.range.earliest <= first && last < self.range.latest
    }

    async fn rows(self: Arc<Self>, opened: Opened) -> Result<PartRows> {
        let rows = match opened {
            Opened::Hot(part) => self.hot_rows(part),
            Opened::Stored(part) => {
                let span = span_of_granules(&part.reader, &part.granules);
                let inside = span.is_some_and(|span| self.is_inside(span));
                let known = Known { header: &part.header, summary: Some(part.reader.summary()) };
                let residual = self.work.residual(&part.header.index, Some(known), inside);
                match residual {
                    Some(residual) => return self.stored_rows(part, residual).await,
                    None => stream::empty().boxed(),
                }
            }
            Opened::Counted(rows) => self.counted(rows),
        };
        Ok(PartRows::Reading(rows))
    }

    /// Returns rows without columns.
    fn counted(self: Arc<Self>, rows: u64) -> Rows {
        let parts = (0..rows).step_by(COUNTED_ROWS as usize);
        let sizes = parts.map(move |start| COUNTED_ROWS.min(rows - start) as usize);
        stream::iter(sizes).map(move |rows| self.work.counted(rows)).boxed()
    }

    /// Filters stored rows and converts them to the columns of the plan. Drops rows that a sort above no
    /// longer needs.
    pub(super) fn process(
        &self,
        stored: RecordBatch,
        origin: &Origin<'_>,
    ) -> Result<Option<RecordBatch>> {
        let (window, counts_all) = (self.wanted.window(), self.control.must_count_all());
        self.work.process(stored, origin, window, counts_all)
    }

    /// Reads granules of a stored bucket. If few rows pass filters over small columns, these columns are
    /// tested before the others are decoded (docs/decisions/0009): few according to the term index, to the
    /// rows seen so far, or, where nothing is known yet, to a sample, after which the others are read.
    async fn stored_rows(
        self: Arc<Self>,
        part: StoredPart,
        residual: ResidualFilters,
    ) -> Result<PartRows> {
        let StoredPart { header, reader, granules, sparse } = part;
        let stale = Stale::of(header.id, &reader, self.work.knowledge());
        let sent = reader.sent_columns();
        let source = Arc::new(Source { header, reader, stale, sent });
        if let Some(kept) = self.kept(&source, &granules, &residual, sparse.texts) {
            return Box::pin(self.kept_rows(source, granules, kept)).await;
        }
        let of = Arc::clone(&source);
        let place = move |name: &str| of.place(name);
        let Some(early) = self.work.early(&source.header.index, &place, &residual) else {
            let reading = self.read(&source, &granules, None, residual).await?;
            return Ok(PartRows::Reading(self.processed(source, reading)));
        };
        let mut tested = if sparse.rows { Some(true) } else { self.is_tested(&source, &early) };
        let mut sample = None;
        let mut left = granules;
        if tested.is_none()
            && let Some((some, others)) = sampled(&left, source.reader.granule_rows(0))
        {
            // Read to its end here: it decides about the remaining granules, and a damaged bucket is found
            // before any of its rows have been returned.
            let test = Some(early.sample_test.clone());
            let reading = self.read(&source, &some, test, early.rest.clone()).await?;
            sample = Some((reading.ahead(&source.header).await?, some));
            tested = self.work.is_sparse(&early);
            left = others;
        }
        let reading = match tested {
            Some(true) => self.read(&source, &left, Some(early.test), early.rest).await?,
            _ => self.read(&source, &left, None, early.all).await?,
        };
        let rows = Arc::clone(&self).processed(Arc::clone(&source), reading);
        let Some((sample, granules)) = sample else { return Ok(PartRows::Reading(rows)) };
        // Only now that no read of the part has to be repeated.
        let tested: usize = granules.iter().map(|at| source.reader.granule_rows(at)).sum();
        self.report.events_scanned.fetch_add(tested as u64, Relaxed);
        Ok(PartRows::Reading(self.processed(source, sample).chain(rows).boxed()))
    }

    /// Whether small columns are tested before the others; `None` if not enough rows have been seen.
    fn is_tested(&self, source: &Source, early: &Early) -> Option<bool> {
        let tested: Vec<&str> = early.test.columns.iter().map(String::as_str).collect();
        let place = |name: &str| source.place(name);
        let mut others = self.work.stored_columns(&place, &source.sent, &early.rest);
        others.retain(|name| !tested.contains(name));
        let bytes = |columns: &[&str]| source.reader.decompressed_bytes(columns);
        match may_gain(bytes(&tested), bytes(&others)) {
            true => self.work.is_sparse(early),
            false => Some(false),
        }
    }

    /// Starts to read granules; the first pages have arrived when it returns.
    async fn read(
        &self,
        source: &Source,
        granules: &GranuleSet,
        test: Option<RowTest>,
        residual: ResidualFilters,
    ) -> Result<Reading> {
        // These are the filters that the test has left, so that a column that only the test reads is not read
        // for the output too.
        let place = |name: &str| source.place(name);
        let columns = self.work.stored_columns(&place, &source.sent, &residual);
        let rows = source.reader.read_where(&columns, granules, self.batch_rows, test).await;
        let rows = rows.map_err(|error| unreadable(&source.header, error))?;
        Ok(Reading { rows: self.report.times.reading(rows), residual })
    }

    /// Filters stored rows and converts them to the columns of the plan.
    fn processed(self: Arc<Self>, source: Arc<Source>, reading: Reading) -> Rows {
        let Reading { rows, residual } = reading;
        let gate = Arc::clone(&self);
        let process = move |batch: std::result::Result<RecordBatch, bucket::Error>| {
            let Source { header, reader, stale, sent } = source.as_ref();
            let batch = batch.map_err(|error| unreadable(header, error))?;
            let place = &|name: &str| source.place(name);
            let may_be_in_texts = &|name: &str, sourcetype: &str| {
                FieldPlace::may_be_in_texts(reader, stale, name, sourcetype)
            };
            let (index, residual) = (&header.index, &residual);
            let origin = Origin { index, place, stale, may_be_in_texts, sent, residual };
            self.process(batch, &origin)
        };
        // The valve is asked before each stored batch, not before each batch of results: where few rows
        // match, many stored batches in succession give no result.
        let admitted = stream::try_unfold(rows, move |mut rows| {
            let gate = Arc::clone(&gate);
            async move {
                if !gate.control.admit().await? {
                    return Ok(None);
                }
                Ok::<_, DataFusionError>(rows.next().await.map(|batch| (batch, rows)))
            }
        });
        admitted.map(move |batch| process(batch?)).try_filter_map(ready).boxed()
    }

    /// Runs one partition: takes pieces until none are left or the job closes the valve.
    fn partition(self: Arc<Self>) -> BoxStream<'static, Result<RecordBatch>> {
        if self.reads_all() {
            // The queue opens few buckets at first, which is not needed here.
            self.queue.will_be_emptied();
        }
        let pieces = stream::try_unfold((Arc::clone(&self), None), |(scan, ahead)| async move {
            let rows = match ahead {
                Some(task) => joined(task).await?,
                None => Arc::clone(&scan).take().await?,
            };
            // While one piece is decoded, the first pages of the next one are fetched. The task is aborted if
            // the partition is dropped.
            let ahead = scan.reads_all().then(|| SpawnedTask::spawn(Arc::clone(&scan).take()));
            Ok::<_, DataFusionError>(rows.map(|rows| (rows, (scan, ahead))))
        });
        // The stream does not yield by itself: DataFusion makes every leaf yield after some batches. Yielding
        // after each batch made two partitions take turns, so that one core of two was used.
        pieces.try_flatten().boxed()
    }

    /// Returns the rows of the next piece, after its first pages have arrived.
    async fn take(self: Arc<Self>) -> Result<Option<Rows>> {
        if !self.control.admit().await? {
            return Ok(None);
        }
        match self.queue.next(|unit| Arc::clone(&self).open(unit)).await? {
            Some(piece) => Ok(Some(self.piece_rows(piece).await?)),
            None => Ok(None),
        }
    }

    /// Returns the rows of a piece; none if its bucket turns out to be damaged before any of its rows were
    /// returned.
    async fn rows_or_none(self: &Arc<Self>, piece: &Piece) -> Result<Rows> {
        let rows = Arc::clone(self).rows(piece.opened.clone()).await;
        let Opened::Stored(part) = &piece.opened else { return rows?.begun().await };
        let (scan, part, alone) = (Arc::clone(self), part.clone(), piece.alone);
        let rows = match rows {
            Ok(PartRows::Later(later)) => {
                let read = async move { scan.checked(part, alone, later.await).await };
                return Ok(stream::once(read).try_flatten().boxed());
            }
            Ok(PartRows::Reading(rows)) => Ok(rows),
            Err(error) => Err(error),
        };
        scan.checked(part, alone, rows).await
    }

    /// Returns the rows of a part of a bucket, of which none were returned yet. If they could not be read,
    /// they are read again where that can help, or left out.
    async fn checked(
        self: Arc<Self>,
        part: StoredPart,
        alone: bool,
        rows: Result<Rows>,
    ) -> Result<Rows> {
        let header = Arc::clone(&part.header);
        let rows = match rows {
            Ok(rows) => rows,
            Err(error) => match self.find(&header, &error).await {
                // The damaged blocks have been dropped from the cache.
                Finding::Whole => {
                    Box::pin(Arc::clone(&self).rows(Opened::Stored(part))).await?.begun().await?
                }
                // Only if the piece is the whole bucket: rows of its other pieces may be in the result
                // already, and the message says that all events of the bucket are missing.
                Finding::Quarantined if alone && self.leaves_out(&header) => {
                    return Ok(stream::empty().boxed());
                }
                _ => return Err(error),
            },
        };
        // Rows of the bucket may have left the scan already: this search fails. The next one leaves the
        // bucket out, which is in quarantine, or reads it from object storage.
        let checked = rows.then(move |batch| {
            let (scan, header) = (Arc::clone(&self), Arc::clone(&header));
            async move {
                if let Err(error) = &batch {
                    scan.find(&header, error).await;
                }
                batch
            }
        });
        Ok(checked.boxed())
    }

    async fn piece_rows(self: Arc<Self>, piece: Piece) -> Result<Rows> {
        let Piece { opened, .. } = &piece;
        // Checked again, because a sort above may have learned more while the piece waited in the queue.
        let rows = match self.wants(opened.span()) {
            true => self.rows_or_none(&piece).await?,
            false => stream::empty().boxed(),
        };
        let end = stream::once(async move {
            // After the valve is closed, pieces end early, so that their bucket was not searched
            // completely.
            if !self.control.is_closed() && piece.finish() {
                self.report.buckets_searched.fetch_add(1, Relaxed);
            }
            Ok(None)
        });
        Ok(rows.map_ok(Some).chain(end).try_filter_map(ready).boxed())
    }
}

/// Returns the place of the values of a field in an open bucket.
fn place_in(reader: &BucketReader, name: &str, stale: &Stale) -> FieldPlace {
    match FieldPlace::of(name, reader.summary(), stale) {
        // The column has all values of the field.
        FieldPlace::Raw { indexed: Some(kind) }
            if stale.is_nothing() && reader.is_in_no_text(name) =>
        {
            FieldPlace::Column(kind)
        }
        place => place,
    }
}

async fn joined(task: SpawnedTask<Result<Option<Rows>>>) -> Result<Option<Rows>> {
    task.join_unwind().await.map_err(|error| DataFusionError::ExecutionJoin(Box::new(error)))?
}

async fn ready<T>(value: Option<T>) -> Result<Option<T>> {
    Ok(value)
}

/// Reads events of hot and stored buckets.
#[derive(Debug)]
pub(crate) struct BucketScanExec {
    scan: Arc<Scan>,
    partitions: usize,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
    /// Set if the scan is read in slices.
    slices: OnceLock<Arc<Slices>>,
}

impl BucketScanExec {
    pub(super) fn new(scan: Scan, partitions: usize) -> Self {
        let properties = PlanProperties::new(
            EquivalenceProperties::new(Arc::clone(&scan.work.output_schema)),
            // Rows have no assigned partition: each partition takes the next piece from the queue.
            Partitioning::UnknownPartitioning(partitions),
            EmissionType::Incremental,
            Boundedness::Bounded,
        );
        Self {
            scan: Arc::new(scan),
            partitions,
            properties: Arc::new(properties),
            metrics: ExecutionPlanMetricsSet::new(),
            slices: OnceLock::new(),
        }
    }

    /// Enables slices. Must be called before the scan is executed, and once only.
    pub(crate) fn slice(&self, slices: Arc<Slices>) {
        let _ = self.slices.set(slices);
    }

    /// Returns the number of partitions.
    pub(crate) fn partitions(&self) -> usize {
        self.partitions
    }

    /// Whether one of these filters of sorts, given by their ids, tells it which times are still needed.
    pub(super) fn learns_time(&self, filters: &HashSet<u64>) -> bool {
        self.scan.wanted.learns_time(filters)
    }

    /// Returns the same scan with the dynamic filters of a copied plan, by the ids of the original ones.
    pub(crate) fn learning(&self, copies: &HashMap<u64, Arc<dyn PhysicalExpr>>) -> Result<Self> {
        let scan = Scan { wanted: self.scan.wanted.renewed(copies)?, ..self.scan.as_ref().clone() };
        Ok(Self::new(scan, self.partitions))
    }

    /// Returns the same scan with the oldest rows first. Planning has read the summaries of the newest
    /// buckets, if not of all (`max_plan_summaries`); the others are pruned when they are opened.
    pub(super) fn oldest_first(&self) -> Self {
        let mut units = self.scan.queue.units().to_vec();
        units.sort_by_key(|unit| unit.span().0);
        let queue = Arc::new(Queue::new(units, self.partitions));
        let scan = Scan { queue, oldest_first: true, ..self.scan.as_ref().clone() };
        Self::new(scan, self.partitions)
    }

    /// Whether the scan is so small that it ends before a preview could be shown.
    pub(crate) fn is_small(&self) -> bool {
        self.scan.queue.rows() <= super::table::SMALL_SCAN
    }

    /// Returns the buckets of the catalog, which any process can read.
    pub(crate) fn stored(&self) -> impl Iterator<Item = &Arc<BucketHeader>> {
        let units = self.scan.queue.units().iter().filter(|_| self.scan.limit.is_none());
        units.filter_map(Unit::header)
    }

    /// Returns the query for the term indexes of buckets whose columns are made with the current rules;
    /// [`TermQuery::All`] if their summaries are usually enough.
    pub(crate) fn hinted_terms(&self) -> TermQuery {
        self.scan.pruning.hinted_terms(self.scan.work.only_counts())
    }

    /// Returns the buckets that have stayed at their indexers, with their views.
    pub(crate) fn remote(&self) -> impl Iterator<Item = (BucketId, &Arc<dyn RemoteView>)> {
        let units = self.scan.queue.units().iter();
        units.filter_map(|unit| Some((unit.id(), unit.view()?)))
    }

    /// Returns the same scan over those shareable buckets that pass the test, with or without its other data.
    pub(crate) fn over_shared(
        &self,
        passes: impl Fn(&BucketId) -> bool,
        with_others: bool,
    ) -> Self {
        let units = self.scan.queue.units().iter().filter(|unit| {
            match unit.header().is_some() || unit.view().is_some() {
                true => passes(&unit.id()),
                false => with_others,
            }
        });
        self.over(Queue::new(units.cloned().collect(), self.partitions))
    }

    /// Whether rows are grouped in one step by keys that are local to this process, so that no other process
    /// can run a part of it.
    pub(crate) fn is_keyed_at_once(&self) -> bool {
        let is_key = |output: &Output| matches!(output.view, super::work::View::Key(_));
        self.partitions == 1 && self.scan.work.outputs().iter().any(is_key)
    }

    pub(super) fn scan(&self) -> &Scan {
        &self.scan
    }

    /// Returns the same scan with other output columns.
    pub(super) fn with_outputs(&self, outputs: Vec<Output>) -> Self {
        let work = Arc::new(self.scan.work.with_outputs(outputs));
        Self::new(Scan { work, ..self.scan.as_ref().clone() }, self.partitions)
    }

    /// Whether a filter over the rows of the scan can be applied by it.
    pub(super) fn takes_filter(&self) -> bool {
        self.scan.limit.is_none() && self.scan.work.computed_filter().is_none()
    }

    /// Returns the same scan with a filter over computed values.
    pub(super) fn with_filter(&self, filter: Arc<ComputedFilter>) -> Self {
        let work = Arc::new(self.scan.work.with_filter(filter));
        Self::new(Scan { work, ..self.scan.as_ref().clone() }, self.partitions)
    }

    /// Returns the same scan over other buckets.
    pub(super) fn over(&self, queue: Queue) -> Self {
        let scan = Scan { queue: Arc::new(queue), ..self.scan.as_ref().clone() };
        Self::new(scan, self.partitions)
    }
}

impl DisplayAs for BucketScanExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "BucketScanExec: buckets={}, partitions={}, terms={}, newest_first={}, oldest_first={}",
            self.scan.queue.buckets(),
            self.partitions,
            self.scan.pruning,
            !self.scan.wanted.is_all() && !self.scan.oldest_first,
            self.scan.oldest_first
        )?;
        if let Some(filter) = self.scan.work.computed_filter() {
            write!(f, ", filter={filter}")?;
        }
        let mut conditions = self.scan.work.conditions_on_computed();
        conditions.try_for_each(|condition| write!(f, ", filter={condition}"))
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

    /// Keeps the dynamic filter of a sort above, which excludes pieces and rows that the sort no longer
    /// needs. Only `_time` is tested, and rows at its bound pass, so the filter is not fully handled here
    /// (`PushedDown::No`).
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

    fn execute(&self, partition: usize, _: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let schema: SchemaRef = self.schema();
        let begin = || {
            let rows = Arc::clone(&self.scan).partition();
            match self.scan.limit {
                // Each partition stops at the limit on its own; the limit above takes N rows of all
                // partitions.
                Some(limit) => take_rows(rows, limit),
                None => rows,
            }
        };
        let rows = match self.slices.get() {
            Some(slices) => slices.next(partition, begin),
            None => begin(),
        };
        let measured = measured(rows, BaselineMetrics::new(&self.metrics, partition));
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, measured)))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }
}
