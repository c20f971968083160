//! The estimate of a search says what it reads at most, and reads nothing for that.

use karst_search::{Estimate, EstimatedHot, JobRequest, SearchService, Settings};
use karst_spectest::SpecEvent;

use crate::support::{filled, log_event};

const ROWS: usize = 4_000;
const BUCKETS: usize = 20;

fn request(search: &str) -> JobRequest {
    JobRequest {
        earliest: Some("1700000400".to_owned()),
        latest: Some("1700000999".to_owned()),
        ..JobRequest::new(search, "me")
    }
}

async fn estimate(service: &SearchService, search: &str) -> Estimate {
    let explanation = service.explain(&request(search)).await.unwrap();
    explanation.estimate.unwrap_or_else(|| panic!("{search} reads no events"))
}

#[tokio::test(flavor = "multi_thread")]
async fn an_estimate_bounds_what_a_search_reads_and_knows_what_is_cached() {
    let events: Vec<SpecEvent> = (0..ROWS).map(log_event).collect();
    let (service, cache) = filled(&events, BUCKETS, Settings::default()).await;
    let search = "search index=main alpha | table _raw";
    let before = estimate(&service, search).await;
    assert_eq!(cache.stats().store_requests, 0);
    let buckets = before.buckets;
    assert_eq!((buckets.considered, buckets.pruned_by_time, buckets.to_read), (20, 17, 3));
    assert_eq!((before.rows, before.hot), (600, Some(EstimatedHot::default())));
    let tiers = before.tiers.unwrap();
    assert_eq!((tiers.memory, tiers.disk, tiers.store), (0, 0, before.bytes));
    assert_eq!((tiers.requests, tiers.buckets_looked_up), (3, 3));

    let job = service.dispatch(request(search)).await.unwrap();
    job.finished().await.unwrap();
    let counts = job.counts();
    assert!(counts.events_scanned <= before.rows, "{counts:?}");
    assert!(counts.buckets_to_search <= buckets.to_read, "{counts:?}");

    let after = estimate(&service, search).await;
    let tiers = after.tiers.unwrap();
    assert_eq!(tiers.memory + tiers.store, after.bytes);
    assert!(tiers.memory > 0, "{tiers:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn headers_exclude_buckets_and_some_buckets_stand_for_many() {
    let events: Vec<SpecEvent> = (0..ROWS).map(log_event).collect();
    let (service, _cache) = filled(&events, BUCKETS, Settings::default()).await;
    let none = estimate(&service, "search index=main sourcetype=other | stats count").await;
    assert_eq!((none.buckets.pruned_by_header, none.buckets.to_read, none.rows), (3, 0, 0));
    let explained = service.explain(&request("| makeresults | eval a=1")).await.unwrap();
    assert_eq!(explained.estimate, None);
    let settings = Settings { estimated_buckets: 2, ..Settings::default() };
    let (sampling, _cache) = filled(&events, BUCKETS, settings).await;
    let sampled = estimate(&sampling, "search index=main | stats count by host").await;
    let tiers = sampled.tiers.unwrap();
    assert_eq!((tiers.buckets_looked_up, tiers.store), (2, sampled.bytes));
    assert!(sampled.notes.iter().any(|note| note.contains("evenly chosen")), "{sampled:?}");
}
