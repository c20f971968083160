//! `/`: the web console's files, its page for every path that a browser opens, and the response for unknown
//! paths.

use axum::extract::State;
use axum::http::{HeaderMap, Method, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};

use crate::ApiState;
use crate::error::RestError;

/// The one page of the console; its script shows the view of the address.
const PAGE: &str = "index.html";
/// First segments of paths that are never views of the console, even in a browser.
const NO_VIEWS: [&str; 9] =
    ["services", "servicesNS", "api", "static", "assets", "metrics", "healthz", "readyz", "saml"];

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
    let file = if path.is_empty() { PAGE } else { path };
    if method != Method::GET && method != Method::HEAD {
        return StatusCode::METHOD_NOT_ALLOWED.into_response();
    }
    let (mut wanted, mut found) = (file, state.console.file(file));
    if found.is_none() && is_view(path) && takes_html(&asked) {
        (wanted, found) = (PAGE, state.console.file(PAGE));
    }
    // Hashed files never change; the page that names them does.
    let cached = if wanted.starts_with("assets/") {
        "public, max-age=31536000, immutable"
    } else {
        "no-cache"
    };
    let Some((bytes, media_type)) = found else {
        return not_found(path).into_response();
    };
    let headers = [
        (header::CONTENT_TYPE, media_type),
        (header::CACHE_CONTROL, cached.to_owned()),
        (header::VARY, "Accept, Accept-Encoding".to_owned()),
    ];
    match takes_gzip(&asked).then(|| state.console.packed(wanted)).flatten() {
        Some(packed) => (headers, [(header::CONTENT_ENCODING, "gzip")], packed).into_response(),
        None => (headers, bytes).into_response(),
    }
}

/// Whether a browser may open the path as a view of the console.
fn is_view(path: &str) -> bool {
    let first = path.split('/').next().unwrap_or_default();
    !NO_VIEWS.contains(&first) && !first.starts_with("arrow.flight.")
}

/// Whether the client shows pages: a browser does where somebody opens an address; programs, and the
/// requests of pages for scripts and pictures, do not.
fn takes_html(headers: &HeaderMap) -> bool {
    let all = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
    all.flat_map(|value| value.split(',')).any(|kind| {
        let name = kind.split(';').next().unwrap_or_default().trim();
        name.eq_ignore_ascii_case("text/html") || name.eq_ignore_ascii_case("application/xhtml+xml")
    })
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
