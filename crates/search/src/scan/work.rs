//! From stored rows to rows of the plan: filters first, extraction only for the rows that pass.
//!
//! Order within a batch: filters that stored columns decide as they are, filters over small columns, filters
//! over `_raw`, extraction, filters over extracted fields, output. Each step sees only the rows that passed
//! the steps before it. Which buckets and granules are read is decided before, in `prune` and `exec`.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, RecordBatch, RecordBatchOptions, StringViewArray,
    new_null_array,
};
use arrow::compute::kernels::zip::zip;
use arrow::compute::{filter, filter_record_batch};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef, TimestampMicrosecondType};
use bucket::{BucketReader, GranuleSet};
use datafusion::common::DFSchema;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::context::ExecutionProps;
use datafusion::logical_expr::Expr;
use datafusion::logical_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion::physical_expr::{PhysicalExpr, create_physical_expr};
use exprs::FieldPart;
use exprs::compact::{Slack, compact_column};
use exprs::identity::Identity;
use knowledge::Knowledge;
use model::{ColumnKind, IndexName, columns};

use super::FIXED;
use super::computed::{ComputedColumn, ComputedFilter, Stages, passing};
use super::conversion::{convert, field_column, prefer};
use super::fields::{WantedField, extract};
use super::keys::Keys;
use super::prune::{NameTest, is_bound};
use super::selectivity::Selectivity;
use super::shortcut::Shortcut;
use super::stale::Stale;
use super::unit::{FieldPlace, Known};
use super::wanted::Window;
use crate::readers::rules_hold;
use crate::report::ScanReport;
use crate::times::Phase;

pub(super) use early::Early;
pub(super) use kept::KeptPart;

mod early;
mod kept;

/// Maximum slack of a column of a batch in bytes, below which its texts are not compacted. A sparse filter
/// yields many batches of a few rows each.
const SLACK: Slack = Slack::Passing(1 << 12);

/// Whether every bucket stores the column. `index` is not stored: it is a property of the whole bucket.
fn is_stored(name: &str) -> bool {
    name != columns::INDEX && FIXED.contains(&name)
}

/// The form of an output column.
#[derive(Debug, Clone)]
pub(super) enum View {
    /// The column as the table has it.
    Itself,
    /// A derived part of its values.
    Part(FieldPart),
    /// Integer keys in place of its values (docs/decisions/0008).
    Key(Arc<Keys>),
    /// A value that the scan computes, of any columns.
    Computed(Arc<ComputedColumn>),
}

/// An output column: the index of a table column, and its form.
#[derive(Debug, Clone)]
pub(super) struct Output {
    pub(super) column: usize,
    pub(super) view: View,
}

impl Output {
    fn field(&self, table: &SchemaRef) -> Field {
        let field = table.field(self.column).clone();
        match &self.view {
            View::Itself => field,
            View::Part(part) => field.with_data_type(part.data_type()).with_nullable(true),
            View::Key(_) => field.with_data_type(DataType::Int64).with_nullable(true),
            View::Computed(column) => column.field.clone(),
        }
    }
}

/// A filter.
#[derive(Debug, Clone)]
struct Conjunct {
    expr: Arc<dyn PhysicalExpr>,
    /// The columns of the table it reads, and nothing else.
    schema: SchemaRef,
    reads: Vec<usize>,
    /// The shortcut on stored columns, if there is one.
    shortcut: Option<Shortcut>,
    /// Whether it is only a bound of `_time`. Then all rows of a piece within the search's range pass.
    is_bound: bool,
    /// Set if it tests index, host, source or sourcetype: the index name or the bucket's summary may then
    /// decide it for all rows.
    names: Option<NameTest>,
    /// What it computes, if later searches can recognize it.
    identity: Option<Arc<Identity>>,
    /// How long it takes, in tests. Later searches gain if they know the rows that pass costly filters.
    cost: usize,
}

/// The processing of each batch of rows in a scan, compiled once per plan.
#[derive(Debug, Clone)]
pub(super) struct Work {
    table: SchemaRef,
    conjuncts: Vec<Conjunct>,
    outputs: Vec<Output>,
    pub(super) output_schema: SchemaRef,
    knowledge: Arc<Knowledge>,
    report: Arc<ScanReport>,
    selectivity: Arc<Selectivity>,
    /// The filter over computed values, which comes after the others.
    computed: Option<Arc<ComputedFilter>>,
}

