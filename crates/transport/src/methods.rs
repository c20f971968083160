//! Services by which processes call each other: gRPC with the messages of `protocol`. A service says which
//! methods it has and what they answer; what tonic wants to know besides is the same for all of them.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures::Stream;
use prost::Message;
use tonic::body::Body;
use tonic::codegen::{Service, http};
use tonic::server::{Grpc, NamedService};
use tonic::{Request, Response, Status, Streaming};
use tonic_prost::ProstCodec;
use tower::service_fn;

/// What a call is answered.
pub type Answer = http::Response<Body>;

/// The methods of a service. Clones share it.
pub trait Methods: Clone + Send + Sync + 'static {
    /// Its name, as the paths of its methods have it.
    const NAME: &'static str;
    /// The longest message, in bytes.
    const MAX_MESSAGE: usize;

    /// Answers a call.
    fn answer(self, call: Call) -> impl Future<Output = Answer> + Send;
}

/// A call of a method.
#[derive(Debug)]
pub struct Call {
    request: http::Request<Body>,
    max_message: usize,
}

impl Call {
    /// The path of the method.
    #[must_use]
    pub fn method(&self) -> &str {
        self.request.uri().path()
    }

    /// The text of a header.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.request.headers().get(name)?.to_str().ok()
    }

    /// A message is answered by a message.
    pub async fn unary<Q, A, F>(self, answer: impl FnOnce(Q) -> F + Send) -> Answer
    where
        Q: Message + Default + Send + 'static,
        A: Message + Send + 'static,
        F: Future<Output = Result<A, Status>> + Send,
    {
        let mut answer = Some(answer);
        let method = service_fn(|request: Request<Q>| {
            let answered = answer.take().map(|answer| answer(request.into_inner()));
            async { answered.ok_or_else(twice)?.await.map(Response::new) }
        });
        self.grpc::<A, Q>().unary(method, self.request).await
    }

    /// A message is answered by a stream of messages.
    pub async fn stream<Q, A, S, F>(self, answer: impl FnOnce(Q) -> F + Send) -> Answer
    where
        Q: Message + Default + Send + 'static,
        A: Message + Send + 'static,
        S: Stream<Item = Result<A, Status>> + Send + 'static,
        F: Future<Output = Result<S, Status>> + Send,
    {
        let mut answer = Some(answer);
        let method = service_fn(|request: Request<Q>| {
            let answered = answer.take().map(|answer| answer(request.into_inner()));
            async { answered.ok_or_else(twice)?.await.map(Response::new) }
        });
        self.grpc::<A, Q>().server_streaming(method, self.request).await
    }

    /// A stream of messages is answered by another one, while it comes.
    pub async fn conversation<Q, A, S>(
        self,
        answer: impl FnOnce(Streaming<Q>) -> S + Send,
    ) -> Answer
    where
        Q: Message + Default + Send + 'static,
        A: Message + Send + 'static,
        S: Stream<Item = Result<A, Status>> + Send + 'static,
    {
        let mut answer = Some(answer);
        let method = service_fn(|request: Request<Streaming<Q>>| {
            let answered = answer.take().map(|answer| answer(request.into_inner()));
            async { answered.ok_or_else(twice).map(Response::new) }
        });
        self.grpc::<A, Q>().streaming(method, self.request).await
    }

    /// There is no such method: a newer process has called.
    #[must_use]
    pub fn unknown(self) -> Answer {
        Status::unimplemented(format!("there is no method {}", self.method())).into_http()
    }

    fn grpc<A, Q>(&self) -> Grpc<ProstCodec<A, Q>>
    where
        A: Message + Send + 'static,
        Q: Message + Default + Send + 'static,
    {
        let most = Some(self.max_message);
        Grpc::new(ProstCodec::default()).apply_max_message_size_config(most, most)
    }
}

/// A method has one request.
fn twice() -> Status {
    Status::internal("a call has been answered already")
}

/// A service as tonic and axum take it.
#[derive(Debug, Clone)]
pub struct Served<S>(pub S);

impl<S: Methods> Service<http::Request<Body>> for Served<S> {
    type Response = Answer;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Answer, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        let answer = self.0.clone().answer(Call { request, max_message: S::MAX_MESSAGE });
        Box::pin(async { Ok(answer.await) })
    }
}

impl<S: Methods> NamedService for Served<S> {
    const NAME: &'static str = S::NAME;
}
