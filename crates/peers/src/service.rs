//! The indexer's side: the gRPC service `karst.hot.v1.Hot`.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::task::Poll;

use arrow::array::AsArray;
use arrow::datatypes::Int32Type;
use bucket::{HotBucket, HotBuckets, HotOwner, OpenView, OpenViews};
use bytes::Bytes;
use catalog::Catalog;
use cluster::Searches;
use futures::StreamExt;
use futures::future::BoxFuture;
use futures::stream::{self, BoxStream};
use metrics::gauge;
use model::{BucketId, EventTime, IndexName, IndexerId, TimeRange, columns};
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt};
use protocol::hot::{
    Bucket, OfView, OpenRequest, OpenResponse, Owner, ReadRequest, ReadResponse, RollRequest,
    RollResponse, Rows,
};
use runtime::{Health, metrics as names};
use tonic::{Code, Status};
use transport::{Answer, Call, Methods};

use crate::{MAX_MESSAGE, OPEN, PART, READ, ROLL, SERVICE, rows};

/// The data sources of the service.
#[derive(Debug, Clone)]
pub struct HotParts {
    /// The identity of this process, as the list of the cluster has it.
    pub id: String,
    /// The hot buckets of this process.
    pub hot: Arc<dyn HotBuckets>,
    /// The catalog that this process commits to.
    pub catalog: Catalog,
    /// The objects of buckets that wait for their upload, and no others.
    pub spool: Arc<dyn ObjectStore>,
    /// The open views whose rows are not sent.
    pub views: OpenViews,
    /// The searches of this process.
    pub searches: Arc<dyn CountsSearches>,
    /// The indexes of this process.
    pub removals: Arc<dyn EmptiesIndexes>,
    /// The conditions of this process.
    pub health: Health,
}

/// Counts the searches of a process, since it was started.
pub trait CountsSearches: std::fmt::Debug + Send + Sync {
    /// Returns the search counters of this process.
    fn searches(&self) -> Searches;
}

/// Rolls the hot buckets of indexes: on request, and of indexes that are being removed.
pub trait EmptiesIndexes: std::fmt::Debug + Send + Sync {
    /// The indexes that are being removed and of which this process has no hot events and accepts none.
    fn emptied(&self) -> Vec<IndexName>;

    /// Rolls the hot buckets of an index and waits until they are in object storage.
    ///
    /// # Errors
    /// The reason, if that fails.
    fn roll<'a>(&'a self, index: &'a IndexName) -> BoxFuture<'a, Result<(), String>>;
}

/// Maximum number of open views. The rows of a further view are sent.
const MOST_VIEWS: usize = 512;

/// The service that gives other processes the hot buckets of this process. Clones share its state.
#[derive(Debug, Clone)]
pub struct HotService {
    parts: HotParts,
}

type Reply<T> = Result<T, Status>;

impl HotService {
    /// Shows these.
    #[must_use]
    pub fn new(parts: HotParts) -> Self {
        Self { parts }
    }

