//! Buckets of given events, and what a search service needs beside them.

use std::borrow::Cow;
use std::sync::Arc;

use apps::{Apps, Parts};
use arrow::array::{
    RecordBatch, StringArray, StringDictionaryBuilder, StringViewArray, TimestampMicrosecondArray,
};
use arrow::datatypes::Int32Type;
use bucket::{
    FieldExtractor, FieldSource, HotBucket, HotBuckets, HotDirectory, LocalHot, OriginRules,
    WriteOptions, hot_schema, write_bucket,
};
use cache::{CachedStore, SearchReads};
use catalog::{Catalog, Commit, IndexNames};
use karst_search::{Dependencies, Job, JobRequest, Objects, SearchService, Settings};
use karst_spectest::SpecEvent;
use knowledge::{FieldRules, Knowledge};
use model::{BucketEntry, BucketId, BucketState, EventTime, IndexName, TimeRange};
use object_store::{ObjectStore, ObjectStoreExt};

#[derive(Debug)]
struct FixedNames {
    all: Vec<IndexName>,
    metric: Vec<IndexName>,
}

impl IndexNames for FixedNames {
    fn names(&self) -> Vec<IndexName> {
        self.all.clone()
    }
    fn default_names(&self) -> Vec<IndexName> {
        vec![IndexName::new("main").unwrap()]
    }
    fn metric_names(&self) -> Vec<IndexName> {
        self.metric.clone()
    }
}

#[derive(Debug)]
pub(crate) struct HotRows(pub(crate) Vec<HotBucket>);

impl HotBuckets for HotRows {
    fn snapshot(&self, indexes: &[IndexName], range: &TimeRange) -> Vec<HotBucket> {
        let wanted = |bucket: &&HotBucket| {
            indexes.contains(&bucket.index) && range.overlaps(bucket.first_time, bucket.last_time)
        };
        self.0.iter().filter(wanted).cloned().collect()
    }

    fn in_memory(&self) -> std::collections::HashSet<BucketId> {
        self.0.iter().map(|bucket| bucket.id).collect()
    }
}

/// A cache whose reads are counted.
#[derive(Debug)]
pub(crate) struct Counted(pub(crate) Arc<CachedStore>);

impl Objects for Counted {
    fn counted(&self, reads: &Arc<SearchReads>) -> Arc<dyn ObjectStore> {
        Arc::new(self.0.counted(reads))
    }

    fn residency(&self, path: &str, size: u64) -> Option<cache::Residency> {
        Some(self.0.residency(path, size))
    }

    fn cache(&self) -> Option<CachedStore> {
        Some(CachedStore::clone(&self.0))
    }
}

#[derive(Debug)]
pub(crate) struct Uncounted(pub(crate) Arc<dyn ObjectStore>);

impl Objects for Uncounted {
    fn counted(&self, _: &Arc<SearchReads>) -> Arc<dyn ObjectStore> {
        Arc::clone(&self.0)
    }
}

/// Extraction rules as the server hands them to the bucket writer.
pub(crate) struct Fields(pub(crate) Arc<Knowledge>);
struct Rules(Arc<FieldRules>, u64, OriginRules);

impl FieldSource for Fields {
    fn extractor(&self, sourcetype: &str, source: &str, host: &str) -> Arc<dyn FieldExtractor> {
        let fingerprint = self.0.fingerprint(sourcetype);
        let known = self.0.origin_rules();
        let applied = known.applied(source, host).collect();
        let of_origin = OriginRules { all: known.fingerprint(), applied };
        Arc::new(Rules(self.0.field_rules(sourcetype, source, host), fingerprint, of_origin))
    }
}

impl FieldExtractor for Rules {
    fn fingerprint(&self) -> u64 {
        self.1
    }
    fn origin_rules(&self) -> Option<OriginRules> {
        Some(self.2.clone())
    }
    fn extract(&self, raw: &str, emit: &mut dyn FnMut(&str, &str)) -> bool {
        let emit = &mut |name: &str, value: Cow<'_, str>| emit(name, &value);
        !self.0.extract(raw, emit).lacks_columns
    }
}

