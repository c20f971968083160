//! Services for the other processes of the cluster during the start: the copies of their journals and, if
//! this process may lead, the catalog. The starts of the others may need both: processes that start together
//! would otherwise wait for each other. Everything else is unavailable until the process has started.

use std::sync::{Arc, OnceLock};

use axum::Router;
use axum::extract::Request;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use tonic::Status;
use tonic::service::Routes;
use tower::ServiceExt;

/// The answer of a process to requests that it does not serve yet.
pub(crate) const STARTING: &str = "the process is starting";

/// The routes that are available once the process has started. Clones share them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Later(Arc<OnceLock<Router>>);

impl Later {
    /// Returns the routes of the start, with the later routes as their fallback.
    pub(crate) fn behind(&self, early: Routes) -> Routes {
        let later = self.clone();
        let rest = move |request| later.answer(request);
        Routes::from(early.into_axum_router().fallback(rest))
    }

    /// Serves everything from now on.
    pub(crate) fn open(&self, routes: Router) {
        // Set only once, because a process starts only once.
        let _ = self.0.set(routes);
    }

    async fn answer(self, request: Request) -> Response {
        if let Some(routes) = self.0.get() {
            return match routes.clone().oneshot(request).await {
                Ok(response) => response,
                Err(never) => match never {},
            };
        }
        let kind = request.headers().get(CONTENT_TYPE);
        let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        match kind.starts_with("application/grpc") {
            true => Status::unavailable(STARTING).into_http(),
            false => (StatusCode::SERVICE_UNAVAILABLE, STARTING).into_response(),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use axum::body::Body;
    use axum::routing::get;

    use super::*;

    async fn ask(routes: &Routes, path: &str, kind: &str) -> (StatusCode, Option<String>) {
        let request = Request::get(path).header(CONTENT_TYPE, kind).body(Body::empty()).unwrap();
        let answer = routes.clone().into_axum_router().oneshot(request).await.unwrap();
        let code = answer.headers().get("grpc-status");
        (answer.status(), code.map(|code| code.to_str().unwrap().to_owned()))
    }

    #[tokio::test]
    async fn what_is_not_served_yet_is_unavailable_and_served_once_the_process_has_started() {
        let later = Later::default();
        let early = Routes::from(Router::new().route("/copies", get(|| async { "copy" })));
        let routes = later.behind(early);
        let unavailable = (StatusCode::OK, Some("14".to_owned()));
        assert_eq!(ask(&routes, "/copies", "application/grpc").await, (StatusCode::OK, None));
        assert_eq!(ask(&routes, "/rows", "application/grpc+proto").await, unavailable);
        let (status, _) = ask(&routes, "/rows", "application/json").await;
        assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE);
        later.open(Router::new().route("/rows", get(|| async { "rows" })));
        assert_eq!(ask(&routes, "/rows", "application/grpc").await, (StatusCode::OK, None));
        assert_eq!(ask(&routes, "/copies", "application/grpc").await, (StatusCode::OK, None));
        assert_eq!(ask(&routes, "/none", "application/json").await.0, StatusCode::NOT_FOUND);
    }
}