    fn open(&self, request: &OpenRequest) -> Reply<BoxStream<'static, Reply<OpenResponse>>> {
        let mut known = HashMap::with_capacity(request.known.len());
        for bucket in &request.known {
            known.insert(id_of(&bucket.id)?, bucket.rows);
        }
        if let Some(of_view) = &request.of_view {
            return self.rows_of_view(of_view, &known);
        }
        let indexes: Result<Vec<_>, _> =
            request.indexes.iter().map(|name| IndexName::new(name)).collect();
        let indexes = indexes.map_err(|error| Status::invalid_argument(error.to_string()))?;
        let range =
            TimeRange { earliest: EventTime(request.earliest), latest: EventTime(request.latest) };
        let adopted = self.parts.hot.adopted();
        // Read before the floor: removed buckets that were stored are in the catalog as of the floor.
        let emptied = self.parts.removals.emptied();
        let buckets = self.parts.hot.snapshot(&indexes, &range);
        // Read after the buckets: buckets that have left are in the catalog as of this write.
        let floor = self.parts.catalog.snapshot().number();
        let gone = self.gone(&known, &buckets);
        let stays = request.most_bytes.is_some_and(|most| lacking(&buckets, &known) > most);
        let view = stays.then(|| self.parts.views.open(number(), &buckets, MOST_VIEWS)).flatten();
        let mut listed: Vec<Bucket> = buckets.iter().map(message).collect::<Result<_, _>>()?;
        if view.is_some() {
            for (listed, bucket) in listed.iter_mut().zip(&buckets) {
                listed.sourcetypes = sourcetypes(bucket)?;
            }
        }
        let list = OpenResponse {
            floor,
            buckets: listed,
            gone: gone.into_iter().map(bytes_of).collect(),
            rows: None,
            view: view.as_ref().map(OpenView::number),
            id: self.parts.id.clone(),
            adopted: adopted.into_iter().map(owner_message).collect(),
            searches: Some(searches_message(&self.parts.searches.searches())),
            emptied: emptied.iter().map(ToString::to_string).collect(),
            full_disks: self.parts.health.full_disks(),
        };
        let list = stream::iter([Ok(list)]);
        Ok(match view {
            // The caller ends it, or the end of the connection.
            Some(view) => {
                let view = Counted::new(view);
                let never = stream::poll_fn(move |_| {
                    let _open_as_long_as_the_stream = &view;
                    Poll::Pending
                });
                list.chain(never).boxed()
            }
            None => list.chain(rows_of(buckets, known)).boxed(),
        })
    }

    /// The rows of a bucket of an open view.
    fn rows_of_view(
        &self,
        of_view: &OfView,
        known: &HashMap<BucketId, u64>,
    ) -> Reply<BoxStream<'static, Reply<OpenResponse>>> {
        let id = id_of(&of_view.bucket)?;
        let view = self.parts.views.get(of_view.view);
        let view = view.ok_or_else(|| Status::not_found("the view is not open any more"))?;
        let bucket = view.iter().find(|bucket| bucket.id == id).cloned();
        let bucket = bucket.ok_or_else(|| Status::not_found("the view has no such bucket"))?;
        let list = OpenResponse { buckets: vec![message(&bucket)?], ..OpenResponse::default() };
        let known = known.iter().map(|(id, rows)| (*id, *rows)).collect();
        Ok(stream::iter([Ok(list)]).chain(rows_of(vec![bucket], known)).boxed())
    }

    /// Returns the known buckets whose rows are no longer in memory.
    fn gone(&self, known: &HashMap<BucketId, u64>, buckets: &[HotBucket]) -> Vec<BucketId> {
        let is_listed = |id: &BucketId| {
            buckets.iter().any(|bucket| bucket.id == *id && bucket.stored.is_none())
        };
        let mut others: Vec<_> = known.keys().filter(|id| !is_listed(id)).copied().collect();
        if !others.is_empty() {
            let held = self.parts.hot.in_memory();
            others.retain(|id| !held.contains(id));
        }
        others
    }

    async fn read(self, request: ReadRequest) -> Reply<BoxStream<'static, Reply<ReadResponse>>> {
        let path = Path::parse(&request.path);
        let path = path.map_err(|error| Status::invalid_argument(error.to_string()))?;
        let range = request.start..request.end;
        if range.is_empty() || range.end - range.start > MAX_MESSAGE as u64 {
            let most = MAX_MESSAGE >> 20;
            return Err(Status::invalid_argument(format!("read 1 byte to {most} MiB at a time")));
        }
        let bytes = self.parts.spool.get_range(&path, range).await;
        let bytes = bytes.map_err(|error| {
            let code = match &error {
                object_store::Error::NotFound { .. } => Code::NotFound,
                _ => Code::Internal,
            };
            Status::new(code, error.to_string())
        })?;
        let starts = (0..bytes.len()).step_by(PART);
        let parts: Vec<_> = starts
            .map(|start| bytes.slice(start..bytes.len().min(start + PART)))
            .map(|data| Ok(ReadResponse { data }))
            .collect();
        Ok(stream::iter(parts).boxed())
    }

    async fn roll(self, request: RollRequest) -> Reply<RollResponse> {
        let index = IndexName::new(&request.index);
        let index = index.map_err(|error| Status::invalid_argument(error.to_string()))?;
        self.parts.removals.roll(&index).await.map_err(Status::unavailable)?;
        Ok(RollResponse { id: self.parts.id })
    }
}

/// An open view that the metrics count.
struct Counted {
    _view: OpenView,
}

impl Counted {
    fn new(view: OpenView) -> Self {
        gauge!(names::HOT_OPEN_VIEWS).increment(1.0);
        Self { _view: view }
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        gauge!(names::HOT_OPEN_VIEWS).decrement(1.0);
    }
}

