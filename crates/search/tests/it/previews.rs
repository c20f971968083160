//! Previews: what a search has found so far, and that looking changes nothing.

use std::sync::Arc;
use std::time::Duration;

use karst_search::{DispatchState, Job, JobRequest, Page, SearchService, Settings, Value};

use crate::support::{filled, log_event};

const ROWS: usize = 30_000;

/// Slices of one batch, and a preview after each if there is time for it.
fn hasty() -> Settings {
    Settings {
        batch_rows: 256,
        batch_search_max_pipeline: Some(2),
        preview_interval: Duration::ZERO,
        preview_duty_cycle: 0.9,
        ..Settings::default()
    }
}

async fn service(settings: Settings) -> SearchService {
    let events: Vec<_> = (0..ROWS).map(log_event).collect();
    filled(&events, 4, settings).await.0
}

async fn start(service: &SearchService, search: &str, preview: bool) -> Arc<Job> {
    service.dispatch(JobRequest { preview, ..JobRequest::new(search, "me") }).await.unwrap()
}

async fn done(service: &SearchService, search: &str, preview: bool) -> Arc<Job> {
    let job = start(service, search, preview).await;
    job.finished().await.unwrap();
    job
}

/// Waits for a preview of a search that is still running, holds it there, and gives the preview.
async fn paused_with_preview(service: &SearchService, search: &str) -> (Arc<Job>, Page) {
    for _ in 0..1_000 {
        let job = start(service, search, true).await;
        while job.previews() == 0 && !job.status().state.is_final() {
            tokio::task::yield_now().await;
        }
        job.pause();
        // A search may be at its end before it can be held.
        if let Some(page) = job.preview_page(0, 100_000)
            && job.status().state == DispatchState::Paused
        {
            return (job, page);
        }
        service.cancel(job.sid());
    }
    panic!("{search} had no preview in a thousand runs");
}

