//! The table of events, over hot and stored buckets, that plans scan.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use arrow::datatypes::{DataType, Field, Schema, SchemaRef, TimeUnit};
use bucket::{HotBucket, MissingIndexer};
use catalog::{Catalog, Selected, Snapshot};
use datafusion::catalog::Session;
use datafusion::common::{Column, ScalarValue};
use datafusion::datasource::{TableProvider, TableType};
use datafusion::error::{DataFusionError, Result};
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown};
use datafusion::physical_plan::ExecutionPlan;
use exprs::Typed;
use exprs::kernel::truth;
use futures::future::BoxFuture;
use knowledge::Knowledge;
use model::{BucketHeader, EventTime, TimeRange, columns};
use object_store::ObjectStore;
use plan::{EventsRequest, ValueType};

use super::FIXED;
use super::exec::{BucketScanExec, Scan};
use super::fields::sourcetypes_of;
use super::hot::HotFilters;
use super::passed::{ComputedValues, PassedRows};
use super::prune::Pruning;
use super::queue::Queue;
use super::unit::{Known, Stored, Unit};
use super::wanted::Wanted;
use super::work::{Output, View, Work};
use crate::control::ScanControl;
use crate::hot_rows::{HotRows, Met};
use crate::hot_words::HotWords;
use crate::quarantine::{Quarantine, Quarantined, quarantined};
use crate::readers::{Readers, rules_hold};
use crate::report::ScanReport;
use crate::times::Phase;

/// Number of rows below which more than one partition costs more than it gains.
pub(super) const SMALL_SCAN: u64 = 10_000;

/// The environment of a job's scans: the events, and the report.
#[derive(Debug, Clone)]
pub(crate) struct ScanContext {
    pub(crate) catalog: Catalog,
    pub(crate) hot: Arc<HotRows>,
    pub(crate) hot_words: Arc<HotWords>,
    /// Maximum memory of the word filters of hot rows.
    pub(crate) hot_word_bytes: usize,
    pub(crate) readers: Arc<Readers>,
    /// The rows that passed the filters of earlier searches.
    pub(crate) passed: Arc<PassedRows>,
    /// The values of computed fields of earlier searches.
    pub(crate) values: Arc<ComputedValues>,
    /// The store of buckets, which counts the reads of this job.
    pub(crate) store: Arc<dyn ObjectStore>,
    pub(crate) knowledge: Arc<Knowledge>,
    pub(crate) control: Arc<ScanControl>,
    pub(crate) report: Arc<ScanReport>,
    pub(crate) pipelines: usize,
    pub(crate) batch_rows: usize,
    pub(crate) quarantine: Arc<Quarantine>,
    /// Whether damaged buckets may be skipped.
    pub(crate) allow_partial: bool,
    /// Maximum number of summaries that planning a scan reads.
    pub(crate) plan_summaries: usize,
    /// If this is a part of another process's search, the only buckets to read.
    pub(crate) share: Option<Share>,
}

/// The buckets of a part of a search.
#[derive(Debug, Clone)]
pub(crate) struct Share {
    pub(crate) stored: Arc<[Arc<BucketHeader>]>,
    /// Hot buckets of this process.
    pub(crate) hot: Arc<[HotBucket]>,
}

/// The buckets of a scan, as far as they are known in advance.
#[derive(Debug, Default)]
pub(crate) struct Ahead {
    /// Stored buckets of the indexes.
    pub(crate) considered: u64,
    /// Buckets outside the time range.
    pub(crate) pruned_by_time: u64,
    /// Buckets that their headers exclude.
    pub(crate) pruned_by_header: u64,
    /// Quarantined buckets, which are skipped.
    pub(crate) quarantined: u64,
    /// Remaining buckets.
    pub(crate) stored: Vec<Arc<BucketHeader>>,
    /// Hot buckets that the catalog does not have; `None` if other processes have them.
    pub(crate) hot: Option<Vec<HotBucket>>,
}

/// Events of some indexes and a time range, with chosen fields as columns.
#[derive(Debug)]
pub(crate) struct EventsTable {
    context: ScanContext,
    request: EventsRequest,
    schema: SchemaRef,
    enforces_range: bool,
}

