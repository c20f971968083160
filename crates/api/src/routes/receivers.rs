//! `/services/receivers/simple`: events in the body of a management request.
//!
//! Parameters: `index`, `host`, `source`, `sourcetype`; for files sent in pieces `stream` (any unique
//! text), `end` and `modified` (epoch seconds).

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use inputs::{Input, InputMeta, SinkExt, StreamKey};
use model::{EventTime, IndexName};
use serde_json::json;
use uuid::Uuid;

use crate::ApiState;
use crate::error::RestError;
use crate::output::OutputMode;
use crate::params::Params;
use crate::rest::{Caller, RawBody};

pub(crate) async fn simple(
    State(state): State<ApiState>,
    caller: Caller,
    params: Params,
    RawBody(bytes): RawBody,
) -> Result<Response, RestError> {
    let index = IndexName::new(params.text("index").unwrap_or("main"))
        .map_err(|error| RestError::invalid(error.to_string()))?;
    if !state.indexes.contains(&index) {
        return Err(RestError::invalid(format!("there is no index \"{index}\"")));
    }
    let sourcetype = params.text("sourcetype").map(Arc::from);
    let origin = Arc::new(InputMeta {
        index,
        host: params.text("host").unwrap_or(&state.info.server_name).into(),
        source: params.text("source").unwrap_or("www").into(),
        sourcetype,
    });
    // A sender of a large file names its stream and sends it in pieces, `end=1` with the last.
    let unique = params.text("stream").map_or_else(|| Uuid::new_v4().to_string(), str::to_owned);
    let stream = StreamKey(format!("simple:{}:{unique}", caller.user).into());
    let end = params.text("stream").is_none() || params.flag("end");
    #[allow(clippy::cast_precision_loss)]
    let modified = params.number("modified")?.map(|time| EventTime::from_seconds(time as f64));
    let input = Input::Raw { origin, stream, bytes, modified, end };
    let taken = state.ingest.submit(input).await;
    let taken = taken.map_err(|error| RestError::of_kind(error.kind(), error.to_string()))?;
    if OutputMode::of(&params)?.is_json() {
        let body = json!({"events": taken.events, "bytes": taken.bytes}).to_string();
        return Ok(OutputMode::Json.respond(StatusCode::OK, body));
    }
    let body = "<response><results><result><field k='_index'><value><text>ok</text></value></field>\
                </result></results></response>";
    Ok(OutputMode::Xml.respond(StatusCode::OK, body))
}
