//! The spans of requests: only requests that begin a search, or are part of a sampled trace, have one.
//!
//! A console requests the progress of a search several times a second: if each of these requests were a
//! trace, they would be most of all traces. Inputs begin no traces either.

use std::sync::Arc;

use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderMap, StatusCode};
use axum::middleware::Next;
use axum::response::Response;
use runtime::trace::{Span, SpanKind, TraceContext, Tracer};

use crate::ApiState;
use crate::audit::begins_search;

/// Runs the request in a span, which is in its extensions as a [`TraceContext`].
pub(crate) async fn request(
    State(state): State<Arc<ApiState>>,
    mut request: Request,
    next: Next,
) -> Response {
    let tracer = state.search.tracer();
    if tracer.is_off() {
        return next.run(request).await;
    }
    let parent = parent(request.headers());
    if !parent.is_sampled() && !begins_search(&request) {
        return next.run(request).await;
    }
    let mut span = tracer.of_kind("request", SpanKind::Server, &parent);
    describe(&mut span, &request);
    request.extensions_mut().insert(span.context());
    let response = next.run(request).await;
    end(span, response.status());
    response
}

/// The span of a request to an input, if it is part of a sampled trace.
pub(crate) fn input(tracer: &Tracer, request: &Request, input: &'static str) -> Span {
    if tracer.is_off() {
        return Span::default();
    }
    let parent = parent(request.headers());
    if !parent.is_sampled() {
        return Span::default();
    }
    let mut span = tracer.of_kind("request", SpanKind::Server, &parent);
    describe(&mut span, request);
    span.set("karst.input", input);
    span
}

/// Ends the span of a request with its answer.
pub(crate) fn end(mut span: Span, status: StatusCode) {
    span.set("http.response.status_code", i64::from(status.as_u16()));
    if status.is_server_error() {
        span.fail(status);
    }
}

fn parent(headers: &HeaderMap) -> TraceContext {
    TraceContext::of_headers(|name| headers.get(name)?.to_str().ok())
}

/// The path is not in it: names of objects may be in it, and in its query secrets.
fn describe(span: &mut Span, request: &Request) {
    if !span.is_recording() {
        return;
    }
    let method = request.method().as_str().to_owned();
    let route = request.extensions().get::<MatchedPath>().map(|route| route.as_str().to_owned());
    span.rename(route.as_ref().map_or_else(|| method.clone(), |route| format!("{method} {route}")));
    span.set("http.request.method", method);
    if let Some(route) = route {
        span.set("http.route", route);
    }
}
