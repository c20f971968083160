//! `/services/receivers`: events in the body of a management request.
//!
//! Parameters: `index`, `host`, `source`, `sourcetype`. `simple` takes one body; for files sent in
//! pieces it knows `stream` (any unique text), `end` and `modified` (epoch seconds); with `report` the
//! answer has the source type that was recognised and what the events look like. `stream` takes
//! bytes as they come until the sender ends. Bodies may be packed: as for HEC, a stream with gzip only.

use std::sync::Arc;

use axum::body::{Body, BodyDataStream};
use axum::extract::State;
use axum::http::{HeaderMap, Request, StatusCode, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures::StreamExt;
use inputs::body::{BodyError, GzipStream};
use inputs::{Input, InputMeta, Sink, SinkExt, StreamKey};
use model::{EventTime, IndexName};
use serde_json::json;

use super::feed;
use crate::ApiState;
use crate::body::{self, BodyLimits, RawBody, Unwatched};
use crate::error::{Error, RestError};
use crate::http_input::HttpInput;
use crate::output::{OutputMode, xml_text};
use crate::params::Params;
use crate::rights::Need::May;
use crate::routing::{Routes, post};
use crate::session::Caller;
#[cfg(test)]
use crate::tests::cases::{Case, case};

pub(super) fn routes() -> Routes {
    Routes::default()
        .at(
            "/services/receivers/simple",
            post(May("edit_tcp"), "Receives events in the body", simple),
        )
        .at(
            "/services/receivers/stream",
            post(May("edit_tcp_stream"), "Receives a stream of events", stream),
        )
}

/// Returns the metadata of the request's events.
fn origin(state: &ApiState, params: &Params) -> Result<Arc<InputMeta>, RestError> {
    let index = IndexName::new(params.text("index").unwrap_or("main"))
        .map_err(|error| RestError::invalid(error.to_string()))?;
    state.indexes.check_takes(&index).map_err(RestError::invalid)?;
    Ok(Arc::new(InputMeta {
        index,
        host: params.text("host").unwrap_or(&state.info.host).into(),
        source: params.text("source").unwrap_or("www").into(),
        sourcetype: params.text("sourcetype").map(Arc::from),
    }))
}

async fn simple(
    State(state): State<ApiState>,
    caller: Caller,
    params: Params,
    headers: HeaderMap,
    RawBody(bytes): RawBody,
) -> Result<Response, RestError> {
    let origin = origin(&state, &params)?;
    let bytes = match encoding(&headers) {
        None => bytes,
        Some(encoding) => {
            let (memory, limits) = (&state.request_memory, unpacked_limits(&state)?);
            let unpacked = body::unpack(memory, &bytes, encoding, limits, &mut Unwatched).await;
            unpacked.map_err(|error| refused(&error))?
        }
    };
    // A sender of a large file names its stream and sends it in pieces, `end=1` with the last.
    let unique =
        params.text("stream").map_or_else(|| runtime::random::uuid().to_string(), str::to_owned);
    let stream = StreamKey(format!("simple:{}:{unique}", caller.user).into());
    let end = params.text("stream").is_none() || params.flag("end");
    #[allow(clippy::cast_precision_loss)]
    let modified = params.number("modified")?.map(|time| EventTime::from_seconds(time as f64));
    let report = params.flag("report");
    let mut sourcetype = origin.sourcetype.clone();
    if report && sourcetype.is_none() && !bytes.is_empty() {
        sourcetype = Some(state.ingest.recognise(&origin.source, &bytes));
    }
    let input = Input::Raw { origin: Arc::clone(&origin), stream, bytes, modified, end };
    let taken = state.ingest.submit(input).await?;
    let mut answer = json!({
        "index": origin.index, "host": origin.host, "source": origin.source,
        "sourcetype": sourcetype.as_deref().unwrap_or_default(),
        "bytes": taken.bytes, "events": taken.events,
    });
    if report {
        let found = taken.findings;
        answer["earliest"] = found.earliest.map(|time| time.0).into();
        answer["latest"] = found.latest.map(|time| time.0).into();
        answer["undated"] = found.undated.into();
        answer["truncated"] = found.truncated.into();
        answer["split"] = found.split.into();
        answer["headers"] = found.headers.into();
        answer["ackLevel"] = found.durability.map(inputs::Durability::name).into();
    }
    if OutputMode::of(&params)?.is_json() {
        return Ok(OutputMode::Json.respond(StatusCode::OK, answer.to_string()));
    }
    let mut body = String::from("<response><results><result>");
    for (name, value) in feed::content(answer) {
        let text = value.as_str().map_or_else(|| value.to_string(), xml_text);
        let field = format!("<field k='{name}'><value><text>{text}</text></value></field>");
        body.push_str(&field);
    }
    body.push_str("</result></results></response>");
    Ok(OutputMode::Xml.respond(StatusCode::OK, body))
}

/// Receives bytes as they arrive. Bytes that were received before the connection failed are kept.
async fn stream(
    State(state): State<ApiState>,
    params: Params,
    request: Request<Body>,
) -> Result<Response, RestError> {
    let feed = Feed {
        origin: origin(&state, &params)?,
        stream: StreamKey(format!("stream:{}", runtime::random::uuid()).into()),
        state,
    };
    let encoding = encoding(request.headers()).map(str::to_ascii_lowercase);
    let gzip = match encoding.as_deref() {
        None => None,
        Some("gzip" | "x-gzip") => Some(GzipStream::default()),
        Some(other) => {
            let text = format!("content encoding {other} is not supported; use gzip or none");
            return Err(RestError::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "FATAL", text));
        }
    };
    let pieces = request.into_body().into_data_stream();
    let taken = match gzip {
        None => feed.take(pieces).await,
        Some(gzip) => feed.take_packed(pieces, gzip).await,
    };
    // Also after an error: the last event is complete.
    let ended = feed.push(Bytes::new(), true).await;
    taken.and(ended)?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

/// The destination of a stream's bytes.
struct Feed {
    state: ApiState,
    origin: Arc<InputMeta>,
    stream: StreamKey,
}

impl Feed {
    /// Takes the pieces of a body. A sender that breaks off has ended, too.
    async fn take(&self, mut pieces: BodyDataStream) -> Result<(), RestError> {
        while let Some(Ok(piece)) = pieces.next().await {
            self.push(piece, false).await?;
        }
        Ok(())
    }

    async fn take_packed(
        &self,
        mut pieces: BodyDataStream,
        mut gzip: GzipStream,
    ) -> Result<(), RestError> {
        let ratio = unpacked_limits(&self.state)?.ratio;
        while let Some(Ok(piece)) = pieces.next().await {
            for packed in piece.chunks(GzipStream::STEP) {
                let bytes = gzip.step(packed, ratio).map_err(|error| refused(&error))?;
                if !bytes.is_empty() {
                    self.push(bytes, false).await?;
                }
            }
        }
        gzip.finish().map_err(|error| refused(&error))
    }

    async fn push(&self, bytes: Bytes, end: bool) -> Result<(), RestError> {
        let (origin, stream) = (Arc::clone(&self.origin), self.stream.clone());
        let input = Input::Raw { origin, stream, bytes, modified: None, end };
        self.state.ingest.submit(input).await?;
        Ok(())
    }
}

/// Returns the compression of a body; `None` if there is none.
fn encoding(headers: &HeaderMap) -> Option<&str> {
    let encoding = headers.get(header::CONTENT_ENCODING)?.to_str().unwrap_or("unreadable").trim();
    let is_plain = encoding.is_empty() || encoding.eq_ignore_ascii_case("identity");
    (!is_plain).then_some(encoding)
}

/// Returns the limits of a compressed body, which are those of HEC.
fn unpacked_limits(state: &ApiState) -> Result<BodyLimits, RestError> {
    let settings = HttpInput::read(state.knowledge.layers()).map_err(Error::from)?;
    Ok(BodyLimits { bytes: settings.max_content_length, ratio: settings.max_compression_ratio })
}

fn refused(error: &BodyError) -> RestError {
    RestError::new(body::status(error), "FATAL", error.to_string())
}

/// Requests and their answers.
#[cfg(test)]
pub(super) fn cases() -> Vec<Case> {
    let none = "index=none";
    vec![
        case("POST /services/receivers/simple?index=main", "an event", 200, "\"events\":1"),
        case(
            "POST /services/receivers/simple?index=main&report=1&output_mode=json",
            "{\"time\":1714860261}",
            200,
            "\"sourcetype\":\"_json\"",
        ),
        case(&format!("POST /services/receivers/simple?{none}"), "a", 400, "there is no index"),
        case("POST /services/receivers/stream?index=main", "an event", 204, ""),
        case(&format!("POST /services/receivers/stream?{none}"), "a", 400, "there is no index"),
    ]
}
