//! `/static/app/{app}/..`: images and styles of apps, for browsers.
//!
//! No login is needed, as in Splunk: `<img>` of a page sends no session key. Scripts and pages of apps are
//! not served, and responses forbid browsers to guess another media type.

use axum::extract::{Path, State};
use axum::http::header;
use axum::response::{IntoResponse, Response};

use crate::ApiState;
use crate::error::RestError;
use crate::rights::Need;
use crate::routing::{Routes, get};
#[cfg(test)]
use crate::tests::cases::{Case, case};

/// An SVG that is opened by itself is a page: it runs nothing and reads nothing.
const NOTHING_RUNS: &str = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox";
/// Seconds that a browser keeps a file: an update of the app is seen after it.
const KEPT: &str = "public, max-age=300";

pub(super) fn routes() -> Routes {
    let what = "An image or a style sheet of an app";
    Routes::default().at("/static/app/{app}/{*path}", get(Need::Open, what, file))
}

async fn file(
    State(state): State<ApiState>,
    Path((app, path)): Path<(String, String)>,
) -> Result<Response, RestError> {
    let apps = state.apps.clone();
    let read = move || apps.static_file(&app, &path);
    let file = tokio::task::spawn_blocking(read).await;
    let file = file.map_err(|error| RestError::invalid(error.to_string()))??;
    let headers = [
        (header::CONTENT_TYPE, file.media_type),
        (header::CACHE_CONTROL, KEPT),
        (header::CONTENT_SECURITY_POLICY, NOTHING_RUNS),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ];
    Ok((headers, file.bytes).into_response())
}

/// Requests and their answers.
#[cfg(test)]
pub(super) fn cases() -> Vec<Case> {
    let made = "/static/app/made";
    let absent = "Could not find object";
    vec![
        case(&format!("GET {made}/look.css"), "", 200, ".panel"),
        case(&format!("GET {made}/images/dot.svg"), "", 200, "<svg").by(""),
        case(&format!("GET {made}/none.css"), "", 404, absent),
        case(&format!("GET {made}/extras.js"), "", 404, absent),
        case(&format!("GET {made}/page.html"), "", 404, absent),
        case(&format!("GET {made}/%2e%2e/%2e%2e/default/app.css"), "", 404, absent),
        case(&format!("GET {made}/..%2F..%2Fdefault%2Fapp.css"), "", 404, absent),
        case("GET /static/app/%2e%2e/made/look.css", "", 404, absent),
        // Links to files and folders may lead out of the app.
        case(&format!("GET {made}/link.css"), "", 404, absent),
        case(&format!("GET {made}/folder/look.css"), "", 404, absent),
    ]
}
