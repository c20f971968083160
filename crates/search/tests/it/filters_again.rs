//! Fields that the configuration computes: a search that is repeated finds the same rows, and reads less, as
//! it knows which stored rows pass its filter, and the values.

use std::sync::Arc;

use access::Rights;
use bucket::{HotBucket, WriteOptions};
use cache::CachedStore;
use catalog::{Catalog, Commit};
use conf::{Layer, Layers};
use karst_search::{Job, JobRequest, OperatorReport, SearchService, Settings, SqlRequest};
use karst_spectest::SpecEvent;
use knowledge::Knowledge;
use model::IndexName;
use object_store::ObjectStore;
use object_store::memory::InMemory;

use crate::sql::request;
use crate::support::{Counted, hot, log_event, open, put, service_with};

/// A long expression is above the scan in plans, others may be pushed down to it.
fn props() -> String {
    let grades: String = (1..60).map(|at| format!("ms<{}, \"g{at}\", ", at * 17)).collect();
    format!(
        "[web]\n\
         EVAL-level = case(ms<100, \"low\", ms<500, \"middle\", true(), \"high\")\n\
         EVAL-who = coalesce(owner, user)\n\
         EVAL-grade = case({grades}true(), \"none\")\n\
         [db]\n\
         EVAL-level = if(ms<300, \"low\", \"high\")\n"
    )
}

/// Of fields that are stored, of computed ones, and of words.
const EVENT_TYPES: &str = "\
    [slow_web]\nsearch = sourcetype=web level=high\n\
    [quick]\nsearch = level=low ms<50\n\
    [worded]\nsearch = alpha sourcetype=db\n\
    [of_others]\nsearch = sourcetype=web NOT who=o1\n";

const TAGS: &str = "[eventtype=slow_web]\nslow = enabled\n[level=low]\nfine = enabled\n";

const ROWS: usize = 9_000;

/// Of three source types, the last of which has its own `level`.
fn event(at: usize) -> SpecEvent {
    let log = log_event(at);
    let (sourcetype, own) = match at % 3 {
        0 => ("web", format!("owner=o{}", at % 5)),
        1 => ("db", String::new()),
        _ => ("other", ["level=low", "level=high"][at % 2].to_owned()),
    };
    let raw = format!("{} {own}", log.raw);
    SpecEvent { raw, sourcetype: sourcetype.to_owned(), ..log }
}

/// Three buckets, and hot rows.
struct Filled {
    catalog: Catalog,
    cache: Arc<CachedStore>,
    hot: Vec<HotBucket>,
    knowledge: Arc<Knowledge>,
}

impl Filled {
    async fn new() -> Self {
        Self::of(&props()).await
    }

    async fn of(props: &str) -> Self {
        let store: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
        let files = [("props", props), ("eventtypes", EVENT_TYPES), ("tags", TAGS)];
        let layers = files.into_iter().fold(Layers::builtin(), |layers, (file, text)| {
            layers.with(Layer::SystemLocal, file, text)
        });
        let knowledge = Arc::new(Knowledge::new(layers));
        let options =
            WriteOptions { granule_rows: 64, row_group_rows: 640, ..WriteOptions::default() };
        let events: Vec<SpecEvent> = (0..ROWS).map(event).collect();
        let (stored, fresh) = events.split_at(ROWS - 600);
        let mut add = Vec::new();
        for part in stored.chunks(2_800) {
            add.push(put(&store, part, &knowledge, &options).await);
        }
        let catalog = open(&store).await;
        catalog.commit(Commit { add, ..Commit::default() }).await.unwrap();
        let sizes = cache::Settings {
            dram_bytes: 64 << 20,
            block_bytes: 4 << 10,
            ..cache::Settings::in_memory()
        };
        let cache = Arc::new(CachedStore::open(store, sizes).await.unwrap());
        Self { catalog, cache, hot: vec![hot(fresh)], knowledge }
    }

    /// A service that remembers passing rows, and computed values, within this memory.
    fn service(&self, bytes: usize) -> SearchService {
        let settings = Settings {
            batch_search_max_pipeline: Some(2),
            filter_bytes: bytes,
            computed_bytes: bytes * 4,
            ..Settings::default()
        };
        let (catalog, hot) = (self.catalog.clone(), self.hot.clone());
        let objects = Arc::new(Counted(Arc::clone(&self.cache)));
        let names = vec![IndexName::new("main").unwrap()];
        service_with(catalog, hot, objects, &self.knowledge, names, settings)
    }
}

