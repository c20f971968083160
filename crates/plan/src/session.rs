//! The DataFusion session that SPL and SQL share: our operators, functions and memory bounds.

use std::sync::Arc;

use async_trait::async_trait;
use datafusion::catalog::Session;
use datafusion::error::Result;
use datafusion::execution::context::{SessionConfig, SessionContext};
use datafusion::execution::memory_pool::FairSpillPool;
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::execution::session_state::SessionStateBuilder;
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_planner::{DefaultPhysicalPlanner, PhysicalPlanner};

use crate::Error;
use crate::stream::StreamPlanner;

/// How much a session may use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionSettings {
    /// Bytes of memory all operators of all its queries may hold together; sorts and aggregations
    /// spill to disk before they pass it.
    pub memory_bytes: usize,
    /// Partitions a query runs in side by side.
    pub partitions: usize,
    /// Rows per batch.
    pub batch_rows: usize,
}

impl Default for SessionSettings {
    fn default() -> Self {
        let partitions = std::thread::available_parallelism().map_or(1, usize::from);
        Self { memory_bytes: 1 << 30, partitions, batch_rows: 8192 }
    }
}

/// A session in which planned searches, and SQL, run.
///
/// # Errors
/// If the runtime cannot be set up, for example because there is no directory to spill to.
pub fn session(settings: &SessionSettings) -> Result<SessionContext, Error> {
    let runtime = RuntimeEnvBuilder::new()
        .with_memory_pool(Arc::new(FairSpillPool::new(settings.memory_bytes)))
        .build_arc()?;
    let mut config = SessionConfig::new()
        .with_target_partitions(settings.partitions.max(1))
        .with_batch_size(settings.batch_rows.max(1))
        .with_information_schema(true);
    config.options_mut().sql_parser.enable_ident_normalization = false;
    let state = SessionStateBuilder::new_with_default_features()
        .with_config(config)
        .with_runtime_env(runtime)
        .with_query_planner(Arc::new(QueryPlanner))
        .build();
    let context = SessionContext::new_with_state(state);
    for function in crate::predicate::sql_functions() {
        context.register_udf(function);
    }
    Ok(context)
}

/// The same session with memory of its own: so many bytes for sorts, joins and groups.
///
/// # Errors
/// If the runtime cannot be set up.
pub fn with_memory(session: &SessionContext, bytes: usize) -> Result<SessionContext, Error> {
    let runtime = RuntimeEnvBuilder::from_runtime_env(&session.runtime_env())
        .with_memory_pool(Arc::new(FairSpillPool::new(bytes)))
        .build_arc()?;
    let state = SessionStateBuilder::new_from_existing(session.state()).with_runtime_env(runtime);
    Ok(SessionContext::new_with_state(state.build()))
}

#[derive(Debug)]
struct QueryPlanner;

#[async_trait]
impl datafusion::execution::context::QueryPlanner for QueryPlanner {
    async fn create_physical_plan(
        &self,
        logical_plan: &LogicalPlan,
        session: &dyn Session,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let planner =
            DefaultPhysicalPlanner::with_extension_planners(vec![Arc::new(StreamPlanner)]);
        planner.create_physical_plan(logical_plan, session).await
    }
}