/// Filters that must be evaluated row by row in a part of a bucket.
#[derive(Debug, Clone)]
pub(super) struct ResidualFilters {
    filters: Vec<usize>,
    /// Whether all rows are counted in `events_scanned` for a row test, which has dropped some of them.
    counted: bool,
    /// Number of filters, from the first, whose passing rows are counted ([`Selectivity`]): those over small
    /// columns.
    observed: usize,
    /// Whether the filter over computed values has to be evaluated, if there is one.
    computed: bool,
    /// Whether stored rows come with the values of computed columns.
    has_values: bool,
}

/// The origin of rows: the index, the place of each field, and the remaining filters.
pub(super) struct Origin<'a> {
    pub(super) index: &'a IndexName,
    pub(super) place: &'a dyn Fn(&str) -> FieldPlace,
    /// The source types with outdated columns of fields.
    pub(super) stale: &'a Stale,
    /// Whether the text of some event of a source type (the second argument) may have a field.
    pub(super) may_be_in_texts: &'a dyn Fn(&str, &str) -> bool,
    /// The columns of a stored bucket that hold indexed fields.
    pub(super) sent: &'a [String],
    pub(super) residual: &'a ResidualFilters,
}

/// Rows that have passed the filters so far.
struct Rows {
    stored: RecordBatch,
    /// Derived table columns, by their index in the table. They are filtered together with `stored`, so that
    /// all have the same length.
    made: Vec<Option<ArrayRef>>,
    /// The columns of the last computation, which several values share.
    last: Option<(Arc<Stages>, RecordBatch)>,
}

impl Rows {
    /// Creates rows of a table of this number of columns.
    fn of(stored: RecordBatch, columns: usize) -> Self {
        Self { stored, made: vec![None; columns], last: None }
    }

    fn keep(&mut self, mask: &BooleanArray) -> Result<()> {
        // If all rows pass, nothing is copied.
        if mask.true_count() < mask.len() {
            self.last = None;
            self.stored = filter_record_batch(&self.stored, mask)?;
            for column in self.made.iter_mut().flatten() {
                *column = filter(column, mask)?;
            }
        }
        Ok(())
    }

    fn keep_within(&mut self, window: Window) -> Result<&Self> {
        if let Some(mask) = window.mask(&self.stored) {
            self.keep(&mask)?;
        }
        Ok(self)
    }

    fn are_none(&self) -> bool {
        self.stored.num_rows() == 0
    }
}

impl Work {
    pub(super) fn compile(
        table: &SchemaRef,
        outputs: Vec<Output>,
        filters: &[Expr],
        knowledge: Arc<Knowledge>,
        report: Arc<ScanReport>,
    ) -> Result<Self> {
        let mut conjuncts =
            filters.iter().map(|filter| compile(table, filter)).collect::<Result<Vec<_>>>()?;
        let raw = table.index_of(columns::RAW)?;
        // Filters over `_raw` last (the sort is stable): the others leave fewer texts to search.
        conjuncts.sort_by_key(|conjunct| conjunct.reads.contains(&raw));
        let work = Self {
            table: Arc::clone(table),
            conjuncts,
            outputs: Vec::new(),
            output_schema: Arc::clone(table),
            knowledge,
            report,
            selectivity: Arc::default(),
            computed: None,
        };
        Ok(work.with_outputs(outputs))
    }

    /// Whether the field columns of a bucket were made with the current extraction rules.
    pub(super) fn rules_hold(&self, made_by: &[(String, u64)]) -> bool {
        rules_hold(&self.knowledge, made_by)
    }

    /// Returns the current rules.
    pub(super) fn knowledge(&self) -> &Knowledge {
        &self.knowledge
    }

    /// The same rows with other columns.
    pub(super) fn with_outputs(&self, outputs: Vec<Output>) -> Self {
        let fields: Vec<Field> = outputs.iter().map(|output| output.field(&self.table)).collect();
        Self { outputs, output_schema: Arc::new(Schema::new(fields)), ..self.clone() }
    }

