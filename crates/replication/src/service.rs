//! The side of an indexer that has copies: the gRPC service `karst.replication.v1.Replication`.

use std::convert::Infallible;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use model::IndexerId;
use prost::Message;
use protocol::replication::{
    Copy, Done, Entry, GetObject, KeepObjects, Listing, Object, PutObject,
};
use tokio::time::Instant;
use tonic::body::Body;
use tonic::codegen::{Body as HttpBody, Service, StdError, http};
use tonic::server::{Grpc, NamedService};
use tonic::{Request, Response, Status};
use tonic_prost::ProstCodec;
use tower::service_fn;
use uuid::Uuid;

use crate::copies::{Copies, Held, Key};
use crate::disk::PutError;
use crate::{BEGIN, DROP, GET, KEEP, LIST, MAX_MESSAGE, PUT, SERVICE};

type Reply<T> = Result<T, Status>;

/// The copies of this process for their owners. A service of tonic and axum; clones share it.
#[derive(Debug, Clone)]
pub struct ReplicaService {
    copies: Copies,
}

impl ReplicaService {
    /// Serves these.
    #[must_use]
    pub fn new(copies: Copies) -> Self {
        Self { copies }
    }

    async fn with<T: Send + 'static>(
        &self,
        copy: Option<&Copy>,
        work: impl FnOnce(&mut Held) -> Reply<T> + Send + 'static,
    ) -> Reply<T> {
        let held = self.copies.get(key(copy)?);
        let held = held.ok_or_else(|| Status::not_found("this process has no such copy"))?;
        let epoch = copy.map_or(0, |copy| copy.epoch);
        blocking(move || match held.lock().as_mut() {
            Some(held) => match held.copy.enter(epoch).map_err(disk)? {
                true => work(held),
                false => Err(Status::failed_precondition("the copy is of a later epoch")),
            },
            None => Err(Status::not_found("the copy is removed")),
        })
        .await
    }

    pub(crate) async fn begin(self, copy: Copy) -> Reply<Done> {
        let key = key(Some(&copy))?;
        blocking(move || self.copies.begin(key).map_err(disk)).await?;
        Ok(Done {})
    }

    pub(crate) async fn put(self, request: PutObject) -> Reply<Done> {
        let PutObject { copy, number, data } = request;
        let put = move |held: &mut Held| {
            held.changed = Instant::now();
            held.copy.put(number, &data).map_err(|error| match error {
                PutError::Sealed => Status::failed_precondition("the copy is sealed"),
                PutError::Disk(error) => disk(error),
            })
        };
        self.with(copy.as_ref(), put).await?;
        Ok(Done {})
    }

    pub(crate) async fn list(self, copy: Copy) -> Reply<Listing> {
        let objects = self.with(Some(&copy), |held| Ok(held.copy.list())).await?;
        let entry = |(number, bytes)| Entry { number, bytes };
        Ok(Listing { objects: objects.into_iter().map(entry).collect() })
    }

    pub(crate) async fn get(self, request: GetObject) -> Reply<Object> {
        let number = request.number;
        let data = move |held: &mut Held| held.copy.get(number).map_err(disk);
        let data: Option<Bytes> = self.with(request.copy.as_ref(), data).await?;
        let data = data.ok_or_else(|| Status::out_of_range("the copy has no such object"))?;
        Ok(Object { data })
    }

    pub(crate) async fn keep(self, request: KeepObjects) -> Reply<Done> {
        let KeepObjects { copy, below, numbers } = request;
        let keep = move |held: &mut Held| {
            held.copy.keep(below, &numbers);
            Ok(())
        };
        self.with(copy.as_ref(), keep).await?;
        Ok(Done {})
    }

    pub(crate) async fn remove(self, copy: Copy) -> Reply<Done> {
        let key = key(Some(&copy))?;
        blocking(move || self.copies.drop(key).map_err(disk)).await?;
        Ok(Done {})
    }
}

fn key(copy: Option<&Copy>) -> Reply<Key> {
    let copy = copy.ok_or_else(|| Status::invalid_argument("the copy is missing"))?;
    let id = |bytes: &[u8]| {
        Uuid::from_slice(bytes).map_err(|error| Status::invalid_argument(error.to_string()))
    };
    Ok((IndexerId(id(&copy.indexer)?), id(&copy.id)?))
}

fn disk(error: io::Error) -> Status {
    Status::internal(format!("the copy cannot be read or written: {error}"))
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> Reply<T> + Send + 'static) -> Reply<T> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|_| Err(Status::aborted("the process stops")))
}

async fn unary<B, Q, A, F>(
    request: http::Request<B>,
    answer: impl FnOnce(Q) -> F + Clone + Send + Sync + 'static,
) -> http::Response<Body>
where
    B: HttpBody + Send + 'static,
    B::Error: Into<StdError> + Send + 'static,
    Q: Message + Default + Send + 'static,
    A: Message + Send + 'static,
    F: Future<Output = Reply<A>> + Send + 'static,
{
    let method = service_fn(move |request: Request<Q>| {
        let answered = answer.clone()(request.into_inner());
        async { answered.await.map(Response::new) }
    });
    Grpc::new(ProstCodec::<A, Q>::default())
        .apply_max_message_size_config(Some(MAX_MESSAGE), Some(MAX_MESSAGE))
        .unary(method, request)
        .await
}

impl<B> Service<http::Request<B>> for ReplicaService
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
                BEGIN => unary(request, move |copy| own.begin(copy)).await,
                PUT => unary(request, move |put| own.put(put)).await,
                LIST => unary(request, move |copy| own.list(copy)).await,
                GET => unary(request, move |get| own.get(get)).await,
                KEEP => unary(request, move |keep| own.keep(keep)).await,
                DROP => unary(request, move |copy| own.remove(copy)).await,
                _ => Status::unimplemented("copies have no such method").into_http(),
            })
        })
    }
}

impl NamedService for ReplicaService {
    const NAME: &'static str = SERVICE;
}
