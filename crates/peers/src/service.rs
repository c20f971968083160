//! The indexer's side: the gRPC service `karst.hot.v1.Hot`.

use std::collections::HashMap;
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bucket::{HotBucket, HotBuckets};
use bytes::Bytes;
use catalog::Catalog;
use futures::StreamExt;
use futures::stream::{self, BoxStream};
use model::{BucketId, EventTime, IndexName, IndexerId, TimeRange};
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt};
use prost::Message;
use protocol::hot::{Bucket, OpenRequest, OpenResponse, Owner, ReadRequest, ReadResponse, Rows};
use tonic::body::Body;
use tonic::codegen::{Body as HttpBody, Service, StdError, http};
use tonic::server::{Grpc, NamedService};
use tonic::{Code, Request, Response, Status};
use tonic_prost::ProstCodec;
use tower::service_fn;

use crate::{MAX_MESSAGE, OPEN, PART, READ, SERVICE, rows};

/// What the service shows.
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
}

/// The hot buckets of this process for others. A service of tonic and axum; clones share it.
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
        let indexes: Result<Vec<_>, _> =
            request.indexes.iter().map(|name| IndexName::new(name)).collect();
        let indexes = indexes.map_err(|error| Status::invalid_argument(error.to_string()))?;
        let mut known = HashMap::with_capacity(request.known.len());
        for bucket in &request.known {
            known.insert(id_of(&bucket.id)?, bucket.rows);
        }
        let range =
            TimeRange { earliest: EventTime(request.earliest), latest: EventTime(request.latest) };
        let adopted = self.parts.hot.adopted();
        let buckets = self.parts.hot.snapshot(&indexes, &range);
        // Read after the buckets: what has left them is in the catalog as of this write.
        let floor = self.parts.catalog.snapshot().number();
        let gone = self.gone(&known, &buckets);
        let list = OpenResponse {
            floor,
            buckets: buckets.iter().map(message).collect::<Result<_, _>>()?,
            gone: gone.into_iter().map(bytes_of).collect(),
            rows: None,
            adopted: adopted.into_iter().map(indexer_bytes).collect(),
            id: self.parts.id.clone(),
        };
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
        Ok(stream::iter(std::iter::once(Ok(list)).chain(rows)).boxed())
    }

    /// The known buckets whose rows are not in memory here any more.
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
        recoverable: bucket.recoverable.map(|owner| Owner {
            indexer: indexer_bytes(owner.indexer),
            set: owner.set.into(),
            epoch: owner.epoch,
        }),
    })
}

fn indexer_bytes(indexer: IndexerId) -> Bytes {
    Bytes::copy_from_slice(indexer.0.as_bytes())
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

fn grpc<M, R>() -> Grpc<ProstCodec<M, R>>
where
    M: Message + Send + 'static,
    R: Message + Default + Send + 'static,
{
    Grpc::new(ProstCodec::default())
        .apply_max_message_size_config(Some(MAX_MESSAGE), Some(MAX_MESSAGE))
}

impl<B> Service<http::Request<B>> for HotService
where
    B: HttpBody + Send + 'static,
    B::Error: Into<StdError> + Send + 'static,
{
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<B>) -> Self::Future {
        let own = self.clone();
        Box::pin(async move {
            let method = request.uri().path().to_owned();
            Ok(match method.as_str() {
                OPEN => {
                    let open = service_fn(move |request: Request<OpenRequest>| {
                        let answer = own.open(request.get_ref());
                        async { answer.map(Response::new) }
                    });
                    grpc::<OpenResponse, _>().server_streaming(open, request).await
                }
                READ => {
                    let read = service_fn(move |request: Request<ReadRequest>| {
                        let answer = own.clone().read(request.into_inner());
                        async { answer.await.map(Response::new) }
                    });
                    grpc::<ReadResponse, _>().server_streaming(read, request).await
                }
                _ => Status::unimplemented("hot buckets have no such method").into_http(),
            })
        })
    }
}

impl NamedService for HotService {
    const NAME: &'static str = SERVICE;
}