/// A bucket of the events in the store.
pub(crate) async fn put(
    store: &Arc<dyn ObjectStore>,
    events: &[SpecEvent],
    knowledge: &Arc<Knowledge>,
    options: &WriteOptions,
) -> BucketEntry {
    put_with(store, events, &Fields(Arc::clone(knowledge)), options).await
}

/// The same with fields from another source.
pub(crate) async fn put_with(
    store: &Arc<dyn ObjectStore>,
    events: &[SpecEvent],
    fields: &dyn FieldSource,
    options: &WriteOptions,
) -> BucketEntry {
    let id = BucketId(uuid::Uuid::now_v7());
    let index = events[0].index.clone();
    let written = write_bucket(id, &index, &[rows(events)], fields, options).unwrap();
    let path = id.object_path(&index, "20261120");
    let size = written.bytes.len() as u64;
    let object = object_store::path::Path::from(path.as_str());
    store.put(&object, written.bytes.into()).await.unwrap();
    BucketEntry {
        id,
        index,
        path,
        size,
        state: BucketState::Warm,
        summary: Arc::new(written.summary),
    }
}

/// A service over the buckets of a catalog and some hot ones.
pub(crate) fn service(
    catalog: Catalog,
    hot: Vec<HotBucket>,
    store: Arc<dyn ObjectStore>,
    knowledge: &Arc<Knowledge>,
    names: Vec<IndexName>,
) -> SearchService {
    service_over(catalog, hot, Arc::new(Uncounted(store)), knowledge, names)
}

/// The same over objects that are counted, or not.
pub(crate) fn service_over(
    catalog: Catalog,
    hot: Vec<HotBucket>,
    objects: Arc<dyn Objects>,
    knowledge: &Arc<Knowledge>,
    names: Vec<IndexName>,
) -> SearchService {
    service_with(catalog, hot, objects, knowledge, names, Settings::default())
}

/// The same with settings.
pub(crate) fn service_with(
    catalog: Catalog,
    hot: Vec<HotBucket>,
    objects: Arc<dyn Objects>,
    knowledge: &Arc<Knowledge>,
    names: Vec<IndexName>,
    settings: Settings,
) -> SearchService {
    service_beside(
        catalog,
        Arc::new(LocalHot(Arc::new(HotRows(hot)))),
        objects,
        knowledge,
        names,
        settings,
    )
}

/// The same beside hot buckets that may change.
pub(crate) fn service_beside(
    catalog: Catalog,
    hot: Arc<dyn HotDirectory>,
    objects: Arc<dyn Objects>,
    knowledge: &Arc<Knowledge>,
    names: Vec<IndexName>,
    settings: Settings,
) -> SearchService {
    let mut parts = dependencies(catalog, Vec::new(), objects, knowledge, names);
    parts.hot = hot;
    with_settings(parts, settings)
}

pub(crate) fn with_settings(dependencies: Dependencies, settings: Settings) -> SearchService {
    SearchService::new(dependencies, settings).unwrap()
}

/// What a service needs, without other processes.
pub(crate) fn dependencies(
    catalog: Catalog,
    hot: Vec<HotBucket>,
    objects: Arc<dyn Objects>,
    knowledge: &Arc<Knowledge>,
    names: Vec<IndexName>,
) -> Dependencies {
    let apps = Apps::open(Parts {
        catalog: catalog.clone(),
        store: Arc::new(object_store::memory::InMemory::new()),
        knowledge: Arc::clone(knowledge),
        directory: None,
        shared: false,
        installed: None,
        ignored: Vec::new(),
        tolerate: |_| Vec::new(),
    })
    .unwrap();
    let metric = knowledge.indexes().iter().filter(|index| index.metric);
    let metric = metric.map(|index| index.name.clone()).collect();
    Dependencies {
        catalog,
        apps,
        host: Arc::new(plan::EventsOnly),
        hot: Arc::new(LocalHot(Arc::new(HotRows(hot)))),
        views: bucket::OpenViews::default(),
        objects,
        indexes: Arc::new(FixedNames { all: names, metric }),
        workers: None,
        clock: Arc::new(runtime::SystemClock),
        threads: karst_search::SearchThreads::of(tokio::runtime::Handle::current()),
        tracer: runtime::trace::Tracer::default(),
    }
}

