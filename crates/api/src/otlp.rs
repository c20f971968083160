//! OpenTelemetry logs: OTLP over HTTP (protobuf or JSON) and over gRPC.
//!
//! A request is answered when its events are safe. Retryable failures have responses that senders retry: 503
//! with `Retry-After`, `UNAVAILABLE` with `RetryInfo`; permanent failures have others. Rejected records are
//! counted in `partial_success`; the other records are stored.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{ConnectInfo, Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::middleware::{from_fn, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use futures::future::BoxFuture;
use inputs::body::BodyError;
use inputs::otlp::{OtlpDefaults, decode_json, decode_logs, json_memory, protobuf_memory};
use inputs::{Input, OverLimit, StreamKey};
use opentelemetry_proto::tonic::collector::logs::v1::logs_service_server::{
    LogsService, LogsServiceServer,
};
use opentelemetry_proto::tonic::collector::logs::v1::{
    ExportLogsPartialSuccess, ExportLogsServiceRequest, ExportLogsServiceResponse,
};
use prost::Message;
use runtime::Share;
use serde_json::json;
use tonic::codec::CompressionEncoding;
use tonic::{Code, Status};

use crate::body;
use crate::credentials::Scheme;
use crate::receiver::{Denied, RETRY_AFTER, Receiver, told_to_sender, with_retry_after};
use crate::work::work;

mod grpc;

const SCHEMES: &[Scheme] = &[Scheme::Splunk, Scheme::Bearer, Scheme::Basic];
const PROTOBUF: &str = "application/x-protobuf";
const JSON: &str = "application/json";

/// Bytes of a gRPC message at most; the collector sends far smaller ones.
const MAX_MESSAGE: usize = 64 << 20;

/// `/v1/logs`.
pub(crate) fn http_router(receiver: Arc<Receiver>) -> Router {
    Router::new().route("/v1/logs", post(logs).fallback(wrong_method)).with_state(receiver)
}

/// `opentelemetry.proto.collector.logs.v1.LogsService`, and the answer to requests that are not gRPC and
/// have an unknown path.
pub(crate) fn grpc_router(receiver: Arc<Receiver>) -> Router {
    let limit = MAX_MESSAGE.min(receiver.settings.max_content_length);
    let service = LogsServiceServer::new(Service(Arc::clone(&receiver)))
        .send_compressed(CompressionEncoding::Gzip)
        .max_decoding_message_size(limit);
    let router = tonic::service::Routes::new(service).into_axum_router();
    router.layer(from_fn_with_state(receiver, grpc::admit)).layer(from_fn(grpc::only))
}

async fn wrong_method() -> Response {
    let text = "the method is not allowed at /v1/logs: use POST";
    let refusal = Refusal::unsupported(StatusCode::METHOD_NOT_ALLOWED, text);
    ([(header::ALLOW, "POST")], refused(&refusal, true)).into_response()
}

/// Returns the response for a path without a service. Without it, the gRPC service would answer with status
/// 200, and a sender of traces would consider its data accepted.
fn unknown_path() -> Response {
    let text = "Karst takes logs at /v1/logs; traces and metrics are not supported";
    refused(&Refusal::unsupported(StatusCode::NOT_FOUND, text), true)
}

/// Why a request is not taken.
#[derive(Debug)]
struct Refusal {
    status: StatusCode,
    code: Code,
    text: String,
}

impl Refusal {
    fn invalid(status: StatusCode, text: impl ToString) -> Self {
        Self { status, code: Code::InvalidArgument, text: text.to_string() }
    }

    fn unsupported(status: StatusCode, text: impl ToString) -> Self {
        Self { status, code: Code::Unimplemented, text: text.to_string() }
    }

    /// Whether the same request may be taken later.
    fn is_retryable(&self) -> bool {
        self.code == Code::Unavailable
    }
}

impl From<Denied> for Refusal {
    fn from(denied: Denied) -> Self {
        let (status, code) = if denied.is_unauthenticated() {
            (StatusCode::UNAUTHORIZED, Code::Unauthenticated)
        } else {
            (StatusCode::FORBIDDEN, Code::PermissionDenied)
        };
        Self { status, code, text: denied.text().to_owned() }
    }
}

impl From<BodyError> for Refusal {
    fn from(error: BodyError) -> Self {
        let status = body::status(&error);
        let busy = status == StatusCode::SERVICE_UNAVAILABLE;
        let code = if busy { Code::Unavailable } else { Code::InvalidArgument };
        Self { status, code, text: error.to_string() }
    }
}

impl From<OverLimit> for Refusal {
    fn from(over: OverLimit) -> Self {
        Self::invalid(StatusCode::PAYLOAD_TOO_LARGE, over)
    }
}

impl From<inputs::Error> for Refusal {
    fn from(error: inputs::Error) -> Self {
        let (status, code) = match error.kind() {
            model::ErrorKind::Internal | model::ErrorKind::Corrupt => {
                (StatusCode::INTERNAL_SERVER_ERROR, Code::Internal)
            }
            _ => (StatusCode::SERVICE_UNAVAILABLE, Code::Unavailable),
        };
        Self { status, code, text: told_to_sender(&error) }
    }
}

