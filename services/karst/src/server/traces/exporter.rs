//! Sends spans to a collector: OTLP over gRPC, or protobuf over HTTP.
//!
//! A batch that the collector does not take for now is sent again until its time is over, then it is dropped.
//! Meanwhile spans wait in the queue.

use std::io::Write;
use std::time::Duration;

use anyhow::{Context, Result};
use axum::http::header::{CONTENT_ENCODING, CONTENT_TYPE};
use axum::http::{HeaderMap, StatusCode};
use flate2::Compression;
use flate2::write::GzEncoder;
use metrics::counter;
use opentelemetry_proto::tonic::collector::trace::v1::trace_service_client::TraceServiceClient;
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTraceServiceRequest, ExportTraceServiceResponse,
};
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue};
use opentelemetry_proto::transform::common::tonic::{Attributes, ResourceAttributesWithSchema};
use opentelemetry_proto::transform::trace::tonic::group_spans_by_resource_and_scope;
use prost::Message;
use runtime::trace::{SpanData, Spans, dropped};
use runtime::{Shutdown, metrics as names};
use tokio::time::Instant;
use tonic::codec::CompressionEncoding;
use tonic::metadata::MetadataMap;
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint};
use tonic::{Code, Request};

use super::settings::{Protocol, Settings};

/// Time until a batch is sent again at first, which doubles.
const PAUSE: Duration = Duration::from_secs(1);

/// Sends spans.
#[derive(Debug)]
pub(super) struct Exporter {
    client: Client,
    endpoint: String,
    resource: ResourceAttributesWithSchema,
    timeout: Duration,
    /// Whether the last batch was dropped, which has been logged.
    is_failing: bool,
}

