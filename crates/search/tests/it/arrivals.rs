//! Events of source types that arrive while a search is planned.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bucket::{HotBucket, HotBuckets, LocalHot};
use conf::{Layer, Layers};
use karst_search::{JobRequest, SearchService, Settings};
use karst_spectest::SpecEvent;
use knowledge::Knowledge;
use model::{IndexName, TimeRange};
use object_store::ObjectStore;
use object_store::memory::InMemory;

use crate::support::{Uncounted, hot, log_event, open, service_beside};

/// Hot buckets, the last of which is there from one of the snapshots on.
#[derive(Debug)]
struct Arriving {
    buckets: Vec<HotBucket>,
    taken: AtomicUsize,
    /// The number of the first snapshot that has all.
    complete: AtomicUsize,
}

impl HotBuckets for Arriving {
    fn snapshot(&self, _: &[IndexName], _: &TimeRange) -> Vec<HotBucket> {
        let number = self.taken.fetch_add(1, Ordering::SeqCst) + 1;
        let missing = usize::from(number < self.complete.load(Ordering::SeqCst));
        self.buckets[..self.buckets.len() - missing].to_vec()
    }

    fn in_memory(&self) -> std::collections::HashSet<model::BucketId> {
        self.buckets.iter().map(|bucket| bucket.id).collect()
    }
}

async fn count(service: &SearchService, search: &str) -> String {
    let job = service.dispatch(JobRequest::new(search, "me")).await.unwrap();
    job.finished().await.unwrap_or_else(|error| panic!("{search}: {error}"));
    format!("{:?}", job.page(0, 10).rows)
}

/// The objects of a source type without events are left out. When its first event arrives before the rows are
/// read, the search must not take that for an event without the fields of these objects.
#[tokio::test(flavor = "multi_thread")]
async fn events_of_a_source_type_that_arrives_after_planning_are_not_found_half() {
    let props = "[old]\nEVAL-level = \"high\"\n[new]\nEVAL-level = \"low\"\n";
    let layers = Layers::builtin().with(Layer::SystemLocal, "props", props);
    let knowledge = Arc::new(Knowledge::new(layers));
    let of_type = |at, name: &str| SpecEvent { sourcetype: name.to_owned(), ..log_event(at) };
    let buckets = vec![hot(&[of_type(0, "old"), of_type(1, "old")]), hot(&[of_type(2, "new")])];
    let complete = AtomicUsize::new(usize::MAX);
    let arriving = Arc::new(Arriving { buckets, taken: AtomicUsize::new(0), complete });
    let store: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
    let catalog = open(&store).await;
    let names = vec![IndexName::new("main").unwrap()];
    let objects = Arc::new(Uncounted(store));
    let (beside, settings) = (Arc::new(LocalHot(arriving.clone())), Settings::default());
    let service = service_beside(catalog, beside, objects, &knowledge, names, settings);

    let search = "search index=main NOT level=low | stats count";
    let before = count(&service, search).await;
    assert!(before.contains('2'), "{before}");
    // The last snapshot of a search is the one whose rows it reads: the third event is in that one alone.
    let taken = arriving.taken.load(Ordering::SeqCst);
    arriving.complete.store(2 * taken, Ordering::SeqCst);
    assert_eq!(count(&service, search).await, before);
    assert_eq!(arriving.taken.load(Ordering::SeqCst), 2 * taken);
    // A search that is planned after that finds it.
    assert_eq!(count(&service, search).await, before);
    let all = count(&service, "search index=main level=* | stats count").await;
    assert!(all.contains('3'), "{all}");
}
