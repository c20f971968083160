//! Rewrites of single operators in the final physical plan, in one traversal.

use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::error::Result;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::execution_plan::{ChildrenPropertiesMode, ReplaceChildrenOptions};
use exprs::pass_through::{PassThrough, PassThroughExec};

use super::{compact, parts, pieces, slices, texts};
use crate::stream;

/// The replacement of an operator; `None` if the operator does not change.
pub(super) type Rewritten = Result<Option<Arc<dyn ExecutionPlan>>>;

type Rewrite = fn(&Arc<dyn ExecutionPlan>) -> Rewritten;

/// A rule that applies rewrites bottom-up; each operator is passed through them in order.
#[derive(Debug)]
pub(crate) struct Rewrites {
    name: &'static str,
    all: &'static [Rewrite],
}

impl Rewrites {
    pub(crate) const OF_OPERATORS: Self = Self {
        name: "rewrites",
        all: &[
            compact::below_merge,
            slices::below_wide,
            pieces::below_unnest,
            texts::in_projection,
        ],
    };

    /// Runs before the filters that operators learn are pushed down: these rewrites create such filters.
    pub(crate) const OF_STREAMS: Self = Self { name: "rows_of_streams", all: &[stream::reduced] };

    /// Runs after all other rules that inspect expressions.
    pub(crate) const OF_EXPRESSIONS: Self =
        Self { name: "expressions_over_parts", all: &[parts::in_operator] };
}

impl PhysicalOptimizerRule for Rewrites {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        plan.transform_up(|mut node| {
            let mut changed = false;
            for rewrite in self.all {
                if let Some(instead) = rewrite(&node)? {
                    (node, changed) = (instead, true);
                }
            }
            Ok(if changed { Transformed::yes(node) } else { Transformed::no(node) })
        })
        .data()
    }

    fn name(&self) -> &'static str {
        self.name
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// Inserts an operator below an operator with one input.
pub(super) fn with_below(node: &Arc<dyn ExecutionPlan>, between: impl PassThrough) -> Rewritten {
    let [input] = node.children()[..] else { return Ok(None) };
    let input = PassThroughExec::above(Arc::clone(input), between);
    let options = ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute);
    Arc::clone(node).replace_children(vec![input], options).map(Some)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use arrow::array::RecordBatch;
    use datafusion::logical_expr::expr::Sort;
    use datafusion::logical_expr::{Extension, LogicalPlan};
    use datafusion::physical_plan::{collect, displayable};

    use super::*;
    use crate::column;
    use crate::session::{Session, SessionSettings};
    use crate::stream::{Dedup, StreamNode};

    #[tokio::test]
    async fn rows_that_dedup_does_not_use_are_dropped_below_its_sort() {
        let session = Session::new(&SessionSettings::default(), Vec::new()).unwrap();
        let query = "SELECT value AS v, value % 5 AS k FROM generate_series(1, 100000)";
        let rows = session.sql("a", "b").sql(query).await.unwrap().into_unoptimized_plan();
        let op = Dedup {
            count: 2,
            keep_empty: false,
            consecutive: false,
            keep_events: false,
            limit: 100,
            first: None,
        };
        let order = vec![Sort::new(column("v"), false, false)];
        let node = StreamNode::try_new(rows, Arc::new(op), vec![column("k")], order, Vec::new());
        let plan = LogicalPlan::Extension(Extension { node: Arc::new(node.unwrap()) });
        let plan = session.physical_plan(&plan).await.unwrap();
        let shown = displayable(plan.as_ref()).indent(false).to_string();
        let at = |name: &str| shown.find(name).unwrap_or_else(|| panic!("no {name}: {shown}"));
        assert!(at("StreamExec") < at("SortExec") && at("SortExec") < at("ReduceExec"), "{shown}");
        let found = collect(Arc::clone(&plan), session.task(&plan)).await.unwrap();
        assert_eq!(found.iter().map(RecordBatch::num_rows).sum::<usize>(), 10);
    }
}
