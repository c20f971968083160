//! Refuses requests of callers who lack the rights that the path needs. A path or method that is not declared
//! is refused for all callers.

use std::sync::Arc;

use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::error::RestError;
use crate::routing::{METHODS, Needs};
use crate::session::{Caller, unauthorized};

/// Accepts callers who have the rights that the path needs.
pub(crate) async fn authorize(
    State(needs): State<Arc<Needs>>,
    request: Request,
    next: Next,
) -> Response {
    let path = request.extensions().get::<MatchedPath>().map(|path| path.as_str().to_owned());
    let caller = request.extensions().get::<Caller>();
    match checked(&needs, path.as_deref().unwrap_or_default(), request.method(), caller) {
        Ok(()) => next.run(request).await,
        Err(response) => *response,
    }
}

fn checked(
    needs: &Needs,
    path: &str,
    method: &Method,
    caller: Option<&Caller>,
) -> Result<(), Box<Response>> {
    let Some(needs) = needs.of(path) else {
        let text = format!("no access right is declared for {path}");
        return Err(Box::new(RestError::forbidden(text).into_response()));
    };
    let method = if *method == Method::HEAD { &Method::GET } else { method };
    let declared = METHODS.iter().zip(needs);
    let need = declared.clone().find(|(known, _)| *known == method).and_then(|(_, need)| *need);
    let Some(need) = need else {
        let known = declared.filter(|(_, need)| need.is_some()).map(|(known, _)| known.as_str());
        return Err(Box::new(unknown_method(known.collect())));
    };
    match (need.capability(), caller) {
        (None, _) => Ok(()),
        (Some(capability), Some(caller)) => {
            caller.require(capability).map_err(|error| Box::new(error.into_response()))
        }
        (Some(_), None) => Err(Box::new(unauthorized().into_response())),
    }
}

fn unknown_method(mut names: Vec<&str>) -> Response {
    let error = RestError::new(StatusCode::METHOD_NOT_ALLOWED, "ERROR", "Method Not Allowed");
    let mut response = error.into_response();
    if names.contains(&"GET") {
        names.insert(1, "HEAD");
    }
    if let Ok(names) = HeaderValue::from_str(&names.join(",")) {
        response.headers_mut().insert(header::ALLOW, names);
    }
    response
}
