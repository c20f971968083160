//! HEC's answers: a text, a code, and the HTTP status that goes with it.

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use inputs::hec::{BodyError, HecError};
use serde_json::{Value, json};

use crate::receiver::{Denied, body_status, with_retry_after};

pub(super) fn incorrect_index() -> HecError {
    HecError { code: 7, status: 400, text: "Incorrect index", invalid_event_number: Some(1) }
}

pub(super) fn refuse(error: &HecError) -> Response {
    let mut body = json!({"text": error.text, "code": error.code});
    if let Some(number) = error.invalid_event_number {
        body["invalid-event-number"] = json!(number);
    }
    let status = StatusCode::from_u16(error.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    respond(status, body)
}

/// A body that could not be read; only its size has a code of its own.
pub(super) fn refuse_body(error: &BodyError) -> Response {
    match error {
        BodyError::TooLarge { .. } => refuse(&HecError::TOO_LARGE),
        BodyError::Broken { .. } | BodyError::Unsupported { .. } => {
            respond(body_status(error), json!({"text": error.to_string(), "code": 6}))
        }
    }
}

pub(super) fn denied(denied: Denied) -> HecError {
    let (status, code, text) = match denied {
        Denied::Missing => (401, 2, "Token is required"),
        Denied::Unreadable => (401, 3, "Invalid authorization"),
        Denied::Unknown => (403, 4, "Invalid token"),
        Denied::Disabled => (403, 1, "Token disabled"),
    };
    HecError { code, status, text, invalid_event_number: None }
}

pub(super) fn no_token_in_query() -> HecError {
    let text = "Query string authorization is not enabled";
    HecError { code: 16, status: 400, text, invalid_event_number: None }
}

pub(super) fn answer(status: StatusCode, text: &str, code: u16) -> Response {
    respond(status, json!({"text": text, "code": code}))
}

pub(super) fn respond(status: StatusCode, body: Value) -> Response {
    with_retry_after((status, Json(body)).into_response())
}
