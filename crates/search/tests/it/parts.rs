//! Searches whose buckets are read by other processes: the rows of one process, whoever is lost.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use apps::Apps;
use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use bucket::{HotBucket, LocalHot, OpenViews, WriteOptions};
use bytes::Bytes;
use catalog::{Catalog, Commit};
use conf::{Layer, Layers};
use datafusion::error::{DataFusionError, Result as PlanResult};
use distributed::{CallContext, Channel, PartRunner, PartService, RunningPart, Valve};
use futures::future::BoxFuture;
use hyper_util::rt::TokioIo;
use karst_search::{
    Dependencies, DispatchState, Job, JobRequest, OperatorReport, PartSettings, SearchService,
    Settings, SharedEvents, Worker, Workers,
};
use karst_spectest::{SpecEvent, Topology, run_directory};
use knowledge::Knowledge;
use model::{BucketEntry, BucketId, EventTime, IndexName};
use object_store::ObjectStore;
use object_store::memory::InMemory;
use parking_lot::Mutex;
use plan::{Completed, EventSource, OnBatch, PlanContext, PlannedSearch, Session, execute_watched};
use runtime::trace::Tracer;
use tokio::task::JoinSet;
use tonic::transport::{Endpoint, Server};
use transport::Served;

use crate::hot_parts::stay;
use crate::support::{
    HotRows, Random, Uncounted, dependencies, hot, log_event, open, put, with_settings,
};

/// How many workers there are.
pub(crate) const WORKERS: usize = 3;

/// Runs parts as whoever is there at the moment does.
#[derive(Debug, Default)]
pub(crate) struct Runner {
    pub(crate) service: Mutex<Option<SearchService>>,
    /// Parts that were begun.
    begun: AtomicUsize,
    /// Why it refuses parts, if it does.
    pub(crate) refuses: Mutex<Option<String>>,
    /// Whether its parts fail once they have given some rows.
    breaks_off: AtomicBool,
}

/// A part that fails after its first rows.
struct BreaksOff(Box<dyn RunningPart>, bool);

impl RunningPart for BreaksOff {
    fn schema(&self) -> SchemaRef {
        self.0.schema()
    }

    fn next<'a>(&'a mut self) -> BoxFuture<'a, Option<PlanResult<RecordBatch>>> {
        Box::pin(async move {
            if std::mem::replace(&mut self.1, true) {
                return Some(Err(DataFusionError::Execution("a fuse has blown".to_owned())));
            }
            self.0.next().await
        })
    }

    fn set(&self, valve: Valve) {
        self.0.set(valve);
    }

    fn preview(&self) -> Option<Vec<RecordBatch>> {
        self.0.preview()
    }

    fn progress(&self) -> Vec<u8> {
        self.0.progress()
    }
}

impl PartRunner for Runner {
    fn warm(&self, hints: Bytes) -> usize {
        let service = self.service.lock().clone();
        service.map_or(0, |service| service.warm(hints))
    }

    fn describe<'a>(
        &'a self,
        question: Bytes,
        context: CallContext,
    ) -> BoxFuture<'a, Result<Bytes, String>> {
        Box::pin(async move {
            let refuses = self.refuses.lock().clone();
            if let Some(why) = refuses {
                return Err(why);
            }
            let service = self.service.lock().clone().ok_or("there is nobody")?;
            service.describe(question, context).await
        })
    }

    fn start<'a>(
        &'a self,
        recipe: Bytes,
        context: CallContext,
    ) -> BoxFuture<'a, Result<Box<dyn RunningPart>, String>> {
        Box::pin(async move {
            let refuses = self.refuses.lock().clone();
            if let Some(why) = refuses {
                return Err(why);
            }
            let service = self.service.lock().clone().ok_or("there is nobody")?;
            let part = service.start(recipe, context).await?;
            self.begun.fetch_add(1, Ordering::SeqCst);
            Ok(match self.breaks_off.load(Ordering::SeqCst) {
                true => Box::new(BreaksOff(part, false)),
                false => part,
            })
        })
    }
}

