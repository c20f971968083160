//! What planning takes over a large catalog whose buckets are all left out, by time, source type or host:
//! `cargo run -p karst-search --example planning <directory of a catalog>`, made by
//! `cargo run -p karst-catalog --example rates fill <directory> <buckets> <hosts of each>`. No object is
//! read, so the time of a search is what planning and the job itself take.
#![allow(clippy::disallowed_methods)]

use std::sync::Arc;
use std::time::Instant;

use apps::{Apps, Parts};
use bucket::{HotBucket, HotBuckets};
use cache::SearchReads;
use catalog::{Catalog, IndexNames};
use karst_search::{Dependencies, JobRequest, Objects, SearchService, SearchThreads, Settings};
use knowledge::Knowledge;
use model::{IndexName, TimeRange};
use object_store::ObjectStore;
use object_store::local::LocalFileSystem;
use object_store::memory::InMemory;

/// The first event of the catalog, in seconds: a million buckets are a year.
const START: u64 = 1_700_000_000;
const BUCKET_SECONDS: f64 = 31.536;
const TIMES: usize = 21;

#[derive(Debug)]
struct Main;

impl IndexNames for Main {
    fn names(&self) -> Vec<IndexName> {
        vec![IndexName::new("main").expect("it is a name")]
    }

    fn default_names(&self) -> Vec<IndexName> {
        self.names()
    }

    fn metric_names(&self) -> Vec<IndexName> {
        Vec::new()
    }
}

#[derive(Debug)]
struct NoHotRows;

impl HotBuckets for NoHotRows {
    fn snapshot(&self, _: &[IndexName], _: &TimeRange) -> Vec<HotBucket> {
        Vec::new()
    }

    fn in_memory(&self) -> std::collections::HashSet<model::BucketId> {
        Default::default()
    }
}

/// A store without a bucket.
#[derive(Debug)]
struct NoObjects;

impl Objects for NoObjects {
    fn counted(&self, _: &Arc<SearchReads>) -> Arc<dyn ObjectStore> {
        Arc::new(InMemory::new())
    }
}

#[tokio::main]
async fn main() {
    let directory = std::env::args().nth(1).expect("the directory of a catalog");
    let store = Arc::new(LocalFileSystem::new_with_prefix(directory).expect("it exists"));
    let clock = Arc::new(runtime::SystemClock);
    let settings = catalog::Settings::default();
    let catalog = Catalog::open(store, "catalog", settings, clock).await.expect("it opens");
    let buckets = catalog.snapshot().len();
    println!("{buckets} buckets");
    println!("| search | left by time | first ms | median ms | prune, median ms |");
    println!("| --- | --- | --- | --- | --- |");
    let service = service(catalog);
    let last = START + (buckets as f64 * BUCKET_SECONDS) as u64;
    let middle = (START + last) / 2;
    let hour = 3_600;
    for (name, search, earliest, latest) in [
        ("host=nowhere, last hour", "host=nowhere needle", last - hour, last),
        ("host=nowhere, an hour in the middle", "host=nowhere needle", middle, middle + hour),
        ("host=nowhere, a day in the middle", "host=nowhere needle", middle, middle + 24 * hour),
        ("sourcetype=nothing, all", "sourcetype=nothing needle", START, last + hour),
        ("after all", "needle", last + 2 * hour, last + 3 * hour),
    ] {
        let mut runs = Vec::new();
        for _ in 0..TIMES {
            runs.push(run(&service, search, earliest, latest).await);
        }
        let first = runs[0].0;
        let median = |of: fn(&Run) -> f64| {
            let mut values: Vec<f64> = runs.iter().map(of).collect();
            values.sort_by(f64::total_cmp);
            values[TIMES / 2]
        };
        let (all, prune) = (median(|run| run.0), median(|run| run.1));
        let left = runs[0].2;
        println!("| {name} | {left} | {first:.1} | {all:.1} | {prune:.1} |");
    }
}

/// Milliseconds of the search and of pruning, and buckets that time has left.
type Run = (f64, f64, u64);

async fn run(service: &SearchService, search: &str, earliest: u64, latest: u64) -> Run {
    let request = JobRequest {
        earliest: Some(earliest.to_string()),
        latest: Some(latest.to_string()),
        ..JobRequest::new(format!("search index=main {search}"), "me")
    };
    let begun = Instant::now();
    let job = service.dispatch(request).await.expect("it is planned");
    job.finished().await.expect("it ends");
    let seconds = begun.elapsed().as_secs_f64();
    let inspection = job.inspect();
    let prune = inspection.phases.iter().find(|phase| phase.name == "prune");
    let scan = &inspection.scan;
    let left = scan.buckets_considered - scan.buckets_pruned_by_time;
    (seconds * 1e3, prune.map_or(0.0, |phase| phase.seconds * 1e3), left)
}

fn service(catalog: Catalog) -> SearchService {
    let knowledge = Knowledge::builtin();
    let apps = Apps::open(Parts {
        catalog: catalog.clone(),
        store: Arc::new(InMemory::new()),
        knowledge: Arc::new(knowledge),
        directory: None,
        shared: false,
        installed: None,
        ignored: Vec::new(),
        tolerate: |_| Vec::new(),
    });
    let dependencies = Dependencies {
        catalog,
        apps: apps.expect("there are no files"),
        host: Arc::new(plan::EventsOnly),
        hot: Arc::new(bucket::LocalHot(Arc::new(NoHotRows))),
        views: bucket::OpenViews::default(),
        objects: Arc::new(NoObjects),
        indexes: Arc::new(Main),
        workers: None,
        clock: Arc::new(runtime::SystemClock),
        threads: SearchThreads::of(tokio::runtime::Handle::current()),
        tracer: runtime::trace::Tracer::default(),
    };
    SearchService::new(dependencies, Settings::default()).expect("the settings are the defaults")
}