impl EventsTable {
    /// Creates a table for plans that filter by time themselves, such as those of SPL.
    pub(crate) fn new(context: ScanContext, request: EventsRequest) -> Self {
        let schema = Arc::new(Schema::new(schema_fields(&request)));
        Self { context, request, schema, enforces_range: false }
    }

    /// Creates a table for SQL, whose queries do not contain the range of the request.
    pub(crate) fn within_range(context: ScanContext, request: EventsRequest) -> Self {
        Self { enforces_range: true, ..Self::new(context, request) }
    }

    fn range_filters(&self) -> Vec<Expr> {
        let TimeRange { earliest, latest } = self.request.range;
        let time = || Expr::Column(Column::new_unqualified(columns::TIME));
        let at = |time: EventTime| {
            let scalar = ScalarValue::TimestampMicrosecond(Some(time.0), Some("UTC".into()));
            Expr::Literal(scalar, None)
        };
        let mut filters = Vec::new();
        if self.enforces_range && earliest != EventTime::MIN {
            filters.push(time().gt_eq(at(earliest)));
        }
        if self.enforces_range && latest != EventTime::MAX {
            filters.push(time().lt(at(latest)));
        }
        filters
    }

    /// Returns the buckets that may have matching events, newest first.
    async fn units(&self, pruning: &Pruning, reads_summaries: bool) -> Result<Vec<Unit>> {
        if let Some(share) = &self.context.share {
            return self.units_of_share(share, pruning, reads_summaries).await;
        }
        let report = &self.context.report;
        let range = pruning.range.intersect(&self.request.range);
        let indexes = &self.request.indexes;
        let Met { buckets: hot, missing, catalog: stored } =
            self.context.hot.of(indexes, &range).await;
        self.go_on_without(&missing)?;
        let quarantined = quarantined(&stored);
        let mut units = Vec::new();
        let mut left = self.in_range(&stored, pruning, &range);
        if reads_summaries {
            self.read_summaries(&mut left).await?;
        }
        for bucket in left {
            if reads_summaries && self.excluded(pruning, bucket.known()) {
                report.buckets_pruned_by_summary.fetch_add(1, Relaxed);
            } else if let Some(bucket) = quarantined.get(&bucket.header.id) {
                self.leave_out(bucket)?;
            } else {
                units.push(Unit::Stored(bucket));
            }
        }
        for bucket in hot.into_iter().filter(|bucket| !stored.contains(&bucket.index, bucket.id)) {
            report.buckets_considered.fetch_add(1, Relaxed);
            units.push(Unit::of_hot(bucket));
        }
        units.sort_by_key(|unit| std::cmp::Reverse(unit.span().1));
        report.buckets_to_search.fetch_add(units.len() as u64, Relaxed);
        report.events_to_scan.fetch_add(units.iter().map(Unit::rows).sum(), Relaxed);
        Ok(units)
    }

    /// Returns those buckets of a share. The process that made the share has already pruned and counted
    /// buckets.
    async fn units_of_share(
        &self,
        share: &Share,
        pruning: &Pruning,
        reads_summaries: bool,
    ) -> Result<Vec<Unit>> {
        let range = pruning.range.intersect(&self.request.range);
        let is_read = |header: &&Arc<BucketHeader>| {
            self.request.indexes.contains(&header.index) && header.overlaps(&range)
        };
        let mut buckets: Vec<_> = share.stored.iter().filter(is_read).map(Stored::of).collect();
        // Without the summaries, the buckets are still read, perhaps at a higher cost.
        if reads_summaries && let Err(error) = self.read_summaries(&mut buckets).await {
            tracing::debug!(%error, "summaries of a share cannot be read");
        }
        buckets.retain(|bucket| !self.excluded(pruning, bucket.known()));
        let hot = share.hot.iter().filter(|bucket| {
            self.request.indexes.contains(&bucket.index)
                && range.overlaps(bucket.first_time, bucket.last_time)
        });
        let hot = hot.cloned().map(Unit::of_hot);
        let mut units: Vec<_> = buckets.into_iter().map(Unit::Stored).chain(hot).collect();
        units.sort_by_key(|unit| std::cmp::Reverse(unit.span().1));
        Ok(units)
    }

