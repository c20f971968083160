//! Filters over small stored columns, tested before the other columns are decoded (docs/decisions/0009).

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use arrow::array::{BooleanArray, RecordBatch};
use arrow::buffer::BooleanBuffer;
use arrow::error::ArrowError;
use bucket::RowTest;
use datafusion::error::Result;
use model::{IndexName, columns};

use super::{FieldPlace, Origin, ResidualFilters, Rows, Stale, Work, is_stored};

/// The filters of a part of a bucket, some of which small stored columns decide.
#[derive(Debug)]
pub(in crate::scan) struct Early {
    /// Those, as a test that the reader runs before it decodes other columns.
    pub(in crate::scan) test: RowTest,
    /// The same test for a sample. It does not count the rows in `events_scanned`: the sample is read again
    /// if the bucket turns out to be damaged in the cache.
    pub(in crate::scan) sample_test: RowTest,
    /// The filters that remain after a test.
    pub(in crate::scan) rest: ResidualFilters,
    /// All filters, for rows that are read without a test. The rows that pass the small ones are counted.
    pub(in crate::scan) all: ResidualFilters,
}

impl Work {
    /// Splits off the filters that small stored columns decide. `None` if no filter is of that kind.
    pub(in crate::scan) fn early<P>(
        self: &Arc<Self>,
        index: &IndexName,
        place: &P,
        residual: &ResidualFilters,
    ) -> Option<Early>
    where
        P: Fn(&str) -> FieldPlace + Clone + Send + Sync + 'static,
    {
        let is_early = |at: &usize| {
            let reads = &self.conjuncts[*at].reads;
            !reads.is_empty()
                && reads.iter().all(|column| match self.table.field(*column).name().as_str() {
                    // The test avoids reading `_raw`, and `index` is not stored.
                    columns::RAW | columns::INDEX => false,
                    name => is_stored(name) || matches!(place(name), FieldPlace::Column(_)),
                })
        };
        let (early, others): (Vec<usize>, Vec<usize>) =
            residual.filters.iter().partition(|at| is_early(at));
        if early.is_empty() {
            return None;
        }
        let filters = [early.as_slice(), others.as_slice()].concat();
        let (computed, observed) = (residual.computed, early.len());
        let has_values = residual.has_values;
        let all = ResidualFilters { filters, counted: false, observed, computed, has_values };
        let rest = ResidualFilters { filters: others, counted: true, observed: 0, ..all.clone() };
        let early = ResidualFilters { filters: early, computed: false, ..rest.clone() };
        let test = self.row_test(index, place, early.clone(), true);
        let sample_test = self.row_test(index, place, early, false);
        Some(Early { test, sample_test, rest, all })
    }

    fn row_test<P>(
        self: &Arc<Self>,
        index: &IndexName,
        place: &P,
        early: ResidualFilters,
        counts: bool,
    ) -> RowTest
    where
        P: Fn(&str) -> FieldPlace + Clone + Send + Sync + 'static,
    {
        let reads = self.conjuncts(&early).flat_map(|conjunct| &conjunct.reads);
        let mut columns: Vec<String> =
            reads.map(|at| self.table.field(*at).name().clone()).collect();
        // Several filters may read the same column.
        columns.sort_unstable();
        columns.dedup();
        let (work, index, place) = (Arc::clone(self), index.clone(), place.clone());
        let passes = move |stored: &RecordBatch| {
            if counts {
                work.report.events_scanned.fetch_add(stored.num_rows() as u64, Relaxed);
            }
            // The columns of the test are used in their stored form.
            let (may_be_in_texts, sent) = (&|_: &str, _: &str| true, &[]);
            let (index, place, stale, residual) = (&index, &place, &Stale::Nothing, &early);
            let origin = Origin { index, place, stale, may_be_in_texts, sent, residual };
            work.passes(stored, &origin).map_err(|error| ArrowError::ExternalError(error.into()))
        };
        RowTest { columns, passes: Arc::new(passes) }
    }

    /// Whether few rows pass the filters over small columns; `None` if too few rows have been seen.
    pub(in crate::scan) fn is_sparse(&self, early: &Early) -> Option<bool> {
        self.selectivity.is_sparse(&early.all.filters[..early.all.observed])
    }

    /// Returns which rows pass the filters of a row test: one bit per row of the reader's batch. As in
    /// [`Self::process`], each filter sees only the rows that passed those before it.
    pub(super) fn passes(&self, stored: &RecordBatch, origin: &Origin<'_>) -> Result<BooleanArray> {
        let all = stored.num_rows();
        let mut rows = Rows::of(stored.clone(), self.table.fields().len());
        let mut passes = BooleanArray::from(vec![true; all]);
        let mut later = Vec::new();
        for conjunct in self.conjuncts(origin.residual) {
            match conjunct.quick(&rows.stored, origin.place) {
                Some(mask) => {
                    rows.keep(&mask)?;
                    passes = narrowed(&passes, &mask);
                }
                None => later.push(conjunct),
            }
        }
        for conjunct in later {
            if rows.are_none() {
                break;
            }
            if let Some(mask) = conjunct.mask(&self.read_by(conjunct, &mut rows, origin)?)? {
                rows.keep(&mask)?;
                passes = narrowed(&passes, &mask);
            }
        }
        self.selectivity.add(&origin.residual.filters, all, passes.true_count());
        Ok(passes)
    }
}

/// Returns which of all rows pass, given those that passed before, and which of these pass now.
pub(super) fn narrowed(before: &BooleanArray, now: &BooleanArray) -> BooleanArray {
    let mut now = now.values().iter();
    let pass = |row| before.value(row) && now.next() == Some(true);
    BooleanArray::new(BooleanBuffer::collect_bool(before.len(), pass), None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_passes_if_it_has_passed_before_and_passes_now() {
        let before = BooleanArray::from(vec![true, false, true, false, true]);
        let now = BooleanArray::from(vec![false, true, true]);
        let passes = BooleanArray::from(vec![false, false, true, false, true]);
        assert_eq!(narrowed(&before, &now), passes);
    }
}