/// Takes the records of a request whose token is still to be checked; `share` is the memory that the request
/// takes.
async fn take(
    receiver: &Receiver,
    headers: &HeaderMap,
    peer: Option<ConnectInfo<SocketAddr>>,
    (request, share): (ExportLogsServiceRequest, Option<Share>),
) -> Result<ExportLogsServiceResponse, Refusal> {
    let token = receiver.sender(headers, SCHEMES)?;
    if receiver.api.shutdown.is_stopped() {
        return Err(inputs::Error::Closed.into());
    }
    let defaults = OtlpDefaults {
        index: token.index.clone(),
        host: receiver.host_of(&token, headers, peer.as_ref()).into(),
        source: token.source.clone().unwrap_or_else(|| format!("otlp:{}", token.name)).into(),
        sourcetype: Some(token.sourcetype.as_deref().unwrap_or("otlp").into()),
        limits: receiver.event_limits(0),
    };
    let decode = |limits| {
        let defaults = OtlpDefaults { limits, ..defaults.clone() };
        decode_logs(&request, &defaults, &|index| receiver.allows(&token, index))
    };
    let decoded = receiver.decoded(request.encoded_len(), decode, |_| true).await?;
    let (logs, events_share) = (decoded.0.map_err(Refusal::from)?, decoded.1);
    drop((request, share));
    if !logs.events.is_empty() {
        let stream = StreamKey(format!("otlp:{}:{}", token.name, runtime::random::uuid()).into());
        receiver.submit(Input::Events { stream, events: logs.events }, events_share).await?;
    }
    let partial_success = logs.reason.map(|error_message| {
        tracing::warn!(token = token.name, records = logs.rejected, error_message, "rejected");
        let rejected_log_records = i64::try_from(logs.rejected).unwrap_or(i64::MAX);
        ExportLogsPartialSuccess { rejected_log_records, error_message }
    });
    Ok(ExportLogsServiceResponse { partial_success })
}

struct Service(Arc<Receiver>);

impl Service {
    fn answer(
        &self,
        request: tonic::Request<ExportLogsServiceRequest>,
    ) -> BoxFuture<'_, Result<tonic::Response<ExportLogsServiceResponse>, Status>> {
        Box::pin(async move {
            let (metadata, extensions, request) = request.into_parts();
            let peer = extensions.get::<ConnectInfo<SocketAddr>>().copied();
            let headers = metadata.into_headers();
            match take(&self.0, &headers, peer, (request, None)).await {
                Ok(response) => Ok(tonic::Response::new(response)),
                Err(refusal) => Err(status(&refusal)),
            }
        })
    }
}

/// Written as the attribute `async_trait` writes it: see docs/decisions/0042-boxed-futures.md.
impl LogsService for Service {
    fn export<'s, 'a>(
        &'s self,
        request: tonic::Request<ExportLogsServiceRequest>,
    ) -> BoxFuture<'a, Result<tonic::Response<ExportLogsServiceResponse>, Status>>
    where
        's: 'a,
        Self: 'a,
    {
        self.answer(request)
    }
}

/// The refusal as gRPC has it, with the time to wait where waiting helps.
fn status(refusal: &Refusal) -> Status {
    if !refusal.is_retryable() {
        return Status::new(refusal.code, &refusal.text);
    }
    let details = RpcStatus::of(refusal).encode_to_vec();
    Status::with_details(refusal.code, &refusal.text, details.into())
}

async fn logs(State(receiver): State<Arc<Receiver>>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let content_type = parts.headers.get(header::CONTENT_TYPE).and_then(|v| v.to_str().ok());
    let content_type = content_type.unwrap_or(PROTOBUF).split(';').next().unwrap_or_default();
    let is_json = content_type.trim().eq_ignore_ascii_case(JSON);
    let peer = parts.extensions.get::<ConnectInfo<SocketAddr>>().copied();
    let taken = async {
        if !is_json && !content_type.trim().eq_ignore_ascii_case(PROTOBUF) {
            let text = format!("content type {content_type} is not {PROTOBUF} or {JSON}");
            return Err(Refusal::invalid(StatusCode::UNSUPPORTED_MEDIA_TYPE, text));
        }
        // Checked first, so that a sender without a token cannot send megabytes.
        receiver.sender(&parts.headers, SCHEMES)?;
        let body = receiver.body(&parts.headers, body).await.map_err(Refusal::from)?;
        let memory = work(body.len(), || match is_json {
            true => json_memory(&body),
            false => protobuf_memory(&body),
        });
        let mut share = receiver.api.request_memory.share();
        share.grow(memory).await.map_err(BodyError::from)?;
        let request = work(body.len(), || parse(body, is_json))?;
        take(&receiver, &parts.headers, peer, (request, Some(share))).await
    };
    match taken.await {
        Ok(response) => encoded(StatusCode::OK, &response, is_json),
        Err(refusal) => refused(&refusal, is_json),
    }
}

