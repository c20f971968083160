//! Operators that keep the columns and partitions of their only input.

use std::fmt;
use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::internal_err;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::error::Result;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::DynamicFilterPhysicalExpr;
use datafusion::physical_plan::execution_plan::{ChildrenPropertiesMode, ReplaceChildrenOptions};
use datafusion::physical_plan::filter_pushdown::{
    ChildFilterDescription, FilterDescription, FilterPushdownPhase,
};
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties};

/// The behaviour of such an operator.
pub trait PassThrough: fmt::Debug + Send + Sync + Sized + 'static {
    /// The name in plans.
    const NAME: &'static str;
    /// Whether the order of rows is preserved.
    const KEEPS_ORDER: bool = true;

    /// Writes the parameters of the operator after its name in plans.
    ///
    /// # Errors
    /// If the formatter fails.
    fn parameters(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        Ok(())
    }

    /// Returns the dynamic filter that the operator tightens at run time; rows that it rejects are not
    /// needed.
    fn learns(&self) -> Option<Arc<DynamicFilterPhysicalExpr>> {
        None
    }

    /// Returns a copy without learned state; `None` if the operator learns nothing.
    fn afresh(&self) -> Option<Self> {
        None
    }

    /// Runs the operator on a partition.
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
    /// Creates the operator above an input.
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

    fn dynamic_expressions_produced(&self) -> Vec<Arc<dyn PhysicalExpr>> {
        self.operator.learns().map(|filter| filter as Arc<dyn PhysicalExpr>).into_iter().collect()
    }

    fn reset_state(self: Arc<Self>) -> Result<Arc<dyn ExecutionPlan>> {
        let operator = self.operator.afresh().map_or_else(|| Arc::clone(&self.operator), Arc::new);
        Ok(Arc::new(Self { operator, input: Arc::clone(&self.input) }))
    }

    /// The dynamic filter is for the operators below. Filters from above are not pushed down.
    fn gather_filters_for_pushdown(
        &self,
        phase: FilterPushdownPhase,
        parent_filters: Vec<Arc<dyn PhysicalExpr>>,
        _: &ConfigOptions,
    ) -> Result<FilterDescription> {
        let child = ChildFilterDescription::all_unsupported(&parent_filters);
        let learned = self.operator.learns().filter(|_| phase == FilterPushdownPhase::Post);
        let child = match learned {
            Some(filter) => child.with_self_filter(filter),
            None => child,
        };
        Ok(FilterDescription::new().with_child(child))
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
