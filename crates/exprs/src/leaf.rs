//! Operators without inputs, whose rows come from outside the plan.

use std::fmt;
use std::sync::Arc;

use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::error::Result;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::execution_plan::ReplaceChildrenOptions;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties};

/// The behaviour of such an operator.
pub trait Leaf: fmt::Debug + Send + Sync + 'static {
    /// The name in plans.
    const NAME: &'static str;

    /// Returns the columns, partitions and order.
    fn properties(&self) -> &Arc<PlanProperties>;

    /// Writes the parameters of the operator after its name in plans.
    ///
    /// # Errors
    /// If the formatter fails.
    fn parameters(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        Ok(())
    }

    /// Returns the rows of a partition.
    ///
    /// # Errors
    /// If they cannot be read.
    fn run(&self, partition: usize, context: Arc<TaskContext>)
    -> Result<SendableRecordBatchStream>;
}

/// A [`Leaf`] in a plan.
#[derive(Debug)]
pub struct LeafExec<L>(pub L);

impl<L: Leaf> DisplayAs for LeafExec<L> {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(L::NAME)?;
        self.0.parameters(f)
    }
}

impl<L: Leaf> ExecutionPlan for LeafExec<L> {
    fn name(&self) -> &'static str {
        L::NAME
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.0.properties()
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

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        self.0.run(partition, context)
    }
}
