//! The place of a map part in the plan of the search head: the rows of all workers, in one partition.

use std::fmt;
use std::sync::Arc;

use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::error::Result;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::execution_plan::ReplaceChildrenOptions;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties};
use datafusion::prelude::SessionConfig;

use crate::cut::{Cut, Gather};

/// Runs a distributed plan in a context that knows the workers. The rest of the plan does not know of them.
#[derive(Debug)]
pub(crate) struct GatherExec {
    /// The plan of `datafusion-distributed`, with one partition.
    distributed: Arc<dyn ExecutionPlan>,
    /// What finds the workers.
    config: SessionConfig,
    gather: Gather,
    /// The map part, for those who look at the plan.
    map: Arc<dyn ExecutionPlan>,
}

impl GatherExec {
    pub(crate) fn new(
        distributed: Arc<dyn ExecutionPlan>,
        config: SessionConfig,
        cut: Cut,
    ) -> Self {
        Self { distributed, config, gather: cut.gather, map: cut.map }
    }
}

impl DisplayAs for GatherExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "GatherExec: {}, map={}", self.gather, self.map.name())
    }
}

impl ExecutionPlan for GatherExec {
    fn name(&self) -> &'static str {
        "GatherExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.distributed.properties()
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
        let theirs = TaskContext::new(
            context.task_id(),
            context.session_id(),
            self.config.clone(),
            Default::default(),
            Default::default(),
            Default::default(),
            Default::default(),
            context.runtime_env(),
        );
        self.distributed.execute(partition, Arc::new(theirs))
    }
}
