//! Rewrites of single operators of the finished physical plan, in one walk over it.

use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::error::Result;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::execution_plan::{ChildrenPropertiesMode, ReplaceChildrenOptions};
use exprs::pass_through::{PassThrough, PassThroughExec};

use super::{compact, parts, pieces, slices, texts};

/// What stands in place of an operator; `None` if it stays as it is.
pub(super) type Rewritten = Result<Option<Arc<dyn ExecutionPlan>>>;

type Rewrite = fn(&Arc<dyn ExecutionPlan>) -> Rewritten;

/// Applies rewrites, in the order in which they see an operator, whose inputs they have seen before.
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

    /// After all rules that look into expressions.
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

/// An operator of one input, with another one between the two.
pub(super) fn with_below(node: &Arc<dyn ExecutionPlan>, between: impl PassThrough) -> Rewritten {
    let [input] = node.children()[..] else { return Ok(None) };
    let input = PassThroughExec::above(Arc::clone(input), between);
    let options = ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute);
    Arc::clone(node).replace_children(vec![input], options).map(Some)
}
