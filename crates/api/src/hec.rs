//! The HTTP Event Collector: tokens, bodies, and the answers its clients know.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{ConnectInfo, Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{any, get, post};
use axum::{Json, Router};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use inputs::hec::{BodyError, HecDefaults, HecError, decode_events, decode_raw, unpack};
use inputs::{Input, SinkExt, StreamKey};
use model::IndexName;
use serde_json::{Value, json};

use crate::ApiState;
use crate::params::Params;
use crate::tokens::HecToken;

/// What a busy sender should wait, in seconds.
const RETRY_AFTER: &str = "2";

/// The HEC service, for `axum::serve`.
pub fn router(state: ApiState) -> Router {
    let event = || post(event).options(options).fallback(wrong_method);
    let raw = || post(raw).options(options).fallback(wrong_method);
    Router::new()
        .route("/services/collector", event())
        .route("/services/collector/event", event())
        .route("/services/collector/event/1.0", event())
        .route("/services/collector/raw", raw())
        .route("/services/collector/raw/1.0", raw())
        .route("/services/collector/ack", any(ack))
        .route("/services/collector/health", get(health))
        .route("/services/collector/health/1.0", get(health))
        .fallback(unknown)
        .with_state(state)
}

/// Docker's driver asks before it sends.
async fn options() -> StatusCode {
    StatusCode::OK
}

async fn wrong_method() -> Response {
    let text = "The requested method is not allowed for this URL; use POST.";
    let body = json!({"text": text, "code": 404});
    (StatusCode::METHOD_NOT_ALLOWED, Json(body)).into_response()
}

async fn unknown() -> Response {
    let body = json!({"text": "The requested URL was not found on this server.", "code": 404});
    (StatusCode::NOT_FOUND, Json(body)).into_response()
}

async fn health(State(state): State<ApiState>, headers: HeaderMap) -> Response {
    // With a token, it is checked too: Vector relies on it.
    if headers.contains_key(header::AUTHORIZATION)
        && let Err(refusal) = authorize(&state, &headers)
    {
        let code = if refusal.code == 1 { (22, "Token disabled") } else { (21, "Invalid token") };
        return answer(StatusCode::BAD_REQUEST, code.1, code.0);
    }
    if state.shutdown.is_stopped() {
        return answer(StatusCode::SERVICE_UNAVAILABLE, "Server is shutting down", 23);
    }
    // An entrance that is full now refuses the next request after its wait.
    let full = state.ingest.list_queues().iter().any(|queue| queue.bytes >= queue.capacity);
    if full {
        let text = "HEC is unhealthy, queues are full";
        return answer(StatusCode::SERVICE_UNAVAILABLE, text, 18);
    }
    answer(StatusCode::OK, "HEC is healthy", 17)
}

/// Indexer acknowledgement is a setting of tokens that no token has yet.
async fn ack(State(state): State<ApiState>, headers: HeaderMap) -> Response {
    match authorize(&state, &headers) {
        Ok(_) => answer(StatusCode::BAD_REQUEST, "ACK is disabled", 14),
        Err(refusal) => refusal.into_response(),
    }
}

async fn event(State(state): State<ApiState>, request: Request) -> Response {
    let decode: Decode = |state, body, request| {
        let allowed =
            |index: &IndexName| request.token.allows(index) && state.indexes.contains(index);
        let defaults = request.defaults(Some("httpevent"))?;
        decode_events(&body, &defaults, &allowed, request.stream())
    };
    take(&state, request, decode).await.unwrap_or_else(|refusal| refusal)
}

async fn raw(State(state): State<ApiState>, request: Request) -> Response {
    let decode: Decode = |state, body, request| {
        let defaults = request.defaults(None)?;
        let index = &defaults.index;
        if !request.token.allows(index) || !state.indexes.contains(index) {
            return Err(incorrect_index());
        }
        decode_raw(body, &defaults, request.stream())
    };
    take(&state, request, decode).await.unwrap_or_else(|refusal| refusal)
}

type Decode = fn(&ApiState, Bytes, &HecRequest) -> Result<Input, HecError>;

/// A request, its token checked.
struct HecRequest {
    token: Arc<HecToken>,
    params: Params,
    peer: String,
}

impl HecRequest {
    fn defaults(&self, sourcetype: Option<&str>) -> Result<HecDefaults, HecError> {
        let given = |name: &str, default: &Option<String>| {
            self.params.text(name).map(str::to_owned).or_else(|| default.clone())
        };
        let index = match self.params.text("index") {
            None => self.token.index.clone(),
            Some(name) => IndexName::new(name).map_err(|_| incorrect_index())?,
        };
        let source = given("source", &self.token.source)
            .unwrap_or_else(|| format!("http:{}", self.token.name));
        let sourcetype =
            given("sourcetype", &self.token.sourcetype).or_else(|| sourcetype.map(str::to_owned));
        Ok(HecDefaults {
            index,
            host: given("host", &self.token.host).unwrap_or_else(|| self.peer.clone()).into(),
            source: source.into(),
            sourcetype: sourcetype.map(Into::into),
            extract_time: self.params.flag("auto_extract_timestamp"),
        })
    }

