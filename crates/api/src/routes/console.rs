//! `/`: the web console's files, and the answer to paths nobody knows.

use axum::extract::State;
use axum::http::{HeaderMap, Method, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};

use crate::ApiState;
use crate::error::RestError;

/// Addresses of the console's pages besides `/`; the script shows the one of the address.
const PAGES: [&str; 1] = ["cluster"];

pub(crate) async fn file(
    State(state): State<ApiState>,
    method: Method,
    uri: Uri,
    asked: HeaderMap,
) -> Response {
    let path = uri.path().trim_start_matches('/');
    if path.starts_with("services/") || path.starts_with("api/") {
        return not_found(path).into_response();
    }
    if method != Method::GET && method != Method::HEAD {
        return StatusCode::METHOD_NOT_ALLOWED.into_response();
    }
    let is_page = path.is_empty() || PAGES.contains(&path) || path.starts_with("app/");
    let wanted = if is_page { "index.html" } else { path };
    // Hashed files never change; the page that names them does.
    let cached = if wanted.starts_with("assets/") {
        "public, max-age=31536000, immutable"
    } else {
        "no-cache"
    };
    let Some((bytes, media_type)) = state.console.file(wanted) else {
        return not_found(path).into_response();
    };
    let headers = [
        (header::CONTENT_TYPE, media_type),
        (header::CACHE_CONTROL, cached.to_owned()),
        (header::VARY, "Accept-Encoding".to_owned()),
    ];
    match takes_gzip(&asked).then(|| state.console.packed(wanted)).flatten() {
        Some(packed) => (headers, [(header::CONTENT_ENCODING, "gzip")], packed).into_response(),
        None => (headers, bytes).into_response(),
    }
}

/// Whether the client unpacks gzip.
fn takes_gzip(headers: &HeaderMap) -> bool {
    let all =
        headers.get_all(header::ACCEPT_ENCODING).iter().filter_map(|value| value.to_str().ok());
    all.flat_map(|value| value.split(',')).any(|one| {
        let (name, quality) = one.split_once(';').unwrap_or((one, ""));
        let refused = matches!(quality.trim(), "q=0" | "q=0.0" | "q=0.00" | "q=0.000");
        matches!(name.trim(), "gzip" | "*") && !refused
    })
}

fn not_found(path: &str) -> RestError {
    if path.starts_with("services/search/") {
        return RestError::new(StatusCode::NOT_FOUND, "FATAL", "Unknown endpoint.");
    }
    RestError::not_found("Not Found")
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    #[test]
    fn files_are_packed_for_who_unpacks_them() {
        let takes = |value: &'static str| {
            takes_gzip(&HeaderMap::from_iter([(
                header::ACCEPT_ENCODING,
                HeaderValue::from_static(value),
            )]))
        };
        assert!(takes("gzip") && takes("br;q=1.0, gzip;q=0.8, *;q=0.1"));
        assert!(!takes("identity") && !takes("br, gzip;q=0") && !takes_gzip(&HeaderMap::new()));
    }
}
