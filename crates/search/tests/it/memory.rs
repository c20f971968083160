//! Searches that hold more than their memory spill, and give the same rows.

use std::sync::Arc;

use karst_search::{JobRequest, OperatorReport, SearchService, Settings, SqlRequest, SqlRows};
use karst_spectest::SpecEvent;

use crate::support::{filled, log_event};

const ROWS: usize = 120_000;

async fn service(megabytes: usize) -> SearchService {
    service_with(Settings { search_memory_bytes: megabytes << 20, ..Settings::default() }).await
}

async fn service_with(settings: Settings) -> SearchService {
    let events: Vec<_> = (0..ROWS).map(log_event).collect();
    let settings = Settings { batch_search_max_pipeline: Some(2), ..settings };
    filled(&events, 4, settings).await.0
}

fn spilled(operators: &[OperatorReport]) -> usize {
    operators.iter().map(|one| one.spilled_bytes + spilled(&one.inputs)).sum()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sort_of_more_than_its_memory_gives_all_rows_in_order() {
    let search = "search * | sort 0 - ms, user, n | streamstats count as at | where at%1000=0 \
                  | table at, _raw";
    let mut results = Vec::new();
    for megabytes in [512, 32] {
        let service = service(megabytes).await;
        let job = service.dispatch(JobRequest::new(search, "me")).await.unwrap();
        job.finished().await.unwrap_or_else(|error| panic!("{megabytes} MB: {error}"));
        let rows: Vec<String> =
            job.page(0, 1_000).rows.iter().map(|row| format!("{row:?}")).collect();
        assert_eq!(rows.len(), ROWS / 1_000);
        let spilled = spilled(&job.inspect().plans);
        assert_eq!(spilled > 0, megabytes == 32, "{spilled} bytes spilled with {megabytes} MB");
        results.push(rows);
    }
    assert_eq!(results[0], results[1]);
}

#[tokio::test(flavor = "multi_thread")]
async fn events_of_a_sparse_filter_do_not_hold_the_texts_of_the_others() {
    // 80 MB of texts, of which each granule has one event that the filter keeps.
    let long = "x".repeat(4_000);
    let event = |at: usize| {
        let level = if at % 64 == 7 { "FATAL" } else { "INFO" };
        SpecEvent { raw: format!("n={at} level={level} {long}"), ..log_event(at) }
    };
    let events: Vec<_> = (0..20_000).map(event).collect();
    let settings = Settings {
        search_memory_bytes: 32 << 20,
        batch_search_max_pipeline: Some(2),
        ..Settings::default()
    };
    let (service, _cache) = filled(&events, 2, settings).await;
    for search in ["search level=FATAL | dedup n", "search level=FATAL | filldown"] {
        let search = format!("{search} | table n, _raw");
        let job = service.dispatch(JobRequest::new(&search, "me")).await.unwrap();
        job.finished().await.unwrap_or_else(|error| panic!("{search}: {error}"));
        assert_eq!(job.result_count(), 20_000_usize.div_ceil(64), "{search}");
        let newest = format!("{:?}", job.page(0, 1).rows);
        assert!(newest.contains("n=19975 level=FATAL xxx"), "{search}: {newest}");
        assert_eq!(spilled(&job.inspect().plans), 0, "{search}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sort_that_spills_too_much_fails_and_leaves_nothing_behind() {
    let directory = testkit::TestDir::new();
    let service = service_with(Settings {
        search_memory_bytes: 32 << 20,
        spill_bytes: 1 << 20,
        spill_directory: Some(directory.path().to_owned()),
        ..Settings::default()
    })
    .await;
    let failure = failure(&service, "search * | sort 0 - ms, user, n | table n, _raw").await;
    assert!(failure.contains("max_spill_mb in limits.conf"), "{failure}");
    let files = |directory: &std::path::Path| -> Vec<std::path::PathBuf> {
        std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect()
    };
    let own = files(directory.path());
    assert!(!own.is_empty(), "it has not spilled here");
    let is_empty = || own.iter().all(|own| files(own).is_empty());
    for _ in 0..600 {
        if is_empty() {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    panic!("files are left: {:?}", own.iter().map(|own| files(own)).collect::<Vec<_>>());
}

#[tokio::test(flavor = "multi_thread")]
async fn long_constants_take_no_more_than_they_may_when_rows_are_copied() {
    let service = small(64).await;
    let fields: Vec<String> = (0..100).map(|at| format!("f{at}")).collect();
    let text = "y".repeat(10_000);
    let search = format!(
        "| makeresults count=4000 | streamstats count as n | fillnull value=\"{text}\" {} | sort 0 - n \
         | where n>3998 | table n f99",
        fields.join(" ")
    );
    let job = service.dispatch(JobRequest::new(&search, "me")).await.unwrap();
    job.finished().await.unwrap();
    let rows = job.page(0, 10).rows;
    assert_eq!(rows.len(), 2);
    assert!(format!("{:?}", rows[0]).contains(&text));
}

/// A service over one event whose searches may hold little.
async fn small(megabytes: usize) -> SearchService {
    let settings = Settings { search_memory_bytes: megabytes << 20, ..Settings::default() };
    filled(&[log_event(0)], 1, settings).await.0
}

async fn failure(service: &SearchService, search: &str) -> String {
    match service.dispatch(JobRequest::new(search, "me")).await {
        Err(error) => error.to_string(),
        Ok(job) => match job.finished().await {
            Err(error) => error.to_string(),
            Ok(_) => panic!("{search} gave {} rows", job.page(0, 10).rows.len()),
        },
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_search_computes_stays_within_its_memory() {
    let service = small(16).await;
    let searches = [
        "| makeresults count=100000 | eval a=mvrange(0,10000)",
        "| makeresults count=100000 | streamstats count as n | eval a=mvrange(n,n+10000) | stats sum(a)",
        "| makeresults count=10000 | eval a=mvjoin(mvrange(0,100000),\",\") | stats dc(a)",
        "| makeresults count=100000 | eval x=random() | streamstats values(x) as v | stats count(v)",
        "| makeresults count=400000 | streamstats count as n | eval t=n.\" and a text that is longer\" | table n, t",
    ];
    for search in searches {
        let failure = failure(&service, search).await;
        assert!(failure.contains("max_mem_usage_mb"), "{search}: {failure}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_that_are_appended_count_until_they_are_combined() {
    let service = small(16).await;
    // 48 bytes a row, so 6 MiB for the long ones: both fit, their copy does not.
    let rows = |count: usize| {
        let fields = "a=random(), b=random(), c=random(), d=random(), e=random()";
        format!("makeresults count={count} | eval {fields}")
    };
    let sums = "stats count sum(a) sum(b) sum(c) sum(d) sum(e)";
    let (long, short) = (rows(131_072), rows(8_192));
    for (first, search) in [
        (&long, format!("append [| {long}]")),
        (&long, format!("union maxout=500000 [| {long}]")),
        (&long, "appendpipe [eval a=b]".to_owned()),
        (&short, format!("map maxsearches=2 search=\"| {long}\"")),
    ] {
        let search = format!("| {first} | {search} | {sums}");
        let failure = failure(&service, &search).await;
        assert!(failure.contains("max_mem_usage_mb"), "{search}: {failure}");
    }
    // What one command held is free for the next.
    let chain = format!("| {short}") + &format!(" | append [| {short}]").repeat(12);
    let job = service.dispatch(JobRequest::new(format!("{chain} | {sums}"), "me")).await.unwrap();
    job.finished().await.unwrap();
    let count = format!("{:?}", job.page(0, 1).rows);
    assert!(count.contains(&(13 * 8_192).to_string()), "{count}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_has_ended_lets_go_of_its_plan() {
    let service = small(64).await;
    // What comes after `transpose` is planned while the search runs: the plan knows who asks.
    let request = JobRequest::new("search * | table n | transpose | table *", "me");
    let asks = Arc::downgrade(&request.rights);
    let job = service.dispatch(request).await.unwrap();
    job.finished().await.unwrap();
    let start = std::time::Instant::now();
    while asks.strong_count() > 1 {
        assert!(start.elapsed().as_secs() < 60, "the plan is kept");
        tokio::time::sleep(std::time::Duration::from_millis(2)).await;
    }
    assert_eq!(job.inspect().plans.len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plan_of_more_than_the_memory_of_its_search_is_refused() {
    let fields: Vec<String> = (0..5_000).map(|at| format!("f{at}={at}")).collect();
    let search = format!("| makeresults | eval {} | table *", fields.join(", "));
    let failure = failure(&small(8).await, &search).await;
    assert!(failure.contains("planning the search takes"), "{failure}");
    assert!(failure.contains("max_mem_usage_mb in limits.conf [search] (8)"), "{failure}");
}

#[tokio::test(flavor = "multi_thread")]
async fn functions_of_sql_stay_within_the_memory_of_their_query() {
    let service = small(16).await;
    let queries = [
        "SELECT repeat('x', 2000000000)",
        "SELECT lpad('x', 1000000000)",
        "SELECT array_repeat('x', 1000000000)",
        "SELECT range(0, 1000000000000)",
        "SELECT count(repeat('x', 100000 + value)) FROM generate_series(1, 100000)",
        "SELECT range(0, 1000000) FROM generate_series(1, 10000)",
    ];
    for query in queries {
        let request = SqlRequest {
            query: query.to_owned(),
            earliest: None,
            latest: None,
            timezone: jiff::tz::TimeZone::UTC,
            app: "search".to_owned(),
            rights: Arc::new(access::Rights::of_system("admin")),
            rows: SqlRows::Limited,
            trace: Default::default(),
        };
        let failure = service.sql(request).await.map(|_| ()).unwrap_err().to_string();
        let is_bounded = ["max_mem_usage_mb", "can have at most 16 MiB"];
        let is_bounded = is_bounded.iter().any(|limit| failure.contains(limit));
        assert!(is_bounded, "{query}: {failure}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn short_texts_of_sql_are_as_they_were() {
    let request = SqlRequest {
        query: "SELECT repeat('ab', 2) AS a, lpad('x', 3, '-') AS b, 'p' || 'q' || 1.5 AS c, \
                array_to_string(range(0, 3), ',') AS d, concat_ws('-', 'a', 'b') AS e"
            .to_owned(),
        earliest: None,
        latest: None,
        timezone: jiff::tz::TimeZone::UTC,
        app: "search".to_owned(),
        rights: Arc::new(access::Rights::of_system("admin")),
        rows: SqlRows::Limited,
        trace: Default::default(),
    };
    let page = small(16).await.sql(request).await.unwrap().page();
    let row: Vec<String> = page.rows[0].iter().map(|cell| format!("{cell:?}")).collect();
    let expected = ["abab", "--x", "pq1.5", "0,1,2", "a-b"];
    for (cell, expected) in row.iter().zip(expected) {
        assert!(cell.contains(&format!("\"{expected}\"")), "{row:?}");
    }
}