    /// Returns the buckets that a scan with these filters would read, by bucket headers alone. Other
    /// processes are not asked for their hot buckets.
    pub(crate) async fn ahead(&self, filters: &[Expr]) -> Ahead {
        let filters: Vec<Expr> = filters.iter().cloned().chain(self.range_filters()).collect();
        let pruning = Pruning::of(&filters);
        let range = pruning.range.intersect(&self.request.range);
        // A separate report, because explaining a search reads nothing.
        let report = Arc::new(ScanReport::default());
        let own = Self {
            context: ScanContext { report: Arc::clone(&report), ..self.context.clone() },
            request: self.request.clone(),
            schema: Arc::clone(&self.schema),
            enforces_range: self.enforces_range,
        };
        let hot = self.context.hot.local(&self.request.indexes, &range).await;
        let stored = self.context.catalog.snapshot();
        let quarantined = quarantined(&stored);
        let left = own.in_range(&stored, &pruning, &range);
        let headers = left.into_iter().map(|bucket| bucket.header);
        let (damaged, whole): (Vec<_>, Vec<_>) =
            headers.partition(|header| quarantined.contains_key(&header.id));
        let is_new = |bucket: &HotBucket| !stored.contains(&bucket.index, bucket.id);
        let hot = hot.map(|hot| hot.into_iter().filter(is_new).collect());
        let read = |counter: &AtomicU64| counter.load(Relaxed);
        Ahead {
            considered: read(&report.buckets_considered),
            pruned_by_time: read(&report.buckets_pruned_by_time),
            pruned_by_header: read(&report.buckets_pruned_by_summary),
            quarantined: damaged.len() as u64,
            stored: whole,
            hot,
        }
    }

    /// Returns the stored buckets that may have matching events according to their headers.
    fn in_range(&self, stored: &Snapshot, pruning: &Pruning, range: &TimeRange) -> Vec<Stored> {
        let report = &self.context.report;
        let mut left = Vec::new();
        for index in &self.request.indexes {
            let buckets = stored.buckets(index);
            // The state of the rules only matters for summaries, which list fields.
            let wanted =
                |header: &BucketHeader| !pruning.excludes(Known { header, summary: None }, false);
            let Selected { left: found, excluded } = buckets.searchable_in(range, wanted);
            let inside = found.len() as u64 + excluded;
            left.extend(found.into_iter().map(|header| Stored::of(&Arc::new(header))));
            report.buckets_pruned_by_summary.fetch_add(excluded, Relaxed);
            // Most buckets are excluded without being visited.
            let searchable = buckets.searchable() as u64;
            report.buckets_considered.fetch_add(searchable, Relaxed);
            report.buckets_pruned_by_time.fetch_add(searchable - inside, Relaxed);
        }
        left
    }

    /// Reads the summaries of the first buckets, up to the maximum per plan. Those of further buckets are
    /// read with their objects.
    async fn read_summaries(&self, buckets: &mut [Stored]) -> Result<()> {
        let most = buckets.len().min(self.context.plan_summaries);
        let buckets = &mut buckets[..most];
        let ids: Vec<_> = buckets.iter().map(|bucket| bucket.header.id).collect();
        let summaries = self.context.catalog.summaries(&ids).await;
        let summaries = summaries.map_err(|error| DataFusionError::External(Box::new(error)))?;
        for (bucket, summary) in buckets.iter_mut().zip(summaries) {
            bucket.summary = summary;
        }
        Ok(())
    }

    /// Whether summaries improve the plan: they exclude buckets, have counts, or tell the number of distinct
    /// values of the fields read.
    fn gains_by_summaries(&self, pruning: &Pruning, outputs: &[usize]) -> bool {
        let names = || outputs.iter().map(|at| self.schema.field(*at).name().as_str());
        let has_fields = names().any(|name| !FIXED.contains(&name));
        let counts = pruning.counts_buckets()
            && names().any(|name| columns::ORIGIN.contains(&name))
            && names().all(|name| columns::ORIGIN_AND_INDEX.contains(&name));
        pruning.asks_summaries() || has_fields || counts
    }

