//! The DataFusion session that SPL and SQL share: our operators, functions and memory bounds.

mod batches;
mod bounded;
mod checked;
mod copies;
mod date_trunc;
mod digests;
mod membership;
mod memory;
mod partitions;
mod planning;
mod rules;
mod sliding;
pub mod weight;

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use datafusion::catalog::MemoryCatalogProviderList;
use datafusion::error::Result;
use datafusion::execution::FunctionRegistry;
use datafusion::execution::TaskContext;
use datafusion::execution::context::{SessionConfig, SessionContext};
use datafusion::execution::disk_manager::{DiskManagerBuilder, DiskManagerMode};
use datafusion::execution::memory_pool::MemoryPool;
use datafusion::execution::runtime_env::{RuntimeEnv, RuntimeEnvBuilder};
use datafusion::execution::session_state::{SessionState, SessionStateBuilder};
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_planner::{DefaultPhysicalPlanner, PhysicalPlanner};
use exprs::ledger::{Charge, Ledger, Running};
use futures::future::BoxFuture;

pub use memory::{MemoryRoom, SearchMemory};
pub use planning::{PlanningTime, Waiting};
pub use rules::over_parts;

use crate::Error;
use crate::stream::StreamPlanner;
use crate::type_erased::TypeErased;
use bounded::CountedConcat;
use memory::Pool;

/// Resource limits of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionSettings {
    /// Maximum memory in bytes of the operators of all queries together; sorts and aggregations spill to disk
    /// before they exceed it.
    pub memory_bytes: usize,
    /// Number of parallel partitions of a query.
    pub partitions: usize,
    /// Rows per batch.
    pub batch_rows: usize,
    /// Directory for spilled data; `None` uses the system's directory for temporary files.
    pub spill_directory: Option<PathBuf>,
    /// Maximum number of bytes that all queries together may spill.
    pub spill_bytes: u64,
    /// Number of columns of an operator from which on projections are optimized in time linear in that
    /// number.
    pub wide_columns: usize,
}

impl Default for SessionSettings {
    fn default() -> Self {
        let partitions = std::thread::available_parallelism().map_or(1, usize::from);
        Self {
            memory_bytes: 1 << 30,
            partitions,
            batch_rows: 8192,
            spill_directory: None,
            spill_bytes: 20 << 30,
            wide_columns: 500,
        }
    }
}

/// The session in which planned searches and SQL queries run. Clones share everything.
#[derive(Clone)]
pub struct Session {
    /// The state for searches. The functions of a search are in its plan, so none are registered here: each
    /// search copies the state, and their map would be most of the copy.
    state: TypeErased<SessionState>,
    /// The state for SQL, with all functions.
    of_sql: TypeErased<SessionState>,
    /// Its memory pool and spill directory.
    runtime: Arc<RuntimeEnv>,
    /// The options that operators read.
    config: SessionConfig,
    /// The ledger of the computed values of all searches.
    total: Arc<Ledger>,
    /// Memory limit of its operators in bytes, and the same again for computed values.
    memory_bytes: usize,
    /// Time limit of planning.
    planning: PlanningTime,
    wide_columns: usize,
    /// The running search of this session.
    _running: Option<Arc<Running>>,
}

/// Divisor of a session's memory that a sort reserves in each partition, so that it can merge spilled data.
const SORT_RESERVE: usize = 64;

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session").field("id", &self.state.session_id()).finish_non_exhaustive()
    }
}

