//! An ingest over a local directory with a real catalog, and ways to read everything back.

use std::path::Path;
use std::sync::Arc;

use arrow::array::{AsArray, RecordBatch};
use arrow::datatypes::TimestampMicrosecondType;
use bucket::{BucketReader, HotBucket};
use catalog::Catalog;
use conf::{Layer, Layers};
use futures::TryStreamExt;
use ingest::{Ingest, Parts, Settings};
use inputs::{CutEvents, Input, InputMeta, MissingTime, Sink, SinkExt, StreamKey};
use knowledge::Knowledge;
use model::{EventTime, IndexName, IndexerId, TimeRange};
use object_store::ObjectStore;
use object_store::local::LocalFileSystem;
use runtime::SystemClock;

/// A running ingest and what it writes to.
pub(crate) struct Setup {
    pub(crate) ingest: Arc<Ingest>,
    pub(crate) catalog: Arc<Catalog>,
    pub(crate) store: Arc<dyn ObjectStore>,
}

/// Settings that suit small tests.
pub(crate) fn settings() -> Settings {
    Settings {
        upload_retry: (std::time::Duration::from_millis(10), std::time::Duration::from_millis(50)),
        ..Settings::default()
    }
}

pub(crate) fn local(data: &Path) -> Arc<dyn ObjectStore> {
    let root = data.join("store");
    std::fs::create_dir_all(&root).unwrap();
    Arc::new(LocalFileSystem::new_with_prefix(root).unwrap())
}

/// Starts, or starts again, in a directory.
pub(crate) async fn start(data: &Path, settings: Settings) -> Setup {
    let store = local(data);
    start_with(data, settings, Arc::clone(&store), store).await
}

/// Starts with buckets going to a store of their own.
pub(crate) async fn start_with(
    data: &Path,
    settings: Settings,
    store: Arc<dyn ObjectStore>,
    catalog_store: Arc<dyn ObjectStore>,
) -> Setup {
    start_configured(data, settings, store, catalog_store, "").await
}

/// Starts in a directory with an `indexes.conf`.
pub(crate) async fn start_with_indexes(data: &Path, settings: Settings, indexes: &str) -> Setup {
    let store = local(data);
    start_configured(data, settings, Arc::clone(&store), store, indexes).await
}

pub(crate) async fn start_configured(
    data: &Path,
    settings: Settings,
    store: Arc<dyn ObjectStore>,
    catalog_store: Arc<dyn ObjectStore>,
    indexes: &str,
) -> Setup {
    let clock = Arc::new(SystemClock);
    let catalog_settings = catalog::Settings::default();
    let catalog = Catalog::open(catalog_store, "catalog", catalog_settings, clock.clone()).await;
    let catalog = Arc::new(catalog.unwrap());
    let mut parts = parts_of(data, Arc::clone(&store), Arc::clone(&catalog), settings);
    let layers = Layers::builtin().with(Layer::SystemLocal, "indexes", indexes);
    parts.knowledge = Arc::new(Knowledge::new(layers));
    Setup { ingest: Arc::new(Ingest::start(parts).await.unwrap()), catalog, store }
}

/// What a second ingest over the same things would be started with.
pub(crate) fn parts(data: &Path, setup: &Setup, settings: Settings) -> Parts {
    parts_of(data, Arc::clone(&setup.store), Arc::clone(&setup.catalog), settings)
}

fn parts_of(
    data: &Path,
    store: Arc<dyn ObjectStore>,
    catalog: Arc<Catalog>,
    settings: Settings,
) -> Parts {
    Parts {
        data: data.to_owned(),
        indexer: IndexerId(uuid::Uuid::nil()),
        store,
        replicas: None,
        catalog,
        knowledge: Arc::new(Knowledge::builtin()),
        clock: Arc::new(SystemClock),
        settings,
    }
}

impl Setup {
    /// Ends, so that nothing is written behind the back of whoever changes files after it.
    pub(crate) async fn stop(self) {
        drop(self.ingest);
        self.catalog.close().await.unwrap();
    }

    /// The ingest as inputs see it.
    pub(crate) fn sink(&self) -> Arc<dyn Sink> {
        Arc::clone(&self.ingest) as Arc<dyn Sink>
    }

    /// Takes in text as a complete stream; the number of events.
    pub(crate) async fn raw(&self, sourcetype: &str, text: &str) -> u64 {
        let input = raw(sourcetype, text.as_bytes());
        self.ingest.submit(input).await.unwrap().events
    }