fn count_of(row: &[Option<Value>]) -> usize {
    let Some(Some(Value::One(text))) = row.last() else { panic!("no count in {row:?}") };
    text.parse().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn results_are_the_same_with_previews_and_without() {
    let searches = [
        "stats count",
        "stats count by host",
        "stats count by user",
        "stats count by n | sort 20 - n",
        "stats dc(user) min(ms) max(ms) sum(ms) by host",
        "stats values(host) latest(n) earliest(n) first(n)",
        "stats avg(ms) count(eval(ms>500)) by user | sort user",
        "stats perc95(ms) by host",
        "stats min(_time) max(_time)",
        "where ms>400 | stats count by user, host",
        "timechart span=1h count by host",
        "timechart count",
        "chart count over host by user limit=3",
        "top limit=5 user",
        "eval k=ms%10 | stats sum(k) as k by host | eventstats sum(k) as all",
        "head 20 | table n",
        "table n user host",
        "sort 50 - ms, n | table n ms",
        "sort 9000 n | table n",
        "fields n host",
        "reverse | head 7 | table n",
        "dedup user | table user n",
        "streamstats count by host | tail 3 | table n count",
        "eval part=split(user, \"e\") | mvexpand part | stats count by part",
        "stats count by host | append [search alpha | stats count]",
    ];
    for pipelines in [1, 2] {
        let settings = Settings { batch_search_max_pipeline: Some(pipelines), ..hasty() };
        let service = service(settings).await;
        let mut previews = 0;
        for search in searches {
            let search = format!("search * | regex _raw=\"n=\" | {search}");
            let plain = done(&service, &search, false).await;
            let looked_at = done(&service, &search, true).await;
            let rows = |job: &Job| job.page(0, ROWS);
            assert_eq!(rows(&plain).fields, rows(&looked_at).fields, "{search}");
            assert_eq!(rows(&plain).rows, rows(&looked_at).rows, "{search}");
            // Where the first rows are enough, how many more are seen is a matter of chance.
            if !search.contains("head") {
                let matched = |job: &Job| job.counts().events_matched;
                assert_eq!(matched(&plain), matched(&looked_at), "{search}");
            }
            assert_eq!(plain.previews(), 0);
            previews += looked_at.previews();
        }
        assert!(previews > 0, "{previews} previews with {pipelines} pipelines");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_preview_counts_every_event_once_and_only_grows() {
    let service = service(hasty()).await;
    let search = "search n=* | regex _raw=\"n=\" | stats count by host";
    let (job, page) = paused_with_preview(&service, search).await;
    let first: usize = page.rows.iter().map(|row| count_of(row)).sum();
    assert!(first > 0 && first <= job.counts().events_matched as usize);
    job.unpause();
    let mut last = first;
    while !job.status().state.is_final() {
        if let Some(page) = job.preview_page(0, 10) {
            let now: usize = page.rows.iter().map(|row| count_of(row)).sum();
            assert!(now >= last, "{now} after {last}");
            last = now;
        }
        tokio::task::yield_now().await;
    }
    let all: usize = job.page(0, 10).rows.iter().map(|row| count_of(row)).sum();
    assert_eq!((all, job.preview_page(0, 10).is_none()), (ROWS, true));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_paused_search_makes_no_preview_of_what_it_has_read() {
    let interval = Duration::from_millis(600);
    let service = service(Settings { preview_interval: interval, ..hasty() }).await;
    for _ in 0..1_000 {
        let search = "search n=* | regex _raw=\"n=\" | stats count by host";
        let job = start(&service, search, true).await;
        while job.counts().events_scanned == 0 && !job.status().state.is_final() {
            tokio::task::yield_now().await;
        }
        job.pause();
        // A search may be at its end before it can be held.
        if job.status().state != DispatchState::Paused || job.previews() > 0 {
            service.cancel(job.sid());
            continue;
        }
        // The slice that it was reading would have ended, and would have been shown.
        tokio::time::sleep(2 * interval).await;
        assert_eq!(job.previews(), 0);
        job.unpause();
        job.finished().await.unwrap();
        let all: usize = job.page(0, 10).rows.iter().map(|row| count_of(row)).sum();
        return assert_eq!(all, ROWS);
    }
    panic!("no search could be held in a thousand runs");
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_that_become_rows_have_previews() {
    let service = service(hasty()).await;
    let search = "search n=* | regex _raw=\"n=\" | eval part=split(\"a b\", \" \") | mvexpand part \
                  | stats count by part";
    let (job, page) = paused_with_preview(&service, search).await;
    let counts: Vec<usize> = page.rows.iter().map(|row| count_of(row)).collect();
    assert!(counts.len() == 2 && counts[0] == counts[1], "{counts:?}");
    job.unpause();
    job.finished().await.unwrap();
    assert_eq!(count_of(&job.page(0, 2).rows[1]), ROWS);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_newest_events_found_so_far_are_a_preview() {
    let service = service(hasty()).await;
    let (job, page) = paused_with_preview(&service, "search n=* | regex _raw=\"n=\"").await;
    let time = page.fields.iter().position(|field| field == "_time").unwrap();
    let times: Vec<String> = page.rows.iter().map(|row| format!("{:?}", row[time])).collect();
    assert!(!times.is_empty() && times.is_sorted_by(|a, b| a >= b), "{times:?}");
    // One that was under way may have come since.
    assert!(job.preview_count() >= page.rows.len());
    assert!(job.field_summary(3, None).1.contains_key("user"));
    service.cancel(job.sid());
}

#[tokio::test(flavor = "multi_thread")]
async fn previews_that_would_take_too_much_end_with_a_message() {
    let service = service(Settings { preview_bytes: 10_000, ..hasty() }).await;
    for search in ["stats count by user", "sort 9000 n | table n"] {
        let search = format!("search * | regex _raw=\"n=\" | {search}");
        let plain = done(&service, &search, false).await;
        let looked_at = done(&service, &search, true).await;
        assert_eq!(plain.page(0, ROWS).rows, looked_at.page(0, ROWS).rows, "{search}");
        let messages = format!("{:?}", looked_at.messages());
        assert!(messages.contains("preview_memory"), "{search}: {messages}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_search_that_reads_events_later_has_no_previews_and_says_so() {
    let service = service(hasty()).await;
    let search = "search * | regex _raw=\"n=\" | stats count | append [search * | stats count]";
    // A search that ends before a preview was due has nothing to say.
    for _ in 0..200 {
        let job = done(&service, search, true).await;
        assert_eq!(job.previews(), 0);
        if format!("{:?}", job.messages()).contains("there are no previews") {
            return;
        }
    }
    panic!("no search said that there are no previews");
}

#[tokio::test(flavor = "multi_thread")]
async fn previews_are_switched_off_and_on() {
    let service = service(hasty()).await;
    let (job, _) =
        paused_with_preview(&service, "search n=* | regex _raw=\"n=\" | stats count").await;
    job.want_previews(false);
    assert!(!job.wants_previews());
    job.want_previews(true);
    assert!(job.wants_previews());
    job.unpause();
    job.finished().await.unwrap();
    assert_eq!(count_of(&job.page(0, 1).rows[0]), ROWS);
    let without = done(&service, "search * | stats count", false).await;
    without.want_previews(true);
    assert!(!without.wants_previews());
}
