//! Three workers in this process, each behind a connection of its own, and what they plan.

use std::collections::HashMap;
use std::sync::Arc;

use async_trait::async_trait;
use datafusion::error::{DataFusionError, Result};
use datafusion::physical_plan::ExecutionPlan;
use hyper_util::rt::TokioIo;
use karst_distributed::{
    ChannelResolver, MapPlanner, Planned, WorkerChannel, Workers, grpc, worker,
};
use parking_lot::Mutex;
use plan::{PlanContext, Session, SessionSettings, Subsearches, plan_search};
use tonic::transport::{Endpoint, Server};
use url::Url;

use crate::events::is_events;

/// How many workers there are.
pub(crate) const WORKERS: usize = 3;

/// A search as its workers see it: its text, and what each of them plans it against.
#[derive(Debug, Clone)]
pub(crate) struct Job {
    pub(crate) text: String,
    pub(crate) shares: Vec<PlanContext>,
}

/// The searches that run, by the number in their recipes.
#[derive(Debug, Default)]
pub(crate) struct Jobs(Mutex<HashMap<u64, Job>>);

impl Jobs {
    pub(crate) fn insert(&self, number: u64, job: Job) {
        self.0.lock().insert(number, job);
    }

    pub(crate) fn remove(&self, number: u64) {
        self.0.lock().remove(&number);
    }
}

/// Plans the searches of [`Jobs`].
#[derive(Debug)]
struct Planner(Arc<Jobs>);

#[async_trait]
impl MapPlanner for Planner {
    async fn plan(&self, recipe: &[u8], task: usize) -> Result<Planned> {
        let number = recipe.try_into().map(u64::from_le_bytes);
        let number = number.map_err(|error| DataFusionError::External(Box::new(error)))?;
        let job = self.0.0.lock().get(&number).cloned();
        let job = job.ok_or_else(|| DataFusionError::Execution("no such job".to_owned()))?;
        let context = &job.shares[task];
        let failed = |error: plan::Error| DataFusionError::External(Box::new(error));
        let session = session().map_err(failed)?;
        let planned = plan_search(&job.text, context, Subsearches::Skip).await.map_err(failed)?;
        let plan = planned.physical_plan(&session).await.map_err(failed)?;
        let context = session.task(&plan);
        Ok(Planned { plan, context })
    }

    fn is_events(&self, operator: &dyn ExecutionPlan) -> bool {
        is_events(operator)
    }
}

/// One partition more than there are workers, so that numbers of partitions are not mixed up.
pub(crate) fn session() -> Result<Session, plan::Error> {
    let settings = SessionSettings { partitions: 4, batch_rows: 4, ..SessionSettings::default() };
    Session::new(&settings, Vec::new())
}

/// Starts the workers; they end with the runtime.
pub(crate) fn start(jobs: &Arc<Jobs>) -> Workers {
    let mut channels = HashMap::new();
    let mut urls = Vec::new();
    for number in 0..WORKERS {
        let url = Url::parse(&format!("http://worker-{number}")).expect("a URL");
        channels.insert(url.clone(), channel(Arc::new(Planner(Arc::clone(jobs)))));
        urls.push(url);
    }
    Workers::new(urls, Channels(Arc::new(channels))).expect("there are workers")
}

fn channel(planner: Arc<dyn MapPlanner>) -> grpc::BoxCloneSyncChannel {
    let (client, server) = tokio::io::duplex(1 << 20);
    let mut client = Some(client);
    let connected = Endpoint::from_static("http://worker").connect_with_connector_lazy(
        tower::service_fn(move |_| {
            let client = client.take().ok_or_else(|| std::io::Error::other("connected twice"));
            async move { client.map(TokioIo::new) }
        }),
    );
    let service = worker(planner).into_worker_server();
    tokio::spawn(async move {
        let incoming = futures::stream::once(async { Ok::<_, std::io::Error>(server) });
        Server::builder().add_service(service).serve_with_incoming(incoming).await
    });
    grpc::BoxCloneSyncChannel::new(connected)
}

#[derive(Clone)]
struct Channels(Arc<HashMap<Url, grpc::BoxCloneSyncChannel>>);

#[async_trait]
impl ChannelResolver for Channels {
    async fn get_worker_client_for_url(&self, url: &Url) -> Result<Box<dyn WorkerChannel>> {
        let channel = self.0.get(url).cloned();
        let channel =
            channel.ok_or_else(|| DataFusionError::Execution(format!("no worker at {url}")))?;
        Ok(grpc::create_worker_client(channel))
    }
}
