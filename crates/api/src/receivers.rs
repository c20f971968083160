//! The inputs over HTTP and gRPC: one router for each port, counted, and refused senders recorded.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::middleware::{Next, from_fn_with_state};
use axum::response::Response;
use inputs::hec::AckChannels;
use metrics::counter;
use runtime::metrics as names;

use crate::audit::record_sender;
use crate::http_input::HttpInput;
use crate::receiver::Receiver;
use crate::{ApiState, Error, elastic, hec, loki, otlp, traced};

/// The inputs over HTTP and gRPC, which share tokens, limits and channels.
#[derive(Debug, Clone)]
pub struct Receivers(Arc<Receiver>);

impl Receivers {
    /// Reads the settings of the HTTP inputs.
    ///
    /// # Errors
    /// [`Error::Setting`] names the value that does not fit.
    pub fn new(api: ApiState) -> Result<Self, Error> {
        let settings = HttpInput::read(api.knowledge.layers())?;
        api.tokens.limit(settings.max_tokens);
        let slot =
            |guid: &str| guid.bytes().fold(0_u8, |sum, b| sum.wrapping_mul(31).wrapping_add(b));
        let acks = match &api.indexers {
            Some(_) => AckChannels::sharing(settings.acks.clone(), slot(&api.info.guid)),
            None => AckChannels::new(settings.acks.clone()),
        };
        Ok(Self(Arc::new(Receiver { api, settings, acks })))
    }

    /// The HTTP Event Collector, and OTLP over HTTP beside it.
    pub fn hec(&self) -> Router {
        let hec = hec::router(Arc::clone(&self.0));
        let otlp = otlp::http_router(Arc::clone(&self.0));
        self.counted(hec, "hec").merge(self.counted(otlp, "otlp"))
    }

    /// Questions for acknowledgements only, for the other indexers.
    pub fn acks(&self) -> Router {
        hec::acks(Arc::clone(&self.0))
    }

    /// OTLP logs over gRPC and HTTP.
    pub fn otlp(&self) -> Router {
        let grpc = otlp::grpc_router(Arc::clone(&self.0));
        self.counted(grpc.merge(otlp::http_router(Arc::clone(&self.0))), "otlp")
    }

    /// Returns the routes of Elasticsearch's `_bulk`; `version` is the version that the server reports.
    pub fn elasticsearch(&self, version: &str) -> Router {
        self.counted(elastic::router(Arc::clone(&self.0), version), "elasticsearch")
    }

    /// Loki's push API.
    pub fn loki(&self) -> Router {
        self.counted(loki::router(Arc::clone(&self.0)), "loki")
    }

    fn counted(&self, router: Router, input: &'static str) -> Router {
        let state = (Arc::clone(&self.0), input);
        router.layer(from_fn_with_state(state, count))
    }
}

/// Counts requests by their outcome, and records those of senders without permission.
async fn count(
    State((receiver, input)): State<(Arc<Receiver>, &'static str)>,
    request: Request,
    next: Next,
) -> Response {
    let client = receiver.api.audit.client(&request);
    let path = request.uri().path().to_owned();
    let span = traced::input(receiver.api.search.tracer(), &request, input);
    let response = next.run(request).await;
    traced::end(span, response.status());
    let outcome = match response.status() {
        StatusCode::SERVICE_UNAVAILABLE | StatusCode::TOO_MANY_REQUESTS => "busy",
        status if status.is_success() => "answered",
        _ => "refused",
    };
    counter!(names::INGEST_REQUESTS, "input" => input, "outcome" => outcome).increment(1);
    let grpc = response.headers().get("grpc-status").and_then(|value| value.to_str().ok());
    let reason = match (response.status(), grpc) {
        (StatusCode::UNAUTHORIZED, _) | (_, Some("16")) => "no token, or an invalid one",
        (StatusCode::FORBIDDEN, _) | (_, Some("7")) => "the token is unknown or disabled",
        _ => return response,
    };
    record_sender(&receiver.api, input, &client, &path, reason).await;
    response
}
