//! Batch sizes of operators.
//!
//! A batch has 8,192 rows, independently of their width. If a search gives every row long constant texts, as
//! `fillnull value=<text>` of many fields does, the rows share the bytes of the texts; but an operator that
//! copies the batch, such as a spilling sort, then allocates gigabytes that are not accounted for. If
//! `mvexpand` copies a list into every row that it creates from another list, operators that coalesce small
//! batches would allocate as much.

use std::sync::Arc;

use arrow::datatypes::DataType;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::unnest::UnnestExec;

use super::rules;

/// Divisor of a search's memory: the maximum share that a copied batch may take.
const PART: usize = 8;
/// Size of a cell in bytes, besides that of a long text.
const CELL: usize = 16;
/// Estimated size of lists copied into a row in bytes; the plan does not know their length.
const LISTS: usize = 64 << 10;

/// Returns the number of rows per batch of a plan: at most `most`, fewer for wide rows.
pub(super) fn rows(plan: &Arc<dyn ExecutionPlan>, most: usize, memory: usize) -> usize {
    (memory / PART / width(plan).max(1)).clamp(1, most)
}

/// Estimates the size of an operator's row in bytes: cells, constants of all steps below, and copied lists.
fn width(plan: &Arc<dyn ExecutionPlan>) -> usize {
    fn constants(plan: &Arc<dyn ExecutionPlan>) -> usize {
        let projection = plan.downcast_ref::<ProjectionExec>();
        let exprs = projection.map(ProjectionExec::expr).unwrap_or_default();
        let own: usize = exprs.iter().map(|of| rules::longest_constant(&of.expr)).sum();
        own + plan.children().into_iter().map(constants).max().unwrap_or(0)
    }
    fn cells(plan: &Arc<dyn ExecutionPlan>) -> usize {
        let below = plan.children().into_iter().map(cells).max().unwrap_or(0);
        below.max(plan.schema().fields().len())
    }
    fn copies_lists(plan: &Arc<dyn ExecutionPlan>) -> bool {
        let is_copied = |unnest: &UnnestExec| {
            let unnested = unnest.list_column_indices();
            let schema = unnest.input().schema();
            let mut lists = schema.fields().iter().enumerate().filter(|(at, field)| {
                let is_list = matches!(field.data_type(), DataType::List(_));
                is_list && unnested.iter().all(|list| list.index_in_input_schema != *at)
            });
            lists.next().is_some()
        };
        plan.downcast_ref::<UnnestExec>().is_some_and(is_copied)
            || plan.children().into_iter().any(copies_lists)
    }
    let lists = if copies_lists(plan) { LISTS } else { 0 };
    constants(plan) + cells(plan) * CELL + lists
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use datafusion::common::ScalarValue;
    use datafusion::logical_expr::{LogicalPlanBuilder, lit};

    use super::*;
    use crate::session::{Session, SessionSettings};

    #[tokio::test]
    async fn rows_with_long_constants_are_fewer_at_a_time() {
        let session = Session::new(&SessionSettings::default(), Vec::new()).unwrap();
        let rows_of = |bytes: usize| {
            let session = session.clone();
            async move {
                let text = lit(ScalarValue::Utf8View(Some("x".repeat(bytes))));
                let fields = (0..100).map(|at| text.clone().alias(format!("c{at}")));
                let plan = LogicalPlanBuilder::values(vec![vec![lit(1_i64)]; 3]).unwrap();
                let plan = plan.project(fields).unwrap().build().unwrap();
                let plan = session.physical_plan(&plan).await.unwrap();
                rows(&plan, 8_192, 64 << 20)
            }
        };
        assert_eq!(rows_of(10).await, (8 << 20) / 1_600);
        assert!((7..=8).contains(&rows_of(10_000).await));
        assert_eq!(rows_of(1_000_000).await, 1);
    }
}
