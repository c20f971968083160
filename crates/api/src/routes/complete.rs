//! `GET /api/v1/complete?text=..&cursor=N`: what may follow in a search.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde_json::{Value, json};

use crate::ApiState;
use crate::error::RestError;
use crate::output::OutputMode;
use crate::params::Params;

pub(crate) async fn complete(
    State(state): State<ApiState>,
    params: Params,
) -> Result<Response, RestError> {
    let text = params.get("text").unwrap_or_default();
    let cursor = params.number("cursor")?.unwrap_or(text.len());
    let suggestions: Vec<Value> =
        state.search.complete(text, cursor).iter().map(|suggestion| json!(suggestion)).collect();
    let body = json!({"suggestions": suggestions}).to_string();
    Ok(OutputMode::Json.respond(StatusCode::OK, body))
}
