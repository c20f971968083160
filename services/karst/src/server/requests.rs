//! Metrics of requests by route class and status, and responses that replace those of routes.

use std::time::Instant;

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use metrics::{counter, histogram};
use runtime::metrics as names;

use super::bodies::Outcome;
use super::ports::Role;

/// Measures a request from its header to the header of the response.
#[derive(Debug)]
pub(crate) struct Measured {
    port: &'static str,
    route: &'static str,
    begin: Instant,
}

impl Measured {
    pub(crate) fn begin(port: &'static str, path: &str) -> Self {
        Self { port, route: route_class(path), begin: Instant::now() }
    }

    pub(crate) fn end(self, status: StatusCode) {
        let Self { port, route, begin } = self;
        let seconds = begin.elapsed().as_secs_f64();
        histogram!(names::HTTP_SECONDS, "port" => port, "route" => route).record(seconds);
        let status = status_text(status);
        counter!(names::HTTP_REQUESTS, "port" => port, "route" => route, "status" => status)
            .increment(1);
    }
}

/// The class of a path: a bounded set of labels, whatever clients request.
fn route_class(path: &str) -> &'static str {
    let path = path.trim_start_matches('/');
    let (first, rest) = path.split_once('/').unwrap_or((path, ""));
    match first {
        "healthz" | "livez" | "readyz" => return "health",
        "metrics" => return "metrics",
        "api" => return "query",
        "v1" | "opentelemetry.proto.collector.logs.v1.LogsService" => return "events",
        "arrow.flight.protocol.FlightService" => return "flight",
        "services" => {}
        // servicesNS/<user>/<app>/...
        "servicesNS" => {
            let place = rest.splitn(3, '/').nth(2).unwrap_or_default();
            return rest_class(place);
        }
        _ => return "other",
    }
    rest_class(rest)
}

fn rest_class(rest: &str) -> &'static str {
    let (first, rest) = rest.split_once('/').unwrap_or((rest, ""));
    match first {
        "collector" if rest.starts_with("health") => "health",
        "collector" | "receivers" => "events",
        "search" => "search",
        "auth" => "login",
        _ => "rest",
    }
}

/// Whether requests of a path are in the access log: those of REST. HEC and OTLP, the phone-homes of
/// forwarders and their requests for indexers, probes, scrapers, Flight and the console's files are left out:
/// machines send so many of them that they would displace the requests of people.
pub(crate) fn is_logged(path: &str) -> bool {
    match route_class(path) {
        "login" | "query" | "search" => true,
        "rest" => {
            let repeated = ["broker/phonehome", "indexer_discovery"];
            !repeated.iter().any(|begin| below_services(path).starts_with(begin))
        }
        "events" => below_services(path).starts_with("receivers/"),
        _ => false,
    }
}

/// The rest of a path below `services`, or below the namespace of `servicesNS`; empty for other paths.
fn below_services(path: &str) -> &str {
    let (first, rest) = path.trim_start_matches('/').split_once('/').unwrap_or_default();
    match first {
        "services" => rest,
        "servicesNS" => rest.splitn(3, '/').nth(2).unwrap_or_default(),
        _ => "",
    }
}

/// The status as a label, for the statuses in use.
fn status_text(status: StatusCode) -> &'static str {
    match status.as_u16() {
        200 => "200",
        201 => "201",
        204 => "204",
        206 => "206",
        300..=399 => "3xx",
        400 => "400",
        401 => "401",
        403 => "403",
        404 => "404",
        405 => "405",
        408 => "408",
        409 => "409",
        413 => "413",
        415 => "415",
        429 => "429",
        431 => "431",
        500 => "500",
        503 => "503",
        other => match other / 100 {
            1 => "1xx",
            2 => "2xx",
            4 => "4xx",
            _ => "5xx",
        },
    }
}

/// The form of responses that replace those of routes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ErrorForm {
    Text,
    Hec,
    Elasticsearch,
}

impl ErrorForm {
    /// The form that the clients of a port read.
    pub(crate) fn of(role: Role, path: &str) -> Self {
        match role {
            Role::Elastic => Self::Elasticsearch,
            _ if is_hec(path) => Self::Hec,
            _ => Self::Text,
        }
    }
}

/// The response to a request beyond `maxThreads`.
pub(crate) fn too_many(form: ErrorForm) -> Response {
    counter!(names::HTTP_REFUSED, "reason" => "maxThreads").increment(1);
    let text = "Too many requests at a time ([httpServer] maxThreads); try again later.\n";
    if form == ErrorForm::Elasticsearch {
        let (status, kind) = (StatusCode::TOO_MANY_REQUESTS, "es_rejected_execution_exception");
        return api::elasticsearch_error(status, kind, text.trim_end());
    }
    (StatusCode::SERVICE_UNAVAILABLE, [(header::RETRY_AFTER, "5")], text).into_response()
}

