//! Searches over hot rows of other processes.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bucket::{HotBucket, HotDirectory, HotView, MissingIndexer};
use catalog::Catalog;
use futures::future::BoxFuture;
use karst_search::{JobRequest, SearchService, Settings, SqlRequest, SqlRows};
use knowledge::Knowledge;
use model::{IndexName, TimeRange};
use object_store::ObjectStore;
use object_store::memory::InMemory;
use parking_lot::Mutex;

use crate::support::{Uncounted, hot, log_event, open, service_beside};

/// Hot rows that another process has.
#[derive(Debug, Default)]
struct Elsewhere {
    view: Mutex<HotView>,
    asked: AtomicUsize,
}

impl HotDirectory for Elsewhere {
    fn view<'a>(
        &'a self,
        indexes: &'a [IndexName],
        range: &'a TimeRange,
    ) -> BoxFuture<'a, HotView> {
        Box::pin(async move {
            self.asked.fetch_add(1, Ordering::SeqCst);
            let mut view = self.view.lock().clone();
            let overlaps = |bucket: &HotBucket| range.overlaps(bucket.first_time, bucket.last_time);
            view.buckets.retain(|bucket| indexes.contains(&bucket.index) && overlaps(bucket));
            view
        })
    }

    fn is_remote(&self) -> bool {
        true
    }
}

async fn service(settings: Settings) -> (SearchService, Arc<Elsewhere>, Catalog) {
    let elsewhere = Arc::new(Elsewhere::default());
    let store: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
    let catalog = open(&store).await;
    let names = vec![IndexName::new("main").unwrap()];
    let (objects, knowledge) = (Arc::new(Uncounted(store)), Arc::new(Knowledge::builtin()));
    let beside = Arc::clone(&elsewhere) as Arc<dyn HotDirectory>;
    let service = service_beside(catalog.clone(), beside, objects, &knowledge, names, settings);
    (service, elsewhere, catalog)
}

fn lost() -> MissingIndexer {
    MissingIndexer { name: "indexer two".to_owned(), reason: "connection refused".to_owned() }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_scans_of_a_job_ask_once() {
    let (service, elsewhere, _catalog) = service(Settings::default()).await;
    let events: Vec<_> = (0..30).map(log_event).collect();
    elsewhere.view.lock().buckets = vec![hot(&events)];
    let search = "search index=main | stats count, values(user) as users by * | stats count";
    let request = JobRequest::new("search index=main | table *", "me");
    let job = service.dispatch(request).await.unwrap();
    job.finished().await.unwrap();
    assert_eq!(job.page(0, 100).rows.len(), 30);
    assert_eq!(elsewhere.asked.load(Ordering::SeqCst), 1, "table * looks for fields and reads");
    assert!(!job.is_partial());
    let job = service.dispatch(JobRequest::new(search, "me")).await.unwrap();
    job.finished().await.unwrap();
    assert_eq!(elsewhere.asked.load(Ordering::SeqCst), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_an_indexer_the_results_are_incomplete_and_say_so() {
    let (service, elsewhere, _catalog) = service(Settings::default()).await;
    elsewhere.view.lock().buckets = vec![hot(&[log_event(0)])];
    elsewhere.view.lock().missing = vec![lost()];
    let searches = [
        "search index=main",
        "search index=main | stats count",
        "| metadata type=hosts index=main",
    ];
    for search in searches {
        let job = service.dispatch(JobRequest::new(search, "me")).await.unwrap();
        job.finished().await.unwrap();
        assert!(job.is_partial(), "{search}");
        let messages = format!("{:?}", job.messages());
        assert!(messages.contains("incomplete: indexer two: connection refused"), "{messages}");
    }
    let sql = SqlRequest {
        query: "SELECT count(*) FROM main".to_owned(),
        earliest: None,
        latest: None,
        timezone: jiff::tz::TimeZone::UTC,
        app: "search".to_owned(),
        rights: Arc::new(access::Rights::of_system("admin")),
        rows: SqlRows::Limited,
        trace: Default::default(),
    };
    let error = service.sql(sql).await.unwrap_err().to_string();
    assert!(error.contains("indexer two: connection refused"), "{error}");
    assert!(error.contains("SQL does not return incomplete results"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn where_partial_results_are_not_allowed_the_search_fails() {
    let settings = Settings { allow_partial_results: false, ..Settings::default() };
    let (service, elsewhere, _catalog) = service(settings).await;
    elsewhere.view.lock().missing = vec![lost()];
    let job = service.dispatch(JobRequest::new("search index=main", "me")).await;
    let error = match job {
        Ok(job) => job.finished().await.unwrap_err(),
        Err(error) => error,
    };
    assert!(error.to_string().contains("allow_partial_results is off"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_search_waits_for_what_an_indexer_has_committed() {
    let (service, elsewhere, catalog) = service(Settings::default()).await;
    let before = catalog.snapshot().number();
    elsewhere.view.lock().floor = before + 1;
    let committing = catalog.clone();
    let commit = tokio::spawn(async move {
        tokio::time::sleep(Duration::from_millis(200)).await;
        committing.put_document("test", "a", serde_json::json!(1)).await.unwrap();
    });
    let job =
        service.dispatch(JobRequest::new("search index=main | stats count", "me")).await.unwrap();
    job.finished().await.unwrap();
    assert!(catalog.snapshot().number() > before, "it has waited");
    assert!(!job.is_partial(), "{:?}", job.messages());
    commit.await.unwrap();
    // One that is never reached makes the answer incomplete.
    elsewhere.view.lock().floor = u64::MAX;
    let job =
        service.dispatch(JobRequest::new("search index=main | stats count", "me")).await.unwrap();
    job.finished().await.unwrap();
    assert!(format!("{:?}", job.messages()).contains("lags behind"), "{:?}", job.messages());
}
