//! Loki's push API, and the requests of clients before they send.
//!
//! A request is answered when its lines are safe. Full queues are 429, which every client takes as "later".
//! As in Loki, the answer to a request of which some entries are invalid is 400, but the others are stored.
//! Errors are plain text.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use inputs::body::BodyError;
use inputs::loki::{LokiDefaults, LokiError, LokiFormat, LokiPush, decode_push};
use inputs::{Input, StreamKey};
use model::IndexName;
use runtime::Share;
use serde_json::json;

use crate::credentials::Scheme;
use crate::receiver::{
    Denied, Receiver, refused_body_status, refused_status, told_to_sender, with_retry_after,
};
use access::HecToken;

const SCHEMES: &[Scheme] = &[Scheme::Basic, Scheme::Bearer, Scheme::Splunk];
const PUSH: &str = "/loki/api/v1/push";
/// The version that is reported to clients: that of the push API, with structured metadata.
const VERSION: &str = "3.0.0";
/// The header in which clients send their tenant.
const TENANT: &str = "x-scope-orgid";

/// The service, for `axum::serve`.
pub(crate) fn router(receiver: Arc<Receiver>) -> Router {
    Router::new()
        .route(PUSH, post(push).fallback(other))
        .route("/ready", get(ready))
        .route("/loki/api/v1/status/buildinfo", get(build))
        .fallback(other)
        .with_state(receiver)
}

async fn push(State(receiver): State<Arc<Receiver>>, request: Request) -> Response {
    take(&receiver, request).await.unwrap_or_else(|refusal| refusal)
}

/// Probes have no token.
async fn ready(State(receiver): State<Arc<Receiver>>) -> Response {
    if receiver.api.shutdown.is_stopped() {
        return unavailable(&inputs::Error::Closed);
    }
    "ready\n".into_response()
}

async fn build(State(receiver): State<Arc<Receiver>>, headers: HeaderMap) -> Response {
    if let Err(reason) = receiver.sender(&headers, SCHEMES) {
        return denied(reason);
    }
    let body = json!({
        "version": VERSION, "revision": "", "branch": "", "buildUser": "", "buildDate": "",
        "goVersion": "",
    });
    Json(body).into_response()
}

/// Everything that brings no lines.
async fn other(State(receiver): State<Arc<Receiver>>, request: Request) -> Response {
    if let Err(reason) = receiver.sender(request.headers(), SCHEMES) {
        return denied(reason);
    }
    let (method, path) = (request.method(), request.uri().path());
    let help = match path.ends_with("/push") {
        true => format!("send lines with POST to {PUSH}"),
        false => "search with SPL or SQL instead".to_owned(),
    };
    let text =
        format!("Karst accepts lines at {PUSH} and does not support {method} {path}; {help}");
    refused(StatusCode::BAD_REQUEST, text)
}

async fn take(receiver: &Receiver, request: Request) -> Result<Response, Response> {
    let token = receiver.sender(request.headers(), SCHEMES).map_err(denied)?;
    let (mut parts, body) = request.into_parts();
    let defaults = defaults(receiver, &token, &parts);
    let defaults = defaults.map_err(|reason| refused(StatusCode::BAD_REQUEST, reason))?;
    let format = format_of(&parts.headers);
    if format == LokiFormat::Protobuf && is(&parts.headers, header::CONTENT_ENCODING, "snappy") {
        // Protobuf is always a snappy block; some clients also declare it as an encoding.
        parts.headers.remove(header::CONTENT_ENCODING);
    }
    let body = receiver.body(&parts.headers, body).await;
    let body = body.map_err(|wrong| body_refused(&wrong))?;
    let (body, unpacked) = match format {
        LokiFormat::Json => (body, None),
        LokiFormat::Protobuf => {
            let (body, share) =
                receiver.unpacked_snappy(body).await.map_err(|wrong| body_refused(&wrong))?;
            (body, Some(share))
        }
    };
    let (push, share) = decoded(receiver, body, format, &defaults).await?;
    drop(unpacked);
    let LokiPush { events, rejected, reason } = push;
    let stored = events.len();
    if !events.is_empty() {
        if receiver.api.shutdown.is_stopped() {
            return Err(unavailable(&inputs::Error::Closed));
        }
        let stream = StreamKey(format!("loki:{}:{}", token.name, runtime::random::uuid()).into());
        let input = Input::Events { stream, events };
        receiver.submit(input, share).await.map_err(|wrong| unavailable(&wrong))?;
    }
    let Some(reason) = reason else { return Ok(StatusCode::NO_CONTENT.into_response()) };
    tracing::warn!(token = token.name, entries = rejected, reason, "rejected");
    let text = format!("entries rejected: {rejected}, entries stored: {stored}; {reason}");
    Err(refused(StatusCode::BAD_REQUEST, text))
}