    pub(super) fn table(&self) -> &SchemaRef {
        &self.table
    }

    pub(super) fn outputs(&self) -> &[Output] {
        &self.outputs
    }

    /// Returns the filters that the index, the bucket and the range do not decide; `None` if no row passes.
    pub(super) fn residual(
        &self,
        index: &IndexName,
        bucket: Option<Known<'_>>,
        inside: bool,
    ) -> Option<ResidualFilters> {
        let mut residual = Vec::new();
        for (at, conjunct) in self.conjuncts.iter().enumerate() {
            let names = conjunct.names.as_ref();
            match names.and_then(|names| names.admits_index(index)) {
                Some(false) => return None,
                Some(true) => continue,
                None => {}
            }
            // The opposite is not checked: `Pruning::excludes` has excluded stored buckets in which no row
            // passes.
            let is_sure = names.zip(bucket).is_some_and(|(names, bucket)| names.admits_all(bucket));
            let is_sure = is_sure || (inside && conjunct.is_bound);
            if !is_sure {
                residual.push(at);
            }
        }
        let computed = self.computed.is_some();
        let (counted, observed, has_values) = (false, 0, false);
        Some(ResidualFilters { filters: residual, counted, observed, computed, has_values })
    }

    fn conjuncts(&self, residual: &ResidualFilters) -> impl Iterator<Item = &Conjunct> {
        residual.filters.iter().map(|at| &self.conjuncts[*at])
    }

    /// Removes the granules of row groups whose integers cannot pass a filter, according to the statistics in
    /// the footer.
    pub(super) fn prune_by_bounds(
        &self,
        reader: &BucketReader,
        place: &dyn Fn(&str) -> FieldPlace,
        granules: &mut GranuleSet,
    ) {
        for conjunct in &self.conjuncts {
            if let Some(Shortcut::Integer(test)) = &conjunct.shortcut
                && let Some((field, may_pass)) = test.bounds(place)
            {
                granules.intersect(&reader.granules_where(field, may_pass));
            }
        }
    }

    /// Whether the plan needs no columns, only the number of rows that the index may know.
    pub(super) fn only_counts(&self) -> bool {
        self.outputs.is_empty() && self.computed.is_none()
    }

    /// A batch of `rows` rows without columns.
    pub(super) fn counted(&self, rows: usize) -> Result<RecordBatch> {
        // A batch without columns has no length of its own.
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let schema = Arc::clone(&self.output_schema);
        Ok(RecordBatch::try_new_with_options(schema, Vec::new(), &options)?)
    }