/// Whether a path is one of HEC, whose clients read all answers as JSON.
fn is_hec(path: &str) -> bool {
    let rest = path.trim_start_matches('/').strip_prefix("services/collector");
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// The response of the route, or 408 if the body timed out: a route cannot distinguish that from a
/// broken body.
pub(crate) fn in_time(
    response: Response,
    outcome: &Outcome,
    multiplexed: bool,
    form: ErrorForm,
) -> Response {
    if !outcome.was_too_slow() {
        return response;
    }
    counter!(names::HTTP_TIMEOUTS, "reason" => "body").increment(1);
    let kind = response.headers().get(header::CONTENT_TYPE);
    if kind.is_some_and(|kind| kind.as_bytes().starts_with(b"application/grpc")) {
        return response;
    }
    let text = "The body did not come in time ([httpServer] bodyIdleTimeout, bodyMinRate).";
    let status = StatusCode::REQUEST_TIMEOUT;
    let mut response = match form {
        ErrorForm::Hec => {
            let body = serde_json::json!({"text": text, "code": status.as_u16()}).to_string();
            (status, [(header::CONTENT_TYPE, "application/json")], body).into_response()
        }
        ErrorForm::Elasticsearch => api::elasticsearch_error(status, "timeout_exception", text),
        ErrorForm::Text => (status, format!("{text}\n")).into_response(),
    };
    if !multiplexed {
        end_connection(&mut response);
    }
    response
}

/// Makes this response the last one of its HTTP/1 connection.
pub(crate) fn end_connection(response: &mut Response) {
    response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn paths_fall_into_few_classes() {
        for (path, class) in [
            ("/services/collector/event", "events"),
            ("/services/collector/health/1.0", "health"),
            ("/services/search/jobs/1/results", "search"),
            ("/servicesNS/admin/search/search/jobs", "search"),
            ("/servicesNS/nobody/app/saved/searches/x", "rest"),
            ("/services/auth/login", "login"),
            ("/api/v1/sql", "query"),
            ("/v1/logs", "events"),
            ("/assets/index-1.js", "other"),
            ("/", "other"),
            ("", "other"),
        ] {
            assert_eq!(route_class(path), class, "{path}");
            let logged = is_logged(path);
            assert_eq!(logged, !matches!(class, "events" | "health" | "other"), "{path}");
        }
    }

    #[test]
    fn requests_that_machines_repeat_are_not_in_the_access_log() {
        for path in [
            "/metrics",
            "/readyz",
            "/arrow.flight.protocol.FlightService/DoGet",
            "/services/broker/phonehome/connection_10.0.0.9_8089_web-1_guid",
            "/services/indexer_discovery",
            "/services/collector/event",
            "/servicesNS/nobody/search/collector/event",
        ] {
            assert!(!is_logged(path), "{path}");
        }
        for path in ["/services/receivers/simple", "/services/broker/connect/1/web-1/x"] {
            assert!(is_logged(path), "{path}");
        }
    }

    #[test]
    fn a_body_that_came_in_time_leaves_the_answer_as_it_is() {
        let created = StatusCode::CREATED.into_response();
        let response = in_time(created, &Outcome::default(), false, ErrorForm::Text);
        assert_eq!(response.status(), StatusCode::CREATED);
    }

    #[tokio::test]
    async fn clients_of_elasticsearch_read_its_form_of_errors() {
        let response = too_many(ErrorForm::of(Role::Elastic, "/_bulk"));
        assert_eq!(response.status(), StatusCode::TOO_MANY_REQUESTS);
        assert!(response.headers().contains_key(header::RETRY_AFTER));
        let body = axum::body::to_bytes(response.into_body(), 1 << 20).await.unwrap();
        let body: serde_json::Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(body["error"]["type"], "es_rejected_execution_exception");
        assert_eq!(body["status"], 429);
        let response = too_many(ErrorForm::of(Role::Web, "/_bulk"));
        assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE);
    }

    #[test]
    fn paths_of_hec_are_told_from_others() {
        for (path, expected) in [
            ("/services/collector", true),
            ("/services/collector/raw/1.0", true),
            ("/services/collectors", false),
            ("/services/auth/login", false),
        ] {
            assert_eq!(is_hec(path), expected, "{path}");
        }
    }
}
