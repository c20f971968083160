//! `GET` or `POST /api/v1/explain?search=..`: the plan of a search, with upper bounds of the data that it
//! reads.

use axum::http::StatusCode;
use axum::response::Response;
use serde_json::json;

use super::jobs::request;
use super::search_bundle::set_bundle;
use crate::call::Call;
use crate::error::RestError;
use crate::output::OutputMode;
use crate::rights::SEARCH;
use crate::routing::{Routes, get};
#[cfg(test)]
use crate::tests::cases::{Case, case};

pub(super) fn routes() -> Routes {
    Routes::default().at(
        "/api/v1/explain",
        get(SEARCH, "The plan of a search, and its SQL", explain).post(
            SEARCH,
            "The same, with a form",
            explain,
        ),
    )
}

async fn explain(
    Call { state, caller, namespace, params, .. }: Call,
) -> Result<Response, RestError> {
    let mut request = request(&state, &params, &caller, &namespace)?;
    set_bundle(&state, &params, &caller, &mut request).await?;
    let explanation = state.search.explain(&request).await?;
    Ok(OutputMode::Json.respond(StatusCode::OK, json!(explanation).to_string()))
}

/// Requests and their answers.
#[cfg(test)]
pub(super) fn cases() -> Vec<Case> {
    let path = "/api/v1/explain";
    let none = "The required 'search' parameter";
    vec![
        case(&format!("GET {path}?search=index%3Dmain"), "", 200, "\"normalized\""),
        case(&format!("GET {path}?search=index%3Dmain"), "", 200, "\"to_read\":0"),
        case(&format!("GET {path}?search=%7C+makeresults"), "", 200, "\"estimate\":null"),
        case(&format!("GET {path}"), "", 400, none),
        case(&format!("POST {path}"), "search=index%3Dmain", 200, "\"normalized\""),
        case(&format!("POST {path}"), "search=%7C+nothing", 400, "nothing"),
    ]
}
