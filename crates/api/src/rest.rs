//! Splunk-compatible REST: paths, sessions, the format of errors. One file per resource in `routes/`.

use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{FromRequestParts, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode, Uri, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use tower::util::MapRequestLayer;
use tower::{Layer, Service};

use crate::ApiState;
use crate::error::RestError;
use crate::output::{OutputMode, error_body};
use crate::params::Params;
use crate::routes::{
    apps, auth, buckets, complete, console, data_indexes, health, hec_tokens, inputstatus, jobs,
    messages, metrics, parser, receivers, server, sql, users,
};

/// Largest body of a REST request; events come in through HEC.
const MAX_BODY_BYTES: usize = 64 << 20;

/// The REST service, for `axum::serve`.
#[must_use]
pub fn router(
    state: ApiState,
) -> impl Service<Request, Response = Response, Error = std::convert::Infallible, Future: Send>
+ Clone
+ Send
+ 'static {
    let open = Router::new()
        .route("/services/auth/login", post(auth::login))
        .route("/healthz", get(health::live))
        .route("/readyz", get(health::ready))
        .route("/metrics", get(metrics::metrics))
        .fallback(console::file);
    let guarded = search_routes().merge(object_routes());
    let guarded = guarded.layer(from_fn_with_state(state.clone(), authenticate));
    let routes = open.merge(guarded).layer(from_fn_with_state(state.clone(), prepare));
    MapRequestLayer::new(canonical_path).layer(routes.with_state(state))
}

fn search_routes() -> Router<ApiState> {
    let jobs = Router::new()
        .route("/jobs", get(jobs::list).post(jobs::create))
        .route("/jobs/export", get(jobs::export).post(jobs::export))
        .route("/jobs/{sid}", get(jobs::show).post(jobs::touch).delete(jobs::remove))
        .route("/jobs/{sid}/control", post(jobs::control))
        .route("/jobs/{sid}/results", get(jobs::results).post(jobs::results))
        .route(
            "/jobs/{sid}/results_preview",
            get(jobs::results_preview).post(jobs::results_preview),
        )
        .route("/jobs/{sid}/inspector", get(jobs::inspector))
        .route("/jobs/{sid}/events", get(jobs::events).post(jobs::events))
        .route("/jobs/{sid}/timeline", get(jobs::timeline))
        .route("/jobs/{sid}/summary", get(jobs::summary))
        .route("/parser", post(parser::parse));
    Router::new().nest("/services/search", jobs.clone()).nest("/services/search/v2", jobs)
}

fn object_routes() -> Router<ApiState> {
    Router::new()
        .route("/services/auth/logout", post(auth::logout))
        .route("/services/server/info", get(server::info))
        .route("/services/server/info/server-info", get(server::info))
        .route("/services/server/status/cache", get(server::cache))
        .route("/services/server/status/queues", get(server::queues))
        .route("/services/admin/inputstatus", get(inputstatus::files))
        .route("/services/admin/inputstatus/TailingProcessor:FileStatus", get(inputstatus::files))
        .route("/services/messages", get(messages::list))
        .route("/services/apps/local", get(apps::list))
        .route("/services/authentication/users", get(users::list).post(users::create))
        .route("/services/authentication/users/{name}", get(users::show))
        .route("/services/authentication/current-context", get(users::current))
        .route("/services/data/indexes", get(data_indexes::list).post(data_indexes::create))
        .route("/services/data/indexes/{name}", get(data_indexes::show))
        .route("/services/data/indexes/{name}/roll-hot-buckets", post(data_indexes::roll))
        .route("/services/data/indexes/{name}/thaw", post(buckets::thaw))
        .route("/services/data/indexes/{name}/freeze", post(buckets::freeze))
        .route("/services/data/buckets", get(buckets::list))
        .route("/services/data/inputs/http", get(hec_tokens::list).post(hec_tokens::create))
        .route(
            "/services/data/inputs/http/{name}",
            get(hec_tokens::show).post(hec_tokens::edit).delete(hec_tokens::remove),
        )
        .route("/services/data/inputs/http/{name}/{action}", post(hec_tokens::act))
        .route("/services/receivers/simple", post(receivers::simple))
        .route("/api/v1/sql", post(sql::query))
        .route("/api/v1/complete", get(complete::complete))
}

/// `/servicesNS/{user}/{app}/x/` is `/services/x`: the namespace of stored objects has no other
/// meaning yet, and a slash at the end never has one.
fn canonical_path(mut request: Request) -> Request {
    let path = request.uri().path();
    let mut canonical = match path.strip_prefix("/servicesNS/") {
        Some(rest) => {
            let object = rest.splitn(3, '/').nth(2).unwrap_or_default();
            format!("/services/{object}")
        }
        None => path.to_owned(),
    };
    while canonical.len() > 1 && canonical.ends_with('/') {
        canonical.pop();
    }
    if canonical != path {
        let query = request.uri().query().map(|query| format!("?{query}")).unwrap_or_default();
        if let Ok(uri) = format!("{canonical}{query}").parse::<Uri>() {
            *request.uri_mut() = uri;
        }
    }
    request
}

