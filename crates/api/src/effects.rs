//! Which requests change something, by their method and canonical path.
//!
//! Guarantees: the check of a request's origin, the audit trail and the refusal of changes by a server that
//! may change nothing agree about that.

use axum::http::Method;

/// The last segment of the paths that read the files of the configuration directory again.
pub(crate) const RELOAD: &str = "_reload";
/// The path that does the same.
pub(crate) const REFRESH: &str = "/services/debug/refresh";

/// Whether a request may change something. Requests that reload do, also with GET, as in Splunk.
pub(crate) fn changes(method: &Method, path: &str) -> bool {
    match *method {
        // HEAD runs the handler of GET.
        Method::GET | Method::HEAD => reloads(path),
        Method::OPTIONS => false,
        _ => true,
    }
}

/// Whether requests of this path read the files of the configuration directory again.
pub(crate) fn reloads(path: &str) -> bool {
    path == REFRESH
        || (path.starts_with("/services/") && path.rsplit('/').next().is_some_and(is_reload))
}

/// Whether a segment is `_reload` without its escapes, which handlers decode.
fn is_reload(segment: &str) -> bool {
    let mut pairs = form_urlencoded::parse(segment.as_bytes());
    pairs.next().is_some_and(|(name, _)| name == RELOAD)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_that_reload_change_something_with_every_method_that_runs_a_handler() {
        for path in [
            REFRESH,
            "/services/apps/local/_reload",
            "/services/apps/local/a/_reload",
            "/services/configs/conf-props/%5Frel%6Fad",
        ] {
            for method in [Method::GET, Method::HEAD, Method::POST] {
                assert!(changes(&method, path), "{method} {path}");
            }
            assert!(!changes(&Method::OPTIONS, path), "{path}");
        }
        for path in ["/services/apps/local/_new", "/services/apps/reload", "/assets/_reload"] {
            assert!(!changes(&Method::GET, path) && changes(&Method::DELETE, path), "{path}");
        }
    }
}