    /// Returns a filter for the source types for which the plan was made, if events of other source types
    /// have arrived since.
    fn known_sourcetypes(&self, units: &[Unit]) -> Option<Expr> {
        let known = self.request.sourcetypes.as_ref()?;
        // Most buckets have the same source types as the previous one.
        let last = Cell::new(std::ptr::null());
        let is_known = |unit: &Unit| match unit {
            Unit::Stored(bucket) => {
                let shape = bucket.header.shape.as_ref().map_or(std::ptr::null(), Arc::as_ptr);
                let same = !shape.is_null() && last.replace(shape) == shape;
                same || bucket.known().all_sourcetypes(|name| known.contains(name)) == Some(true)
            }
            Unit::Hot(HotBucket { elsewhere: Some(elsewhere), .. }) => {
                elsewhere.sourcetypes.iter().all(|name| known.contains(name))
            }
            Unit::Hot(hot) => hot.batches.iter().all(|batch| {
                let names = sourcetypes_of(batch);
                names.is_some_and(|names| names.iter().flatten().all(|name| known.contains(name)))
            }),
        };
        if units.iter().all(is_known) {
            return None;
        }
        let identity = format!("{:p}", Arc::as_ptr(known));
        let known = Arc::clone(known);
        let function = truth("known_sourcetype", move |row| {
            Some(row.text(0).is_some_and(|name| known.contains(&*name)))
        });
        let sourcetype = Typed::column(columns::SOURCETYPE, ValueType::Text);
        Some(function.with(identity).call(vec![sourcetype]).expr)
    }

    /// Continues without unresponsive indexers, as without a damaged bucket. Their absence has been recorded.
    fn go_on_without(&self, missing: &[MissingIndexer]) -> Result<()> {
        let (Some(MissingIndexer { name, reason }), Some(why)) =
            (missing.first(), self.must_be_whole())
        else {
            return Ok(());
        };
        let message = format!("{name}: {reason}, and {why}");
        Err(DataFusionError::External(Box::new(crate::Error::Unavailable(message))))
    }

    /// Returns why the result must be complete, if it must. SQL has no way to report missing events.
    fn must_be_whole(&self) -> Option<&'static str> {
        match (self.enforces_range, self.context.allow_partial) {
            (false, true) => None,
            (true, _) => Some("SQL does not return incomplete results"),
            (false, false) => Some("allow_partial_results is off"),
        }
    }

    /// Skips a damaged bucket if incomplete results are allowed.
    fn leave_out(&self, bucket: &Quarantined) -> Result<()> {
        let Quarantined { id, index, reason, .. } = bucket;
        let Some(why) = self.must_be_whole() else {
            self.context.report.leave_out(bucket);
            return Ok(());
        };
        let why = if self.enforces_range {
            format!("{why}; choose a time range without it")
        } else {
            why.to_owned()
        };
        let message = format!("bucket {id} of index {index} is quarantined ({reason}), and {why}");
        let (bucket, damaged) = (bucket.path.clone(), false);
        let error = crate::Error::Bucket { bucket, message, damaged };
        Err(DataFusionError::External(Box::new(error)))
    }

    fn excluded(&self, pruning: &Pruning, bucket: Known<'_>) -> bool {
        let rules = bucket.rules();
        let rules_hold = rules.is_some_and(|rules| rules_hold(&self.context.knowledge, rules));
        pruning.excludes(bucket, rules_hold)
    }
}

fn schema_fields(request: &EventsRequest) -> Vec<Field> {
    let time = || DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()));
    let text = |name: &str| Field::new(name, DataType::Utf8View, true);
    let mut fields = vec![
        Field::new(columns::TIME, time(), false),
        Field::new(columns::INDEX_TIME, time(), false),
    ];
    let fixed = [columns::RAW, columns::HOST, columns::SOURCE, columns::SOURCETYPE, columns::INDEX];
    fields.extend(fixed.map(text));
    fields.extend(request.fields.iter().map(|field| {
        if field.multivalue {
            let item = Arc::new(Field::new_list_field(DataType::Utf8View, true));
            Field::new(&field.name, DataType::List(item), true)
        } else {
            text(&field.name)
        }
    }));
    fields
}

