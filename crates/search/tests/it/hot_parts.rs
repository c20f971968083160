//! Searches over hot rows that stay at their indexers: the rows of one process, without moving them.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use arrow::array::{AsArray, RecordBatch};
use arrow::datatypes::Int32Type;
use bucket::{
    Elsewhere, HotBucket, HotDirectory, LocalHot, MissingIndexer, OpenView, OpenViews, RemoteView,
    WriteOptions,
};
use catalog::Commit;
use futures::future::BoxFuture;
use karst_search::{
    Dependencies, JobRequest, PartSettings, SearchService, Settings, SqlRequest, SqlRows, Workers,
};
use karst_spectest::SpecEvent;
use knowledge::Knowledge;
use model::{BucketId, IndexName};
use object_store::ObjectStore;
use object_store::memory::InMemory;

use crate::parts::{Cluster, SEARCHES, WORKERS, identity, rows, run, settings};
use crate::support::{
    HotRows, Uncounted, dependencies, done, hot, log_event, open, put, with_settings,
};

/// A view of hot buckets that have stayed at a worker.
#[derive(Debug)]
struct Stays {
    worker: String,
    open: OpenView,
    rows: HashMap<BucketId, Vec<RecordBatch>>,
    moved: Arc<AtomicUsize>,
    is_gone: Arc<AtomicBool>,
}

impl RemoteView for Stays {
    fn indexer(&self) -> &str {
        &self.worker
    }

    fn number(&self) -> u64 {
        self.open.number()
    }

    fn rows<'a>(
        &'a self,
        bucket: BucketId,
    ) -> BoxFuture<'a, Result<Vec<RecordBatch>, MissingIndexer>> {
        Box::pin(async move {
            if self.is_gone.load(Ordering::SeqCst) {
                let (name, reason) = (format!("indexer {}", self.worker), "it is gone".to_owned());
                return Err(MissingIndexer { name, reason });
            }
            self.moved.fetch_add(1, Ordering::SeqCst);
            Ok(self.rows[&bucket].clone())
        })
    }
}

/// The buckets as a search head has them if they stay at a worker with these views.
pub(crate) fn stay(worker: &str, views: &OpenViews, buckets: &[HotBucket]) -> Vec<HotBucket> {
    stay_until(worker, views, buckets, (Arc::default(), Arc::default()))
}

fn sourcetypes(batch: &RecordBatch) -> Vec<String> {
    let column = batch.column_by_name("sourcetype").unwrap().as_dictionary::<Int32Type>();
    column.values().as_string::<i32>().iter().flatten().map(str::to_owned).collect()
}

fn stay_until(
    worker: &str,
    views: &OpenViews,
    buckets: &[HotBucket],
    (moved, is_gone): (Arc<AtomicUsize>, Arc<AtomicBool>),
) -> Vec<HotBucket> {
    let number = runtime::random::uuid().as_u64_pair().0;
    let view: Arc<dyn RemoteView> = Arc::new(Stays {
        worker: worker.to_owned(),
        open: views.open(number, buckets, usize::MAX).unwrap(),
        rows: buckets.iter().map(|bucket| (bucket.id, bucket.batches.clone())).collect(),
        moved,
        is_gone,
    });
    let remote = |bucket: &HotBucket| {
        let sourcetypes = bucket.batches.iter().flat_map(sourcetypes).collect();
        let elsewhere = Some(Elsewhere { view: Arc::clone(&view), sourcetypes });
        HotBucket { batches: Vec::new(), elsewhere, ..bucket.clone() }
    };
    buckets.iter().map(remote).collect()
}

/// A search head over some stored buckets, hot rows of its own, and many at the workers.
struct World {
    cluster: Arc<Cluster>,
    head: SearchService,
    alone: SearchService,
    moved: Arc<AtomicUsize>,
    is_gone: Arc<AtomicBool>,
}

