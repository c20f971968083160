//! The HTTP Event Collector: tokens, channels, bodies, and the answers its clients know.
//!
//! Without acknowledgement a request is answered when its events are safe; with it (`useACK`), when
//! they are in the queue, and their id becomes true when they are safe.

mod ack;
mod answer;

use std::sync::Arc;

use axum::Json;
use axum::Router;
use axum::body::Bytes;
use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use inputs::hec::{HecDefaults, HecError, decode_events, decode_raw, parse_time};
use inputs::{Durability, EventLimits, Input, StreamKey};
use model::{EventTime, IndexName};
use runtime::Share;
use serde_json::json;

use self::answer::{answer, denied, no_token_in_query, refuse, refuse_body, respond};
use crate::body::{Unwatched, Watch};
use crate::credentials::Scheme;
use crate::params::Params;
use crate::receiver::{Denied, Receiver};
use access::HecToken;

const SCHEMES: &[Scheme] = &[Scheme::Splunk, Scheme::Basic];

/// The HEC service, for `axum::serve`.
pub(crate) fn router(receiver: Arc<Receiver>) -> Router {
    let event = || post(event).options(options).fallback(wrong_method);
    let raw = || post(raw).options(options).fallback(wrong_method);
    let validate = || post(validate).get(validate_token).fallback(wrong_method);
    let ack = || post(ack::ask).fallback(wrong_method);
    Router::new()
        .route("/services/collector", event())
        .route("/services/collector/event", event())
        .route("/services/collector/event/1.0", event())
        .route("/services/collector/raw", raw())
        .route("/services/collector/raw/1.0", raw())
        .route("/services/collector/validate", validate())
        .route("/services/collector/validate/1.0", validate())
        .route("/services/collector/ack", ack())
        .route("/services/collector/ack/1.0", ack())
        .route("/services/collector/health", get(health))
        .route("/services/collector/health/1.0", get(health))
        .fallback(unknown)
        .with_state(receiver)
}

