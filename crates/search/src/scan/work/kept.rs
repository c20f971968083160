//! Costly filters over stored columns, evaluated for all rows of a part of a bucket, so that later searches
//! know the rows that pass.

use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, RecordBatch, RecordBatchOptions};
use arrow::compute::filter_record_batch;
use arrow::datatypes::SchemaRef;
use datafusion::error::Result;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::Column;
use exprs::identity::{COSTLY, Identity};
use model::columns;

use super::early::narrowed;
use super::{
    ComputedColumn, ComputedFilter, Conjunct, FieldPlace, Origin, ResidualFilters, Rows, View,
    Work, is_stored,
};
use crate::scan::computed::{Stages, passing};

/// The filters of a part of a bucket, if the rows that pass some of them are remembered.
#[derive(Debug, Clone)]
pub(in crate::scan) struct KeptPart {
    /// What those compute.
    pub(in crate::scan) identity: Arc<[Arc<Identity>]>,
    /// Those, for rows about which nothing is known.
    pub(in crate::scan) own: ResidualFilters,
    /// The others.
    pub(in crate::scan) rest: ResidualFilters,
    /// Whether they are costly. Others are remembered only where they give values.
    pub(in crate::scan) is_costly: bool,
}

impl ResidualFilters {
    /// Returns no filters.
    pub(in crate::scan) fn none() -> Self {
        let (filters, counted, observed) = (Vec::new(), true, 0);
        Self { filters, counted, observed, computed: false, has_values: false }
    }

    /// Returns the same filters for rows that are counted already, and come with the values of computed
    /// columns if `has_values`.
    pub(in crate::scan) fn after_test(&self, has_values: bool) -> Self {
        Self { counted: true, observed: 0, has_values, ..self.clone() }
    }
}

impl Work {
    /// Returns the same processing with a filter over computed values.
    pub(in crate::scan) fn with_filter(&self, filter: Arc<ComputedFilter>) -> Self {
        Self { computed: Some(filter), ..self.clone() }
    }

    /// Returns the filter over computed values, if there is one.
    pub(in crate::scan) fn computed_filter(&self) -> Option<&ComputedFilter> {
        self.computed.as_deref()
    }

    /// Returns the conditions on computed fields that are short enough to be among the other filters.
    pub(in crate::scan) fn conditions_on_computed(
        &self,
    ) -> impl Iterator<Item = &Arc<dyn PhysicalExpr>> {
        let is_computed =
            |conjunct: &&Conjunct| conjunct.identity.as_deref().is_some_and(Identity::has_marked);
        self.conjuncts.iter().filter(is_computed).map(|conjunct| &conjunct.expr)
    }

    /// Returns the filter over computed values if it has to be evaluated.
    pub(super) fn computed(&self, residual: &ResidualFilters) -> Option<&ComputedFilter> {
        self.computed_filter().filter(|_| residual.computed)
    }

    /// Whether anything may be remembered of the rows: there are costly filters or computed columns.
    pub(in crate::scan) fn may_be_kept(&self) -> bool {
        let cost: usize = self.conjuncts.iter().map(|conjunct| conjunct.cost).sum();
        let is_computed = |view: &View| matches!(view, View::Computed(_));
        let has_columns = self.outputs.iter().any(|output| is_computed(&output.view));
        self.computed.is_some() || has_columns || cost >= COSTLY
    }