/// Three workers, each behind a connection of its own.
#[derive(Debug)]
pub(crate) struct Cluster {
    pub(crate) runners: Vec<Arc<Runner>>,
    channels: Vec<Channel>,
    /// The servers; one that is aborted is a process that was killed.
    servers: Mutex<Vec<JoinSet<()>>>,
    /// Since when workers fill an empty cache.
    pub(crate) cold_since: Mutex<[Option<EventTime>; WORKERS]>,
}

impl Cluster {
    pub(crate) fn start() -> Arc<Self> {
        let runners: Vec<Arc<Runner>> = (0..WORKERS).map(|_| Arc::default()).collect();
        let (mut channels, mut servers) = (Vec::new(), Vec::new());
        for runner in &runners {
            let (client, server) = tokio::io::duplex(1 << 20);
            let mut client = Some(client);
            let connector = tower::service_fn(move |_| {
                let client = client.take().ok_or_else(|| std::io::Error::other("it is gone"));
                async move { client.map(TokioIo::new) }
            });
            let endpoint = Endpoint::from_static("http://worker");
            channels.push(endpoint.connect_with_connector_lazy(connector));
            let service = PartService::new(Arc::clone(runner) as Arc<dyn PartRunner>);
            let mut serving = JoinSet::new();
            serving.spawn(async move {
                let incoming = futures::stream::once(async { Ok::<_, std::io::Error>(server) });
                let _ = Server::builder()
                    .add_service(Served(service))
                    .serve_with_incoming(incoming)
                    .await;
            });
            servers.push(serving);
        }
        let (servers, cold_since) = (Mutex::new(servers), Mutex::default());
        Arc::new(Self { runners, channels, servers, cold_since })
    }

    pub(crate) fn begun(&self) -> usize {
        self.runners.iter().map(|runner| runner.begun.load(Ordering::SeqCst)).sum()
    }

    pub(crate) fn begun_by(&self, worker: usize) -> usize {
        self.runners[worker].begun.load(Ordering::SeqCst)
    }

    pub(crate) fn channel(&self, worker: usize) -> Channel {
        self.channels[worker].clone()
    }

    pub(crate) fn kill(&self, worker: usize) {
        self.servers.lock()[worker].abort_all();
    }
}

/// The identity of a worker.
pub(crate) fn identity(worker: usize) -> String {
    format!("id-{worker}")
}

impl Workers for Cluster {
    fn now(&self) -> Vec<Worker> {
        let worker = |(at, channel): (usize, &Channel)| Worker {
            id: identity(at),
            started: String::new(),
            name: format!("indexer {at}"),
            channel: Some(channel.clone()),
            is_near: true,
            cold_since: self.cold_since.lock()[at],
        };
        self.channels.iter().enumerate().map(worker).collect()
    }
}

pub(crate) fn settings() -> Settings {
    let parts = PartSettings {
        min_events: 0,
        silence: Duration::from_secs(5),
        buffer_bytes: 64 << 20,
        ..PartSettings::default()
    };
    Settings { parts, ..Settings::default() }
}

/// Number of parts that the events of a block are split into: three stored buckets, hot rows of the search
/// head, and hot rows of two workers.
const PARTS: usize = 6;

/// The state of the hot rows of a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Roll {
    /// They stay hot.
    No,
    /// The catalog has the bucket already, and its indexer still shows the rows.
    Committed,
    /// The catalog gets the bucket while the search runs.
    DuringSearch,
}

/// A random split of events.
#[derive(Debug)]
struct Split {
    /// The part of each event: each six events in a row are in all parts, in random order.
    parts: Vec<usize>,
    /// For each part; only those with hot rows roll.
    rolls: [Roll; PARTS],
}