impl Exporter {
    /// Creates an exporter to the collector of the settings. `own` are attributes of this process; those of
    /// the settings take precedence.
    ///
    /// # Errors
    /// If the connection cannot be set up.
    pub(super) fn new(settings: Settings, own: &[(&'static str, String)]) -> Result<Self> {
        let (said, mut attributes) = (&settings.resource, Vec::new());
        let own = own.iter().filter(|(name, _)| !said.iter().any(|(known, _)| known == name));
        attributes.extend(own.map(|(name, text)| attribute(name, text)));
        attributes.extend(said.iter().map(|(name, text)| attribute(name, text)));
        let attributes = Attributes(attributes);
        let resource = ResourceAttributesWithSchema { attributes, schema_url: None };
        let (endpoint, timeout) = (settings.endpoint.clone(), settings.timeout);
        let client = match settings.protocol {
            Protocol::Grpc => Client::grpc(settings)?,
            Protocol::HttpProtobuf => Client::http(settings)?,
        };
        Ok(Self { client, endpoint, resource, timeout, is_failing: false })
    }

    /// Sends batches until it is stopped, then the waiting spans.
    pub(super) async fn run(mut self, mut spans: Spans, stop: Shutdown) {
        loop {
            let batch = tokio::select! {
                () = stop.stopped() => break,
                batch = spans.next() => batch,
            };
            let Some(batch) = batch else { return };
            self.deliver(batch).await;
        }
        loop {
            let batch = spans.now();
            if batch.is_empty() {
                return;
            }
            self.deliver(batch).await;
        }
    }

    async fn deliver(&mut self, batch: Vec<SpanData>) {
        let count = batch.len();
        let resource_spans = group_spans_by_resource_and_scope(batch, &self.resource);
        let request = ExportTraceServiceRequest { resource_spans };
        match self.send_in_time(&request).await {
            Ok(refused) => {
                let refused = usize::try_from(refused).unwrap_or(0).min(count);
                if refused > 0 {
                    dropped("export", refused);
                }
                counter!(names::TRACE_SPANS_SENT).increment((count - refused) as u64);
                if std::mem::take(&mut self.is_failing) {
                    tracing::info!(endpoint = self.endpoint, "spans of traces are sent again");
                }
            }
            Err(failure) => {
                dropped("export", count);
                if !std::mem::replace(&mut self.is_failing, true) {
                    tracing::warn!(
                        endpoint = self.endpoint,
                        error = failure.reason,
                        "spans of traces are dropped: the collector does not take them; check the endpoint \
                         and the protocol (OTEL_EXPORTER_OTLP_*)"
                    );
                }
            }
        }
    }

    /// Sends a request within the time-out; returns the number of spans that the collector has refused.
    async fn send_in_time(&self, request: &ExportTraceServiceRequest) -> Result<i64, Failure> {
        let until = Instant::now() + self.timeout;
        let mut pause = PAUSE;
        loop {
            let sent = tokio::time::timeout_at(until, self.client.send(request)).await;
            let failure = match sent {
                Ok(Ok(refused)) => return Ok(refused),
                Ok(Err(failure)) => failure,
                Err(_) => Failure { reason: "no answer in time".to_owned(), passes: false },
            };
            if !failure.passes || Instant::now() + pause >= until {
                return Err(failure);
            }
            tokio::time::sleep(pause).await;
            pause *= 2;
        }
    }
}

fn attribute(name: &str, text: &str) -> KeyValue {
    let value = Some(AnyValue { value: Some(Value::StringValue(text.to_owned())) });
    KeyValue { key: name.to_owned(), value, ..KeyValue::default() }
}

/// Why a batch was not taken.
#[derive(Debug)]
struct Failure {
    reason: String,
    /// Whether it may be taken later.
    passes: bool,
}

#[derive(Debug)]
enum Client {
    Grpc { client: TraceServiceClient<Channel>, metadata: MetadataMap },
    Http { client: reqwest::Client, url: String, headers: HeaderMap, gzip: bool },
}

impl Client {
    fn grpc(settings: Settings) -> Result<Self> {
        let Settings { endpoint, headers, gzip, authorities, .. } = settings;
        let context = || format!("cannot send traces to {endpoint}");
        let mut channel = Endpoint::from_shared(endpoint.clone()).with_context(context)?;
        if endpoint.starts_with("https:") {
            let tls = match authorities {
                Some(pem) => ClientTlsConfig::new().ca_certificate(Certificate::from_pem(pem)),
                None => ClientTlsConfig::new().with_native_roots(),
            };
            channel = channel.tls_config(tls).with_context(context)?;
        }
        let mut client = TraceServiceClient::new(channel.connect_lazy());
        if gzip {
            client = client.send_compressed(CompressionEncoding::Gzip);
        }
        let metadata = MetadataMap::from_headers(headers.into_iter().collect());
        Ok(Self::Grpc { client, metadata })
    }

    fn http(settings: Settings) -> Result<Self> {
        let Settings { endpoint: url, headers, gzip, authorities, .. } = settings;
        let context = || format!("cannot send traces to {url}");
        let mut client = reqwest::Client::builder();
        if let Some(pem) = authorities {
            let certificates = reqwest::Certificate::from_pem_bundle(&pem).with_context(context)?;
            client = client.tls_built_in_root_certs(false);
            client = certificates
                .into_iter()
                .fold(client, |client, one| client.add_root_certificate(one));
        }
        let client = client.build().with_context(context)?;
        Ok(Self::Http { client, url, headers: headers.into_iter().collect(), gzip })
    }

    /// Sends a request; returns the number of spans that the collector has refused.
    async fn send(&self, request: &ExportTraceServiceRequest) -> Result<i64, Failure> {
        match self {
            Self::Grpc { client, metadata } => {
                let message = request.clone();
                let request =
                    Request::from_parts(metadata.clone(), tonic::Extensions::default(), message);
                let answer = client.clone().export(request).await.map_err(|status| Failure {
                    passes: passes(status.code()),
                    reason: reason_of(&status),
                })?;
                Ok(refused(answer.get_ref()))
            }
            Self::Http { client, url, headers, gzip } => {
                let (body, encoding) = encoded(request, *gzip)?;
                let mut post = client
                    .post(url)
                    .header(CONTENT_TYPE, "application/x-protobuf")
                    .headers(headers.clone())
                    .body(body);
                if let Some(encoding) = encoding {
                    post = post.header(CONTENT_ENCODING, encoding);
                }
                let lost = |error: reqwest::Error| Failure {
                    reason: causes(&error.without_url()),
                    passes: true,
                };
                let answer = post.send().await.map_err(lost)?;
                let status = answer.status();
                if !status.is_success() {
                    let passes = matches!(
                        status,
                        StatusCode::TOO_MANY_REQUESTS
                            | StatusCode::BAD_GATEWAY
                            | StatusCode::SERVICE_UNAVAILABLE
                            | StatusCode::GATEWAY_TIMEOUT
                    );
                    return Err(Failure { reason: format!("it answers {status}"), passes });
                }
                let answer = answer.bytes().await.map_err(lost)?;
                // A collector that answers in another form has taken them all the same.
                let answer = ExportTraceServiceResponse::decode(answer).unwrap_or_default();
                Ok(refused(&answer))
            }
        }
    }
}

/// The codes that the specification of OTLP calls retryable.
fn passes(code: Code) -> bool {
    matches!(
        code,
        Code::Cancelled
            | Code::DeadlineExceeded
            | Code::ResourceExhausted
            | Code::Aborted
            | Code::OutOfRange
            | Code::Unavailable
            | Code::DataLoss
    )
}

fn refused(answer: &ExportTraceServiceResponse) -> i64 {
    answer.partial_success.as_ref().map_or(0, |partial| partial.rejected_spans)
}

fn reason_of(status: &tonic::Status) -> String {
    let source = std::error::Error::source(status).map(causes);
    source.unwrap_or_else(|| format!("{}: {}", status.code(), status.message()))
}

/// An error with its causes.
fn causes(error: &(dyn std::error::Error + 'static)) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

/// The body, and its encoding.
fn encoded(
    request: &ExportTraceServiceRequest,
    gzip: bool,
) -> Result<(Vec<u8>, Option<&'static str>), Failure> {
    let body = request.encode_to_vec();
    if !gzip {
        return Ok((body, None));
    }
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    let packed = encoder.write_all(&body).and_then(|()| encoder.finish());
    let packed = packed.map_err(|error| Failure { reason: error.to_string(), passes: false })?;
    Ok((packed, Some("gzip")))
}