async fn world(settings: Settings) -> World {
    let store: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
    let catalog = open(&store).await;
    let knowledge = Arc::new(Knowledge::builtin());
    let events: Vec<SpecEvent> = (0..40_000).map(log_event).collect();
    let options = WriteOptions { granule_rows: 64, row_group_rows: 640, ..WriteOptions::default() };
    let mut add = Vec::new();
    for part in events[..9_000].chunks(3_000) {
        add.push(put(&store, part, &knowledge, &options).await);
    }
    catalog.commit(Commit { add, ..Commit::default() }).await.unwrap();
    let own = hot(&events[9_000..9_050]);
    let buckets: Vec<_> = events[9_050..].chunks(5_000).map(hot).collect();
    let objects = Arc::new(Uncounted(store));
    let names = || vec![IndexName::new("main").unwrap()];
    let dependencies =
        |hot| dependencies(catalog.clone(), hot, objects.clone(), &knowledge, names());
    let all = std::iter::once(&own).chain(&buckets).cloned().collect();
    let alone = with_settings(dependencies(all), settings.clone());
    let cluster = Cluster::start();
    let (moved, is_gone): (Arc<AtomicUsize>, Arc<AtomicBool>) = Default::default();
    let mut seen = vec![own];
    for (at, runner) in cluster.runners.iter().enumerate() {
        let views = OpenViews::default();
        let here: Vec<_> = buckets.iter().skip(at).step_by(WORKERS).cloned().collect();
        let state = (Arc::clone(&moved), Arc::clone(&is_gone));
        seen.extend(stay_until(&identity(at), &views, &here, state));
        let parts = Dependencies { views, ..dependencies(Vec::new()) };
        *runner.service.lock() = Some(with_settings(parts, settings.clone()));
    }
    let mut parts = dependencies(Vec::new());
    parts.hot = Arc::new(LocalHot(Arc::new(HotRows(seen)))) as Arc<dyn HotDirectory>;
    parts.workers = Some(Arc::clone(&cluster) as Arc<dyn Workers>);
    let head = with_settings(parts, settings);
    World { cluster, head, alone, moved, is_gone }
}