impl Split {
    fn of(events: usize, random: &mut Random) -> Self {
        let mut parts = Vec::with_capacity(events + PARTS);
        while parts.len() < events {
            let mut order = [0, 1, 2, 3, 4, 5];
            for last in (1..PARTS).rev() {
                order.swap(last, random.below(last as u64 + 1) as usize);
            }
            parts.extend(order);
        }
        let rolls = [(); PARTS].map(|()| match random.below(3) {
            0 => Roll::No,
            1 => Roll::Committed,
            _ => Roll::DuringSearch,
        });
        Self { parts, rolls }
    }
}

/// The seed of the splits: `SPLIT_SEED`, or another one in each run.
fn split_seed() -> u64 {
    let given = std::env::var("SPLIT_SEED").ok().and_then(|seed| seed.parse().ok());
    given.unwrap_or_else(|| runtime::random::uuid().as_u64_pair().0)
}

/// Every spec over stored and hot buckets that workers read, beside hot rows that they do not. Some of the
/// hot buckets are rolled while searches run.
#[derive(Debug)]
struct Shared {
    cluster: Arc<Cluster>,
    random: Mutex<Random>,
    /// The buckets that are committed during the next search.
    rolling: Mutex<Vec<BucketEntry>>,
    store: Arc<dyn ObjectStore>,
    catalog: Catalog,
    buckets: Mutex<Vec<BucketId>>,
    events: Mutex<Option<Arc<SharedEvents>>>,
    /// What was opened last, and the fingerprint of its configuration: most blocks have none of their own.
    apps: Mutex<Option<(u64, Apps)>>,
}

impl Shared {
    async fn new(seed: u64) -> Self {
        let store: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
        Self {
            cluster: Cluster::start(),
            random: Mutex::new(Random(seed)),
            rolling: Mutex::default(),
            catalog: open(&store).await,
            store,
            buckets: Mutex::default(),
            events: Mutex::default(),
            apps: Mutex::default(),
        }
    }
}

impl Topology for Shared {
    fn name(&self) -> String {
        "three workers".to_owned()
    }

    fn is_about_events(&self) -> bool {
        true
    }

