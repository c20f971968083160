//! Caches of workers that are kept warm for each other.

use std::sync::Arc;
use std::time::Duration;

use bucket::WriteOptions;
use bytes::Bytes;
use cache::CachedStore;
use catalog::Commit;
use hyper_util::rt::TokioIo;
use karst_search::{SearchService, Settings, WarmingSettings, Workers};
use knowledge::Knowledge;
use model::{BucketEntry, IndexName};
use object_store::ObjectStore;
use object_store::memory::InMemory;
use runtime::{Clock, Shutdown, SystemClock};
use testkit::{CountingStore, Operation, wait_until};
use tokio::task::JoinSet;
use tonic::transport::{Channel, Endpoint, Server};
use transport::{Answer, Call, Methods, Served};

use crate::parts::{Cluster, WORKERS, rows, run, settings};
use crate::support::{Counted, Uncounted, dependencies, log_event, open, put, with_settings};

/// Finds nothing, so that it reads footers and term indexes only.
const NOTHING: &str = "search index=main nosuchword | stats count";

/// A search head without buckets in its cache, and workers with a cache each, over twelve buckets.
struct World {
    cluster: Arc<Cluster>,
    head: SearchService,
    caches: Vec<Arc<CachedStore>>,
    store: Arc<CountingStore>,
    buckets: Vec<BucketEntry>,
    shutdown: Shutdown,
}

async fn world(settings: Settings) -> World {
    let memory: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
    let catalog = open(&memory).await;
    let knowledge = Arc::new(Knowledge::builtin());
    let events: Vec<_> = (0..12_000).map(log_event).collect();
    let mut buckets = Vec::new();
    for part in events.chunks(1_000) {
        buckets.push(put(&memory, part, &knowledge, &WriteOptions::default()).await);
    }
    catalog.commit(Commit { add: buckets.clone(), ..Commit::default() }).await.unwrap();
    let store = Arc::new(CountingStore::new(memory));
    let names = || vec![IndexName::new("main").unwrap()];
    let (cluster, shutdown) = (Cluster::start(), Shutdown::new());
    let mut caches = Vec::new();
    for runner in &cluster.runners {
        let sizes = cache::Settings { dram_bytes: 64 << 20, ..cache::Settings::in_memory() };
        let cache = Arc::new(CachedStore::open(store.clone(), sizes).await.unwrap());
        let objects = Arc::new(Counted(Arc::clone(&cache)));
        let own = dependencies(catalog.clone(), Vec::new(), objects, &knowledge, names());
        let service = with_settings(own, settings.clone());
        shutdown.spawn(service.clone().keep_warm(shutdown.clone()));
        *runner.service.lock() = Some(service);
        caches.push(cache);
    }
    let objects = Arc::new(Uncounted(store.clone()));
    let mut own = dependencies(catalog, Vec::new(), objects, &knowledge, names());
    own.workers = Some(Arc::clone(&cluster) as Arc<dyn Workers>);
    let head = with_settings(own, settings);
    shutdown.spawn(head.clone().keep_warm(shutdown.clone()));
    World { cluster, head, caches, store, buckets, shutdown }
}

impl World {
    /// Of each bucket, the number of caches that have its end.
    fn copies(&self) -> Vec<usize> {
        let copies = |bucket: &BucketEntry| {
            self.caches.iter().filter(|cache| cache.has_end(&bucket.path, bucket.size)).count()
        };
        self.buckets.iter().map(copies).collect()
    }

    fn reads(&self) -> u64 {
        self.store.hooks().of(Operation::Get)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_next_choice_of_a_bucket_has_its_index_data_before_it_is_needed() {
    let world = world(settings()).await;
    let expected = rows(&run(&world.head, NOTHING).await);
    // Words are told when they are searched again.
    assert_eq!(rows(&run(&world.head, NOTHING).await), expected);
    let is_warm = async || world.copies().iter().all(|copies| *copies == 2);
    assert!(wait_until(is_warm, Duration::from_secs(60)).await, "{:?}", world.copies());
    world.cluster.kill(1);
    // The share that is lost during a search is read by one process; those of later searches by many.
    assert_eq!(rows(&run(&world.head, NOTHING).await), expected);
    world.shutdown.finish(Duration::from_secs(10)).await.unwrap();
    let before = world.reads();
    assert_eq!(rows(&run(&world.head, NOTHING).await), expected);
    assert_eq!(world.reads(), before, "nothing is read from the store");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_joins_reads_in_advance_before_it_gets_parts() {
    let world = world(settings()).await;
    world.cluster.cold_since.lock()[2] = Some(SystemClock.now());
    run(&world.head, NOTHING).await;
    let is_warm = async || world.copies().iter().all(|copies| *copies == 2);
    assert!(wait_until(is_warm, Duration::from_secs(60)).await, "{:?}", world.copies());
    let newcomer = &world.caches[2];
    assert!(world.buckets.iter().any(|bucket| newcomer.has_end(&bucket.path, bucket.size)));
    assert_eq!(world.cluster.begun_by(2), 0);
    world.shutdown.finish(Duration::from_secs(10)).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_read_in_advance_if_it_may_take_no_share_of_the_cache() {
    let warming = WarmingSettings { percent: 0, ..WarmingSettings::default() };
    let world = world(Settings { warming, ..settings() }).await;
    run(&world.head, NOTHING).await;
    assert_eq!(world.copies(), [1; 12]);
    let hints = serde_json::json!([{ "query": "All", "buckets": [world.buckets[0].id] }]);
    let hints = Bytes::from(hints.to_string());
    for worker in 0..WORKERS {
        let channel = world.cluster.channel(worker);
        let told = distributed::warm(channel, hints.clone(), Duration::from_secs(5)).await;
        assert_eq!(told, Ok(true), "it knows the call, and takes nothing");
    }
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(world.copies(), [1; 12]);
    world.shutdown.finish(Duration::from_secs(10)).await.unwrap();
}

/// The service of an earlier release, as far as hints are concerned.
#[derive(Debug, Clone)]
struct Earlier;

impl Methods for Earlier {
    const NAME: &'static str = "karst.search.v1.MapParts";
    const MAX_MESSAGE: usize = 1 << 20;

    async fn answer(self, call: Call) -> Answer {
        call.unknown()
    }
}

#[tokio::test]
async fn a_process_of_an_earlier_release_says_that_it_takes_no_hints() {
    let (client, server) = tokio::io::duplex(1 << 20);
    let mut client = Some(client);
    let connector = tower::service_fn(move |_| {
        let client = client.take().ok_or_else(|| std::io::Error::other("it is gone"));
        async move { client.map(TokioIo::new) }
    });
    let channel: Channel =
        Endpoint::from_static("http://worker").connect_with_connector_lazy(connector);
    let mut serving = JoinSet::new();
    serving.spawn(async move {
        let incoming = futures::stream::once(async { Ok::<_, std::io::Error>(server) });
        let _ = Server::builder().add_service(Served(Earlier)).serve_with_incoming(incoming).await;
    });
    let told = distributed::warm(channel, Bytes::from("[]"), Duration::from_secs(5)).await;
    assert_eq!(told, Ok(false));
}