/// The time from which on the events of a search are, and before which.
type Times<'a> = (&'a str, &'a str);

const ALL: Times<'static> = ("0", "1800000000");

async fn done(service: &SearchService, search: &str, (earliest, latest): Times<'_>) -> Arc<Job> {
    let (earliest, latest) = (Some(earliest.to_owned()), Some(latest.to_owned()));
    let request = JobRequest { earliest, latest, ..JobRequest::new(search, "me") };
    let job = service.dispatch(request).await.unwrap();
    job.finished().await.unwrap_or_else(|error| panic!("{search}: {error}"));
    job
}

fn rows(job: &Job) -> String {
    format!("{:?}", job.page(0, 20_000).rows)
}

fn bytes(job: &Job) -> u64 {
    let reads = job.inspect().reads;
    reads.store.bytes + reads.dram.bytes
}

fn has_filter(plans: &[OperatorReport]) -> bool {
    plans.iter().any(|plan| plan.name == "FilterExec" || has_filter(&plan.inputs))
}

/// Whether a projection above the scan computes values that searches could remember.
fn computes(plans: &[OperatorReport]) -> bool {
    plans.iter().any(|plan| {
        plan.name == "ProjectionExec" && plan.detail.contains("marked(") || computes(&plan.inputs)
    })
}

