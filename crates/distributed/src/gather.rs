//! The place of a map part in the plan of the search head: the rows of all workers, in one partition.

use std::fmt;
use std::sync::Arc;

use datafusion::error::Result;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::{ExecutionPlan, PlanProperties};
use datafusion::prelude::SessionConfig;
use exprs::leaf::Leaf;

use crate::cut::{Cut, Gather};

/// Runs a distributed plan in a context that knows the workers. The rest of the plan does not know of them.
#[derive(Debug)]
pub(crate) struct Gathered {
    /// The plan of `datafusion-distributed`, with one partition.
    distributed: Arc<dyn ExecutionPlan>,
    /// What finds the workers.
    config: SessionConfig,
    gather: Gather,
    /// The map part, for those who look at the plan.
    map: Arc<dyn ExecutionPlan>,
}

impl Gathered {
    pub(crate) fn new(
        distributed: Arc<dyn ExecutionPlan>,
        config: SessionConfig,
        cut: Cut,
    ) -> Self {
        Self { distributed, config, gather: cut.gather, map: cut.map }
    }
}

impl Leaf for Gathered {
    const NAME: &'static str = "GatherExec";

    fn properties(&self) -> &Arc<PlanProperties> {
        self.distributed.properties()
    }

    fn parameters(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, ": {}, map={}", self.gather, self.map.name())
    }

    fn run(
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