    /// Splits the filters of a part of a bucket into those whose passing rows are remembered and the others;
    /// `None` if they are not costly, and are not before remembered values (`for_values`), or more than the
    /// bounds of the time is left before these. Those that are remembered can be recognized in later
    /// searches, and read stored columns only. The bounds of the time are not among them: most searches of
    /// the last hours have other bounds than the search before.
    ///
    /// Also `None` if the others may leave few rows: those over small columns, which are tested before other
    /// columns are decoded (docs/decisions/0009), and those over texts if few rows have their words
    /// (`sparse`). Then costly filters are applied to these few.
    pub(in crate::scan) fn kept(
        &self,
        place: &dyn Fn(&str) -> FieldPlace,
        residual: &ResidualFilters,
        sparse: bool,
        for_values: bool,
    ) -> Option<KeptPart> {
        let computed = self.computed(residual);
        let cost: usize = self.conjuncts(residual).map(|conjunct| conjunct.cost).sum();
        // Most searches end here.
        if computed.is_none() && cost < COSTLY && !for_values {
            return None;
        }
        let is_small = |at: &usize| self.is_small(*at, place);
        if !computed.is_none_or(|filter| filter.stages.reads.iter().all(is_small)) {
            return None;
        }
        let (mut own, mut others, mut identity) = (Vec::new(), Vec::new(), Vec::new());
        for at in residual.filters.iter().copied() {
            let conjunct = &self.conjuncts[at];
            match &conjunct.identity {
                Some(known) if conjunct.reads.iter().all(is_small) => {
                    own.push(at);
                    identity.push(Arc::clone(known));
                }
                _ if !conjunct.is_bound && (sparse || self.is_early(conjunct, place)) => {
                    return None;
                }
                _ => others.push(at),
            }
        }
        let cost: usize = own.iter().map(|at| self.conjuncts[*at].cost).sum();
        let are_bounds = others.iter().all(|at| self.conjuncts[*at].is_bound);
        let gives_values = for_values && are_bounds && !own.is_empty();
        let is_costly = computed.is_some() || cost >= COSTLY;
        if !is_costly && !gives_values {
            return None;
        }
        identity.extend(computed.map(|filter| Arc::clone(&filter.identity)));
        let own = ResidualFilters { filters: own, ..residual.after_test(false) };
        let rest =
            ResidualFilters { filters: others, computed: false, ..residual.after_test(false) };
        Some(KeptPart { identity: identity.into(), own, rest, is_costly })
    }

    /// Whether a filter is over small columns, and may leave few rows. A bucket has few source types.
    fn is_early(&self, conjunct: &Conjunct, place: &dyn Fn(&str) -> FieldPlace) -> bool {
        let is_small = |at: &usize| self.is_small(*at, place);
        let is_origin = |at: &usize| self.table.field(*at).name() == columns::SOURCETYPE;
        conjunct.reads.iter().all(is_small) && !conjunct.reads.iter().all(is_origin)
    }

    /// Whether a column of the table is read from a stored column of a field, or from one of a few values.
    fn is_small(&self, column: usize, place: &dyn Fn(&str) -> FieldPlace) -> bool {
        match self.table.field(column).name().as_str() {
            columns::RAW | bucket::FIELDS => false,
            columns::INDEX => true,
            name => {
                is_stored(name) || matches!(place(name), FieldPlace::Column(_) | FieldPlace::Absent)
            }
        }
    }

    /// Returns the computed columns of the output, if all of them are computed from stored columns. Texts of
    /// events are among these if only computed columns need them: otherwise they would be read twice.
    pub(in crate::scan) fn computed_columns(
        &self,
        place: &dyn Fn(&str) -> FieldPlace,
    ) -> Vec<Arc<ComputedColumn>> {
        let computed = self.outputs.iter().filter_map(|output| match &output.view {
            View::Computed(column) => Some(Arc::clone(column)),
            _ => None,
        });
        let computed: Vec<Arc<ComputedColumn>> = computed.collect();
        let is_raw = |at: usize| self.table.field(at).name() == columns::RAW;
        let needs_texts = self.outputs.iter().any(|output| {
            !matches!(output.view, View::Computed(_)) && !self.is_small(output.column, place)
        });
        let is_stored = |at: &usize| (is_raw(*at) && !needs_texts) || self.is_small(*at, place);
        let are_stored = computed.iter().all(|column| column.stages.reads.iter().all(is_stored));
        if are_stored { computed } else { Vec::new() }
    }

    /// Whether only the number of rows is needed once no filter is left.
    pub(in crate::scan) fn only_needs_count(&self, rest: &ResidualFilters) -> bool {
        self.outputs.is_empty() && rest.filters.is_empty() && self.report.timeline().is_none()
    }

    /// Whether no filters but bounds of the time are left.
    pub(in crate::scan) fn are_bounds(&self, filters: &ResidualFilters) -> bool {
        !filters.computed && self.conjuncts(filters).all(|conjunct| conjunct.is_bound)
    }

    /// Returns the columns to read from an object for filters alone.
    pub(in crate::scan) fn stored_columns_of_filters(
        &self,
        place: &dyn Fn(&str) -> FieldPlace,
        filters: &ResidualFilters,
    ) -> Vec<&str> {
        self.stored_names(self.read_by_filters(filters), place, &[])
    }

    /// Returns the columns to read from an object for computed columns alone.
    pub(in crate::scan) fn stored_columns_of_values(
        &self,
        place: &dyn Fn(&str) -> FieldPlace,
        computed: &[Arc<ComputedColumn>],
    ) -> Vec<&str> {
        let mut reads: Vec<usize> =
            computed.iter().flat_map(|column| &column.stages.reads).copied().collect();
        reads.sort_unstable();
        reads.dedup();
        self.stored_names(reads, place, &[])
    }

