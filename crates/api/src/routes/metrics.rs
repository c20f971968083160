//! `/metrics`: all metrics, for Prometheus.
//!
//! Requests from this machine need no credentials, others need the scrape token or a login with the
//! capability `list_introspection`. A request that a proxy of this machine passes on counts as one from
//! another machine.

use std::net::SocketAddr;

use axum::extract::{ConnectInfo, Request, State};
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};

use super::health;
use crate::ApiState;
use crate::error::RestError;
use crate::rights::Need::Open;
use crate::routing::{Routes, get};
use crate::session;
#[cfg(test)]
use crate::tests::cases::{Case, case};

pub(super) fn routes() -> Routes {
    Routes::default().at("/metrics", get(Open, "Metrics for Prometheus", metrics))
}

/// The capability that a login needs.
const CAPABILITY: &str = "list_introspection";

async fn metrics(State(state): State<ApiState>, request: Request) -> Result<Response, RestError> {
    let peer = request.extensions().get::<ConnectInfo<SocketAddr>>().map(|peer| peer.0);
    let headers = request.headers();
    let token = state.settings.metrics_token.as_deref();
    if !is_local(peer, headers) && !token.is_some_and(|token| shows(headers, token)) {
        let (caller, _) =
            session::caller(&state, headers, session::source(request.extensions())).await?;
        caller.require(CAPABILITY)?;
    }
    health::measure(&state);
    let kind = [(header::CONTENT_TYPE, "text/plain; version=0.0.4")];
    Ok((kind, state.metrics.render()).into_response())
}

fn is_local(peer: Option<SocketAddr>, headers: &HeaderMap) -> bool {
    let passed_on = ["forwarded", "x-forwarded-for", "x-real-ip", "via"];
    peer.is_some_and(|peer| peer.ip().to_canonical().is_loopback())
        && !passed_on.iter().any(|name| headers.contains_key(*name))
}

/// Whether the headers have the token. All bytes are compared, however early some differ.
fn shows(headers: &HeaderMap, token: &str) -> bool {
    let value = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let sent = value.and_then(|value| {
        let (scheme, token) = value.split_once(' ')?;
        scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
    });
    let differ = |sent: &str| sent.bytes().zip(token.bytes()).fold(0, |sum, (a, b)| sum | (a ^ b));
    sent.is_some_and(|sent| sent.len() == token.len() && differ(sent) == 0)
}

/// Requests and their answers.
#[cfg(test)]
pub(super) fn cases() -> Vec<Case> {
    vec![case("GET /metrics", "", 200, ""), case("GET /metrics", "", 401, "Unauthorized").by("")]
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    #[test]
    fn this_machine_is_local_and_what_its_proxy_passes_on_is_not() {
        let peer = |text: &str| Some(text.parse().unwrap());
        let mut headers = HeaderMap::new();
        assert!(is_local(peer("127.0.0.1:1"), &headers));
        assert!(is_local(peer("[::ffff:127.0.0.1]:1"), &headers));
        assert!(!is_local(peer("192.0.2.1:1"), &headers));
        assert!(!is_local(None, &headers));
        headers.insert("x-forwarded-for", HeaderValue::from_static("192.0.2.1"));
        assert!(!is_local(peer("127.0.0.1:1"), &headers));
    }

    #[test]
    fn a_scraper_shows_the_whole_token() {
        let shown = |value: &'static str| {
            let headers =
                HeaderMap::from_iter([(header::AUTHORIZATION, HeaderValue::from_static(value))]);
            shows(&headers, "scrape-me")
        };
        assert!(shown("Bearer scrape-me") && shown("bearer scrape-me"));
        assert!(!shown("Bearer scrape") && !shown("Basic scrape-me") && !shown("scrape-me"));
    }
}