    /// Returns the columns to read from an object, given the places of its fields.
    pub(super) fn stored_columns<'a>(
        &'a self,
        place: &dyn Fn(&str) -> FieldPlace,
        sent: &'a [String],
        residual: &ResidualFilters,
    ) -> Vec<&'a str> {
        self.stored_names(self.needed(residual), place, sent)
    }

    /// Returns the columns to read from an object for some columns of the table.
    fn stored_names<'a>(
        &'a self,
        needed: Vec<usize>,
        place: &dyn Fn(&str) -> FieldPlace,
        sent: &'a [String],
    ) -> Vec<&'a str> {
        let mut names: Vec<&str> = Vec::new();
        let mut extracts = false;
        for column in needed {
            let name = self.table.field(column).name().as_str();
            if is_stored(name) {
                names.push(name);
            } else if name == bucket::FIELDS {
                names.extend(sent.iter().map(String::as_str));
            } else if name != columns::INDEX {
                match place(name) {
                    FieldPlace::Column(_) => names.push(name),
                    FieldPlace::Absent => {}
                    FieldPlace::Partly(_) => {
                        extracts = true;
                        names.push(name);
                    }
                    FieldPlace::Raw { indexed } => {
                        extracts = true;
                        // Indexed values have a column of their own and take precedence over extracted ones.
                        names.extend(indexed.map(|_| name));
                    }
                }
            }
        }
        names.sort_unstable();
        names.dedup();
        if extracts {
            // The text, and the columns that select the extraction rules (`Knowledge::field_rules`).
            let origin = [columns::RAW, columns::HOST, columns::SOURCE, columns::SOURCETYPE];
            let missing: Vec<&str> = origin.into_iter().filter(|n| !names.contains(n)).collect();
            names.extend(missing);
        }
        names
    }

    /// The columns of the table that filters and output need.
    fn needed(&self, residual: &ResidualFilters) -> Vec<usize> {
        let mut needed: Vec<usize> = Vec::new();
        for output in &self.outputs {
            match &output.view {
                View::Computed(_) if residual.has_values => {}
                View::Computed(column) => needed.extend(&column.stages.reads),
                _ => needed.push(output.column),
            }
        }
        needed.extend(self.conjuncts(residual).flat_map(|conjunct| &conjunct.reads));
        let computed = self.computed(residual).into_iter();
        needed.extend(computed.flat_map(|filter| &filter.stages.reads));
        if self.report.timeline().is_some() {
            needed.extend(self.table.index_of(columns::TIME));
        }
        needed.sort_unstable();
        needed.dedup();
        needed
    }

    /// Filters stored rows and converts them to rows of the plan; `None` if no row passes. Rows outside the
    /// window are dropped as early as possible, before extraction. They are counted if `counts_all` is set.
    pub(super) fn process(
        &self,
        stored: RecordBatch,
        origin: &Origin<'_>,
        window: Window,
        counts_all: bool,
    ) -> Result<Option<RecordBatch>> {
        let _timer = self.report.times.during(Phase::Filter);
        if !origin.residual.counted {
            self.report.events_scanned.fetch_add(stored.num_rows() as u64, Relaxed);
        }
        if stored.num_rows() == 0 {
            return Ok(None);
        }
        let read = stored.num_rows();
        let mut rows = Rows::of(stored, self.table.fields().len());
        if !counts_all && rows.keep_within(window)?.are_none() {
            return Ok(None);
        }
        let (observed, others) = origin.residual.filters.split_at(origin.residual.observed);
        if !observed.is_empty() {
            let before = rows.stored.num_rows();
            let (texts, later) = self.apply_small(observed, &mut rows, origin)?;
            debug_assert!(texts.is_empty() && later.is_empty(), "observed filters are all small");
            self.selectivity.add(observed, before, rows.stored.num_rows());
            if rows.are_none() {
                return Ok(None);
            }
        }
        let (texts, later) = self.apply_small(others, &mut rows, origin)?;
        if !rows.are_none() {
            self.apply(texts, &mut rows, origin)?;
        }
        if rows.are_none() {
            return Ok(None);
        }
        if !later.is_empty() {
            self.extract(&mut rows, origin)?;
            self.apply(later, &mut rows, origin)?;
            if rows.are_none() {
                return Ok(None);
            }
        }
        if self.computed(origin.residual).is_some() {
            self.extract(&mut rows, origin)?;
            self.apply_computed(&mut rows, origin)?;
            if rows.are_none() {
                return Ok(None);
            }
        }
        // All filters are evaluated here, so these are the job's event count and timeline
        // (docs/decisions/0003).
        self.count(&rows.stored);
        if counts_all && rows.keep_within(window)?.are_none() {
            return Ok(None);
        }
        self.extract(&mut rows, origin)?;
        let output = self.outputs.iter().map(|output| self.output(output, &mut rows, origin));
        let mut output = output.collect::<Result<Vec<_>>>()?;
        // A text of the result would otherwise keep all pages alive from which its batch was decoded: a
        // thousand events out of a million held gigabytes, according to the accounting of operators.
        if origin.residual.counted || rows.stored.num_rows() < read {
            output.iter_mut().for_each(|column| *column = compact_column(column, SLACK));
        }
        let options = RecordBatchOptions::new().with_row_count(Some(rows.stored.num_rows()));
        let schema = Arc::clone(&self.output_schema);
        Ok(Some(RecordBatch::try_new_with_options(schema, output, &options)?))
    }

    /// Applies those of the filters that stored columns other than `_raw` decide. Returns those over `_raw`,
    /// and those over extracted fields.
    fn apply_small<'a>(
        &'a self,
        filters: &[usize],
        rows: &mut Rows,
        origin: &Origin<'_>,
    ) -> Result<(Vec<&'a Conjunct>, Vec<&'a Conjunct>)> {
        let raw = self.table.index_of(columns::RAW)?;
        let (mut small, mut texts, mut later) = (Vec::new(), Vec::new(), Vec::new());
        for conjunct in filters.iter().map(|at| &self.conjuncts[*at]) {
            // Quick filters are applied at once: rows that they drop are never converted to the plan's types.
            match conjunct.quick(&rows.stored, origin.place) {
                Some(mask) => rows.keep(&mask)?,
                None if conjunct.reads.iter().any(|at| self.is_extracted(*at, origin)) => {
                    later.push(conjunct);
                }
                None if conjunct.reads.contains(&raw) => texts.push(conjunct),
                None => small.push(conjunct),
            }
            if rows.are_none() {
                return Ok((texts, later));
            }
        }
        self.apply(small, rows, origin)?;
        Ok((texts, later))
    }

    fn apply(&self, conjuncts: Vec<&Conjunct>, rows: &mut Rows, origin: &Origin<'_>) -> Result<()> {
        for conjunct in conjuncts {
            let batch = self.read_by(conjunct, rows, origin)?;
            if let Some(mask) = conjunct.mask(&batch)? {
                rows.keep(&mask)?;
            }
            // The remaining filters would only convert columns of no rows.
            if rows.are_none() {
                break;
            }
        }
        Ok(())
    }

    /// Returns the columns that a filter reads.
    fn read_by(
        &self,
        conjunct: &Conjunct,
        rows: &mut Rows,
        origin: &Origin<'_>,
    ) -> Result<RecordBatch> {
        let read = conjunct.reads.iter().map(|at| self.column(*at, rows, origin));
        let read = read.collect::<Result<Vec<_>>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(rows.stored.num_rows()));
        let schema = Arc::clone(&conjunct.schema);
        Ok(RecordBatch::try_new_with_options(schema, read, &options)?)
    }

    /// Whether a column has to be extracted from the text.
    fn is_extracted(&self, column: usize, origin: &Origin<'_>) -> bool {
        let name = self.table.field(column).name().as_str();
        !FIXED.contains(&name)
            && name != bucket::FIELDS
            && matches!((origin.place)(name), FieldPlace::Raw { .. } | FieldPlace::Partly(_))
    }

    /// Returns a column of the table. Extracted columns must have been made before.
    fn column(&self, at: usize, rows: &mut Rows, origin: &Origin<'_>) -> Result<ArrayRef> {
        if let Some(made) = &rows.made[at] {
            return Ok(Arc::clone(made));
        }
        let field = self.table.field(at);
        let made = self.ready(field, &rows.stored, origin).ok_or_else(|| {
            DataFusionError::Internal(format!("a bucket lacks the column {}", field.name()))
        })?;
        // Kept, because other filters and the output may need the same column.
        rows.made[at] = Some(Arc::clone(&made));
        Ok(made)
    }

    /// Returns a column of the output. Parts and keys are made from the stored form if there is one, so that
    /// integers are not converted to texts (docs/decisions/0008).
    fn output(&self, output: &Output, rows: &mut Rows, origin: &Origin<'_>) -> Result<ArrayRef> {
        if let View::Computed(column) = &output.view {
            return self.computed_values(column, rows, origin);
        }
        let field = self.table.field(output.column);
        let name = field.name().as_str();
        let stored = match (origin.place)(name) {
            _ if rows.made[output.column].is_some() => None,
            // Names are stored as dictionaries: keys are looked up once per distinct text, not per row.
            _ if matches!(output.view, View::Key(_)) && is_stored(name) => {
                rows.stored.column_by_name(name).cloned()
            }
            _ if FIXED.contains(&name) => None,
            // Multivalue columns are lists: `field_column` takes their first values.
            FieldPlace::Column(ColumnKind::Integer | ColumnKind::Text) => {
                rows.stored.column_by_name(name).cloned()
            }
            _ => None,
        };
        let column = match (stored, &output.view) {
            (Some(stored), View::Part(_) | View::Key(_)) => stored,
            _ => self.column(output.column, rows, origin)?,
        };
        match &output.view {
            View::Itself => Ok(column),
            View::Part(part) => part.of_column(&column),
            View::Key(keys) => keys.of_column(&column),
            View::Computed(_) => Ok(column),
        }
    }

    /// Returns a column of the table if it needs no extraction.
    fn ready(&self, field: &Field, stored: &RecordBatch, origin: &Origin<'_>) -> Option<ArrayRef> {
        let name = field.name().as_str();
        let rows = stored.num_rows();
        if name == columns::INDEX {
            let values = std::iter::repeat_n(origin.index.as_str(), rows);
            return Some(Arc::new(StringViewArray::from_iter_values(values)));
        }
        if is_stored(name) {
            return convert(stored.column_by_name(name)?, field.data_type());
        }
        if name == bucket::FIELDS {
            let sent = match stored.column_by_name(name) {
                Some(hot) => Arc::clone(hot),
                None => bucket::sent_fields(stored, origin.sent).ok()?,
            };
            return field_column(&sent, ColumnKind::Text, field.data_type());
        }
        match (origin.place)(name) {
            FieldPlace::Column(kind) => {
                field_column(stored.column_by_name(name)?, kind, field.data_type())
            }
            FieldPlace::Absent => Some(new_null_array(field.data_type(), rows)),
            FieldPlace::Raw { .. } | FieldPlace::Partly(_) => None,
        }
    }

    /// Extracts the remaining columns from `_raw`, in one pass over the texts.
    fn extract(&self, rows: &mut Rows, origin: &Origin<'_>) -> Result<()> {
        let mut gaps: Vec<usize> = self
            .needed(origin.residual)
            .into_iter()
            .filter(|at| rows.made[*at].is_none() && self.is_extracted(*at, origin))
            .collect();
        let stale = rows.stored.column_by_name(columns::SOURCETYPE);
        let stale = stale.and_then(|sourcetypes| origin.stale.rows(sourcetypes));
        if stale.as_ref().is_some_and(|stale| stale.true_count() == 0) {
            gaps.retain(|at| !self.take_whole(*at, rows, origin));
        }
        if gaps.is_empty() {
            return Ok(());
        }
        let wanted: Vec<WantedField> = gaps
            .iter()
            .map(|at| {
                let field = self.table.field(*at);
                let multivalue = matches!(field.data_type(), DataType::List(_));
                WantedField { name: field.name().clone(), multivalue }
            })
            .collect();
        let timer = self.report.times.during(Phase::Extract);
        let extracted = extract(&rows.stored, &wanted, &self.knowledge, origin.may_be_in_texts);
        drop(timer);
        let (extracted, cut) = extracted.ok_or_else(|| {
            DataFusionError::Internal("a bucket lacks the columns to extract from".to_owned())
        })?;
        if let Some(limit) = cut {
            self.report.warn(limit.message());
        }
        for ((at, field), column) in gaps.into_iter().zip(&wanted).zip(extracted) {
            rows.made[at] = Some(match (origin.place)(&field.name) {
                // In hot rows, `extract` reads indexed values from `_fields`; a stored bucket has them in the
                // column of the field.
                FieldPlace::Raw { indexed: Some(kind) } => {
                    let data_type = self.table.field(at).data_type();
                    let sent = rows
                        .stored
                        .column_by_name(&field.name)
                        .and_then(|sent| field_column(sent, kind, data_type));
                    match sent {
                        Some(sent) => prefer(&sent, &column)?,
                        None => column,
                    }
                }
                FieldPlace::Partly(kind) => {
                    let held = self.held(at, kind, rows);
                    let (stale, held) = stale.as_ref().zip(held).ok_or_else(|| {
                        DataFusionError::Internal(format!("a bucket lacks {}", field.name))
                    })?;
                    // Rows of changed source types get the extracted values, all others the stored ones.
                    zip(stale, &column, &held)?
                }
                _ => column,
            });
        }
        Ok(())
    }

    /// Uses the stored column of a field, if it is valid for all rows of a batch because the batch has no
    /// events of source types with changed rules.
    fn take_whole(&self, at: usize, rows: &mut Rows, origin: &Origin<'_>) -> bool {
        let FieldPlace::Partly(kind) = (origin.place)(self.table.field(at).name()) else {
            return false;
        };
        rows.made[at] = self.held(at, kind, rows);
        rows.made[at].is_some()
    }

    /// Returns the stored column of a field, converted to the type of the table.
    fn held(&self, at: usize, kind: ColumnKind, rows: &Rows) -> Option<ArrayRef> {
        let field = self.table.field(at);
        field_column(rows.stored.column_by_name(field.name())?, kind, field.data_type())
    }

    fn count(&self, rows: &RecordBatch) {
        self.report.events_matched.fetch_add(rows.num_rows() as u64, Relaxed);
        let times = rows
            .column_by_name(columns::TIME)
            .and_then(|column| column.as_primitive_opt::<TimestampMicrosecondType>());
        if let Some(times) = times {
            self.report.count_times(times.values().iter().copied());
        }
    }
}