    /// Returns the values of computed columns for stored rows, of which no column has to be extracted.
    pub(in crate::scan) fn values_of(
        &self,
        columns: &[Arc<ComputedColumn>],
        stored: &RecordBatch,
        origin: &Origin<'_>,
    ) -> Result<Vec<ArrayRef>> {
        let mut rows = Rows::of(stored.clone(), self.table.fields().len());
        columns.iter().map(|column| self.computed_values(column, &mut rows, origin)).collect()
    }

    /// Returns the values of a computed column: those that come with the rows, or new ones. Extracted columns
    /// must have been made before.
    pub(super) fn computed_values(
        &self,
        column: &ComputedColumn,
        rows: &mut Rows,
        origin: &Origin<'_>,
    ) -> Result<ArrayRef> {
        if let Some(values) = rows.stored.column_by_name(&column.description) {
            return Ok(Arc::clone(values));
        }
        let last = self.last_stage(&column.stages, rows, origin)?;
        column.value.evaluate(&last)?.into_array(last.num_rows())
    }

    /// Returns the columns of the table that filters read.
    fn read_by_filters(&self, filters: &ResidualFilters) -> Vec<usize> {
        let mut columns: Vec<usize> =
            self.conjuncts(filters).flat_map(|conjunct| &conjunct.reads).copied().collect();
        let computed = self.computed(filters).into_iter();
        columns.extend(computed.flat_map(|filter| &filter.stages.reads));
        columns.sort_unstable();
        columns.dedup();
        columns
    }

    /// Returns which of all rows pass filters over stored columns.
    pub(in crate::scan) fn rows_that_pass(
        &self,
        stored: &RecordBatch,
        origin: &Origin<'_>,
    ) -> Result<BooleanArray> {
        let passes = self.passes(stored, origin)?;
        let Some(filter) = self.computed(origin.residual) else { return Ok(passes) };
        let stored = filter_record_batch(stored, &passes)?;
        let mut rows = Rows::of(stored, self.table.fields().len());
        if rows.are_none() {
            return Ok(passes);
        }
        let mask = self.computed_mask(filter, &mut rows, origin)?;
        Ok(mask.map_or_else(|| passes.clone(), |mask| narrowed(&passes, &mask)))
    }

    /// Drops the rows that do not pass the filter over computed values. Extracted columns must have been made
    /// before.
    pub(super) fn apply_computed(&self, rows: &mut Rows, origin: &Origin<'_>) -> Result<()> {
        let Some(filter) = self.computed(origin.residual) else { return Ok(()) };
        match self.computed_mask(filter, rows, origin)? {
            Some(mask) => rows.keep(&mask),
            None => Ok(()),
        }
    }

    fn computed_mask(
        &self,
        filter: &ComputedFilter,
        rows: &mut Rows,
        origin: &Origin<'_>,
    ) -> Result<Option<BooleanArray>> {
        passing(&filter.condition, &self.last_stage(&filter.stages, rows, origin)?)
    }

    /// Returns the columns of the last computation below values.
    fn last_stage(
        &self,
        stages: &Arc<Stages>,
        rows: &mut Rows,
        origin: &Origin<'_>,
    ) -> Result<RecordBatch> {
        if let Some((known, last)) = &rows.last
            && Arc::ptr_eq(known, stages)
        {
            return Ok(last.clone());
        }
        let read = stages.reads.iter().map(|at| self.column(*at, rows, origin));
        let read = read.collect::<Result<Vec<_>>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(rows.stored.num_rows()));
        let schema = Arc::clone(&stages.schema);
        let last = stages.last(RecordBatch::try_new_with_options(schema, read, &options)?)?;
        rows.last = Some((Arc::clone(stages), last.clone()));
        Ok(last)
    }
}

/// Returns what a filter over columns of the table computes; `None` if later searches cannot recognize it, or
/// need not. The bounds of the time of indexing are new ones in most searches, as those of the time are.
pub(super) fn identity_of(
    expr: &Arc<dyn PhysicalExpr>,
    schema: &SchemaRef,
    is_bound: bool,
) -> Option<Identity> {
    if is_bound || schema.fields().find(columns::INDEX_TIME).is_some() {
        return None;
    }
    Identity::of(expr, &|column: &Column| {
        let field = schema.fields().get(column.index())?;
        Some(Identity::stored(field.name(), field.data_type()))
    })
}