    fn load<'a>(
        &'a self,
        events: &'a [SpecEvent],
        knowledge: &'a Arc<Knowledge>,
    ) -> BoxFuture<'a, Result<Arc<dyn EventSource>, String>> {
        Box::pin(async move {
            let mut groups: std::collections::BTreeMap<(IndexName, usize), Vec<SpecEvent>> =
                std::collections::BTreeMap::new();
            let split = Split::of(events.len(), &mut self.random.lock());
            for (event, part) in events.iter().zip(&split.parts) {
                groups.entry((event.index.clone(), *part)).or_default().push(event.clone());
            }
            let (mut in_memory, mut add, mut rolling) = (Vec::new(), Vec::new(), Vec::new());
            let views: Vec<OpenViews> = (0..WORKERS).map(|_| OpenViews::default()).collect();
            for ((_, part), group) in &groups {
                let (is_stored, roll) = (*part < 3, split.rolls[*part]);
                let mut shown = hot(group);
                if is_stored || roll != Roll::No {
                    let entry = put(&self.store, group, knowledge, &WriteOptions::default()).await;
                    // A bucket has the same ID before and after it is rolled.
                    shown = HotBucket { id: entry.id, ..shown };
                    let is_later = !is_stored && roll == Roll::DuringSearch;
                    if is_later { rolling.push(entry) } else { add.push(entry) }
                }
                match part {
                    3 => in_memory.push(shown),
                    4 | 5 => {
                        in_memory.extend(stay(&identity(*part - 4), &views[*part - 4], &[shown]))
                    }
                    _ => {}
                }
            }
            *self.rolling.lock() = rolling;
            let added = add.iter().map(|entry| entry.id).collect();
            let remove = std::mem::replace(&mut *self.buckets.lock(), added);
            if !add.is_empty() || !remove.is_empty() {
                let commit = Commit { add, remove, ..Commit::default() };
                self.catalog.commit(commit).await.map_err(|error| error.to_string())?;
            }
            let mut names: Vec<IndexName> =
                events.iter().map(|event| event.index.clone()).collect();
            names.push(IndexName::new("main").unwrap());
            names.sort();
            names.dedup();
            let objects = Arc::new(Uncounted(Arc::clone(&self.store)));
            let mut parts =
                dependencies(self.catalog.clone(), in_memory, objects, knowledge, names);
            let fingerprint = knowledge.layers().fingerprint(|_| true);
            let last = self.apps.lock().clone().filter(|(known, _)| *known == fingerprint);
            match last {
                Some((_, apps)) => parts.apps = apps,
                None => *self.apps.lock() = Some((fingerprint, parts.apps.clone())),
            }
            for (runner, views) in self.cluster.runners.iter().zip(views) {
                // What is compiled of the configuration is shared: nothing of it is a worker's own.
                let hot = Arc::new(LocalHot(Arc::new(HotRows(Vec::new()))));
                let own = Dependencies { hot, views, ..parts.clone() };
                *runner.service.lock() = Some(with_settings(own, settings()));
            }
            parts.workers = Some(Arc::clone(&self.cluster) as Arc<dyn Workers>);
            let events = Arc::new(with_settings(parts, settings()).shared_events());
            let source = events.source();
            *self.events.lock() = Some(events);
            Ok(source)
        })
    }

    fn execute<'a>(
        &'a self,
        planned: &'a PlannedSearch,
        context: &'a PlanContext,
        session: &'a Session,
        on_batch: &'a mut OnBatch<'a>,
    ) -> BoxFuture<'a, Result<Completed, plan::Error>> {
        Box::pin(async move {
            let events = self.events.lock().clone();
            let watch = events.map(|events| events.watch(planned, context));
            let search = execute_watched(planned, session, watch.as_deref(), on_batch);
            let add = std::mem::take(&mut *self.rolling.lock());
            if add.is_empty() {
                return search.await;
            }
            self.buckets.lock().extend(add.iter().map(|entry| entry.id));
            let commit = self.catalog.commit(Commit { add, ..Commit::default() });
            let (completed, rolled) = tokio::join!(search, commit);
            rolled.unwrap();
            completed
        })
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn specs_hold_over_three_workers() {
    let seed = split_seed();
    println!("SPLIT_SEED={seed} splits the events in the same way again");
    let shared = Arc::new(Shared::new(seed).await);
    let topology: Arc<dyn Topology> = Arc::clone(&shared) as Arc<dyn Topology>;
    let report = run_directory(Path::new("../spectest/specs"), &[topology]).await.unwrap();
    let begun = shared.cluster.begun();
    println!("{} blocks; workers ran {begun} parts", report.blocks);
    assert!(report.failures.is_empty(), "SPLIT_SEED={seed}\n{report}");
    assert!(begun > 1_500, "workers ran {begun} parts only");
}

#[test]
fn a_split_is_the_same_for_the_same_seed_and_uses_all_parts() {
    let split = |seed| Split::of(12, &mut Random(seed)).parts;
    assert_eq!(split(7), split(7));
    assert!((8..20).any(|seed| split(seed) != split(7)));
    for six in split(7).chunks(PARTS) {
        let mut sorted = six.to_vec();
        sorted.sort_unstable();
        assert_eq!(sorted, [0, 1, 2, 3, 4, 5]);
    }
    let rolls: Vec<Roll> = (0..9).flat_map(|seed| Split::of(1, &mut Random(seed)).rolls).collect();
    assert!([Roll::No, Roll::Committed, Roll::DuringSearch].iter().all(|one| rolls.contains(one)));
}

/// A search head beside workers, all over the same buckets of so many events.
pub(crate) struct World {
    pub(crate) cluster: Arc<Cluster>,
    pub(crate) head: SearchService,
    alone: SearchService,
}

