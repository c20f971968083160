//! Every spec file over real buckets: hot, and each block with events also in one of three kinds of storage,
//! in turns: one bucket, many that no cache has, or half and half while the catalog is opened again now and
//! then. The blocks about wildcards run in all of them. The answers must be those of events in memory. Blocks
//! that generate their rows run over the hot ones only.

use std::path::Path;
use std::sync::Arc;

use bucket::WriteOptions;
use cache::CachedStore;
use catalog::{Catalog, Commit};
use futures::future::BoxFuture;
use karst_spectest::{SpecEvent, Topology, run_directory};
use knowledge::Knowledge;
use model::{BucketId, IndexName};
use object_store::ObjectStore;
use object_store::memory::InMemory;
use plan::EventSource;
use tokio::sync::Mutex;

use crate::support::{hot, open, put, service};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Hot,
    OneBucket,
    ColdBuckets,
    HalfHot,
}

/// After so many blocks the catalog is opened again: that takes longer than most blocks.
const REOPENED_AFTER: usize = 8;

/// Buckets in a store, with a catalog that is kept from block to block.
#[derive(Debug)]
struct Stored {
    kind: Kind,
    store: Arc<dyn ObjectStore>,
    cache: Arc<CachedStore>,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    catalog: Catalog,
    buckets: Vec<BucketId>,
    blocks: usize,
}

impl Stored {
    async fn new(kind: Kind) -> Self {
        let store: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
        let settings = cache::Settings { dram_bytes: 32 << 20, ..cache::Settings::in_memory() };
        let cache = Arc::new(CachedStore::open(Arc::clone(&store), settings).await.unwrap());
        let catalog = open(&store).await;
        let state = Mutex::new(State { catalog, buckets: Vec::new(), blocks: 0 });
        Self { kind, store, cache, state }
    }
}

/// The events of each bucket: per index all of them, or every third together.
fn split(events: &[SpecEvent], parts: usize) -> Vec<Vec<SpecEvent>> {
    let mut indexes: Vec<IndexName> = events.iter().map(|event| event.index.clone()).collect();
    indexes.sort();
    indexes.dedup();
    let mut groups = Vec::new();
    for index in indexes {
        let own: Vec<&SpecEvent> = events.iter().filter(|event| event.index == index).collect();
        for part in 0..parts {
            let group = own.iter().enumerate().filter(|(at, _)| at % parts == part);
            groups.push(group.map(|(_, event)| (*event).clone()).collect());
        }
    }
    groups.retain(|group: &Vec<SpecEvent>| !group.is_empty());
    groups
}

impl Topology for Stored {
    fn name(&self) -> String {
        format!("stored, {:?}", self.kind)
    }

    fn is_about_events(&self) -> bool {
        self.kind != Kind::Hot
    }

    fn share(&self) -> (usize, usize) {
        match self.kind {
            Kind::Hot => (0, 1),
            Kind::OneBucket => (0, 3),
            Kind::ColdBuckets => (1, 3),
            Kind::HalfHot => (2, 3),
        }
    }

    fn load<'a>(
        &'a self,
        events: &'a [SpecEvent],
        knowledge: &'a Arc<Knowledge>,
    ) -> BoxFuture<'a, Result<Arc<dyn EventSource>, String>> {
        Box::pin(async move {
            let mut state = self.state.lock().await;
            let parts = match self.kind {
                Kind::OneBucket => 1,
                Kind::Hot => 2,
                _ => 3,
            };
            let mut in_memory = Vec::new();
            let mut add = Vec::new();
            for (at, group) in split(events, parts).iter().enumerate() {
                let is_hot = self.kind == Kind::Hot || (self.kind == Kind::HalfHot && at % 2 == 0);
                if is_hot {
                    in_memory.push(hot(group));
                } else {
                    add.push(put(&self.store, group, knowledge, &WriteOptions::default()).await);
                }
            }
            let remove = std::mem::take(&mut state.buckets);
            state.buckets = add.iter().map(|entry| entry.id).collect();
            if !add.is_empty() || !remove.is_empty() {
                let commit = Commit { add, remove, ..Commit::default() };
                state.catalog.commit(commit).await.map_err(|error| error.to_string())?;
            }
            state.blocks += 1;
            if self.kind == Kind::HalfHot && state.blocks.is_multiple_of(REOPENED_AFTER) {
                state.catalog.close().await.map_err(|error| error.to_string())?;
                state.catalog = open(&self.store).await;
            }
            if self.kind == Kind::ColdBuckets {
                self.cache.clear().await.map_err(|error| error.to_string())?;
            }
            let mut names: Vec<IndexName> =
                events.iter().map(|event| event.index.clone()).collect();
            names.push(IndexName::new("main").unwrap());
            names.sort();
            names.dedup();
            let store = Arc::clone(&self.cache) as Arc<dyn ObjectStore>;
            let service = service(state.catalog.clone(), in_memory, store, knowledge, names);
            Ok(service.events())
        })
    }
}

async fn check(kind: Kind) {
    let specs = Path::new("../spectest/specs");
    let topology: Arc<dyn Topology> = Arc::new(Stored::new(kind).await);
    let report = run_directory(specs, &[topology]).await.unwrap();
    assert!(report.failures.is_empty(), "\n{report}");
}

#[tokio::test(flavor = "multi_thread")]
async fn specs_hold_over_hot_rows() {
    check(Kind::Hot).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn specs_hold_over_one_bucket() {
    check(Kind::OneBucket).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn specs_hold_over_many_buckets_with_every_cache_dropped() {
    check(Kind::ColdBuckets).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn specs_hold_while_half_of_the_events_are_hot_and_after_restarts() {
    check(Kind::HalfHot).await;
}
