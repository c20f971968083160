//! Costly filters over stored columns, evaluated for all rows of a part of a bucket, so that later searches
//! know the rows that pass.

use std::sync::Arc;

use arrow::array::{BooleanArray, RecordBatch, RecordBatchOptions};
use arrow::compute::filter_record_batch;
use arrow::datatypes::SchemaRef;
use datafusion::error::Result;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::Column;
use exprs::identity::Identity;
use model::columns;

use super::early::narrowed;
use super::{ComputedFilter, FieldPlace, Origin, ResidualFilters, Rows, Work, is_stored};

/// The filters of a part of a bucket, if the rows that pass some of them are remembered.
#[derive(Debug, Clone)]
pub(in crate::scan) struct KeptPart {
    /// What those compute.
    pub(in crate::scan) identity: Arc<[Identity]>,
    /// Those, for rows about which nothing is known.
    pub(in crate::scan) own: ResidualFilters,
    /// The others.
    pub(in crate::scan) rest: ResidualFilters,
}

impl Work {
    /// Returns the same processing with a filter over computed values.
    pub(in crate::scan) fn with_filter(&self, filter: Arc<ComputedFilter>) -> Self {
        Self { computed: Some(filter), ..self.clone() }
    }

    /// Whether there is a filter over computed values.
    pub(in crate::scan) fn has_filter(&self) -> bool {
        self.computed.is_some()
    }

    /// Returns the filter over computed values if it has to be evaluated.
    pub(super) fn computed(&self, residual: &ResidualFilters) -> Option<&ComputedFilter> {
        self.computed.as_deref().filter(|_| residual.computed)
    }

    /// Splits the filters of a part of a bucket into those whose passing rows are remembered and the others;
    /// `None` if none of them is costly. Those that are remembered can be recognized in later searches, and
    /// read stored columns only. The bounds of the time are not among them: most searches of the last hours
    /// have other bounds than the search before.
    pub(in crate::scan) fn kept(
        &self,
        place: &dyn Fn(&str) -> FieldPlace,
        residual: &ResidualFilters,
    ) -> Option<KeptPart> {
        let is_small = |at: &usize| match self.table.field(*at).name().as_str() {
            columns::RAW | bucket::FIELDS => false,
            columns::INDEX => true,
            name => {
                is_stored(name) || matches!(place(name), FieldPlace::Column(_) | FieldPlace::Absent)
            }
        };
        let computed = self.computed(residual);
        if !computed.is_none_or(|filter| filter.reads.iter().all(is_small)) {
            return None;
        }
        let (mut own, mut others, mut identity) = (Vec::new(), Vec::new(), Vec::new());
        for at in residual.filters.iter().copied() {
            let conjunct = &self.conjuncts[at];
            match &conjunct.identity {
                Some(known) if conjunct.reads.iter().all(is_small) => {
                    own.push(at);
                    identity.push(known.clone());
                }
                _ => others.push(at),
            }
        }
        identity.extend(computed.map(|filter| filter.identity.clone()));
        if !identity.iter().any(Identity::is_costly) {
            return None;
        }
        let (counted, observed) = (true, 0);
        let own = ResidualFilters { filters: own, counted, observed, computed: residual.computed };
        let rest = ResidualFilters { filters: others, counted, observed, computed: false };
        Some(KeptPart { identity: identity.into(), own, rest })
    }

    /// Whether only the number of rows is needed once no filter is left.
    pub(in crate::scan) fn only_needs_count(&self, rest: &ResidualFilters) -> bool {
        self.outputs.is_empty() && rest.filters.is_empty() && self.report.timeline().is_none()
    }

    /// Returns the columns to read from an object for filters alone.
    pub(in crate::scan) fn stored_columns_of_filters(
        &self,
        place: &dyn Fn(&str) -> FieldPlace,
        filters: &ResidualFilters,
    ) -> Vec<&str> {
        self.stored_names(self.read_by_filters(filters), place, &[])
    }

    /// Returns the columns of the table that filters read.
    fn read_by_filters(&self, filters: &ResidualFilters) -> Vec<usize> {
        let mut columns: Vec<usize> =
            self.conjuncts(filters).flat_map(|conjunct| &conjunct.reads).copied().collect();
        columns.extend(self.computed(filters).into_iter().flat_map(|filter| &filter.reads));
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
        let made = vec![None; self.table.fields().len()];
        let mut rows = Rows { stored: filter_record_batch(stored, &passes)?, made };
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
        let read = filter.reads.iter().map(|at| self.column(*at, rows, origin));
        let read = read.collect::<Result<Vec<_>>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(rows.stored.num_rows()));
        let schema = Arc::clone(&filter.schema);
        filter.mask(RecordBatch::try_new_with_options(schema, read, &options)?)
    }
}

/// Returns what a filter over columns of the table computes; `None` if later searches cannot recognize it, or
/// need not.
pub(super) fn identity_of(
    expr: &Arc<dyn PhysicalExpr>,
    schema: &SchemaRef,
    is_bound: bool,
) -> Option<Identity> {
    if is_bound {
        return None;
    }
    Identity::of(expr, &|column: &Column| {
        let field = schema.fields().get(column.index())?;
        Some(Identity::stored(field.name(), field.data_type()))
    })
}
