//! Every spec file over real buckets: hot, stored in one and in many, half and half, after a restart,
//! and with every cache dropped. The answers must be those of events in memory.
#![allow(clippy::unwrap_used)]

use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;

use arrow::array::{
    RecordBatch, StringArray, StringDictionaryBuilder, StringViewArray, TimestampMicrosecondArray,
};
use arrow::datatypes::Int32Type;
use async_trait::async_trait;
use bucket::{
    FieldExtractor, FieldSource, HotBucket, HotBuckets, WriteOptions, hot_schema, write_bucket,
};
use cache::CachedStore;
use catalog::{Catalog, Commit};
use karst_search::{Dependencies, IndexNames, SearchService, Settings};
use karst_spectest::{SpecEvent, Topology, run_directory};
use knowledge::{FieldRules, Knowledge};
use model::{BucketEntry, BucketId, BucketState, EventTime, IndexName, TimeRange};
use object_store::memory::InMemory;
use object_store::{ObjectStore, ObjectStoreExt};
use plan::EventSource;
use tokio::sync::Mutex;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Hot,
    OneBucket,
    ManyBuckets,
    HalfHot,
    Restarted,
    ColdCaches,
}

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
}

#[derive(Debug)]
struct FixedNames(Vec<IndexName>);

impl IndexNames for FixedNames {
    fn names(&self) -> Vec<IndexName> {
        self.0.clone()
    }
    fn default_names(&self) -> Vec<IndexName> {
        vec![IndexName::new("main").unwrap()]
    }
}

#[derive(Debug)]
struct HotRows(Vec<HotBucket>);

impl HotBuckets for HotRows {
    fn snapshot(&self, indexes: &[IndexName], range: &TimeRange) -> Vec<HotBucket> {
        let wanted = |bucket: &&HotBucket| {
            indexes.contains(&bucket.index) && range.overlaps(bucket.first_time, bucket.last_time)
        };
        self.0.iter().filter(wanted).cloned().collect()
    }
}

/// Extraction rules as the server hands them to the bucket writer.
struct Fields(Arc<Knowledge>);
struct Rules(Arc<FieldRules>, u64);

impl FieldSource for Fields {
    fn extractor(&self, sourcetype: &str, source: &str, host: &str) -> Arc<dyn FieldExtractor> {
        let fingerprint = self.0.fingerprint(sourcetype);
        Arc::new(Rules(self.0.field_rules(sourcetype, source, host), fingerprint))
    }
}

impl FieldExtractor for Rules {
    fn fingerprint(&self) -> u64 {
        self.1
    }
    fn extract(&self, raw: &str, emit: &mut dyn FnMut(&str, &str)) {
        let _ = self.0.extract(raw, &mut |name: &str, value: Cow<'_, str>| emit(name, &value));
    }
}

impl Stored {
    async fn new(kind: Kind) -> Self {
        let store: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
        let settings = cache::Settings { dram_bytes: 32 << 20, ..cache::Settings::default() };
        let cache = Arc::new(CachedStore::open(Arc::clone(&store), settings).await.unwrap());
        let catalog = open(&store).await;
        let state = Mutex::new(State { catalog, buckets: Vec::new() });
        Self { kind, store, cache, state }
    }