/// Returns the rows after those that are known.
fn rows_of(
    buckets: Vec<HotBucket>,
    known: HashMap<BucketId, u64>,
) -> impl futures::Stream<Item = Reply<OpenResponse>> + Send {
    let rows = buckets.into_iter().flat_map(move |bucket| {
        let first = known.get(&bucket.id).copied().unwrap_or_default();
        let id = bucket.id;
        rows::parts(&bucket.batches, first).into_iter().map(move |part| (id, part))
    });
    let rows = rows.map(|(id, (first, batch))| {
        let batch = rows::encode(&batch);
        let batch = batch.map_err(|error| Status::internal(error.to_string()))?;
        let rows = Some(Rows { id: bytes_of(id), first, batch });
        Ok(OpenResponse { rows, ..OpenResponse::default() })
    });
    stream::iter(rows)
}

/// Estimates the bytes of text after the known rows, assuming that all texts of a bucket have the same
/// length.
fn lacking(buckets: &[HotBucket], known: &HashMap<BucketId, u64>) -> u64 {
    let of = |bucket: &HotBucket| {
        let known = known.get(&bucket.id).copied().unwrap_or_default();
        let rows = u128::from(bucket.rows.saturating_sub(known));
        let bytes = u128::from(bucket.raw_bytes) * rows / u128::from(bucket.rows.max(1));
        u64::try_from(bytes).unwrap_or(u64::MAX)
    };
    buckets.iter().filter(|bucket| bucket.stored.is_none()).map(of).sum()
}

/// The source types of the events of a bucket.
fn sourcetypes(bucket: &HotBucket) -> Reply<Vec<String>> {
    if let Some(entry) = &bucket.stored {
        return Ok(entry.summary.sourcetypes.iter().map(|known| known.value.clone()).collect());
    }
    let mut names = BTreeSet::new();
    for batch in &bucket.batches {
        let column = batch.column_by_name(columns::SOURCETYPE);
        let values = column.and_then(|column| column.as_dictionary_opt::<Int32Type>());
        let texts = values.and_then(|values| values.values().as_string_opt::<i32>());
        let texts = texts.ok_or_else(|| Status::internal("hot rows without source types"))?;
        names.extend(texts.iter().flatten().map(str::to_owned));
    }
    Ok(names.into_iter().collect())
}

/// The number of a view.
fn number() -> u64 {
    runtime::random::uuid().as_u64_pair().0
}

fn message(bucket: &HotBucket) -> Reply<Bucket> {
    let stored = bucket.stored.as_ref().map(|entry| serde_json::to_vec(&**entry)).transpose();
    let stored = stored.map_err(|error| Status::internal(error.to_string()))?;
    Ok(Bucket {
        id: bytes_of(bucket.id),
        index: bucket.index.to_string(),
        first_time: bucket.first_time.0,
        last_time: bucket.last_time.0,
        rows: bucket.rows,
        raw_bytes: bucket.raw_bytes,
        stored: stored.map(Bytes::from),
        owner: bucket.owner.map(owner_message),
        sourcetypes: Vec::new(),
    })
}

fn searches_message(searches: &Searches) -> protocol::hot::Searches {
    let times = searches.times.counts().to_vec();
    protocol::hot::Searches { incomplete: searches.incomplete, times }
}

fn owner_message(HotOwner { indexer, set, epoch, is_local }: HotOwner) -> Owner {
    let indexer = Bytes::copy_from_slice(indexer.0.as_bytes());
    Owner { indexer, set: set.into(), epoch, is_local }
}

pub(crate) fn indexer_of(bytes: &[u8]) -> Reply<IndexerId> {
    let id = uuid::Uuid::from_slice(bytes);
    id.map(IndexerId).map_err(|error| Status::invalid_argument(error.to_string()))
}

pub(crate) fn bytes_of(id: BucketId) -> Bytes {
    Bytes::copy_from_slice(id.0.as_bytes())
}

pub(crate) fn id_of(bytes: &[u8]) -> Reply<BucketId> {
    let id = uuid::Uuid::from_slice(bytes);
    id.map(BucketId).map_err(|error| Status::invalid_argument(format!("bucket id: {error}")))
}

impl Methods for HotService {
    const NAME: &'static str = SERVICE;
    const MAX_MESSAGE: usize = MAX_MESSAGE;

    async fn answer(self, call: Call) -> Answer {
        match call.method() {
            OPEN => call.stream(async move |request: OpenRequest| self.open(&request)).await,
            READ => call.stream(|request: ReadRequest| self.read(request)).await,
            ROLL => call.unary(|request: RollRequest| self.roll(request)).await,
            _ => call.unknown(),
        }
    }
}
