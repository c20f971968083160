//! `POST /_bulk` and `POST /{index}/_bulk`.

use std::sync::Arc;
use std::time::Instant;

use axum::Json;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use inputs::body::BodyError;
use inputs::elastic::{Bulk, BulkDefaults, BulkError, BulkItem, decode_bulk};
use inputs::{Input, StreamKey};
use serde_json::{Value, json};

use super::{Elastic, denied, error};
use crate::receiver::{refused_body_status, refused_status, told_to_sender};

pub(super) async fn bulk(State(state): State<Arc<Elastic>>, request: Request) -> Response {
    take(&state, request).await.unwrap_or_else(|refusal| refusal)
}

async fn take(state: &Elastic, request: Request) -> Result<Response, Response> {
    let begin = Instant::now();
    let token = state.sender(&request).map_err(denied)?;
    let receiver = &state.receiver;
    let (parts, body) = request.into_parts();
    let path_index =
        parts.uri.path().trim_start_matches('/').split_once('/').map(|(index, _)| index);
    let defaults = BulkDefaults {
        index: token.index.clone(),
        host: receiver.host(&token, &parts).into(),
        source: token
            .source
            .clone()
            .unwrap_or_else(|| format!("elasticsearch:{}", token.name))
            .into(),
        sourcetype: token.sourcetype.as_deref().unwrap_or("_json").into(),
        limits: receiver.event_limits(0),
    };
    let invalid = |status, reason: &str| error(status, "illegal_argument_exception", reason);
    let mut watch = receiver.line_watch();
    let body = receiver.watched_body(&parts.headers, body, &mut watch).await;
    let body = body.map_err(|wrong| body_refused(&wrong))?;
    let allowed = |index: &model::IndexName| receiver.allows(&token, index);
    let decode = |limits| {
        decode_bulk(&body, path_index, &BulkDefaults { limits, ..defaults.clone() }, &allowed)
    };
    let needs_memory = |error: &BulkError| matches!(error, BulkError::Memory(_));
    let decoded = receiver.decoded(body.len(), decode, needs_memory).await;
    let (decoded, share) = decoded.map_err(|wrong| body_refused(&wrong))?;
    let Bulk { items, events } =
        decoded.map_err(|wrong| invalid(StatusCode::BAD_REQUEST, &wrong.to_string()))?;
    if !events.is_empty() {
        if receiver.api.shutdown.is_stopped() {
            return Err(unavailable(&inputs::Error::Closed));
        }
        let stream = format!("elasticsearch:{}:{}", token.name, runtime::random::uuid());
        let input = Input::Events { stream: StreamKey(stream.into()), events };
        receiver.submit(input, share).await.map_err(|wrong| unavailable(&wrong))?;
    }
    let errors = items.iter().any(|item| item.error.is_some());
    let took = u64::try_from(begin.elapsed().as_millis()).unwrap_or(u64::MAX);
    let items: Vec<Value> = items.iter().map(answer).collect();
    Ok(Json(json!({"took": took, "errors": errors, "items": items})).into_response())
}

/// A body that is not taken.
fn body_refused(wrong: &BodyError) -> Response {
    refused(refused_body_status(wrong), &wrong.to_string())
}

fn unavailable(wrong: &inputs::Error) -> Response {
    refused(refused_status(wrong), &told_to_sender(wrong))
}

/// A request that is not taken, with Elasticsearch's name for its status.
fn refused(status: StatusCode, reason: &str) -> Response {
    let kind = match status {
        StatusCode::TOO_MANY_REQUESTS => "es_rejected_execution_exception",
        StatusCode::INTERNAL_SERVER_ERROR => "exception",
        StatusCode::SERVICE_UNAVAILABLE => "cluster_block_exception",
        _ => "illegal_argument_exception",
    };
    error(status, kind, reason)
}

fn answer(item: &BulkItem) -> Value {
    let id = || item.id.clone().unwrap_or_else(|| runtime::random::uuid().simple().to_string());
    let told = match &item.error {
        None => json!({
            "_index": item.index,
            "_id": id(),
            "_version": 1,
            "result": "created",
            "_shards": {"total": 1, "successful": 1, "failed": 0},
            "_seq_no": 0,
            "_primary_term": 1,
            "status": 201,
        }),
        Some(error) => json!({
            "_index": item.index,
            "_id": item.id,
            "status": error.status,
            "error": {"type": error.kind, "reason": error.reason},
        }),
    };
    json!({item.action.name(): told})
}
