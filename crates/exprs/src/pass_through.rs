//! Operators whose output has the columns and partitions of their one input.

use std::fmt;
use std::sync::Arc;

use datafusion::common::internal_err;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::error::Result;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::execution_plan::{ChildrenPropertiesMode, ReplaceChildrenOptions};
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties};

/// What such an operator does with a partition of its input.
pub trait PassThrough: fmt::Debug + Send + Sync + Sized + 'static {
    /// Its name in plans.
    const NAME: &'static str;
    /// Whether rows leave in the order in which they came.
    const KEEPS_ORDER: bool = true;

    /// Writes its parameters after its name in plans.
    ///
    /// # Errors
    /// If the formatter fails.
    fn parameters(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        Ok(())
    }

    /// Runs over a partition.
    ///
    /// # Errors
    /// If the input does not start.
    fn run(
        self: &Arc<Self>,
        input: &Arc<dyn ExecutionPlan>,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream>;
}

/// A [`PassThrough`] above its input.
#[derive(Debug)]
pub struct PassThroughExec<O> {
    operator: Arc<O>,
    input: Arc<dyn ExecutionPlan>,
}

impl<O: PassThrough> PassThroughExec<O> {
    /// An operator above an input.
    pub fn above(input: Arc<dyn ExecutionPlan>, operator: O) -> Arc<dyn ExecutionPlan> {
        Arc::new(Self { operator: Arc::new(operator), input })
    }
}

impl<O: PassThrough> DisplayAs for PassThroughExec<O> {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(O::NAME)?;
        self.operator.parameters(f)
    }
}

impl<O: PassThrough> ExecutionPlan for PassThroughExec<O> {
    fn name(&self) -> &'static str {
        O::NAME
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.input.properties()
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        vec![O::KEEPS_ORDER]
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn replace_children(
        self: Arc<Self>,
        mut children: Vec<Arc<dyn ExecutionPlan>>,
        _: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let Some(input) = children.pop().filter(|_| children.is_empty()) else {
            return internal_err!("{} has one input", O::NAME);
        };
        Ok(Arc::new(Self { operator: Arc::clone(&self.operator), input }))
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let options = ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute);
        self.replace_children(children, options)
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        self.operator.run(&self.input, partition, context)
    }
}
