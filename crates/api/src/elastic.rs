//! Elasticsearch's `_bulk`, and the requests of shippers before they send.
//!
//! A request is answered when its documents are safe. Full queues are answered with 429, which every shipper
//! retries later. Every response claims to come from Elasticsearch: official clients refuse to talk to
//! anything else.

mod bulk;
mod handshake;

use std::sync::Arc;

use axum::Json;
use axum::Router;
use axum::extract::{Request, State};
use axum::http::{HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use serde_json::{Value, json};

use crate::credentials::Scheme;
use crate::receiver::{Denied, Receiver, with_retry_after};
use access::HecToken;

const SCHEMES: &[Scheme] = &[Scheme::Basic, Scheme::ApiKey, Scheme::Bearer, Scheme::Splunk];

/// The shared state of the handlers.
#[derive(Debug)]
struct Elastic {
    receiver: Arc<Receiver>,
    /// The version of Elasticsearch that is reported to clients.
    version: String,
}

/// The service, for `axum::serve`.
pub(crate) fn router(receiver: Arc<Receiver>, version: &str) -> Router {
    let state = Arc::new(Elastic { receiver, version: version.to_owned() });
    let bulk = || post(bulk::bulk).put(bulk::bulk);
    Router::new()
        .route("/_bulk", bulk())
        .route("/{index}/_bulk", bulk())
        .route("/{index}/{kind}/_bulk", bulk())
        .fallback(other)
        .layer(from_fn(as_elasticsearch))
        .with_state(state)
}

async fn as_elasticsearch(request: Request, next: Next) -> Response {
    of_elasticsearch(next.run(request).await)
}

fn of_elasticsearch(mut response: Response) -> Response {
    let name = HeaderName::from_static("x-elastic-product");
    response.headers_mut().insert(name, HeaderValue::from_static("Elasticsearch"));
    response
}

impl Elastic {
    fn sender(&self, request: &Request) -> Result<Arc<HecToken>, Denied> {
        self.receiver.sender(request.headers(), SCHEMES)
    }
}

/// Everything that is not about documents.
async fn other(State(state): State<Arc<Elastic>>, request: Request) -> Response {
    if let Err(reason) = state.sender(&request) {
        return denied(reason);
    }
    let info = &state.receiver.api.info;
    match handshake::answer(request.method(), request.uri().path(), &state.version, info) {
        Some(body) if request.method() == Method::HEAD => {
            drop(body);
            StatusCode::OK.into_response()
        }
        Some(body) => Json(body).into_response(),
        None => {
            let reason = unsupported(request.method(), request.uri().path());
            error(StatusCode::BAD_REQUEST, "illegal_argument_exception", &reason)
        }
    }
}

/// Returns the advice for an unsupported request.
fn unsupported(method: &Method, path: &str) -> String {
    let names = |parts: &[&str]| path.split('/').any(|part| parts.contains(&part));
    let help = if method == Method::DELETE || names(&["_delete_by_query"]) {
        "nothing is deleted here, as events do not change: an index is removed with its events over REST, \
         with DELETE /services/data/indexes/INDEX"
    } else if names(&["_doc", "_create", "_update"]) {
        "send documents to /_bulk or /INDEX/_bulk, also single ones"
    } else {
        "search with SPL or SQL instead"
    };
    format!("Karst accepts documents at _bulk and does not support {method} {path}; {help}")
}

fn denied(denied: Denied) -> Response {
    let status = match denied {
        Denied::Disabled => StatusCode::FORBIDDEN,
        Denied::Missing | Denied::Unreadable | Denied::Unknown => StatusCode::UNAUTHORIZED,
    };
    let mut response = error(status, "security_exception", denied.text());
    let challenge = HeaderValue::from_static("Basic realm=\"security\", charset=\"UTF-8\"");
    response.headers_mut().insert(header::WWW_AUTHENTICATE, challenge);
    response
}

/// An error in the form of Elasticsearch, for requests to its port that are not passed to its routes.
#[must_use]
pub fn elasticsearch_error(status: StatusCode, kind: &str, reason: &str) -> Response {
    of_elasticsearch(error(status, kind, reason))
}

/// An error as Elasticsearch tells it.
fn error(status: StatusCode, kind: &str, reason: &str) -> Response {
    let cause = json!({"type": kind, "reason": reason});
    let body: Value = json!({
        "error": {"root_cause": [cause], "type": kind, "reason": reason},
        "status": status.as_u16(),
    });
    with_retry_after((status, Json(body)).into_response())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_advice_fits_the_request() {
        for (method, path, advice) in [
            (Method::DELETE, "/web", "/services/data/indexes"),
            (Method::DELETE, "/web/_doc/1", "/services/data/indexes"),
            (Method::POST, "/web/_delete_by_query", "/services/data/indexes"),
            (Method::POST, "/web/_doc", "/_bulk or"),
            (Method::POST, "/web/_search", "SPL or SQL"),
        ] {
            let text = unsupported(&method, path);
            assert!(text.contains(advice), "{text}");
        }
    }
}