fn compile(table: &SchemaRef, filter: &Expr) -> Result<Conjunct> {
    let mut reads = Vec::new();
    for column in filter.column_refs() {
        reads.push(table.index_of(&column.name)?);
    }
    reads.sort_unstable();
    reads.dedup();
    let schema = Arc::new(table.project(&reads)?);
    let names = DFSchema::try_from(schema.as_ref().clone())?;
    let (props, context) = (ExecutionProps::new(), PhysicalPlanningContext::default());
    let bare = unqualified(filter.clone())?;
    let expr = create_physical_expr(&bare, &names, &props, &context)?;
    let (shortcut, is_bound) = (Shortcut::of(filter), is_bound(filter));
    let names = NameTest::of(filter);
    let identity = kept::identity_of(&expr, &schema, is_bound).map(Arc::new);
    // Names are tested once for each distinct one.
    let cost = match names {
        None => identity.as_deref().map_or(0, Identity::cost),
        Some(_) => 0,
    };
    Ok(Conjunct { expr, schema, reads, shortcut, is_bound, names, identity, cost })
}

impl Conjunct {
    /// Returns which rows pass, if the stored columns can decide it.
    fn quick(
        &self,
        stored: &RecordBatch,
        place: &dyn Fn(&str) -> FieldPlace,
    ) -> Option<BooleanArray> {
        let cut = self.shortcut.as_ref().and_then(|cut| cut.mask(stored, place));
        cut.or_else(|| self.names.as_ref().and_then(|_| self.of_names(stored)))
    }