    async fn put(&self, events: &[SpecEvent], knowledge: &Arc<Knowledge>) -> BucketEntry {
        let id = BucketId(uuid::Uuid::now_v7());
        let index = events[0].index.clone();
        let options = WriteOptions::default();
        let fields = Fields(Arc::clone(knowledge));
        let written = write_bucket(id, &index, &[rows(events)], &fields, &options).unwrap();
        let path = id.object_path(&index, "20261120");
        let size = written.bytes.len() as u64;
        let object = object_store::path::Path::from(path.as_str());
        self.store.put(&object, written.bytes.into()).await.unwrap();
        BucketEntry { id, index, path, size, state: BucketState::Warm, summary: written.summary }
    }
}

async fn open(store: &Arc<dyn ObjectStore>) -> Catalog {
    let clock = Arc::new(runtime::SystemClock);
    Catalog::open(Arc::clone(store), "catalog", catalog::Settings::default(), clock).await.unwrap()
}

fn rows(events: &[SpecEvent]) -> RecordBatch {
    let times = |time: &dyn Fn(&SpecEvent) -> EventTime| {
        let micros = events.iter().map(|event| time(event).0);
        Arc::new(TimestampMicrosecondArray::from_iter_values(micros).with_timezone("UTC"))
    };
    let names = |name: &dyn Fn(&SpecEvent) -> &str| {
        let mut column = StringDictionaryBuilder::<Int32Type>::new();
        events.iter().for_each(|event| column.append_value(name(event)));
        Arc::new(column.finish())
    };
    let sent = events.iter().map(|event| {
        let value = |values: &[String]| match values {
            [one] => format!("{one:?}"),
            many => format!("{many:?}"),
        };
        let pairs = event.fields.iter().map(|(name, values)| format!("{name:?}:{}", value(values)));
        let pairs: Vec<String> = pairs.collect();
        (!pairs.is_empty()).then(|| format!("{{{}}}", pairs.join(",")))
    });
    RecordBatch::try_new(
        hot_schema(),
        vec![
            times(&|event| event.time),
            times(&|event| event.index_time),
            Arc::new(StringViewArray::from_iter_values(events.iter().map(|e| e.raw.as_str()))),
            names(&|event| &event.host),
            names(&|event| &event.source),
            names(&|event| &event.sourcetype),
            Arc::new(sent.collect::<StringArray>()),
        ],
    )
    .unwrap()
}

fn hot(events: &[SpecEvent]) -> HotBucket {
    HotBucket {
        stored: None,
        id: BucketId(uuid::Uuid::now_v7()),
        index: events[0].index.clone(),
        first_time: events.iter().map(|event| event.time).min().unwrap(),
        last_time: events.iter().map(|event| event.time).max().unwrap(),
        rows: events.len() as u64,
        raw_bytes: events.iter().map(|event| event.raw.len() as u64).sum(),
        batches: vec![rows(events)],
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

#[async_trait]
impl Topology for Stored {
    fn name(&self) -> String {
        format!("stored, {:?}", self.kind)
    }

    async fn load(
        &self,
        events: &[SpecEvent],
        knowledge: &Arc<Knowledge>,
    ) -> Result<Arc<dyn EventSource>, String> {
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
                add.push(self.put(group, knowledge).await);
            }
        }
        let remove = std::mem::take(&mut state.buckets);
        state.buckets = add.iter().map(|entry| entry.id).collect();
        if !add.is_empty() || !remove.is_empty() {
            let commit = Commit { add, remove, ..Commit::default() };
            state.catalog.commit(commit).await.map_err(|error| error.to_string())?;
        }
        if self.kind == Kind::Restarted {
            state.catalog.close().await.map_err(|error| error.to_string())?;
            state.catalog = open(&self.store).await;
        }
        if self.kind == Kind::ColdCaches {
            self.cache.clear().await.map_err(|error| error.to_string())?;
        }
        let mut names: Vec<IndexName> = events.iter().map(|event| event.index.clone()).collect();
        names.push(IndexName::new("main").unwrap());
        names.sort();
        names.dedup();
        let service = SearchService::new(
            Dependencies {
                catalog: state.catalog.clone(),
                hot: Arc::new(HotRows(in_memory)),
                store: Arc::clone(&self.cache) as Arc<dyn ObjectStore>,
                knowledge: Arc::clone(knowledge),
                indexes: Arc::new(FixedNames(names)),
                clock: Arc::new(runtime::SystemClock),
                runtime: tokio::runtime::Handle::current(),
            },
            Settings::default(),
        )
        .map_err(|error| error.to_string())?;
        Ok(service.events())
    }
}

async fn check(kind: Kind) {
    let specs = Path::new("../spectest/specs");
    let topology: Arc<dyn Topology> = Arc::new(Stored::new(kind).await);
    let report = run_directory(&specs, &[topology]).await.unwrap();
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
async fn specs_hold_over_many_buckets() {
    check(Kind::ManyBuckets).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn specs_hold_while_half_of_the_events_are_hot() {
    check(Kind::HalfHot).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn specs_hold_after_a_restart() {
    check(Kind::Restarted).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn specs_hold_with_every_cache_dropped() {
    check(Kind::ColdCaches).await;
}