/// Written as the attribute `async_trait` writes it: see docs/decisions/0042-boxed-futures.md.
impl TableProvider for EventsTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    fn supports_filters_pushdown(
        &self,
        filters: &[&Expr],
    ) -> Result<Vec<TableProviderFilterPushDown>> {
        // The scan evaluates all filters itself, so that it can count the matching events.
        Ok(vec![TableProviderFilterPushDown::Exact; filters.len()])
    }

    fn scan<'s, 'c, 'p, 'f, 'a>(
        &'s self,
        _session: &'c dyn Session,
        projection: Option<&'p Vec<usize>>,
        filters: &'f [Expr],
        limit: Option<usize>,
    ) -> BoxFuture<'a, Result<Arc<dyn ExecutionPlan>>>
    where
        's: 'a,
        'c: 'a,
        'p: 'a,
        'f: 'a,
        Self: 'a,
    {
        self.plan(projection, filters, limit)
    }
}

impl EventsTable {
    fn plan<'a>(
        &'a self,
        projection: Option<&'a Vec<usize>>,
        filters: &'a [Expr],
        limit: Option<usize>,
    ) -> BoxFuture<'a, Result<Arc<dyn ExecutionPlan>>> {
        Box::pin(async move {
            let context = &self.context;
            let mut filters: Vec<Expr> =
                filters.iter().cloned().chain(self.range_filters()).collect();
            let mut pruning = Pruning::of(&filters);
            context.report.pruned_by(pruning.to_string());
            let timer = context.report.times.during(Phase::Prune);
            let all = || (0..self.schema.fields().len()).collect();
            let outputs = projection.cloned().unwrap_or_else(all);
            let reads_summaries = self.gains_by_summaries(&pruning, &outputs);
            let units = self.units(&pruning, reads_summaries).await?;
            if let Some(filter) = self.known_sourcetypes(&units) {
                filters.push(filter);
                pruning = Pruning::of(&filters);
            }
            drop(timer);
            let rows = units.iter().map(Unit::rows).sum::<u64>();
            let partitions = match &context.share {
                // Two steps, as for the search head that gathers the parts: keys of groups are only valid in
                // this process.
                Some(_) => context.pipelines.max(2),
                None if rows > SMALL_SCAN => context.pipelines,
                None => 1,
            };
            let range = pruning.range.intersect(&self.request.range);
            let spans = units.iter().map(Unit::span);
            let span = spans.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)));
            if let Some((first, last)) = span {
                context.report.widen_timeline(first.max(range.earliest), last.min(range.latest));
            }
            let batch_rows = rows_of(outputs.len(), context.batch_rows);
            let output = |column| Output { column, view: View::Itself };
            let work = Work::compile(
                &self.schema,
                outputs.into_iter().map(output).collect(),
                &filters,
                Arc::clone(&context.knowledge),
                Arc::clone(&context.report),
            )?;
            let words = Arc::clone(&context.hot_words);
            let has_hot = units.iter().any(|unit| matches!(unit, Unit::Hot(_)));
            let word_bytes = if has_hot { context.hot_word_bytes } else { 0 };
            if has_hot {
                words.shrink(word_bytes);
            }
            let hot = HotFilters::of(&pruning, words, word_bytes);
            let scan = Scan {
                queue: Arc::new(Queue::new(units, partitions)),
                work: Arc::new(work),
                wanted: Wanted::default(),
                range,
                pruning,
                hot: Arc::new(hot),
                limit,
                oldest_first: false,
                batch_rows,
                readers: Arc::clone(&context.readers),
                passed: Arc::clone(&context.passed),
                values: Arc::clone(&context.values),
                store: Arc::clone(&context.store),
                control: Arc::clone(&context.control),
                report: Arc::clone(&context.report),
                quarantine: Arc::clone(&context.quarantine),
                allow_partial: context.allow_partial && !self.enforces_range,
                is_share: context.share.is_some(),
            };
            Ok(Arc::new(BucketScanExec::new(scan, partitions)) as Arc<dyn ExecutionPlan>)
        })
    }
}

/// Returns the number of rows per batch: fewer for many columns, so that a batch of texts takes a few
/// megabytes.
fn rows_of(columns: usize, most: usize) -> usize {
    const CELLS: usize = 1 << 20;
    const FEWEST: usize = 64;
    most.min((CELLS / columns.max(1)).max(FEWEST))
}
