//! `/`: the web console's files, and the answer to paths nobody knows.

use axum::extract::State;
use axum::http::{Method, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};

use crate::ApiState;
use crate::error::RestError;

pub(crate) async fn file(State(state): State<ApiState>, method: Method, uri: Uri) -> Response {
    let path = uri.path().trim_start_matches('/');
    if path.starts_with("services/") || path.starts_with("api/") {
        return not_found(path).into_response();
    }
    if method != Method::GET && method != Method::HEAD {
        return StatusCode::METHOD_NOT_ALLOWED.into_response();
    }
    let wanted = if path.is_empty() { "index.html" } else { path };
    // Hashed files never change; the page that names them does.
    let cached = if wanted.starts_with("assets/") {
        "public, max-age=31536000, immutable"
    } else {
        "no-cache"
    };
    match state.console.file(wanted) {
        Some((bytes, media_type)) => {
            let headers = [
                (header::CONTENT_TYPE, media_type),
                (header::CACHE_CONTROL, cached.to_owned()),
                (header::X_CONTENT_TYPE_OPTIONS, "nosniff".to_owned()),
                (header::X_FRAME_OPTIONS, "SAMEORIGIN".to_owned()),
            ];
            (headers, bytes).into_response()
        }
        None => not_found(path).into_response(),
    }
}

fn not_found(path: &str) -> RestError {
    if path.starts_with("services/search/") {
        return RestError::new(StatusCode::NOT_FOUND, "FATAL", "Unknown endpoint.");
    }
    RestError::not_found("Not Found")
}