    /// Every request is a stream of its own: it is complete, and requests have no order.
    fn stream(&self) -> StreamKey {
        StreamKey(format!("hec:{}:{}", self.token.name, uuid::Uuid::new_v4()).into())
    }
}

async fn take(state: &ApiState, request: Request, decode: Decode) -> Result<Response, Response> {
    let (parts, body) = request.into_parts();
    let token = authorize(state, &parts.headers).map_err(IntoResponse::into_response)?;
    if state.shutdown.is_stopped() {
        return Err(refuse(&HecError::SHUTTING_DOWN));
    }
    let peer = parts.extensions.get::<ConnectInfo<SocketAddr>>();
    let peer = peer.map_or_else(String::new, |peer| peer.0.ip().to_string());
    let params = Params::parse(parts.uri.query().unwrap_or_default(), &[]);
    let body = body_bytes(state, &parts.headers, body).await?;
    let request = HecRequest { token, params, peer };
    // A large body takes milliseconds to decode: do it beside the threads that wait for sockets.
    let decoded = tokio::task::block_in_place(|| decode(state, body, &request));
    let input = decoded.map_err(|error| refuse(&error))?;
    match state.ingest.submit(input).await {
        Ok(_) => Ok(answer(StatusCode::OK, "Success", 0)),
        Err(error) => {
            if error.kind() == model::ErrorKind::Internal {
                tracing::error!(%error, "cannot take events in");
            }
            Err(refuse(&HecError::from(&error)))
        }
    }
}

async fn body_bytes(state: &ApiState, headers: &HeaderMap, body: Body) -> Result<Bytes, Response> {
    let limit = state.settings.max_content_length;
    let packed = to_bytes(body, limit).await.map_err(|_| {
        let text = format!("the body is larger than {limit} bytes (max_content_length)\n");
        (StatusCode::PAYLOAD_TOO_LARGE, text).into_response()
    })?;
    let encoding = headers.get(header::CONTENT_ENCODING).and_then(|value| value.to_str().ok());
    let unpacked = tokio::task::block_in_place(|| unpack(packed, encoding, limit));
    unpacked.map_err(|error| {
        let status = match error {
            BodyError::TooLarge { .. } => StatusCode::PAYLOAD_TOO_LARGE,
            BodyError::Broken { .. } => StatusCode::BAD_REQUEST,
            BodyError::Unsupported { .. } => StatusCode::UNSUPPORTED_MEDIA_TYPE,
        };
        (status, format!("{error}\n")).into_response()
    })
}

/// Why a token was not accepted.
#[derive(Debug)]
struct Refusal {
    status: StatusCode,
    code: u16,
    text: &'static str,
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        answer(self.status, self.text, self.code)
    }
}

fn authorize(state: &ApiState, headers: &HeaderMap) -> Result<Arc<HecToken>, Refusal> {
    let refuse = |status, code, text| Err(Refusal { status, code, text });
    let Some(value) = headers.get(header::AUTHORIZATION) else {
        return refuse(StatusCode::UNAUTHORIZED, 2, "Token is required");
    };
    let value = value.to_str().unwrap_or_default();
    let (scheme, credentials) = value.split_once(' ').unwrap_or((value, ""));
    let secret = match scheme.to_ascii_lowercase().as_str() {
        "splunk" => credentials.trim().to_owned(),
        "basic" => basic_password(credentials).unwrap_or_default(),
        _ => return refuse(StatusCode::UNAUTHORIZED, 3, "Invalid authorization"),
    };
    if secret.is_empty() {
        return refuse(StatusCode::UNAUTHORIZED, 3, "Invalid authorization");
    }
    match state.tokens.by_secret(&secret) {
        Some(token) if token.disabled => refuse(StatusCode::FORBIDDEN, 1, "Token disabled"),
        Some(token) => Ok(token),
        None => refuse(StatusCode::FORBIDDEN, 4, "Invalid token"),
    }
}

/// With Basic, any user and the token as password.
fn basic_password(credentials: &str) -> Option<String> {
    let decoded = BASE64_STANDARD.decode(credentials.trim()).ok()?;
    let text = String::from_utf8(decoded).ok()?;
    Some(text.split_once(':')?.1.to_owned())
}

fn incorrect_index() -> HecError {
    HecError { code: 7, status: 400, text: "Incorrect index", invalid_event_number: Some(1) }
}

fn refuse(error: &HecError) -> Response {
    let mut body = json!({"text": error.text, "code": error.code});
    if let Some(number) = error.invalid_event_number {
        body["invalid-event-number"] = json!(number);
    }
    let status = StatusCode::from_u16(error.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    respond(status, body)
}

fn answer(status: StatusCode, text: &str, code: u16) -> Response {
    respond(status, json!({"text": text, "code": code}))
}

fn respond(status: StatusCode, body: Value) -> Response {
    let mut response = (status, Json(body)).into_response();
    if status == StatusCode::SERVICE_UNAVAILABLE || status == StatusCode::TOO_MANY_REQUESTS {
        let wait = header::HeaderValue::from_static(RETRY_AFTER);
        response.headers_mut().insert(header::RETRY_AFTER, wait);
    }
    response
}
