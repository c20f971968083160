//! Pause, unpause, finalize and cancel while a search works. The times they take are printed
//! (`--nocapture`); what is asserted is what they do.

use std::sync::Arc;
use std::time::{Duration, Instant};

use karst_search::{DispatchState, Job, JobRequest, SearchService, Settings};

use crate::sql;
use crate::support::{filled, log_event};

const ROWS: usize = 120_000;

/// Searches that keep both cores busy, each in another place.
const BUSY: [&str; 4] = [
    "search * | rex \"ms=(?<m>\\d+)\" | stats count by m, user, n",
    "search * | stats perc95(ms) by user, n",
    "search nothing-has-this* OR regex OR ms=2000 | stats count",
    "search * | rex \"user=(?<who>\\w+) ms\" | sort 0 who",
];

async fn service() -> SearchService {
    service_with(Settings::default()).await
}

async fn service_with(settings: Settings) -> SearchService {
    let events: Vec<_> = (0..ROWS).map(log_event).collect();
    let settings = Settings { batch_search_max_pipeline: Some(2), ..settings };
    filled(&events, 4, settings).await.0
}

/// A search that has begun to read and is not at its end.
async fn reading(service: &SearchService, search: &str) -> Arc<Job> {
    for _ in 0..1_000 {
        let request = JobRequest { preview: true, ..JobRequest::new(search, "me") };
        let job = service.dispatch(request).await.unwrap();
        while job.counts().events_scanned == 0 && !job.status().state.is_final() {
            tokio::task::yield_now().await;
        }
        if !job.status().state.is_final() {
            return job;
        }
    }
    panic!("{search} is always done at once");
}