/// Reads the parameters once, and writes errors in the format they ask for.
async fn prepare(State(_state): State<ApiState>, request: Request, next: Next) -> Response {
    let (mut parts, body) = request.into_parts();
    let Ok(body) = to_bytes(body, MAX_BODY_BYTES).await else {
        let text = format!("the body is larger than {MAX_BODY_BYTES} bytes");
        let error = RestError::new(StatusCode::PAYLOAD_TOO_LARGE, "FATAL", text);
        return OutputMode::Xml.respond(error.status, error_body(&error, OutputMode::Xml));
    };
    // A body of events is no form, however much it looks like one.
    let takes_events = parts.uri.path().starts_with("/services/receivers/");
    let form: &[u8] = if takes_events { &[] } else { &body };
    let params = Params::parse(parts.uri.query().unwrap_or_default(), form);
    let is_api = parts.uri.path().starts_with("/api/");
    let mode = OutputMode::of(&params).unwrap_or(OutputMode::Xml);
    let mode = if is_api { OutputMode::Json } else { mode };
    parts.extensions.insert(params);
    parts.extensions.insert(RawBody(body.clone()));
    let mut response = next.run(Request::from_parts(parts, Body::from(body))).await;
    if let Some(error) = response.extensions_mut().remove::<RestError>() {
        let headers = std::mem::take(response.headers_mut());
        response = mode.respond(error.status, error_body(&error, mode));
        if let Some(challenge) = headers.get(header::WWW_AUTHENTICATE) {
            response.headers_mut().insert(header::WWW_AUTHENTICATE, challenge.clone());
        }
    }
    response
}

/// The body as it came.
#[derive(Debug, Clone)]
pub(crate) struct RawBody(pub(crate) Bytes);

impl<S: Send + Sync> FromRequestParts<S> for RawBody {
    type Rejection = RestError;
    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, RestError> {
        Ok(parts.extensions.get::<Self>().cloned().unwrap_or(Self(Bytes::new())))
    }
}

/// Who asks.
#[derive(Debug, Clone)]
pub(crate) struct Caller {
    pub(crate) user: String,
    pub(crate) session: Option<String>,
}

impl<S: Send + Sync> FromRequestParts<S> for Caller {
    type Rejection = RestError;
    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, RestError> {
        parts.extensions.get::<Self>().cloned().ok_or_else(unauthorized)
    }
}

fn unauthorized() -> RestError {
    let mut error = RestError::new(StatusCode::UNAUTHORIZED, "ERROR", "Unauthorized");
    error.challenge = true;
    error
}

async fn authenticate(State(state): State<ApiState>, mut request: Request, next: Next) -> Response {
    match caller(&state, request.headers()).await {
        Ok(caller) => {
            request.extensions_mut().insert(caller);
            next.run(request).await
        }
        Err(error) => error.into_response(),
    }
}

async fn caller(state: &ApiState, headers: &HeaderMap) -> Result<Caller, RestError> {
    if let Some(value) = headers.get(header::AUTHORIZATION).and_then(|v| v.to_str().ok()) {
        let (scheme, credentials) = value.split_once(' ').unwrap_or((value, ""));
        let credentials = credentials.trim();
        return match scheme.to_ascii_lowercase().as_str() {
            "splunk" | "bearer" => session_caller(state, credentials),
            "basic" => basic_caller(state, credentials).await,
            _ => Err(unauthorized()),
        };
    }
    match cookie_session(headers) {
        Some(key) => session_caller(state, &key),
        None => Err(unauthorized()),
    }
}

fn session_caller(state: &ApiState, key: &str) -> Result<Caller, RestError> {
    let user = state.accounts.session_user(key).ok_or_else(|| {
        RestError::new(StatusCode::UNAUTHORIZED, "WARN", "call not properly authenticated")
    })?;
    Ok(Caller { user, session: Some(key.to_owned()) })
}

async fn basic_caller(state: &ApiState, credentials: &str) -> Result<Caller, RestError> {
    let decoded = BASE64_STANDARD.decode(credentials).ok();
    let text = decoded.and_then(|bytes| String::from_utf8(bytes).ok()).ok_or_else(unauthorized)?;
    let (user, password) = text.split_once(':').ok_or_else(unauthorized)?;
    if state.accounts.verify(user, password).await {
        Ok(Caller { user: user.to_owned(), session: None })
    } else {
        Err(unauthorized())
    }
}

/// The cookie that login sets, `splunkd_<port>`.
fn cookie_session(headers: &HeaderMap) -> Option<String> {
    let cookies = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    cookies.flat_map(|line| line.split(';')).find_map(|pair| {
        let (name, value) = pair.trim().split_once('=')?;
        name.starts_with("splunkd_").then(|| value.trim_matches('"').to_owned())
    })
}