impl Session {
    /// Creates a session with additional optimizer rules, which run last.
    ///
    /// # Errors
    /// If the runtime cannot be set up, for example because there is no directory to spill to.
    pub fn new(
        settings: &SessionSettings,
        rules: Vec<Arc<dyn PhysicalOptimizerRule + Send + Sync>>,
    ) -> Result<Self, Error> {
        let mut disk = DiskManagerBuilder::default();
        disk.set_max_temp_directory_size(settings.spill_bytes);
        if let Some(directory) = &settings.spill_directory {
            disk.set_mode(DiskManagerMode::Directories(vec![directory.clone()]));
        }
        let runtime = RuntimeEnvBuilder::new()
            .with_disk_manager_builder(disk)
            .with_memory_pool(Arc::new(Pool::new(SearchMemory::at_once(settings.memory_bytes))))
            .build_arc()?;
        let total = Arc::new(Ledger::of_all(settings.memory_bytes));
        let mut config = SessionConfig::new()
            .with_target_partitions(settings.partitions.max(1))
            .with_batch_size(settings.batch_rows.max(1))
            .with_information_schema(true);
        config.options_mut().sql_parser.enable_ident_normalization = false;
        total.put(config.options_mut());
        let builder = SessionStateBuilder::new_with_default_features()
            .with_config(config)
            .with_runtime_env(Arc::clone(&runtime))
            .with_query_planner(Arc::new(QueryPlanner))
            .with_analyzer_rules(rules::analysis())
            .with_optimizer_rules(rules::logical(settings.wide_columns))
            .with_physical_optimizer_rules(rules::physical(rules));
        let context = SessionContext::new_with_state(builder.build());
        for function in exprs::predicate::sql_functions() {
            context.register_udf(function);
        }
        let theirs = context.state();
        for function in bounded::functions(|name| theirs.scalar_functions().get(name).cloned()) {
            context.register_udf(function);
        }
        if let Some(inner) = theirs.scalar_functions().get("date_trunc") {
            context.register_udf(date_trunc::function(Arc::clone(inner)));
        }
        for function in digests::functions() {
            context.register_udf(function);
        }
        if let Some(signum) = theirs.scalar_functions().get("signum") {
            context.register_udf((**signum).clone().with_aliases(["sign"]));
        }
        for function in sliding::functions(|name| theirs.aggregate_functions().get(name).cloned()) {
            context.register_udaf(function);
        }
        let mut state = context.state();
        state.register_function_rewrite(Arc::new(CountedConcat))?;
        let of_sql = state.clone();
        for function in of_sql.scalar_functions().keys() {
            state.deregister_udf(function)?;
        }
        let config = config_for(&state, settings.memory_bytes);
        let planning = PlanningTime::default();
        Ok(Self {
            state: state.into(),
            of_sql: of_sql.into(),
            runtime,
            config,
            total,
            memory_bytes: settings.memory_bytes,
            planning,
            wide_columns: settings.wide_columns,
            _running: None,
        })
    }

    /// Creates a session for one search, with its own memory.
    ///
    /// # Errors
    /// If the runtime cannot be set up.
    pub fn for_search(&self, memory: SearchMemory, planning: &PlanningTime) -> Result<Self, Error> {
        let bytes = memory.bytes;
        let runtime = RuntimeEnvBuilder::from_runtime_env(&self.runtime)
            .with_memory_pool(Arc::new(Pool::new(memory)))
            .build_arc()?;
        let ledger = Arc::new(Ledger::of_one(bytes, Arc::clone(&self.total)));
        let mut config = config_for(&self.state, bytes);
        let _running = Some(Arc::new(Running::new(&ledger)));
        ledger.put(config.options_mut());
        planning.put(config.options_mut());
        let mut state = (*self.state).clone();
        *state.config_mut() = config.clone();
        // Functions read the options of the session from here.
        state.mark_start_execution();
        Ok(Self {
            state: state.into(),
            of_sql: self.of_sql.clone(),
            runtime,
            config,
            total: Arc::clone(&self.total),
            memory_bytes: bytes,
            planning: planning.clone(),
            wide_columns: self.wide_columns,
            _running,
        })
    }

    /// Returns an empty charge for computed values of this session.
    pub fn charge(&self) -> Charge {
        Charge::of(self.config.options())
    }

    /// Returns the memory pool.
    #[must_use]
    pub fn memory_pool(&self) -> &Arc<dyn MemoryPool> {
        &self.runtime.memory_pool
    }

