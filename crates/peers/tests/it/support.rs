//! An indexer that is only its hot buckets, behind a real port.

use std::collections::{BTreeMap, HashSet};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use arrow::array::{
    ArrayRef, AsArray, DictionaryArray, RecordBatch, StringArray, StringViewArray,
    TimestampMicrosecondArray,
};
use arrow::datatypes::{Int32Type, TimestampMicrosecondType};
use bucket::{HotBucket, HotBuckets, HotOwner, OpenViews, hot_schema};
use catalog::Catalog;
use cluster::Searches;
use futures::future::BoxFuture;
use karst_peers::{
    Connect, CountsSearches, Directory, EmptiesIndexes, HotParts, HotService, Indexer, Settings,
};
use model::{
    BucketEntry, BucketId, BucketState, BucketSummary, Durations, EventTime, IndexName, TimeRange,
};
use object_store::ObjectStore;
use object_store::memory::InMemory;
use parking_lot::Mutex;
use runtime::Health;
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};
use tonic::transport::Endpoint;
use tonic::transport::server::TcpIncoming;
use transport::Served as Service;

pub(crate) fn main_index() -> IndexName {
    IndexName::new("main").unwrap()
}

/// Rows of event numbers: the number is time, arrival and text.
pub(crate) fn rows(numbers: std::ops::Range<i64>) -> RecordBatch {
    let count = numbers.clone().count();
    let times = || -> ArrayRef {
        let times = TimestampMicrosecondArray::from_iter_values(numbers.clone());
        Arc::new(times.with_timezone("UTC"))
    };
    let name = |name: &'static str| -> ArrayRef {
        Arc::new(std::iter::repeat_n(name, count).collect::<DictionaryArray<Int32Type>>())
    };
    let texts = numbers.clone().map(|number| format!("event {number} {}", "of many".repeat(20)));
    let columns: Vec<ArrayRef> = vec![
        times(),
        times(),
        Arc::new(StringViewArray::from_iter_values(texts)),
        name("host"),
        name("source"),
        name("sourcetype"),
        Arc::new(StringArray::from(vec![None::<&str>; count])),
    ];
    RecordBatch::try_new(hot_schema(), columns).unwrap()
}

/// The event numbers of rows, each with its text.
pub(crate) fn numbers(batch: &RecordBatch) -> Vec<i64> {
    let times = batch.column(0).as_primitive::<TimestampMicrosecondType>();
    let texts = batch.column(2).as_string_view();
    for row in 0..batch.num_rows() {
        assert!(texts.value(row).starts_with(&format!("event {} ", times.value(row))));
    }
    times.values().to_vec()
}

/// Hot buckets by id.
#[derive(Debug, Default)]
pub(crate) struct Hot(
    pub(crate) Mutex<BTreeMap<BucketId, HotBucket>>,
    /// Indexers whose events have been recovered.
    pub(crate) Mutex<Vec<HotOwner>>,
    /// Whether it is overloaded: what asks for events is not answered.
    pub(crate) AtomicBool,
);

impl Hot {
    /// Adds rows to a bucket, as their sender is acknowledged.
    pub(crate) fn append(&self, id: BucketId, numbers: std::ops::Range<i64>) {
        let mut buckets = self.0.lock();
        let bucket = buckets.entry(id).or_insert_with(|| HotBucket {
            id,
            index: main_index(),
            first_time: EventTime(numbers.start),
            last_time: EventTime(numbers.start),
            rows: 0,
            raw_bytes: 0,
            batches: Vec::new(),
            stored: None,
            owner: None,
            elsewhere: None,
        });
        bucket.last_time = EventTime(numbers.end - 1);
        bucket.rows += numbers.clone().count() as u64;
        let rows = rows(numbers);
        let texts = rows.column(2).as_string_view().lengths();
        bucket.raw_bytes += texts.map(u64::from).sum::<u64>();
        bucket.batches.push(rows);
    }

    pub(crate) fn remove(&self, id: BucketId) {
        self.0.lock().remove(&id);
    }
}

impl HotBuckets for Hot {
    fn snapshot(&self, indexes: &[IndexName], range: &TimeRange) -> Vec<HotBucket> {
        let wanted = |bucket: &&HotBucket| {
            indexes.contains(&bucket.index) && range.overlaps(bucket.first_time, bucket.last_time)
        };
        if !indexes.is_empty() && self.2.load(Ordering::SeqCst) {
            // The other tasks of this thread go on in another one.
            tokio::task::block_in_place(|| {
                while self.2.load(Ordering::SeqCst) {
                    std::thread::sleep(Duration::from_millis(5));
                }
            });
        }
        self.0.lock().values().filter(wanted).cloned().collect()
    }

    fn adopted(&self) -> Vec<HotOwner> {
        self.1.lock().clone()
    }

    fn in_memory(&self) -> HashSet<BucketId> {
        let buckets = self.0.lock();
        buckets.values().filter(|one| one.stored.is_none()).map(|one| one.id).collect()
    }
}

/// A bucket of these events in the catalog.
pub(crate) fn entry(id: BucketId, numbers: std::ops::Range<i64>) -> BucketEntry {
    let (first, last) = (EventTime(numbers.start), EventTime(numbers.end - 1));
    BucketEntry {
        id,
        path: id.object_path(&main_index(), "19700101"),
        index: main_index(),
        size: 1_000,
        state: BucketState::Warm,
        summary: Arc::new(BucketSummary::bare(numbers.count() as u64, first, last)),
    }
}