/// Returns the defaults for all lines of a request, from the token and the headers.
fn defaults(receiver: &Receiver, token: &HecToken, parts: &Parts) -> Result<LokiDefaults, String> {
    let tenant = parts.headers.get(TENANT).and_then(|value| value.to_str().ok());
    let tenant = tenant.map(str::trim).filter(|tenant| !tenant.is_empty());
    Ok(LokiDefaults {
        index: index(receiver, token, tenant)?,
        tenant: tenant.map(Into::into),
        host: receiver.host(token, parts).into(),
        source: token.source.clone().unwrap_or_else(|| format!("loki:{}", token.name)).into(),
        sourcetype: token.sourcetype.as_deref().map(Into::into),
        limits: receiver.event_limits(0),
    })
}

/// The index of the tenant's name if there is one that the token may write to, else the token's default.
fn index(receiver: &Receiver, token: &HecToken, tenant: Option<&str>) -> Result<IndexName, String> {
    let own = tenant.and_then(|tenant| IndexName::new(tenant).ok());
    if let Some(Err(error)) = own.as_ref().map(IndexName::check_open) {
        return Err(error.to_string());
    }
    let known = own.into_iter().chain([token.index.clone()]).find(|i| receiver.allows(token, i));
    known.ok_or_else(|| {
        format!("the token's index \"{}\" does not exist; create it first", token.index)
    })
}

/// The lines of a body, with the memory that they take.
async fn decoded(
    receiver: &Receiver,
    body: Bytes,
    format: LokiFormat,
    defaults: &LokiDefaults,
) -> Result<(LokiPush, Share), Response> {
    let decode = |limits| decode_push(&body, format, &LokiDefaults { limits, ..defaults.clone() });
    let needs_memory = |error: &LokiError| matches!(error, LokiError::Memory(_));
    let decoded = receiver.decoded(body.len(), decode, needs_memory).await;
    let (push, share) = decoded.map_err(|wrong| body_refused(&wrong))?;
    match push {
        Ok(push) => Ok((push, share)),
        Err(wrong) => Err(refused(StatusCode::BAD_REQUEST, wrong.to_string())),
    }
}

/// Returns the format. As in Loki, every type other than JSON is protobuf.
fn format_of(headers: &HeaderMap) -> LokiFormat {
    let is_json = is(headers, header::CONTENT_TYPE, "application/json");
    if is_json { LokiFormat::Json } else { LokiFormat::Protobuf }
}

/// Whether a header has a value, whatever its parameters are.
fn is(headers: &HeaderMap, name: header::HeaderName, value: &str) -> bool {
    let own = headers.get(name).and_then(|own| own.to_str().ok()).unwrap_or_default();
    own.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case(value)
}

fn denied(denied: Denied) -> Response {
    let status = match denied {
        Denied::Disabled => StatusCode::FORBIDDEN,
        Denied::Missing | Denied::Unreadable | Denied::Unknown => StatusCode::UNAUTHORIZED,
    };
    let mut response = refused(status, denied.text().to_owned());
    let challenge = HeaderValue::from_static("Basic realm=\"karst\", charset=\"UTF-8\"");
    response.headers_mut().insert(header::WWW_AUTHENTICATE, challenge);
    response
}

/// A body that is not taken.
fn body_refused(wrong: &BodyError) -> Response {
    let hint = match wrong {
        BodyError::Broken { encoding: "snappy" } => {
            "; protobuf is sent as a snappy block, JSON with the content type application/json"
        }
        _ => "",
    };
    refused(refused_body_status(wrong), format!("{wrong}{hint}"))
}

fn unavailable(wrong: &inputs::Error) -> Response {
    refused(refused_status(wrong), told_to_sender(wrong))
}

/// An error as Loki tells it.
fn refused(status: StatusCode, text: String) -> Response {
    with_retry_after((status, text + "\n").into_response())
}
