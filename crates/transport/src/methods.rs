//! Services by which processes call each other: gRPC with the messages of `protocol`. A service defines its
//! methods and their answers; the code that tonic needs is the same for all services.

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

/// The answer to a call.
pub type Answer = http::Response<Body>;

/// The methods of a service. Clones share it.
pub trait Methods: Clone + Send + Sync + 'static {
    /// The name of the service in the paths of its methods.
    const NAME: &'static str;
    /// Maximum size of a message in bytes.
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

    /// The value of a header.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.request.headers().get(name)?.to_str().ok()
    }

    /// Answers one message with one message.
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

    /// Answers one message with a stream of messages.
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

    /// Answers a stream of messages with another one, while it is being received.
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

    /// The answer for an unknown method, which a newer process may call.
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

/// The error for a second request in a call with one request.
fn twice() -> Status {
    Status::internal("a call has been answered already")
}

/// A service as required by tonic and axum.
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