/// The same searches as over stored buckets, and those that ask what there is.
fn searches() -> impl Iterator<Item = &'static str> {
    SEARCHES.into_iter().chain([
        "search index=main | head 5",
        "search index=main | fieldsummary | table field count distinct_count",
        "| metadata type=hosts index=main | table host totalCount firstTime lastTime",
        "search index=main alpha | stats values(*) as * by host | table host user | mvexpand user | stats count",
        "| tstats count where index=main by sourcetype",
        // The searches within them run in parts, too.
        "search index=main [search index=main user=u7* | head 3 | fields user] | stats count by user",
        "search index=main ms>990 | stats count by host | append [search index=main ms<5 | stats count by host]",
        "search index=main ms>990 | join host [search index=main | stats dc(user) as users by host]
         | stats count by host users",
        // Their second stages know the first and the last event, or the fields that have values.
        "search index=main alpha | timechart count by host",
        "search index=main | bin n bins=7 | stats count by n",
    ])
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_that_stay_give_the_rows_of_one_process_and_are_not_moved() {
    // Stored buckets are shared out too, or read by the search head.
    for min_events in [0, 1_000_000] {
        let parts = PartSettings { min_events, ..settings().parts };
        let world = world(Settings { parts, ..Settings::default() }).await;
        for search in searches() {
            let (one, many) = (run(&world.alone, search).await, run(&world.head, search).await);
            assert_eq!(rows(&one), rows(&many), "{search}");
            let counts = |job: &karst_search::Job| job.counts().events_matched;
            if !search.contains("head") {
                assert_eq!(counts(&one), counts(&many), "{search}");
                let bins = |job: &karst_search::Job| {
                    job.timeline().map(|line| line.bins().collect::<Vec<_>>())
                };
                assert_eq!(bins(&one), bins(&many), "{search}");
            }
            assert!(!many.is_partial(), "{search}: {:?}", many.messages());
            assert_eq!(world.moved.load(Ordering::SeqCst), 0, "{search}");
        }
        assert!(world.cluster.begun() >= 24, "{}", world.cluster.begun());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_search_for_few_rows_reads_few_stored_ones_beside_its_parts() {
    let parts = PartSettings { min_events: 1_000_000, ..settings().parts };
    let world = world(Settings { parts, ..Settings::default() }).await;
    for search in ["head 5", "tail 5", "dedup user | head 3"] {
        let begun = world.cluster.begun();
        let search = format!("search index=main | {search} | table n");
        // Without a timeline, which counts all events.
        let (one, many) = (done(&world.alone, &search).await, done(&world.head, &search).await);
        assert_eq!(rows(&one), rows(&many), "{search}");
        assert!(world.cluster.begun() > begun, "{search}");
        let counts = many.counts();
        let of_parts = counts.parts.iter().map(|part| part.events_scanned).sum::<u64>();
        let own = counts.events_scanned - of_parts;
        // The search head has 9,050. How far it is when it learns that it may stop depends on timing.
        assert!(own < 4_500, "{search}: {own}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_are_moved_where_parts_are_refused_and_for_sql() {
    let world = world(settings()).await;
    for runner in &world.cluster.runners {
        *runner.refuses.lock() = Some("its apps differ".to_owned());
    }
    for search in searches() {
        let (one, many) = (run(&world.alone, search).await, run(&world.head, search).await);
        assert_eq!(rows(&one), rows(&many), "{search}");
        assert!(!many.is_partial(), "{search}: {:?}", many.messages());
    }
    assert_eq!(world.cluster.begun(), 0);
    assert!(world.moved.load(Ordering::SeqCst) > 0);
    let result = world.head.sql(count()).await.unwrap();
    assert_eq!(format!("{:?}", result.page().rows), "[[Some(One(\"40000\"))]]");
}

fn count() -> SqlRequest {
    SqlRequest {
        query: "SELECT count(*) FROM main".to_owned(),
        earliest: None,
        latest: None,
        timezone: jiff::tz::TimeZone::UTC,
        app: "search".to_owned(),
        rights: Arc::new(access::Rights::of_system("admin")),
        rows: SqlRows::Limited,
        trace: Default::default(),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn without_the_indexer_that_has_them_the_results_are_incomplete_and_say_so() {
    let world = world(settings()).await;
    world.is_gone.store(true, Ordering::SeqCst);
    world.cluster.runners.iter().for_each(|runner| *runner.service.lock() = None);
    for search in ["search index=main | stats count", "search index=main | head 5 | table n"] {
        let job = run(&world.head, search).await;
        assert!(job.is_partial(), "{search}");
        let messages = format!("{:?}", job.messages());
        assert!(messages.contains("incomplete: indexer id-"), "{messages}");
        assert!(messages.contains("it is gone"), "{messages}");
    }
    let job = run(&world.head, "search index=main | stats count").await;
    assert_eq!(
        job.page(0, 1).rows,
        run(&world.alone, "search index=main latest=1700009050 | stats count")
            .await
            .page(0, 1)
            .rows
    );
    let error = world.head.sql(count()).await.unwrap_err().to_string();
    assert!(error.contains("it is gone"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_is_killed_while_it_reads_is_asked_for_its_rows() {
    // Only its connection breaks: the rows can still be moved, and nothing is missing.
    let world = world(settings()).await;
    let search = "search index=main | eval x=md5(user.ms) | stats count, dc(x) by host | sort host";
    let expected = rows(&run(&world.alone, search).await);
    for after in [1, 5, 20] {
        let begun = world.cluster.begun();
        let job = world.head.dispatch(JobRequest::new(search, "me")).await.unwrap();
        while world.cluster.begun() == begun && !job.status().state.is_final() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        tokio::time::sleep(Duration::from_millis(after)).await;
        world.cluster.kill(usize::try_from(after).unwrap() % WORKERS);
        job.finished().await.unwrap();
        assert_eq!(rows(&job), expected);
        assert!(!job.is_partial(), "{:?}", job.messages());
    }
}