/// Waits until a search reads no more, and tells how long after `since` it read last.
async fn stands_still(job: &Job, since: Instant) -> Duration {
    let mut last = (job.counts().events_scanned, since);
    while last.1.elapsed() < Duration::from_millis(150) {
        let now = job.counts().events_scanned;
        if now != last.0 {
            last = (now, Instant::now());
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    last.1 - since
}

/// A search that has begun to read, and is paused.
async fn paused(service: &SearchService) -> Arc<Job> {
    loop {
        let job = reading(service, BUSY[0]).await;
        job.pause();
        stands_still(&job, Instant::now()).await;
        if job.status().state == DispatchState::Paused {
            return job;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn a_paused_search_reads_nothing_until_it_goes_on() {
    let service = service().await;
    for search in BUSY {
        let job = reading(&service, search).await;
        let start = Instant::now();
        job.pause();
        let took = stands_still(&job, start).await;
        if job.status().state.is_final() {
            continue;
        }
        assert_eq!(job.status().state, DispatchState::Paused, "{search}");
        let before = job.counts().events_scanned;
        println!("pause    {took:>12.3?} {search}");
        let start = Instant::now();
        job.unpause();
        job.finished().await.unwrap();
        println!("the rest {:>12.3?} {search}", start.elapsed());
        assert!(job.counts().events_scanned >= before, "{search}");
        let alone = service.dispatch(JobRequest::new(search, "me")).await.unwrap();
        alone.finished().await.unwrap();
        assert_eq!(job.counts().events_scanned, alone.counts().events_scanned, "{search}");
        assert_eq!(job.result_count(), alone.result_count(), "{search}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn a_search_in_the_queue_names_the_limits_that_it_waits_for() {
    let one = Settings { base_max_searches: 1, max_searches_per_cpu: 0, ..Settings::default() };
    let service = service_with(one).await;
    let first = paused(&service).await;
    let second = service.dispatch(JobRequest::new(BUSY[0], "me")).await.unwrap();
    let says = || format!("{:?}", second.messages()).contains("base_max_searches");
    let start = Instant::now();
    while !says() {
        assert!(start.elapsed() < Duration::from_secs(60), "{:?}", second.status());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(second.status().state, DispatchState::Queued);
    first.unpause();
    second.finished().await.unwrap();
    assert!(!says());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn a_search_that_the_stop_of_the_server_ends_can_be_tried_again() {
    let one = Settings { base_max_searches: 1, max_searches_per_cpu: 0, ..Settings::default() };
    let service = service_with(one).await;
    let job = paused(&service).await;
    let mut export = service.export(JobRequest::new("| makeresults", "me")).await.unwrap();
    loaded(&service, (1, 1)).await;
    service.close(Duration::from_secs(60)).await;
    let queued = export.next().await.expect("it has an end").unwrap_err();
    assert!(queued.to_string().contains("the server is stopping"), "{queued}");
    let error = job.finished().await.unwrap_err();
    assert_eq!(error.kind(), model::ErrorKind::Unavailable);
    assert!(error.to_string().contains("the server is stopping"), "{error}");
    assert!(service.job(job.sid()).is_none());
}

/// Waits until so many searches run, and so many are queued.
async fn loaded(service: &SearchService, expected: (usize, usize)) {
    let start = Instant::now();
    let now = || (service.load().running, service.load().queued);
    while now() != expected {
        assert!(start.elapsed() < Duration::from_secs(60), "{:?}", service.load());
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn exports_and_sql_wait_in_the_queue_with_the_jobs() {
    let settings = Settings {
        base_max_searches: 1,
        max_searches_per_cpu: 0,
        max_queued_searches: 3,
        ..Settings::default()
    };
    let service = service_with(settings).await;
    let rows = || JobRequest::new("| makeresults | append [| makeresults]", "me");
    let running = paused(&service).await;
    loaded(&service, (1, 0)).await;
    let mut export = service.export(rows()).await.unwrap();
    loaded(&service, (1, 1)).await;
    let mistake = service.sql(sql::request("SELCT 1"));
    let mistake = tokio::time::timeout(Duration::from_secs(30), mistake).await;
    let mistake = mistake.expect("it waits for a turn").map(drop).unwrap_err();
    assert_eq!(mistake.kind(), model::ErrorKind::Invalid, "{mistake}");
    let gone = service.export(rows()).await.unwrap();
    loaded(&service, (1, 2)).await;
    let query = tokio::spawn({
        let service = service.clone();
        async move { service.sql(sql::request("SELECT 1")).await.map(drop) }
    });
    loaded(&service, (1, 3)).await;
    for refused in [
        service.export(rows()).await.map(drop).unwrap_err(),
        service.sql(sql::request("SELECT 1")).await.map(drop).unwrap_err(),
        service.dispatch(rows()).await.map(drop).unwrap_err(),
    ] {
        assert_eq!(refused.kind(), model::ErrorKind::Exhausted, "{refused}");
        assert!(refused.to_string().contains("max_queued_searches"), "{refused}");
    }
    // Nobody waits for these two any more.
    drop(gone);
    query.abort();
    loaded(&service, (1, 1)).await;
    let job = service.dispatch(rows()).await.unwrap();
    loaded(&service, (1, 2)).await;
    assert_eq!(job.status().state, DispatchState::Queued);
    let waits = tokio::time::timeout(Duration::from_millis(50), export.next());
    assert!(waits.await.is_err(), "it has rows, although it has no turn");
    running.unpause();
    let mut found = 0;
    while let Some(page) = export.next().await {
        found += page.unwrap().rows.len();
    }
    assert_eq!(found, 2);
    job.finished().await.unwrap();
    loaded(&service, (0, 0)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn readers_that_stand_still_delay_other_searches_for_seconds_only() {
    let one = Settings { base_max_searches: 1, max_searches_per_cpu: 0, ..Settings::default() };
    let service = service_with(one).await;
    let query = sql::request("SELECT * FROM generate_series(1, 100000)");
    let mut query = service.sql_stream(query).await.unwrap();
    let mut export = service.export(JobRequest::new("search *", "me")).await.unwrap();
    let job = service.dispatch(JobRequest::new("| makeresults", "me")).await.unwrap();
    let ended = tokio::time::timeout(Duration::from_secs(60), job.finished()).await;
    ended.expect("nobody reads the rows of the others").unwrap();
    // They still count, and go on once they are read.
    loaded(&service, (2, 0)).await;
    let (mut of_query, mut of_export) = (0, 0);
    while let Some(batch) = query.next().await {
        of_query += batch.unwrap().num_rows();
    }
    while let Some(page) = export.next().await {
        of_export += page.unwrap().rows.len();
    }
    assert_eq!((of_query, of_export), (100_000, ROWS));
    loaded(&service, (0, 0)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn a_finalized_search_gives_what_it_found_and_says_so() {
    let service = service().await;
    for search in BUSY {
        let (job, start) = finalized(&service, search).await;
        job.finished().await.unwrap();
        println!("finalize {:>12.3?} {search}", start.elapsed());
        let read = job.counts().events_scanned;
        assert!(job.status().is_finalized && read > 0, "{search}");
        let messages = format!("{:?}", job.messages());
        assert!(messages.contains("finalized before it had read everything"), "{messages}");
        assert!(messages.contains("events were read"), "{messages}");
        stands_still(&job, start).await;
        assert_eq!(job.counts().events_scanned, read, "{search}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn a_cancelled_search_stops_reading_and_frees_its_memory() {
    let service = service().await;
    for search in BUSY {
        let (job, start) = cancelled(&service, search).await;
        while job.reserved_bytes() > 0 {
            tokio::task::yield_now().await;
        }
        println!("freed    {:>12.3?} {search}", start.elapsed());
        let took = stands_still(&job, start).await;
        println!("cancel   {took:>12.3?} {search}");
        assert!(service.job(job.sid()).is_none() && job.reserved_bytes() == 0);
        assert_eq!(job.status().state, DispatchState::Failed);
        assert_eq!((job.result_count(), job.preview_count()), (0, 0));
    }
}

/// Each field reads the one before: so many projections over each other take minutes to plan.
fn slow_to_plan() -> String {
    let fields: Vec<String> = (0..4_000).map(|n| format!("a{}=a{n}+a{n}", n + 1)).collect();
    format!("| makeresults | eval a0=random(), {}", fields.join(","))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn planning_ends_when_nobody_waits_for_it() {
    let service = filled(&[log_event(0)], 1, Settings::default()).await.0;
    let tasks = || tokio::runtime::Handle::current().metrics().num_alive_tasks();
    let before = tasks();
    let asks = tokio::spawn({
        let service = service.clone();
        async move { service.dispatch(JobRequest::new(slow_to_plan(), "me")).await.map(drop) }
    });
    // The one that asks, and the one that plans for it.
    while tasks() < before + 2 {
        assert!(!asks.is_finished(), "it is planned already");
        tokio::task::yield_now().await;
    }
    asks.abort();
    let ends = async {
        while tasks() > before {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), ends).await.expect("planning goes on for nobody");
}

#[tokio::test(flavor = "multi_thread")]
async fn planning_ends_when_its_time_is_over() {
    let mut settings = Settings::default();
    settings.plan.plan_time = Duration::from_millis(1);
    let service = filled(&[log_event(0)], 1, settings).await.0;
    let refused = service.dispatch(JobRequest::new(slow_to_plan(), "me")).await.unwrap_err();
    assert_eq!(refused.kind(), model::ErrorKind::Exhausted);
    assert!(refused.to_string().contains("max_plan_time in limits.conf [search]"), "{refused}");
}

/// A search finalized while it read, and when.
async fn finalized(service: &SearchService, search: &str) -> (Arc<Job>, Instant) {
    for _ in 0..100 {
        let job = reading(service, search).await;
        let start = Instant::now();
        job.finalize();
        // One that had read everything only gathers its results: it is not cut short.
        if job.status().state == DispatchState::Finalizing {
            return (job, start);
        }
    }
    panic!("{search} is always done before it can be finalized");
}

/// A search cancelled while it read, and when. One that was complete in that moment stays complete.
async fn cancelled(service: &SearchService, search: &str) -> (Arc<Job>, Instant) {
    for _ in 0..100 {
        let job = reading(service, search).await;
        let start = Instant::now();
        assert!(service.cancel(job.sid()));
        if job.finished().await.is_err() {
            return (job, start);
        }
        assert_eq!(job.status().state, DispatchState::Done, "{search}");
    }
    panic!("{search} is always done before it can be cancelled");
}