/// Returns the routes for acknowledgement requests only.
pub(crate) fn acks(receiver: Arc<Receiver>) -> Router {
    Router::new().route(ack::PATH, post(ack::ask)).with_state(receiver)
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

async fn unknown(uri: Uri) -> Response {
    let body = json!({"text": not_found(uri.path()), "code": 404});
    (StatusCode::NOT_FOUND, Json(body)).into_response()
}

/// Senders of other protocols are often given this port, which also has that of OpenTelemetry.
fn not_found(path: &str) -> String {
    let is_loki = path.starts_with("/loki/") || path == "/api/prom/push";
    let is_elastic = path.ends_with("/_bulk") || path.starts_with("/_");
    let other = match (is_loki, is_elastic) {
        (true, _) => "send to the port for Loki's push API (--loki, KARST_LOKI)",
        (_, true) => "send to the port for Elasticsearch (--elasticsearch, KARST_ELASTICSEARCH)",
        _ => return "The requested URL was not found on this server.".to_owned(),
    };
    format!("The requested URL was not found on this server; {other}.")
}

async fn health(State(receiver): State<Arc<Receiver>>, request: Request) -> Response {
    let params = Params::parse(request.uri().query().unwrap_or_default(), &[]);
    let headers = request.headers();
    // A token, if sent, is checked too: Vector relies on it.
    if headers.contains_key(header::AUTHORIZATION)
        && let Err(denied) = receiver.sender(headers, SCHEMES)
    {
        let (code, text) = match denied {
            Denied::Disabled => (22, "Token disabled"),
            _ => (21, "Invalid token"),
        };
        return answer(StatusCode::BAD_REQUEST, text, code);
    }
    if receiver.api.control.leaves() || receiver.api.shutdown.is_stopped() {
        return refuse(&HecError::SHUTTING_DOWN);
    }
    if let Some(condition) = receiver.api.health.fatal() {
        return answer(StatusCode::SERVICE_UNAVAILABLE, condition.summary(), BUSY);
    }
    if receiver.api.ingest.intake_stopped().is_some() {
        let text = "HEC is unhealthy, no events are accepted until the disk has free space";
        return answer(StatusCode::SERVICE_UNAVAILABLE, text, 18);
    }
    let acks_are_full = params.flag("ack") && receiver.acks.is_full();
    // An entrance that is full now refuses the next request after its wait.
    let (code, text) = match (receiver.queues_are_full(), acks_are_full) {
        (false, false) => return answer(StatusCode::OK, "HEC is healthy", 17),
        (true, false) => (18, "HEC is unhealthy, queues are full"),
        (false, true) => (19, "HEC is unhealthy, ack service unavailable"),
        (true, true) => (20, "HEC is unhealthy, queues are full, ack service unavailable"),
    };
    answer(StatusCode::SERVICE_UNAVAILABLE, text, code)
}

async fn event(State(receiver): State<Arc<Receiver>>, request: Request) -> Response {
    let mut watch = receiver.event_watch();
    let taken = take(&receiver, request, EVENTS, &mut watch).await;
    taken.unwrap_or_else(|refusal| refusal)
}

async fn raw(State(receiver): State<Arc<Receiver>>, request: Request) -> Response {
    let taken = take(&receiver, request, RAW, &mut Unwatched).await;
    taken.unwrap_or_else(|refusal| refusal)
}

/// Returns the response that `/services/collector/event` would give, and stores nothing.
async fn validate(State(receiver): State<Arc<Receiver>>, request: Request) -> Response {
    let mut watch = receiver.event_watch();
    match read(&receiver, request, EVENTS, &mut watch).await {
        Ok(_) => answer(StatusCode::OK, "Success", 0),
        Err(refusal) => refusal,
    }
}

async fn validate_token(State(receiver): State<Arc<Receiver>>, request: Request) -> Response {
    let (parts, _) = request.into_parts();
    match HecRequest::new(&receiver, &parts) {
        Ok(_) => answer(StatusCode::OK, "Success", 0),
        Err(error) => refuse(&error),
    }
}

/// The code of a server that takes nothing now.
const BUSY: u16 = 9;

#[derive(Clone, Copy)]
struct Decode {
    decode: fn(&Receiver, Bytes, &HecRequest, EventLimits) -> Result<Input, HecError>,
    /// Whether decoded events are copied out of the body, and need memory of their own.
    copies: bool,
}

const EVENTS: Decode = Decode { decode: decode_event_body, copies: true };
const RAW: Decode = Decode { decode: decode_raw_body, copies: false };

/// The data of a request.
struct Sent {
    input: Input,
    /// The memory that it takes.
    share: Share,
    /// Its channel, if its token acknowledges.
    channel: Option<inputs::hec::ChannelKey>,
    /// Whether the response includes the durability of the events; Splunk's does not.
    report: bool,
}

fn decode_event_body(
    receiver: &Receiver,
    body: Bytes,
    request: &HecRequest,
    limits: EventLimits,
) -> Result<Input, HecError> {
    let allowed = |index: &IndexName| receiver.allows(&request.token, index);
    let defaults = request.defaults(Some("httpevent"), limits)?;
    decode_events(&body, &defaults, &allowed, request.stream())
}

fn decode_raw_body(
    receiver: &Receiver,
    body: Bytes,
    request: &HecRequest,
    limits: EventLimits,
) -> Result<Input, HecError> {
    let defaults = request.defaults(None, limits)?;
    if !receiver.allows(&request.token, &defaults.index) {
        return Err(answer::incorrect_index());
    }
    decode_raw(body, &defaults, request.stream())
}

/// A request, its token checked.
struct HecRequest {
    token: Arc<HecToken>,
    params: Params,
    headers: HeaderMap,
    host: String,
}

impl HecRequest {
    fn new(receiver: &Receiver, parts: &Parts) -> Result<Self, HecError> {
        let params = Params::parse(parts.uri.query().unwrap_or_default(), &[]);
        let token = sender(receiver, &parts.headers, &params)?;
        if receiver.api.shutdown.is_stopped() {
            return Err(HecError::SHUTTING_DOWN);
        }
        let host = receiver.host(&token, parts);
        Ok(Self { token, params, headers: parts.headers.clone(), host })
    }

    fn defaults(
        &self,
        sourcetype: Option<&str>,
        limits: EventLimits,
    ) -> Result<HecDefaults, HecError> {
        let given = |name: &str, default: &Option<String>| {
            self.params.text(name).map(str::to_owned).or_else(|| default.clone())
        };
        let index = match self.params.text("index") {
            None => self.token.index.clone(),
            Some(name) => IndexName::new(name).map_err(|_| answer::incorrect_index())?,
        };
        let source = given("source", &self.token.source)
            .unwrap_or_else(|| format!("http:{}", self.token.name));
        let sourcetype =
            given("sourcetype", &self.token.sourcetype).or_else(|| sourcetype.map(str::to_owned));
        Ok(HecDefaults {
            index,
            host: self.params.text("host").unwrap_or(&self.host).into(),
            source: source.into(),
            sourcetype: sourcetype.map(Into::into),
            time: self.time()?,
            extract_time: self.params.flag("auto_extract_timestamp"),
            limits,
        })
    }

    /// The time of events without one.
    fn time(&self) -> Result<Option<EventTime>, HecError> {
        let Some(text) = self.params.text("time") else { return Ok(None) };
        parse_time(text).map(Some).ok_or_else(answer::invalid_time)
    }

    /// Returns a new stream for every request: a request is complete, and requests are not ordered.
    fn stream(&self) -> StreamKey {
        StreamKey(format!("hec:{}:{}", self.token.name, runtime::random::uuid()).into())
    }
}

/// The sender's token: from the headers, or from `token=` where that token allows it.
fn sender(
    receiver: &Receiver,
    headers: &HeaderMap,
    params: &Params,
) -> Result<Arc<HecToken>, HecError> {
    match (receiver.sender(headers, SCHEMES), params.text("token")) {
        (Err(Denied::Missing), Some(secret)) => {
            let token = receiver.token(&[secret.to_owned()]).map_err(denied)?;
            if token.allow_query_string_auth { Ok(token) } else { Err(no_token_in_query()) }
        }
        (sender, _) => sender.map_err(denied),
    }
}

/// Reads a request to the end, with its channel if the token acknowledges.
async fn read(
    receiver: &Receiver,
    request: Request,
    decode: Decode,
    watch: &mut dyn Watch,
) -> Result<Sent, Response> {
    let (parts, body) = request.into_parts();
    let request = HecRequest::new(receiver, &parts).map_err(|error| refuse(&error))?;
    if let Some(condition) = receiver.api.health.fatal() {
        return Err(answer(StatusCode::SERVICE_UNAVAILABLE, condition.summary(), BUSY));
    }
    let channel = if request.token.use_ack {
        let channel = ack::channel(&request.token, &request.headers, &request.params);
        Some(channel.map_err(|error| refuse(&error))?)
    } else {
        None
    };
    let body = receiver.watched_body(&parts.headers, body, watch).await;
    let body = body.map_err(|error| refuse_body(&error))?;
    // A slow sender may have been overtaken by the stop.
    if receiver.api.shutdown.is_stopped() {
        return Err(refuse(&HecError::SHUTTING_DOWN));
    }
    let copied = if decode.copies { body.len() } else { 0 };
    let decode = |limits| (decode.decode)(receiver, body.clone(), &request, limits);
    let decoded = receiver.decoded(copied, decode, HecError::needs_memory).await;
    let (decoded, share) = decoded.map_err(|error| refuse_body(&error))?;
    let input = decoded.map_err(|error| refuse(&error))?;
    Ok(Sent { input, share, channel, report: request.params.flag(ack::REPORT) })
}

async fn take(
    receiver: &Arc<Receiver>,
    request: Request,
    decode: Decode,
    watch: &mut dyn Watch,
) -> Result<Response, Response> {
    let Sent { input, share, channel, report } = read(receiver, request, decode, watch).await?;
    if let Some(channel) = channel {
        return ack::take(receiver, (input, share), channel).await;
    }
    let taken = receiver.submit(input, share).await;
    let taken = taken.map_err(|error| refuse(&HecError::from(&error)))?;
    if !report {
        return Ok(answer(StatusCode::OK, "Success", 0));
    }
    let level = taken.findings.durability.map(Durability::name);
    let body = json!({"text": "Success", "code": 0, "ackLevel": level});
    Ok(respond(StatusCode::OK, body))
}

#[cfg(test)]
mod tests {
    use super::not_found;

    #[test]
    fn a_path_of_another_protocol_is_answered_with_its_port() {
        for path in ["/loki/api/v1/push", "/api/prom/push"] {
            assert!(not_found(path).contains("(--loki, KARST_LOKI)"), "{path}");
        }
        for path in ["/_bulk", "/web/_bulk", "/_cluster/health"] {
            assert!(not_found(path).contains("(--elasticsearch, KARST_ELASTICSEARCH)"), "{path}");
        }
        for path in ["/", "/services/collector/nothing"] {
            assert_eq!(not_found(path), "The requested URL was not found on this server.");
        }
    }
}
