//! Security headers of every response: allowed scripts, framing, and caching.

use axum::extract::{Request, State};
use axum::http::header::{self, HeaderName};
use axum::http::{HeaderMap, HeaderValue};
use axum::middleware::Next;
use axum::response::Response;

use crate::Arrival;

/// The console's own scripts and nothing else. Its components set styles at run time, which needs
/// `unsafe-inline` for styles only.
const CONSOLE: &str = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; \
                       img-src 'self' data: blob:; font-src 'self' data:; connect-src 'self'; \
                       manifest-src 'self'; base-uri 'none'; form-action 'self'; \
                       frame-ancestors 'self'";
/// Answers of the API are not pages.
const API: &str = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
const PERMISSIONS: &str = "accelerometer=(), camera=(), display-capture=(), geolocation=(), \
                           gyroscope=(), magnetometer=(), microphone=(), midi=(), payment=(), usb=()";
const ALWAYS: &[(&str, &str)] = &[
    ("x-content-type-options", "nosniff"),
    ("x-frame-options", "SAMEORIGIN"),
    ("referrer-policy", "same-origin"),
    ("permissions-policy", PERMISSIONS),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
];

/// A year, for this host name alone.
const HSTS: &str = "max-age=31536000";
/// Prevents browsers and proxies from storing users' data.
const NOT_KEPT: &str = "no-store, no-cache, must-revalidate, max-age=0";

/// Adds the headers; `hsts`: whether browsers are told to use only TLS after their first visit.
pub(crate) async fn add(State(hsts): State<bool>, request: Request, next: Next) -> Response {
    let arrival = request.extensions().get::<Arrival>().copied().unwrap_or_default();
    let api = is_api(request.uri().path());
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    for (name, value) in ALWAYS {
        set(headers, HeaderName::from_static(name), value);
    }
    set(headers, header::CONTENT_SECURITY_POLICY, if api { API } else { CONSOLE });
    if api {
        set(headers, header::CACHE_CONTROL, NOT_KEPT);
    }
    if hsts && arrival.tls {
        set(headers, header::STRICT_TRANSPORT_SECURITY, HSTS);
    }
    response
}

fn is_api(path: &str) -> bool {
    let first = path.trim_start_matches('/').split('/').next().unwrap_or_default();
    matches!(first, "services" | "servicesNS" | "api" | "metrics" | "healthz" | "readyz")
        || first.starts_with("arrow.flight.")
}

fn set(headers: &mut HeaderMap, name: HeaderName, value: &'static str) {
    headers.entry(name).or_insert(HeaderValue::from_static(value));
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use axum::Router;
    use axum::body::Body;
    use axum::middleware::from_fn_with_state;
    use tower::ServiceExt;

    use super::*;

    async fn header_of(path: &str, tls: bool, name: &str) -> Option<String> {
        let routes = Router::new().fallback(async || "x").layer(from_fn_with_state(true, add));
        let request = Request::builder().uri(path).extension(Arrival { tls, web: true });
        let response = routes.oneshot(request.body(Body::empty()).unwrap()).await.unwrap();
        response.headers().get(name).map(|value| value.to_str().unwrap().to_owned())
    }

    #[tokio::test]
    async fn the_console_runs_its_own_scripts_only() {
        let policy = header_of("/", false, "content-security-policy").await.unwrap();
        assert!(policy.contains("script-src 'self';") && !policy.contains("script-src 'unsafe"));
    }

    #[tokio::test]
    async fn answers_of_the_api_are_not_kept_and_not_shown_as_pages() {
        for path in ["/services/server/info", "/servicesNS/a/b/saved/searches", "/api/v1/sql"] {
            assert_eq!(header_of(path, false, "cache-control").await.unwrap(), NOT_KEPT);
            let policy = header_of(path, false, "content-security-policy").await.unwrap();
            assert!(policy.starts_with("default-src 'none'"), "{path}: {policy}");
        }
        assert_eq!(header_of("/assets/x.js", false, "cache-control").await, None);
    }

    #[tokio::test]
    async fn browsers_stay_with_tls_once_they_came_with_it() {
        assert_eq!(header_of("/", true, "strict-transport-security").await.unwrap(), HSTS);
        assert_eq!(header_of("/", false, "strict-transport-security").await, None);
    }
}