/// The description of a scan.
fn scan(plans: &[OperatorReport]) -> Option<&str> {
    plans.iter().find_map(|plan| match plan.name.as_str() {
        "BucketScanExec" => Some(plan.detail.as_str()),
        _ => scan(&plan.inputs),
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn repeated_searches_find_the_rows_that_each_would_find_by_itself() {
    let filled = Filled::new().await;
    // The same filter on other rows, in other ways, with other conditions beside it.
    let filters = [
        "*",
        "level=low",
        "level!=low",
        "NOT level=high",
        "level=l* who=o*",
        "level=low OR user=u7",
        "level IN (low, middle) ms>50",
        "level=middle alpha",
        "level=low sourcetype=db",
        "grade=g1*",
        "NOT grade=g* level=low",
        "grade=g7 OR level=middle who=o2",
        "who=o1 | where n%2=0",
        "level=high | search who=o2",
    ];
    let ends = [
        "stats count",
        "stats count sum(n) by level, sourcetype, grade",
        "table n, level, who",
        "timechart span=10m count by level",
        "head 7 | table n, level",
        "reverse | head 7 | table n",
        "stats dc(who)",
        "eval both=level.grade | stats count by both",
        "dedup grade | table n, grade, who",
    ];
    let mut searches = Vec::new();
    for (at, filter) in filters.into_iter().enumerate() {
        let all = ends.into_iter().enumerate();
        searches.extend(all.map(|(end_at, end)| (format!("{filter} | {end}"), at + end_at)));
    }
    find_the_same(&filled, searches).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn values_of_rows_are_those_that_each_search_would_compute() {
    let filled = Filled::new().await;
    // The rows of a search are some of those of the one before, or others, or both.
    let searches = [
        "level=low | stats count by who",
        "level=middle | stats count by who",
        "level!=low sourcetype=web | stats count by who, grade",
        "* | stats count by who",
        "sourcetype=web | stats count by level, grade",
        "sourcetype=web | table n, level, grade",
        "sourcetype=db | stats count by level",
        "sourcetype!=other | stats count sum(n) by level",
        "host=host1 | stats dc(who) by level",
        "ms<30 | stats count by level",
        "user=u7 | stats count by level, who",
        "sourcetype=web alpha | stats count by level",
        "level=low alpha | stats count by who, level",
        "NOT grade=g1* | stats count by level",
        "NOT grade=g1* who=o2 | stats count by grade",
        "* | stats count by eventtype",
        "eventtype=slow_web | stats count by eventtype",
        "eventtype=slow_web OR eventtype=quick | stats count by eventtype, level",
        "NOT eventtype=quick | stats count by eventtype",
        "eventtype!=quick | table n, eventtype",
        "eventtype=worded | stats count by eventtype, who",
        "* | table n, eventtype, _raw",
        "* | stats count values(eventtype) by tag",
        "tag=slow | stats count by tag, who",
        "NOT tag=fine sourcetype=web | stats count by \"tag::eventtype\"",
        "tag=slow | head 9 | table n, tag, eventtype",
        "sourcetype=web | head 9 | table n, level",
    ];
    let all = searches.into_iter().enumerate();
    let all = all.flat_map(|(at, search)| [(search.to_owned(), at), (search.to_owned(), at + 1)]);
    find_the_same(&filled, all.collect()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_events_of_a_timeline_are_those_of_the_first_search() {
    let filled = Filled::new().await;
    let service = filled.service(8 << 20);
    let mut found = Vec::new();
    for _ in 0..2 {
        let request =
            JobRequest { status_buckets: 300, ..JobRequest::new("search level=low", "me") };
        let job = service.dispatch(request).await.unwrap();
        job.finished().await.unwrap();
        let bins: Vec<_> = job.timeline().unwrap().bins().map(|(_, events)| events).collect();
        assert_eq!(bins.iter().sum::<u64>(), job.counts().events_matched);
        found.push(bins);
    }
    assert!(found[0].iter().sum::<u64>() > 1_000);
    assert_eq!(found[0], found[1]);
}

#[tokio::test(flavor = "multi_thread")]
async fn columns_of_filters_are_read_once() {
    let filled = Filled::new().await;
    let (plain, service) = (filled.service(0), filled.service(8 << 20));
    for filter in ["level=low", "grade=g7"] {
        let search = format!("search {filter} | stats count");
        let mut read = Vec::new();
        for service in [&plain, &plain, &service, &service] {
            let job = done(service, &search, ALL).await;
            read.push(bytes(&job));
        }
        let last = done(&service, &search, ALL).await;
        let plans = last.inspect().plans;
        assert!(!has_filter(&plans), "{filter}: the scan applies it");
        let scan = scan(&plans).unwrap();
        assert!(scan.contains(", filter="), "{filter}: {scan}");
        // The last one reads no rows.
        assert!(read[3] < read[1] && read[3] < read[2], "{filter}: {read:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn columns_of_values_are_read_once() {
    let filled = Filled::new().await;
    let plain = filled.service(0);
    let searches = [
        "search * | stats count by grade",
        "search * | stats dc(who) by level",
        "search level=low | stats count by grade, level",
        "search NOT grade=g1* | stats count by level",
        "search NOT grade=g1* | stats count by level, grade",
        "search sourcetype=web | stats count by grade",
        "search sourcetype=web level!=low | stats count by grade",
        "search sourcetype!=web | stats count by level",
        "search * | stats count by eventtype",
        "search eventtype=slow_web | stats count by eventtype",
        "search * | stats count by tag",
    ];
    for search in searches {
        let service = filled.service(8 << 20);
        let (mut read, mut found) = (Vec::new(), Vec::new());
        for service in [&plain, &plain, &service, &service] {
            let job = done(service, search, ALL).await;
            read.push(bytes(&job));
            found.push(rows(&job));
        }
        // The last one reads no rows.
        assert!(read[3] < read[1] && read[3] < read[2], "{search}: {read:?}");
        found.dedup();
        assert_eq!(found.len(), 1, "{search}: {found:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn values_above_a_filter_that_moves_are_columns_of_the_scan() {
    let filled = Filled::new().await;
    let service = filled.service(8 << 20);
    // The filter is too long for the conditions of the scan, and is below the values of the search.
    for search in [
        "search NOT grade=g1* | stats count by level",
        "search NOT grade=g1* | stats count by level, grade",
        "search grade=g7 | stats count by who",
    ] {
        let job = done(&service, search, ALL).await;
        let plans = job.inspect().plans;
        assert!(scan(&plans).unwrap().contains(", filter="), "{search}: the scan has the filter");
        assert!(!computes(&plans), "{search}: the scan computes the values");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn rare_values_and_bounds_of_the_index_time_do_not_take_the_place_of_costly_filters() {
    let filled = Filled::new().await;
    // There is room for the rows of one filter.
    let service = filled.service(19_000);
    let costly = "search level=low | stats count";
    let read = async || {
        let job = done(&service, costly, ALL).await;
        bytes(&job)
    };
    let (tested, known) = (read().await, read().await);
    assert!(known < tested, "{known} after {tested}");
    // At most one row of a granule passes the first one, and all rows pass the second one.
    for filter in ["ms<10", "_index_earliest=1"] {
        done(&service, &format!("search {filter} | stats count by level"), ALL).await;
        let again = read().await;
        assert!(again <= known, "{filter}: {again} after {known}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn values_that_are_too_large_to_be_remembered_are_found_so_once() {
    // Of the events of each bucket, they take 40 MB.
    let large = "x".repeat(43_000);
    let props = format!("[web]\nEVAL-large = substr(user, 1, 2).\"{large}\"\n");
    let filled = Filled::of(&props).await;
    let (plain, service) = (filled.service(0), filled.service(8 << 20));
    let search = "search * | stats dc(large)";
    let (mut read, mut found) = (Vec::new(), Vec::new());
    for service in [&plain, &plain, &service, &service] {
        let job = done(service, search, ALL).await;
        read.push(bytes(&job));
        found.push(rows(&job));
    }
    // The third one reads what the values are computed from twice.
    assert!(read[3] < read[2], "{read:?}");
    assert!(read[3] <= read[1], "{read:?}");
    found.dedup();
    assert_eq!(found.len(), 1, "{found:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_query_for_a_few_rows_does_not_test_a_whole_part_before() {
    // Hot rows might be the first ones.
    let filled = Filled { hot: Vec::new(), ..Filled::new().await };
    // Many tests without words to look for.
    let tests: Vec<String> =
        (1..10).map(|at| format!("(host!=h{at}* sourcetype!=t{at}*)")).collect();
    let reach = serde_json::json!({
        "user": "ann", "indexes": ["main"], "scope": null, "filter": tests.join(" OR "),
    });
    let rights = Arc::new(Rights::of_reach(&serde_json::from_value(reach).unwrap()));
    let (few, count) = ("SELECT n, user FROM main LIMIT 5", "SELECT count(*) FROM main");
    // Now, the blocks are in the cache.
    queried(&filled, &filled.service(0), &rights, count).await;
    let mut found = Vec::new();
    for queries in [[count, count], [few, count]] {
        let service = filled.service(8 << 20);
        // The ends of buckets and the indexes of their pages are read once per service.
        done(&service, "search n<8000 | stats max(ms)", ALL).await;
        service.sql(request("SELECT max(n), max(ms), max(user) FROM main")).await.unwrap();
        for query in queries {
            found.push(queried(&filled, &service, &rights, query).await);
        }
    }
    let [(tested, _), (known, _), (_, rows), (after, _)] = found[..] else {
        panic!("there are four queries");
    };
    assert_eq!(rows, 5);
    assert!(known < tested, "{found:?}");
    assert!(after >= tested, "the query for a few rows has tested others: {found:?}");
}

/// Returns the number of bytes that a query reads, and the number of its rows.
async fn queried(
    filled: &Filled,
    service: &SearchService,
    rights: &Arc<Rights>,
    query: &str,
) -> (u64, usize) {
    let read = || {
        let stats = filled.cache.stats();
        stats.dram_bytes + stats.store_bytes
    };
    let before = read();
    let asked = SqlRequest { rights: Arc::clone(rights), ..request(query) };
    let found = service.sql(asked).await.unwrap();
    (read() - before, found.rows())
}

/// Compares what searches find with and without memory, again and again. The numbers choose ranges of the
/// time.
async fn find_the_same(filled: &Filled, searches: Vec<(String, usize)>) {
    let times = [ALL, ("1700000500.5", "1700006000.5"), ("1700000500.5", "1700006100.5")];
    // The second one has room for few filters.
    let (plain, services) = (filled.service(0), [8 << 20, 6_000].map(|most| filled.service(most)));
    for (search, at) in searches {
        let (search, times) = (format!("search {search}"), times[at % times.len()]);
        let expected = done(&plain, &search, times).await;
        let counts = |job: &Job| (job.counts().events_matched, job.counts().events_scanned);
        for service in services.iter().chain(&services) {
            let found = done(service, &search, times).await;
            assert_eq!(rows(&found), rows(&expected), "{search} {times:?}");
            // Searches for the first rows end when they have them.
            if !search.contains("head") {
                assert_eq!(counts(&found), counts(&expected), "{search} {times:?}");
            }
        }
    }
}
