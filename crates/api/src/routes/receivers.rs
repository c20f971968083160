//! `/services/receivers`: events in the body of a management request.
//!
//! Parameters: `index`, `host`, `source`, `sourcetype`. `simple` takes one body; for files sent in
//! pieces it knows `stream` (any unique text), `end` and `modified` (epoch seconds); with `report` the
//! answer has the source type that was recognised and what the events look like. `stream` takes
//! bytes as they come until the sender ends.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::{Request, StatusCode};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures::StreamExt;
use inputs::{Input, InputMeta, Sink, SinkExt, StreamKey};
use model::{EventTime, IndexName};
use serde_json::json;

use super::feed;
use crate::ApiState;
use crate::body::RawBody;
use crate::error::RestError;
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

/// Where events of the request go, and what is known of them.
fn origin(state: &ApiState, params: &Params) -> Result<Arc<InputMeta>, RestError> {
    let index = IndexName::new(params.text("index").unwrap_or("main"))
        .map_err(|error| RestError::invalid(error.to_string()))?;
    state.indexes.check_takes(&index).map_err(RestError::invalid)?;
    Ok(Arc::new(InputMeta {
        index,
        host: params.text("host").unwrap_or(&state.info.server_name).into(),
        source: params.text("source").unwrap_or("www").into(),
        sourcetype: params.text("sourcetype").map(Arc::from),
    }))
}

async fn simple(
    State(state): State<ApiState>,
    caller: Caller,
    params: Params,
    RawBody(bytes): RawBody,
) -> Result<Response, RestError> {
    let origin = origin(&state, &params)?;
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

/// Takes bytes as they come. What was taken before the connection broke stays.
async fn stream(
    State(state): State<ApiState>,
    params: Params,
    request: Request<Body>,
) -> Result<Response, RestError> {
    let origin = origin(&state, &params)?;
    let stream = StreamKey(format!("stream:{}", runtime::random::uuid()).into());
    let mut pieces = request.into_body().into_data_stream();
    loop {
        // A sender that breaks off has ended, too: its last event is complete.
        let piece = pieces.next().await.and_then(Result::ok);
        let end = piece.is_none();
        let input = Input::Raw {
            origin: Arc::clone(&origin),
            stream: stream.clone(),
            bytes: piece.unwrap_or_else(Bytes::new),
            modified: None,
            end,
        };
        state.ingest.submit(input).await?;
        if end {
            return Ok(StatusCode::NO_CONTENT.into_response());
        }
    }
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
