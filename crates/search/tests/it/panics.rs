//! A search whose code panics ends with an error, and what it has found so far does not look like the result.

use std::sync::Arc;

use bucket::WriteOptions;
use catalog::Commit;
use futures::FutureExt;
use futures::future::BoxFuture;
use karst_search::{JobRequest, SearchService};
use knowledge::Knowledge;
use model::IndexName;
use object_store::ObjectStore;
use object_store::memory::InMemory;
use testkit::{Decorated, Hooks, Operation};

use crate::sql::refused;
use crate::support::{Uncounted, log_event, open, put, service_over};

#[derive(Debug)]
struct PanicsAtReads;

impl Hooks for PanicsAtReads {
    fn before<'a>(
        &'a self,
        operation: Operation,
        _: &'a str,
    ) -> BoxFuture<'a, object_store::Result<()>> {
        async move {
            assert!(operation != Operation::Get, "a defect");
            Ok(())
        }
        .boxed()
    }

    fn after<'a>(
        &'a self,
        _: Operation,
        _: &'a str,
        _: u64,
    ) -> BoxFuture<'a, object_store::Result<()>> {
        async { Ok(()) }.boxed()
    }
}

/// A service over a bucket of which no byte can be read.
async fn service() -> SearchService {
    let store: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
    let knowledge = Arc::new(Knowledge::builtin());
    let events: Vec<_> = (0..100).map(log_event).collect();
    let entry = put(&store, &events, &knowledge, &WriteOptions::default()).await;
    let catalog = open(&store).await;
    catalog.commit(Commit { add: vec![entry], ..Commit::default() }).await.unwrap();
    let objects = Uncounted(Arc::new(Decorated::wrap(store, PanicsAtReads)));
    let names = vec![IndexName::new("main").unwrap()];
    service_over(catalog, Vec::new(), Arc::new(objects), &knowledge, names)
}

// Counts by host are answered from summaries, without a read.
const SEARCH: &str = "search index=main | stats dc(_raw)";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_job_fails() {
    let service = service().await;
    let job = service.dispatch(JobRequest::new(SEARCH, "me")).await.unwrap();
    let error = job.finished().await.unwrap_err().to_string();
    assert!(error.contains("a defect"), "{error}");
    assert!(job.status().state.is_final());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_export_ends_with_an_error() {
    let service = service().await;
    let mut export = service.export(JobRequest::new(SEARCH, "me")).await.unwrap();
    let mut last = None;
    while let Some(page) = export.next().await {
        last = Some(page);
    }
    let error = last.unwrap().unwrap_err().to_string();
    assert!(error.contains("a defect"), "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_query_ends_with_an_error() {
    let error = refused(&service().await, "SELECT count(DISTINCT _raw) FROM main").await;
    assert!(error.contains("a defect"), "{error}");
}
