//! `GET /api/v1/complete?text=..&cursor=N`: completions of a search text.

use axum::http::StatusCode;
use axum::response::Response;
use serde_json::{Value, json};

use crate::call::Call;
use crate::error::RestError;
use crate::output::OutputMode;
use crate::rights::SEARCH;
use crate::routing::{Routes, get};
#[cfg(test)]
use crate::tests::cases::{Case, case};

pub(super) fn routes() -> Routes {
    Routes::default()
        .at("/api/v1/complete", get(SEARCH, "Completions at a position in a search", complete))
}

async fn complete(Call { state, params, .. }: Call) -> Result<Response, RestError> {
    let text = params.get("text").unwrap_or_default();
    let cursor = params.number("cursor")?.unwrap_or(text.len());
    let suggestions: Vec<Value> =
        state.search.complete(text, cursor).iter().map(|suggestion| json!(suggestion)).collect();
    let body = json!({"suggestions": suggestions}).to_string();
    Ok(OutputMode::Json.respond(StatusCode::OK, body))
}

/// Requests and their answers.
#[cfg(test)]
pub(super) fn cases() -> Vec<Case> {
    vec![
        case("GET /api/v1/complete?text=%7C%20sta&cursor=5", "", 200, "stats"),
        case("GET /api/v1/complete?text=a&cursor=x", "", 400, "must be a whole number"),
    ]
}
