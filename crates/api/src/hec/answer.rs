//! HEC's responses: a text, a code, and its HTTP status.

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use inputs::body::BodyError;
use inputs::hec::HecError;
use serde_json::{Value, json};

use crate::body;
use crate::receiver::{Denied, with_retry_after};

pub(super) fn incorrect_index() -> HecError {
    let text = "Incorrect index".into();
    HecError { code: 7, status: 400, text, invalid_event_number: Some(1) }
}

pub(super) fn invalid_time() -> HecError {
    let text =
        "Invalid data format: the query parameter \"time\" is not a number of epoch seconds".into();
    HecError { code: 6, status: 400, text, invalid_event_number: None }
}

pub(super) fn refuse(error: &HecError) -> Response {
    let mut body = json!({"text": error.text, "code": error.code});
    if let Some(number) = error.invalid_event_number {
        body["invalid-event-number"] = json!(number);
    }
    let status = StatusCode::from_u16(error.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    respond(status, body)
}

/// A body that could not be read.
pub(super) fn refuse_body(error: &BodyError) -> Response {
    let status = body::status(error);
    if status == StatusCode::SERVICE_UNAVAILABLE {
        return refuse(&HecError::BUSY);
    }
    if matches!(error, BodyError::TooLarge { .. }) {
        return refuse(&HecError::TOO_LARGE);
    }
    let too_large = status == StatusCode::PAYLOAD_TOO_LARGE;
    let code = if too_large { HecError::TOO_LARGE.code } else { 6 };
    let mut answer = json!({"text": error.to_string(), "code": code});
    if let BodyError::Event { number, .. } = error {
        answer["invalid-event-number"] = json!(number);
    }
    respond(status, answer)
}

pub(super) fn denied(denied: Denied) -> HecError {
    let (status, code, text) = match denied {
        Denied::Missing => (401, 2, "Token is required"),
        Denied::Unreadable => (401, 3, "Invalid authorization"),
        Denied::Unknown => (403, 4, "Invalid token"),
        Denied::Disabled => (403, 1, "Token disabled"),
    };
    HecError { code, status, text: text.into(), invalid_event_number: None }
}

pub(super) fn no_token_in_query() -> HecError {
    let text = "Query string authorization is not enabled".into();
    HecError { code: 16, status: 400, text, invalid_event_number: None }
}

pub(super) fn answer(status: StatusCode, text: &str, code: u16) -> Response {
    respond(status, json!({"text": text, "code": code}))
}

pub(super) fn respond(status: StatusCode, body: Value) -> Response {
    with_retry_after((status, Json(body)).into_response())
}
