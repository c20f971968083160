//! The workers of a search head, and a worker: the only place that knows how `datafusion-distributed` is
//! set up.

use std::sync::Arc;

use async_trait::async_trait;
use datafusion::catalog::Session;
use datafusion::common::internal_err;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::context::QueryPlanner;
use datafusion::execution::session_state::{SessionState, SessionStateBuilder};
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_plan::ExecutionPlan;
use datafusion_distributed::{
    ChannelResolver, DistributedExt, DistributedLeafExec, NetworkCoalesceExec, RouteTasksEvent,
    RouteTasksEventResponse, SessionStateBuilderExt, Worker, WorkerQueryContext, WorkerResolver,
};
use exprs::leaf::LeafExec;
use futures::FutureExt;
use url::Url;

use crate::cut::{Cut, cut};
use crate::gather::Gathered;
use crate::map_part::{MapCodec, MapPart, MapPlanner, Recipe};

/// Bytes of rows that a connection to a worker holds before it waits.
const CONNECTION_BYTES: usize = 4 << 20;

/// The workers that the map part of a search runs on: a task each, in this order.
#[derive(Clone)]
pub struct Workers {
    urls: Arc<[Url]>,
    state: Arc<SessionState>,
}

impl std::fmt::Debug for Workers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Workers").field("urls", &self.urls).finish_non_exhaustive()
    }
}

impl Workers {
    /// Workers at these addresses; `channels` makes the connections.
    ///
    /// # Errors
    /// If there are none.
    pub fn new(
        urls: Vec<Url>,
        channels: impl ChannelResolver + Send + Sync + 'static,
    ) -> Result<Self> {
        if urls.is_empty() {
            return Err(DataFusionError::Configuration("there are no workers".to_owned()));
        }
        let urls: Arc<[Url]> = urls.into();
        let routed = Arc::clone(&urls);
        let state = SessionStateBuilder::new()
            .with_distributed_worker_resolver(Addresses(Arc::clone(&urls)))
            .with_distributed_channel_resolver(channels)
            .with_distributed_user_codec(MapCodec(None))
            .with_distributed_metrics_collection(false)?
            .with_distributed_worker_connection_buffer_budget_bytes(CONNECTION_BYTES)?
            .with_distributed_route_tasks_handler(move |event: RouteTasksEvent<'_>| {
                let tasks = routed.iter().cycle().take(event.task_count).cloned();
                Some(Ok(RouteTasksEventResponse::new(tasks.collect())))
            })
            .build();
        Ok(Self { urls, state: Arc::new(state) })
    }

    /// The plan whose map parts the workers run, of the recipe.
    ///
    /// # Errors
    /// If the engine refuses the plan.
    pub fn distribute(
        &self,
        plan: &Arc<dyn ExecutionPlan>,
        recipe: &Recipe,
        is_events: &dyn Fn(&dyn ExecutionPlan) -> bool,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        cut(plan, is_events, &mut |cut| self.gather(cut, recipe))
    }

    fn gather(&self, cut: Cut, recipe: &Recipe) -> Result<Arc<dyn ExecutionPlan>> {
        // A stage with one task would run here: there are always two, of which one may have no events.
        let tasks = self.urls.len().max(2);
        let order = cut.map.properties().eq_properties.clone();
        let parts = (0..tasks).map(|task| {
            let part = MapPart::of(Arc::clone(recipe), cut.number, task, order.clone());
            Arc::new(LeafExec(part)) as Arc<dyn ExecutionPlan>
        });
        let leaf = DistributedLeafExec::try_new(Arc::clone(&cut.map), parts)?;
        let network = NetworkCoalesceExec::try_new(Arc::new(leaf), tasks, 1)?;
        let whole = cut.gather.above(Arc::new(network));
        let planner = SessionStateBuilder::new_from_existing((*self.state).clone())
            .with_query_planner(Arc::new(Ready(whole)))
            .with_distributed_planner()
            .build();
        // Nothing in it waits: the plan is there.
        let nothing = LogicalPlan::default();
        let distributed =
            planner.query_planner().create_physical_plan(&nothing, &planner).now_or_never();
        let Some(distributed) = distributed else {
            return internal_err!("a plan that is there had to be waited for");
        };
        let config = planner.config().clone();
        Ok(Arc::new(LeafExec(Gathered::new(distributed?, config, cut))))
    }
}

/// A worker that plans recipes like this.
#[must_use]
pub fn worker(planner: Arc<dyn MapPlanner>) -> Worker {
    Worker::from_session_builder(move |context: WorkerQueryContext| {
        let planner = Arc::clone(&planner);
        async move { Ok(context.builder.with_distributed_user_codec(MapCodec(Some(planner))).build()) }
    })
}

#[derive(Debug)]
struct Addresses(Arc<[Url]>);

impl WorkerResolver for Addresses {
    fn get_urls(&self) -> Result<Vec<Url>> {
        Ok(self.0.to_vec())
    }
}

/// Plans nothing: the plan is there. What finishes a distributed plan is private to the library, but for
/// plans that a planner of the session gives.
#[derive(Debug)]
struct Ready(Arc<dyn ExecutionPlan>);

#[async_trait]
impl QueryPlanner for Ready {
    async fn create_physical_plan(
        &self,
        _: &LogicalPlan,
        _: &dyn Session,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(Arc::clone(&self.0))
    }
}
