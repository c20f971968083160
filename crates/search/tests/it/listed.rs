//! `dbinspect`: buckets in object storage, and those that are still being filled.

use std::sync::Arc;

use bucket::WriteOptions;
use catalog::Commit;
use karst_search::{JobRequest, SearchService};
use knowledge::Knowledge;
use model::IndexName;
use object_store::ObjectStore;
use object_store::memory::InMemory;

use crate::support::{hot, log_event, open, put, service};

async fn found(service: &SearchService, search: &str) -> String {
    let job = service.dispatch(JobRequest::new(search, "me")).await.unwrap();
    job.finished().await.unwrap_or_else(|error| panic!("{search}: {error}"));
    format!("{:?}", job.page(0, 10).rows)
}

#[tokio::test(flavor = "multi_thread")]
async fn hot_buckets_are_listed_once_and_within_the_time_range() {
    let store: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
    let knowledge = Arc::new(Knowledge::builtin());
    let events = |range: std::ops::Range<usize>| range.map(log_event).collect::<Vec<_>>();
    let entry = put(&store, &events(0..30), &knowledge, &WriteOptions::default()).await;
    // A bucket that is uploaded, and still among the hot ones.
    let mut both = hot(&events(0..30));
    both.id = entry.id;
    let buckets = vec![both, hot(&events(100..107))];
    let catalog = open(&store).await;
    catalog.commit(Commit { add: vec![entry], ..Commit::default() }).await.unwrap();
    let names = vec![IndexName::new("main").unwrap()];
    let service = service(catalog, buckets, store, &knowledge, names);
    let counted = |options: &str| {
        format!("| dbinspect index=main {options} | stats sum(eventCount) as n by state")
    };
    let all = found(&service, &counted("")).await;
    assert!(all.contains("hot") && all.contains('7') && all.contains("warm"), "{all}");
    assert!(all.contains("30"), "{all}");
    let late = found(&service, &counted("earliest=1700000090")).await;
    assert!(late.contains("hot") && !late.contains("warm"), "{late}");
    let early = found(&service, &counted("latest=1700000090")).await;
    assert!(!early.contains("hot") && early.contains("warm"), "{early}");
}