/// An indexer.
pub(crate) struct Served {
    pub(crate) hot: Arc<Hot>,
    pub(crate) spool: Arc<InMemory>,
    pub(crate) views: OpenViews,
    pub(crate) health: Health,
    pub(crate) indexer: Indexer,
    /// Bytes that it has sent.
    pub(crate) sent: Arc<AtomicU64>,
    tasks: [JoinHandle<()>; 2],
}

/// Has run a search of 30 ms, and seven with incomplete results.
#[derive(Debug)]
pub(crate) struct Searching;

impl CountsSearches for Searching {
    fn searches(&self) -> Searches {
        let mut times = Durations::default();
        times.add(Duration::from_millis(30));
        Searches { incomplete: 7, times }
    }
}

/// Has no events of the main index any more, which is being removed. It can store only events of the cluster
/// itself.
#[derive(Debug)]
struct Emptied;

impl EmptiesIndexes for Emptied {
    fn emptied(&self) -> Vec<IndexName> {
        vec![main_index()]
    }

    fn roll<'a>(&'a self, index: &'a IndexName) -> BoxFuture<'a, Result<(), String>> {
        let is_away = || "object storage is away".to_owned();
        Box::pin(async move { index.is_internal().then_some(()).ok_or_else(is_away) })
    }
}

impl Served {
    pub(crate) async fn start(name: &str, catalog: &Catalog) -> Self {
        let (hot, spool) = (Arc::new(Hot::default()), Arc::new(InMemory::new()));
        let (views, health) = (OpenViews::default(), Health::default());
        let service = HotService::new(HotParts {
            id: name.to_owned(),
            hot: Arc::clone(&hot) as Arc<dyn HotBuckets>,
            catalog: catalog.clone(),
            spool: Arc::clone(&spool) as Arc<dyn ObjectStore>,
            views: views.clone(),
            searches: Arc::new(Searching),
            removals: Arc::new(Emptied),
            health: health.clone(),
        });
        let any = SocketAddr::from(([127, 0, 0, 1], 0));
        let outside = TcpListener::bind(any).await.unwrap();
        let inside = TcpListener::bind(any).await.unwrap();
        let behind = inside.local_addr().unwrap();
        let indexer = indexer(name, outside.local_addr().unwrap());
        let serving = tokio::spawn(async move {
            let server = tonic::transport::Server::builder().add_service(Service(service));
            server.serve_with_incoming(TcpIncoming::from(inside)).await.unwrap();
        });
        let sent = Arc::new(AtomicU64::new(0));
        let counter = Arc::clone(&sent);
        let forwarding = tokio::spawn(async move {
            // They end with the task.
            let mut connections = JoinSet::new();
            while let Ok((client, _)) = outside.accept().await {
                let counter = Arc::clone(&counter);
                connections.spawn(async move {
                    let (mut from, mut to) = client.into_split();
                    let server = TcpStream::connect(behind).await.unwrap();
                    let (mut answers, mut requests) = server.into_split();
                    let asking = tokio::io::copy(&mut from, &mut requests);
                    let answering = async {
                        let mut part = vec![0; 64 << 10];
                        loop {
                            let read = tokio::io::AsyncReadExt::read(&mut answers, &mut part);
                            let length = read.await.unwrap_or(0);
                            counter.fetch_add(length as u64, Ordering::SeqCst);
                            if length == 0 || to.write_all(&part[..length]).await.is_err() {
                                break;
                            }
                        }
                    };
                    tokio::select! { _ = asking => {}, () = answering => {} }
                });
            }
        });
        Self { hot, spool, views, health, indexer, sent, tasks: [serving, forwarding] }
    }

    /// Ends as by a kill.
    pub(crate) async fn stop(self) -> Indexer {
        for task in self.tasks {
            task.abort();
            let _ = task.await;
        }
        self.indexer
    }
}

pub(crate) fn indexer(name: &str, address: SocketAddr) -> Indexer {
    Indexer {
        id: name.to_owned(),
        name: name.to_owned(),
        address: format!("http://{address}"),
        is_internal: false,
        is_recoverable: false,
    }
}

pub(crate) fn settings() -> Settings {
    let layers = conf::Layers::builtin();
    Settings::read(&layers).unwrap()
}

/// A directory of these indexers.
pub(crate) fn directory(
    indexers: Vec<Indexer>,
    settings: Settings,
) -> (Directory, watch::Sender<Arc<[Indexer]>>) {
    let (sender, receiver) = watch::channel(indexers.into());
    let connect: Connect = Arc::new(|address: &str| {
        let endpoint = Endpoint::from_shared(address.to_owned());
        Ok(endpoint.map_err(|error| error.to_string())?.connect_lazy())
    });
    let indexers = Arc::new(move || Arc::clone(&receiver.borrow()));
    (Directory::new(None, indexers, connect, settings), sender)
}

pub(crate) async fn catalog() -> Catalog {
    let (store, settings) = (Arc::new(InMemory::new()), catalog::Settings::default());
    Catalog::open(store, "catalog", settings, Arc::new(runtime::SystemClock)).await.unwrap()
}

pub(crate) fn id(number: u128) -> BucketId {
    BucketId(uuid::Uuid::from_u128(number))
}