async fn world(events: usize, settings: Settings) -> World {
    traced_world(events, settings, Tracer::default(), Tracer::default()).await
}

/// The same, with who makes the spans of the search head and of all workers.
pub(crate) async fn traced_world(
    events: usize,
    settings: Settings,
    of_head: Tracer,
    of_workers: Tracer,
) -> World {
    let builtin = Arc::new(Knowledge::builtin());
    world_of(events, settings, [(&builtin, of_head), (&builtin, of_workers)]).await
}

/// The same, with the configuration of the search head and of all workers, and who makes their spans.
async fn world_of(
    events: usize,
    settings: Settings,
    [(knowledge, of_head), (of_their_own, of_workers)]: [(&Arc<Knowledge>, Tracer); 2],
) -> World {
    let store: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
    let catalog = open(&store).await;
    let events: Vec<SpecEvent> = (0..events).map(log_event).collect();
    let (last, stored) = events.split_last_chunk::<50>().unwrap();
    let options = WriteOptions { granule_rows: 64, row_group_rows: 640, ..WriteOptions::default() };
    let mut add = Vec::new();
    for part in stored.chunks(stored.len().div_ceil(12)) {
        add.push(put(&store, part, knowledge, &options).await);
    }
    catalog.commit(Commit { add, ..Commit::default() }).await.unwrap();
    let in_memory = vec![hot(last)];
    let names = || vec![IndexName::new("main").unwrap()];
    let objects = Arc::new(Uncounted(store));
    let dependencies =
        |hot, knowledge| dependencies(catalog.clone(), hot, objects.clone(), knowledge, names());
    let cluster = Cluster::start();
    for runner in &cluster.runners {
        let own = dependencies(Vec::new(), of_their_own);
        let own = Dependencies { tracer: of_workers.clone(), ..own };
        *runner.service.lock() = Some(with_settings(own, settings.clone()));
    }
    let mut parts = Dependencies { tracer: of_head, ..dependencies(in_memory.clone(), knowledge) };
    parts.workers = Some(Arc::clone(&cluster) as Arc<dyn Workers>);
    let head = with_settings(parts, settings.clone());
    let alone = with_settings(dependencies(in_memory, knowledge), settings);
    World { cluster, head, alone }
}

pub(crate) async fn run(service: &SearchService, search: &str) -> Arc<Job> {
    let request = JobRequest { status_buckets: 300, ..JobRequest::new(search, "me") };
    let job = service.dispatch(request).await.unwrap();
    job.finished().await.unwrap();
    job
}

pub(crate) fn rows(job: &Arc<Job>) -> Vec<Vec<Option<karst_search::Value>>> {
    job.page(0, 100_000).rows
}

pub(crate) const SEARCHES: [&str; 6] = [
    "search index=main | stats count, avg(ms), dc(user), max(n) by host | sort host",
    "search index=main alpha | timechart span=10m count by host",
    "search index=main ms>900 | eval slow=ms*2 | table _time n slow",
    "search index=main user=u7* | head 40 | table n",
    "search index=main | top limit=5 user",
    "search index=main | dedup user | sort n | table n user",
];

#[tokio::test(flavor = "multi_thread")]
async fn parts_keep_the_range_of_index_times() {
    let world = world(30_000, settings()).await;
    let mut counts = Vec::new();
    for service in [&world.alone, &world.head] {
        let request = JobRequest {
            index_latest: Some("1700000000.005".to_owned()),
            ..JobRequest::new("search index=main | stats count", "me")
        };
        let job = service.dispatch(request).await.unwrap();
        job.finished().await.unwrap();
        counts.push(rows(&job));
    }
    assert_eq!(counts[0], counts[1]);
    assert_eq!(counts[0], [[Some(karst_search::Value::One("5000".to_owned()))]]);
}