    /// Returns which rows pass, evaluated on a dictionary column of names, so that each distinct name is
    /// tested once (comparisons of `where` cast the names to texts, and compare every row). An expression
    /// that does not support dictionaries fails here, and [`Self::mask`] decides instead.
    fn of_names(&self, stored: &RecordBatch) -> Option<BooleanArray> {
        let [field] = self.schema.fields().as_ref() else { return None };
        let names = stored.column_by_name(field.name())?;
        let schema = Schema::new(vec![Field::new(field.name(), names.data_type().clone(), true)]);
        let batch = RecordBatch::try_new(Arc::new(schema), vec![Arc::clone(names)]).ok()?;
        let passes = self.expr.evaluate(&batch).ok()?.into_array(stored.num_rows()).ok()?;
        // Nulls are left to [`Self::mask`], which treats them as false.
        passes.as_boolean_opt().filter(|passes| passes.null_count() == 0).cloned()
    }

    /// Returns which rows pass; `None` if all do.
    fn mask(&self, batch: &RecordBatch) -> Result<Option<BooleanArray>> {
        passing(&self.expr, batch)
    }
}

/// Removes the table name from the columns of a filter; a scan has only one table.
fn unqualified(expr: Expr) -> Result<Expr> {
    use datafusion::common::tree_node::{Transformed, TreeNode};
    let bare = |node: Expr| {
        Ok(match node {
            Expr::Column(column) => Transformed::yes(Expr::Column(
                datafusion::common::Column::new_unqualified(column.name),
            )),
            other => Transformed::no(other),
        })
    };
    Ok(expr.transform(bare)?.data)
}