/// A service over buckets of these events, written with small granules, read through a cache.
pub(crate) async fn filled(
    events: &[SpecEvent],
    buckets: usize,
    settings: Settings,
) -> (SearchService, Arc<CachedStore>) {
    let store: Arc<dyn ObjectStore> = Arc::new(object_store::memory::InMemory::new());
    let knowledge = Arc::new(Knowledge::builtin());
    let options = WriteOptions { granule_rows: 64, row_group_rows: 640, ..WriteOptions::default() };
    let mut add = Vec::new();
    for part in events.chunks(events.len().div_ceil(buckets)) {
        add.push(put(&store, part, &knowledge, &options).await);
    }
    let catalog = open(&store).await;
    catalog.commit(Commit { add, ..Commit::default() }).await.unwrap();
    let sizes = cache::Settings { dram_bytes: 64 << 20, ..cache::Settings::in_memory() };
    let cache = Arc::new(CachedStore::open(store, sizes).await.unwrap());
    let objects = Arc::new(Counted(Arc::clone(&cache)));
    let names = vec![IndexName::new("main").unwrap()];
    (service_with(catalog, Vec::new(), objects, &knowledge, names, settings), cache)
}

/// A search that has run over all events.
pub(crate) async fn done(service: &SearchService, search: &str) -> Arc<Job> {
    let job = service.dispatch(JobRequest::new(search, "me")).await.unwrap();
    job.finished().await.unwrap_or_else(|error| panic!("{search}: {error}"));
    job
}

/// Event number `at` of a log: a second after the one before, words, and fields `n`, `user`, `ms`.
pub(crate) fn log_event(at: usize) -> SpecEvent {
    let words = ["alpha", "beta", "gamma", "delta"];
    SpecEvent {
        index: IndexName::new("main").unwrap(),
        time: EventTime(1_700_000_000_000_000 + at as i64 * 1_000_000),
        index_time: EventTime(1_700_000_000_000_000 + at as i64),
        raw: format!("n={at} user=u{} ms={} {}", at * 7 % 3_001, at * 13 % 997, words[at % 4]),
        host: format!("host{}", at % 3),
        source: "s".to_owned(),
        sourcetype: "log".to_owned(),
        fields: Vec::new(),
    }
}

pub(crate) async fn open(store: &Arc<dyn ObjectStore>) -> Catalog {
    let clock = Arc::new(runtime::SystemClock);
    Catalog::open(Arc::clone(store), "catalog", catalog::Settings::default(), clock).await.unwrap()
}

pub(crate) fn rows(events: &[SpecEvent]) -> RecordBatch {
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

pub(crate) fn hot(events: &[SpecEvent]) -> HotBucket {
    HotBucket {
        stored: None,
        owner: None,
        elsewhere: None,
        id: BucketId(uuid::Uuid::now_v7()),
        index: events[0].index.clone(),
        first_time: events.iter().map(|event| event.time).min().unwrap(),
        last_time: events.iter().map(|event| event.time).max().unwrap(),
        rows: events.len() as u64,
        raw_bytes: events.iter().map(|event| event.raw.len() as u64).sum(),
        batches: vec![rows(events)],
    }
}

/// Numbers that look random, and are the same for the same seed.
#[derive(Debug)]
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, most: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % most
    }
}