    /// Returns a context for SQL, with its own tables in a schema of a catalog.
    #[must_use]
    pub fn sql(&self, catalog: &str, schema: &str) -> SessionContext {
        let config = self.config.clone().with_default_catalog_and_schema(catalog, schema);
        let mut state = SessionStateBuilder::new_from_existing((*self.of_sql).clone())
            .with_config(config)
            .with_runtime_env(Arc::clone(&self.runtime))
            .with_analyzer_rule(Arc::new(membership::Membership))
            .with_analyzer_rule(Arc::new(copies::Copies))
            .with_analyzer_rule(Arc::new(partitions::Partitions))
            .with_analyzer_rule(Arc::new(checked::CheckedArithmetic))
            // A catalog list of its own, because the tables of one query are restricted to one user and time
            // range.
            .with_catalog_list(Arc::new(MemoryCatalogProviderList::new()))
            .build();
        // Functions read the options of the session from here.
        state.mark_start_execution();
        SessionContext::new_with_state(state)
    }

    /// Charges the memory that planning needs for a plan to the search, for as long as the result is held.
    ///
    /// # Errors
    /// [`Error::Exhausted`] with the name of the limit.
    pub fn charge_plan(&self, plan: &LogicalPlan) -> Result<Charge, Error> {
        weight::charge(plan, self.charge(), self.memory_bytes)
    }

    /// Creates the physical plan.
    pub fn physical_plan<'p>(
        &'p self,
        plan: &'p LogicalPlan,
    ) -> BoxFuture<'p, Result<Arc<dyn ExecutionPlan>>> {
        self.planning.counted(Box::pin(async move {
            let _held = self.charge_plan(plan)?;
            self.state.create_physical_plan(plan).await
        }))
    }

    /// Creates the physical plan of projections over a few rows in memory, with only the rules that improve
    /// those, each once.
    pub fn plan_of_projections<'p>(
        &'p self,
        plan: &'p LogicalPlan,
    ) -> BoxFuture<'p, Result<Arc<dyn ExecutionPlan>>> {
        self.planning.counted(Box::pin(async move {
            let _held = self.charge_plan(plan)?;
            let mut state = SessionStateBuilder::new_from_existing((*self.state).clone())
                .with_optimizer_rules(rules::logical_of_projections(self.wide_columns))
                .with_physical_optimizer_rules(rules::physical_of_projections())
                .build();
            state.config_mut().options_mut().optimizer.max_passes = 1;
            state.create_physical_plan(plan).await
        }))
    }

    /// Returns the task context for the operators of a plan. Functions are part of the plan, so none are
    /// registered in it.
    #[must_use]
    pub fn task(&self, plan: &Arc<dyn ExecutionPlan>) -> Arc<TaskContext> {
        let rows = batches::rows(plan, self.config.batch_size(), self.memory_bytes);
        Arc::new(TaskContext::new(
            None,
            self.state.session_id().to_owned(),
            self.config.clone().with_batch_size(rows),
            Default::default(),
            Default::default(),
            Default::default(),
            Default::default(),
            Arc::clone(&self.runtime),
        ))
    }
}

fn config_for(state: &SessionState, memory: usize) -> SessionConfig {
    state.config().clone().with_sort_spill_reservation_bytes(memory / SORT_RESERVE)
}

#[derive(Debug)]
struct QueryPlanner;

/// Written as the attribute `async_trait` writes it: see docs/decisions/0042-boxed-futures.md.
impl datafusion::execution::context::QueryPlanner for QueryPlanner {
    fn create_physical_plan<'s, 'l, 'e, 'a>(
        &'s self,
        logical_plan: &'l LogicalPlan,
        session: &'e dyn datafusion::catalog::Session,
    ) -> BoxFuture<'a, Result<Arc<dyn ExecutionPlan>>>
    where
        's: 'a,
        'l: 'a,
        'e: 'a,
        Self: 'a,
    {
        planned(logical_plan, session)
    }
}

fn planned<'a>(
    plan: &'a LogicalPlan,
    session: &'a dyn datafusion::catalog::Session,
) -> BoxFuture<'a, Result<Arc<dyn ExecutionPlan>>> {
    Box::pin(async move {
        let planner =
            DefaultPhysicalPlanner::with_extension_planners(vec![Arc::new(StreamPlanner)]);
        planner.create_physical_plan(plan, session).await
    })
}
