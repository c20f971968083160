//! The service of a port, which becomes available when the start is complete.
//!
//! Ports are bound before anything is opened, so clients can connect during the start. They get 503
//! with `Retry-After` at once.

use std::convert::Infallible;
use std::future::{Ready, ready};
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::Body;
use axum::extract::Request;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures::future::Either;
use parking_lot::Mutex;
use serde_json::json;
use tower::Service;
use tower::util::BoxCloneService;

use super::ports::Role;

/// Value of `Retry-After`.
const RETRY_AFTER_SECONDS: u64 = 2;

/// A service of HTTP requests that never fails.
pub(crate) trait HttpService:
    Service<Request, Response = Response, Error = Infallible, Future: Send> + Clone + Send + 'static
{
}

impl<S> HttpService for S where
    S: Service<Request, Response = Response, Error = Infallible, Future: Send>
        + Clone
        + Send
        + 'static
{
}

type Served = BoxCloneService<Request, Response, Infallible>;

/// The progress of the start; clones share it.
#[derive(Debug, Clone)]
pub(crate) struct Progress(Arc<Mutex<String>>);

impl Progress {
    pub(crate) fn new(step: &str) -> Self {
        Self(Arc::new(Mutex::new(step.to_owned())))
    }

    /// Sets the current step.
    pub(crate) fn set(&self, step: impl Into<String>) {
        *self.0.lock() = step.into();
    }

    pub(crate) fn get(&self) -> String {
        self.0.lock().clone()
    }
}

/// The service of a port. Clones share it.
#[derive(Clone)]
pub(crate) struct Gateway {
    role: Role,
    progress: Progress,
    service: Arc<Mutex<Option<Served>>>,
}

impl std::fmt::Debug for Gateway {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Gateway").field("open", &self.served().is_some()).finish()
    }
}

impl Gateway {
    /// A port without a service yet.
    pub(crate) fn new(role: Role, progress: Progress) -> Self {
        Self { role, progress, service: Arc::default() }
    }

    /// Opens the service for requests.
    pub(crate) fn open(&self, service: impl HttpService) {
        let service = BoxCloneService::new(service);
        *self.service.lock() = Some(service);
    }

    fn served(&self) -> Option<Served> {
        self.service.lock().clone()
    }
}

impl Service<Request> for Gateway {
    type Response = Response;
    type Error = Infallible;
    type Future = Either<<Served as Service<Request>>::Future, Ready<Result<Response, Infallible>>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request) -> Self::Future {
        // The services are routers, which are always ready.
        match self.served() {
            Some(mut service) => Either::Left(service.call(request)),
            None => {
                let response = starting(self.role, request.uri().path(), &self.progress.get());
                Either::Right(ready(Ok(response)))
            }
        }
    }
}

/// The response to a request that another process has to answer.
pub(crate) fn refusal(text: &str) -> Response {
    let body = json!({"messages": [{"type": "FATAL", "text": text}]}).to_string();
    let headers = [(header::CONTENT_TYPE, "application/json")];
    (StatusCode::SERVICE_UNAVAILABLE, headers, Body::from(body)).into_response()
}

/// The response during the start.
fn starting(role: Role, path: &str, step: &str) -> Response {
    let text = format!("the server is starting: {step}");
    let body = match path {
        // The process is alive.
        "/healthz" => return (StatusCode::OK, "starting\n").into_response(),
        "/readyz" => Body::from(format!("not ready\nerror starting: {text}\n")),
        path if path.starts_with("/services/collector") => {
            Body::from(json!({"text": text, "code": 9}).to_string())
        }
        _ if role == Role::Elastic => {
            let (status, kind) = (StatusCode::SERVICE_UNAVAILABLE, "cluster_block_exception");
            return api::elasticsearch_error(status, kind, &text);
        }
        _ => Body::from(json!({"messages": [{"type": "ERROR", "text": text}]}).to_string()),
    };
    let kind = if path == "/readyz" { "text/plain; charset=utf-8" } else { "application/json" };
    let headers = [
        (header::RETRY_AFTER, RETRY_AFTER_SECONDS.to_string()),
        (header::CONTENT_TYPE, kind.to_owned()),
    ];
    (StatusCode::SERVICE_UNAVAILABLE, headers, body).into_response()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use axum::Router;
    use axum::routing::get;
    use tower::ServiceExt;

    use super::*;

    async fn ask(gateway: &Gateway, path: &str) -> (u16, String) {
        let request = Request::get(path).body(Body::empty()).unwrap();
        let answer = gateway.clone().oneshot(request).await.unwrap();
        let status = answer.status().as_u16();
        let body = axum::body::to_bytes(answer.into_body(), 1 << 20).await.unwrap();
        (status, String::from_utf8(body.to_vec()).unwrap())
    }

    #[tokio::test]
    async fn who_comes_during_the_start_is_told_what_it_waits_for() {
        let progress = Progress::new("opening");
        let gateway = Gateway::new(Role::Hec, progress.clone());
        assert_eq!(ask(&gateway, "/healthz").await, (200, "starting\n".to_owned()));
        progress.set("recovering the journal");
        let (status, text) = ask(&gateway, "/readyz").await;
        assert_eq!(status, 503);
        assert!(text.contains("recovering the journal"), "{text}");
        let (status, text) = ask(&gateway, "/services/collector/event").await;
        assert_eq!((status, text.contains("\"code\":9")), (503, true), "{text}");
        let elastic = Gateway::new(Role::Elastic, progress.clone());
        let (status, text) = ask(&elastic, "/_bulk").await;
        let body: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!((status, &body["status"]), (503, &json!(503)), "{text}");
        assert_eq!(body["error"]["type"], "cluster_block_exception", "{text}");
        gateway.open(Router::new().route("/readyz", get(async || "ready")));
        assert_eq!(ask(&gateway, "/readyz").await, (200, "ready".to_owned()));
    }
}
