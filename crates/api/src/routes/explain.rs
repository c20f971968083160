//! `GET` or `POST /api/v1/explain?search=..`: how a search would run.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde_json::json;

use super::jobs::request;
use crate::ApiState;
use crate::error::RestError;
use crate::namespace::PathNamespace;
use crate::output::OutputMode;
use crate::params::Params;
use crate::session::Caller;

pub(crate) async fn explain(
    State(state): State<ApiState>,
    caller: Caller,
    namespace: PathNamespace,
    params: Params,
) -> Result<Response, RestError> {
    let explanation = state.search.explain(&request(&state, &params, &caller, &namespace)?).await?;
    Ok(OutputMode::Json.respond(StatusCode::OK, json!(explanation).to_string()))
}