#[tokio::test(flavor = "multi_thread")]
async fn counters_timeline_and_rows_are_those_of_one_process() {
    let world = world(30_000, settings()).await;
    for search in SEARCHES {
        let (one, many) = (run(&world.alone, search).await, run(&world.head, search).await);
        assert_eq!(rows(&one), rows(&many), "{search}");
        let counts = |job: &Job| (job.counts().events_matched, job.counts().events_scanned);
        if !search.contains("head") {
            assert_eq!(counts(&one), counts(&many), "{search}");
            let bins = |job: &Job| job.timeline().map(|line| line.bins().collect::<Vec<_>>());
            assert_eq!(bins(&one), bins(&many), "{search}");
        }
        assert!(!many.is_partial(), "{:?}", many.messages());
    }
    assert!(world.cluster.begun() >= 12, "{}", world.cluster.begun());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_inspector_has_the_plans_of_parts() {
    let world = world(30_000, settings()).await;
    let job = run(&world.head, "search index=main alpha | stats count by user").await;
    let inspection = job.inspect();
    let parts = &inspection.part_plans;
    assert_eq!(parts.len(), inspection.scan.parts.len());
    assert!(!parts.is_empty());
    let matched: u64 = inspection.scan.parts.iter().map(|part| part.events_matched).sum();
    let rows: usize =
        parts.iter().filter_map(|part| scan_of(&part.plan)).filter_map(|scan| scan.rows).sum();
    assert_eq!(rows as u64, matched);
    // Lists and statuses of jobs are without plans.
    let summary = job.summary();
    assert!(summary.plans.is_empty() && summary.part_plans.is_empty());
    assert_eq!(summary.phases.len(), inspection.phases.len());
    assert_eq!(summary.scan.parts.len(), inspection.scan.parts.len());
}

fn scan_of(plan: &OperatorReport) -> Option<&OperatorReport> {
    if plan.name == "BucketScanExec" { Some(plan) } else { plan.inputs.iter().find_map(scan_of) }
}

/// Configuration with an app that shows nothing to others and says in which zone times are read.
fn hidden_zone(zone: &str) -> Arc<Knowledge> {
    let app = Layer::AppDefault("sales".to_owned());
    let layers = Layers::builtin().with(app, "props", &format!("[log]\nTZ = {zone}\n"));
    Arc::new(Knowledge::new(layers.with_metadata("sales", "[]\nexport = none\n")))
}

async fn run_in_app(service: &SearchService, app: &str, search: &str) -> Arc<Job> {
    let request = JobRequest { app: app.to_owned(), ..JobRequest::new(search, "me") };
    let job = service.dispatch(request).await.unwrap();
    job.finished().await.unwrap();
    job
}

/// The hour of the events in Tokyo.
const IN_TOKYO: &str = "search index=main date_hour=7 | stats count";

#[tokio::test(flavor = "multi_thread")]
async fn parts_of_the_time_are_the_same_in_all_apps() {
    let tokyo = hidden_zone("Asia/Tokyo");
    let of_all = [(&tokyo, Tracer::default()), (&tokyo, Tracer::default())];
    let world = world_of(1_000, settings(), of_all).await;
    let all = rows(&run(&world.alone, "search index=main | stats count").await);
    for app in ["sales", "search"] {
        for service in [&world.alone, &world.head] {
            assert_eq!(rows(&run_in_app(service, app, IN_TOKYO).await), all, "{app}");
        }
    }
    assert!(world.cluster.begun() > 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn workers_with_other_time_zones_refuse_parts() {
    let (tokyo, paris) = (hidden_zone("Asia/Tokyo"), hidden_zone("Europe/Paris"));
    let of_both = [(&tokyo, Tracer::default()), (&paris, Tracer::default())];
    let world = world_of(1_000, settings(), of_both).await;
    let expected = rows(&run_in_app(&world.alone, "search", IN_TOKYO).await);
    assert_eq!(rows(&run_in_app(&world.head, "search", IN_TOKYO).await), expected);
    assert_eq!(world.cluster.begun(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn parts_of_a_worker_that_is_gone_run_elsewhere() {
    let world = world(30_000, settings()).await;
    let expected = rows(&run(&world.alone, SEARCHES[0]).await);
    world.cluster.kill(1);
    for _ in 0..2 {
        let job = run(&world.head, SEARCHES[0]).await;
        assert_eq!(rows(&job), expected);
        assert!(!job.is_partial());
    }
    world.cluster.kill(0);
    world.cluster.kill(2);
    let job = run(&world.head, SEARCHES[0]).await;
    assert_eq!(rows(&job), expected, "the search head reads all itself");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_is_killed_in_the_middle_changes_nothing() {
    let world = world(30_000, settings()).await;
    let search = "search index=main | eval x=md5(user.ms) | stats count, dc(x) by host | sort host";
    let expected = rows(&run(&world.alone, search).await);
    for after in [1, 5, 20] {
        let begun = world.cluster.begun();
        let job = world.head.dispatch(JobRequest::new(search, "me")).await.unwrap();
        while world.cluster.begun() == begun && !job.status().state.is_final() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        tokio::time::sleep(Duration::from_millis(after)).await;
        world.cluster.kill(after as usize % WORKERS);
        job.finished().await.unwrap();
        assert_eq!(rows(&job), expected);
        assert!(!job.is_partial());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_refuses_is_not_waited_for() {
    let world = world(30_000, settings()).await;
    for runner in &world.cluster.runners {
        *runner.refuses.lock() = Some("its apps differ".to_owned());
    }
    let expected = rows(&run(&world.alone, SEARCHES[0]).await);
    let job = run(&world.head, SEARCHES[0]).await;
    assert_eq!(rows(&job), expected);
    assert_eq!(world.cluster.begun(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn results_are_incomplete_only_if_rows_of_a_part_that_fails_are_in_use() {
    let search = "search index=main ms>900 | table n";
    for (buffer_bytes, is_partial) in [(64 << 20, false), (1, true)] {
        let parts = PartSettings { buffer_bytes, ..settings().parts };
        let world = world(30_000, Settings { parts, ..Settings::default() }).await;
        for runner in &world.cluster.runners {
            runner.breaks_off.store(true, Ordering::SeqCst);
        }
        let (expected, job) = (run(&world.alone, search).await, run_export(&world.head).await);
        let (rows, warnings) = job;
        assert!(is_partial || rows == expected.result_count(), "{rows} rows");
        assert_eq!(!warnings.is_empty(), is_partial, "{warnings:?}");
        assert!(warnings.iter().all(|text| {
            text.starts_with("The results are incomplete: indexer")
                && text.contains("a fuse has blown; it was reading")
                && text.ends_with("some of their events are missing.")
        }));
    }
}

/// Rows of an export of the same search, which keeps all of them, and its warnings.
async fn run_export(service: &SearchService) -> (usize, Vec<String>) {
    let request = JobRequest::new("search index=main ms>900 | table n", "me");
    let mut export = service.export(request).await.unwrap();
    let mut rows = 0;
    while let Some(page) = export.next().await {
        rows += page.unwrap().rows.len();
    }
    (rows, export.run().warnings())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_paused_search_waits_everywhere_and_a_finalized_one_ends() {
    let world = world(60_000, settings()).await;
    let search = "search index=main | eval x=md5(user.ms) | stats count by x";
    let job = world.head.dispatch(JobRequest::new(search, "me")).await.unwrap();
    job.pause();
    tokio::time::sleep(Duration::from_millis(700)).await;
    let before = job.counts().events_scanned;
    tokio::time::sleep(Duration::from_millis(1_200)).await;
    assert_eq!(job.counts().events_scanned, before);
    assert!(!job.status().state.is_final());
    job.finalize();
    job.finished().await.unwrap();
    assert_eq!(job.status().state, DispatchState::Done);
    assert!(job.counts().events_scanned < 60_000);
}