    /// Takes in events that are cut and dated.
    pub(crate) async fn events(&self, texts: &[&str]) -> inputs::Receipt {
        self.ingest.submit(cut(texts)).await.unwrap()
    }

    /// The texts of all events, hot and stored, in the order of (time, arrival).
    pub(crate) async fn texts(&self) -> Vec<String> {
        self.rows().await.into_iter().map(|(_, _, text)| text).collect()
    }

    /// Time, arrival and text of all events, sorted; every event as often as a search meets it.
    pub(crate) async fn rows(&self) -> Vec<(i64, i64, String)> {
        let hot = self.ingest.hot().snapshot(&indexes(), &TimeRange::ALL);
        let stored = self.catalog.snapshot();
        let mut rows = Vec::new();
        let all = stored.overlapping(&[], &TimeRange::ALL);
        let mut objects: Vec<_> = all.map(|bucket| (bucket.path(), bucket.size)).collect();
        let only_hot = |hot: &&HotBucket| !stored.contains(&hot.index, hot.id);
        for bucket in hot.iter().filter(only_hot) {
            if let Some(entry) = &bucket.stored {
                objects.push((entry.path.clone(), entry.size));
                continue;
            }
            let count = rows.len();
            bucket.batches.iter().for_each(|batch| collect(batch, &mut rows));
            assert_eq!((rows.len() - count) as u64, bucket.rows);
        }
        for (path, size) in objects {
            let path = object_store::path::Path::from(path);
            let store = self.ingest.readable(Arc::clone(&self.store));
            let reader = BucketReader::open(store, &path, size).await.unwrap();
            let all = reader.granules_in(&TimeRange::ALL);
            let columns = ["_time", "_indextime", "_raw"];
            let stream = reader.read(&columns, &all, 8192).await.unwrap();
            let batches: Vec<RecordBatch> = stream.try_collect().await.unwrap();
            batches.iter().for_each(|batch| collect(batch, &mut rows));
        }
        rows.sort();
        rows
    }
}

fn collect(batch: &RecordBatch, rows: &mut Vec<(i64, i64, String)>) {
    let times = |column: usize| batch.column(column).as_primitive::<TimestampMicrosecondType>();
    let raw = batch.column(2).as_string_view();
    for row in 0..batch.num_rows() {
        rows.push((times(0).value(row), times(1).value(row), raw.value(row).to_owned()));
    }
}

pub(crate) fn indexes() -> [IndexName; 3] {
    ["main", "other", "_internal"].map(|name| IndexName::new(name).unwrap())
}

pub(crate) fn main_index() -> IndexName {
    IndexName::new("main").unwrap()
}

pub(crate) fn meta(sourcetype: Option<&str>) -> InputMeta {
    InputMeta {
        index: main_index(),
        host: "web01".into(),
        source: "test".into(),
        sourcetype: sourcetype.map(Into::into),
    }
}

pub(crate) fn raw(sourcetype: &str, bytes: &[u8]) -> Input {
    Input::Raw {
        origin: Arc::new(meta(Some(sourcetype))),
        stream: StreamKey(uuid::Uuid::now_v7().to_string().into()),
        bytes: bytes::Bytes::copy_from_slice(bytes),
        modified: None,
        end: true,
    }
}

pub(crate) fn cut(texts: &[&str]) -> Input {
    let mut events = CutEvents::new(MissingTime::Now);
    for text in texts {
        assert!(events.push(meta(Some("test")).by_ref(), None, text.as_bytes()));
    }
    Input::Events { stream: StreamKey("test".into()), events }
}

/// Events of one input at given times, in seconds.
pub(crate) fn dated(events: &[(i64, &str)]) -> Input {
    let mut cut = CutEvents::new(MissingTime::Now);
    for (second, text) in events {
        let time = Some(EventTime(second * 1_000_000));
        assert!(cut.push(meta(Some("test")).by_ref(), time, text.as_bytes()));
    }
    Input::Events { stream: StreamKey("test".into()), events: cut }
}

/// The present in seconds.
pub(crate) fn now() -> i64 {
    use runtime::Clock;
    SystemClock.now().0 / 1_000_000
}

pub(crate) fn seconds(time: i64) -> f64 {
    EventTime(time).seconds()
}