fn parse(body: Bytes, is_json: bool) -> Result<ExportLogsServiceRequest, Refusal> {
    let invalid = |error: &dyn std::fmt::Display| {
        Refusal::invalid(
            StatusCode::BAD_REQUEST,
            format!("the body is not a valid OTLP request: {error}"),
        )
    };
    if is_json {
        return decode_json(&body).map_err(|error| invalid(&error));
    }
    ExportLogsServiceRequest::decode(body).map_err(|error| invalid(&error))
}

fn encoded(status: StatusCode, body: &ExportLogsServiceResponse, is_json: bool) -> Response {
    if !is_json {
        return typed(status, PROTOBUF, body.encode_to_vec());
    }
    // A field that is not set is absent in protobuf's JSON.
    let body = match &body.partial_success {
        None => json!({}),
        Some(partial) => json!({"partialSuccess": {
            "rejectedLogRecords": partial.rejected_log_records.to_string(),
            "errorMessage": partial.error_message,
        }}),
    };
    typed(status, JSON, body.to_string().into_bytes())
}

fn refused(refusal: &Refusal, is_json: bool) -> Response {
    let response = if is_json {
        let body = json!({"code": refusal.code as i32, "message": refusal.text});
        typed(refusal.status, JSON, body.to_string().into_bytes())
    } else {
        typed(refusal.status, PROTOBUF, RpcStatus::of(refusal).encode_to_vec())
    };
    with_retry_after(response)
}

fn typed(status: StatusCode, content_type: &'static str, body: Vec<u8>) -> Response {
    let content_type = [(header::CONTENT_TYPE, HeaderValue::from_static(content_type))];
    (status, content_type, body).into_response()
}

/// `google.rpc.Status`, which OTLP answers failures with.
#[derive(Clone, PartialEq, prost::Message)]
struct RpcStatus {
    #[prost(int32, tag = "1")]
    code: i32,
    #[prost(string, tag = "2")]
    message: String,
    #[prost(message, repeated, tag = "3")]
    details: Vec<Any>,
}

/// `google.protobuf.Any`.
#[derive(Clone, PartialEq, prost::Message)]
struct Any {
    #[prost(string, tag = "1")]
    type_url: String,
    #[prost(bytes = "vec", tag = "2")]
    value: Vec<u8>,
}

/// `google.rpc.RetryInfo`.
#[derive(Clone, PartialEq, prost::Message)]
struct RetryInfo {
    #[prost(message, optional, tag = "1")]
    retry_delay: Option<Delay>,
}

/// `google.protobuf.Duration`.
#[derive(Clone, PartialEq, prost::Message)]
struct Delay {
    #[prost(int64, tag = "1")]
    seconds: i64,
    #[prost(int32, tag = "2")]
    nanos: i32,
}

impl RpcStatus {
    fn of(refusal: &Refusal) -> Self {
        let details = if refusal.is_retryable() { vec![Any::retry(RETRY_AFTER)] } else { vec![] };
        Self { code: refusal.code as i32, message: refusal.text.clone(), details }
    }
}

impl Any {
    fn retry(after: Duration) -> Self {
        let seconds = i64::try_from(after.as_secs()).unwrap_or(i64::MAX);
        let retry_delay = Some(Delay { seconds, nanos: 0 });
        Self {
            type_url: "type.googleapis.com/google.rpc.RetryInfo".to_owned(),
            value: RetryInfo { retry_delay }.encode_to_vec(),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use axum::body::Body;
    use tower::ServiceExt;

    use super::*;

    #[test]
    fn what_may_be_sent_again_says_when_and_the_rest_does_not() {
        let later = status(&inputs::Error::Closed.into());
        let details = RpcStatus::decode(later.details()).unwrap().details;
        let retry = RetryInfo::decode(details[0].value.as_slice()).unwrap();
        assert_eq!(later.code(), Code::Unavailable);
        assert_eq!(retry.retry_delay, Some(Delay { seconds: 2, nanos: 0 }));
        let never = status(&Denied::Unknown.into());
        assert_eq!((never.code(), never.details().len()), (Code::PermissionDenied, 0));
    }

    #[tokio::test]
    async fn only_grpc_requests_reach_the_grpc_service() {
        let service: Router =
            Router::new().fallback(|| async { "grpc" }).layer(from_fn(grpc::only));
        for (content_type, status) in [
            ("application/grpc", StatusCode::OK),
            ("application/grpc+proto", StatusCode::OK),
            ("application/grpc-web", StatusCode::NOT_FOUND),
            (PROTOBUF, StatusCode::NOT_FOUND),
            (JSON, StatusCode::NOT_FOUND),
        ] {
            let request = Request::post("/v1/traces").header(header::CONTENT_TYPE, content_type);
            let request = request.body(Body::empty()).unwrap();
            let answer = service.clone().oneshot(request).await.unwrap();
            assert_eq!(answer.status(), status, "{content_type}");
        }
        let answer = service.oneshot(Request::new(Body::empty())).await.unwrap();
        assert_eq!(answer.status(), StatusCode::NOT_FOUND);
        assert_eq!(answer.headers()[header::CONTENT_TYPE], JSON);
    }
}
