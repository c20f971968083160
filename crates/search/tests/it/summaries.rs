//! Summaries that planning does not read are read with the objects: the answers are the same.

use std::sync::Arc;

use karst_search::{Job, JobRequest, SearchService, Settings};
use karst_spectest::SpecEvent;
use model::{EventTime, IndexName};

use crate::support::filled;

const ROWS: usize = 4_000;
const BUCKETS: usize = 20;

/// The host changes from bucket to bucket, and one field is in few of them.
fn event(at: usize) -> SpecEvent {
    let rare = if at / 200 == 7 { " rare=yes" } else { "" };
    SpecEvent {
        index: IndexName::new("main").unwrap(),
        time: EventTime(1_700_000_000_000_000 + at as i64 * 1_000_000),
        index_time: EventTime(1_700_000_000_000_000 + at as i64),
        raw: format!("n={at} user=u{}{rare}", at % 17),
        host: format!("host{}", at / 400),
        source: format!("source{}", at % 2),
        sourcetype: if at < ROWS / 2 { "one" } else { "two" }.to_owned(),
        fields: Vec::new(),
    }
}

async fn done(service: &SearchService, search: &str) -> Arc<Job> {
    let request = JobRequest {
        earliest: Some("1700000100.5".to_owned()),
        latest: Some("1700003900.5".to_owned()),
        ..JobRequest::new(search, "me")
    };
    let job = service.dispatch(request).await.unwrap();
    job.finished().await.unwrap();
    job
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_are_the_same_however_many_summaries_planning_reads() {
    let events: Vec<SpecEvent> = (0..ROWS).map(event).collect();
    let searches = [
        "search host=host3 | stats count",
        "search host=host3 | sort 0 _time | table _time, host, user, n",
        "search host!=host3 source=source1 | stats count by host, user | sort host, user",
        "search sourcetype=two | stats count by sourcetype, host | sort host",
        "search * | stats count by host | sort host",
        "search * | stats count by source, index | sort source",
        "search * | stats count",
        "search rare=yes | stats count by rare",
        "search rare=* n<1500 | table n",
        "search host=nowhere | stats count",
        "search sourcetype=nothing OR host=host1 | stats count by sourcetype",
        "search * | table *| head 3",
        "metadata type=hosts index=main | table host, totalCount | sort host",
        "tstats count WHERE index=main BY sourcetype | sort sourcetype",
    ];
    let (all, cache) = filled(&events, BUCKETS, Settings::default()).await;
    for most in [0, 5] {
        let settings = Settings { plan_summaries: most, ..Settings::default() };
        let (some, other) = filled(&events, BUCKETS, settings).await;
        for search in searches {
            let search = match search.starts_with("search") {
                true => search.to_owned(),
                false => format!("| {search}"),
            };
            let (expected, found) = (done(&all, &search).await, done(&some, &search).await);
            assert_eq!(rows(&expected), rows(&found), "{search}, {most} summaries");
            // How far a scan is when it learns that it may stop depends on who reads first.
            if !search.contains("head") {
                let matched = |job: &Job| job.counts().events_matched;
                assert_eq!(matched(&expected), matched(&found), "{search}, {most} summaries");
            }
        }
        drop(other);
    }
    drop(cache);
}

fn rows(job: &Job) -> String {
    let page = job.page(0, ROWS);
    format!("{:?} {:?}", page.fields, page.rows)
}

#[tokio::test(flavor = "multi_thread")]
async fn buckets_outside_the_range_are_pruned_by_their_headers() {
    let events: Vec<SpecEvent> = (0..ROWS).map(event).collect();
    let (service, _cache) = filled(&events, BUCKETS, Settings::default()).await;
    let request = JobRequest {
        earliest: Some("1700000400".to_owned()),
        latest: Some("1700000999".to_owned()),
        ..JobRequest::new("search sourcetype=one | stats count", "me")
    };
    let job = service.dispatch(request).await.unwrap();
    job.finished().await.unwrap();
    let counts = job.counts();
    assert_eq!(counts.buckets_considered, 20);
    assert_eq!((counts.buckets_pruned_by_time, counts.buckets_to_search), (17, 3));
    assert_eq!(counts.events_matched, 599);
}
