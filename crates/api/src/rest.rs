//! Splunk-compatible REST: the list of paths, and what happens to every request. One file per resource
//! in `routes/`; who asks is found out in `session`.
//!
//! A path is written without its namespace, without the version of the search API and without a slash
//! at the end: those mean the same with and without. A `+` in it is a blank, as clients of Splunk write
//! names with blanks.

use access::saml::ACS_PATH;
use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{FromRequestParts, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, StatusCode, Uri, header};
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{delete, get, post};
use inputs::body::BodyError;
use tower::util::MapRequestLayer;
use tower::{Layer, Service};

use crate::ApiState;
use crate::audit::{self, Observed};
use crate::body::{self, Unwatched};
use crate::error::RestError;
use crate::flight;
use crate::namespace::PathNamespace;
use crate::output::{OutputMode, error_body};
use crate::params::Params;
use crate::receiver::RETRY_AFTER;
use crate::rights::authorize;
use crate::routes::{
    api_tokens, apps, auth, buckets, complete, configs, console, data_indexes, data_inputs,
    directory, explain, export, health, hec_tokens, inputstatus, jobs, kvstore, lookups, messages,
    metrics, objects, oidc, parser, passwords, props, receivers, results, roles, saml,
    saved_searches, server, settings, single_sign_on, sql, users,
};
use crate::security_headers;
use crate::session::authenticate;

/// Bytes of a body below the paths where a name and a password, or a provider's word, become a session:
/// the only ones read of somebody unknown.
const MAX_LOGIN_BYTES: usize = 64 << 10;
/// Bytes of a form with a SAML provider's response: 512 KiB in base64, whose characters may be escaped.
const MAX_SAML_BYTES: usize = 1 << 20;
/// Bytes of a body that can only be a form or a query.
const MAX_FORM_BYTES: usize = 16 << 20;

/// The REST service, for `axum::serve`.
#[must_use]
pub fn router(
    state: ApiState,
) -> impl Service<Request, Response = Response, Error = std::convert::Infallible, Future: Send>
+ Clone
+ Send
+ 'static {
    let guarded = search_routes()
        .merge(server_routes())
        .merge(access_routes())
        .merge(data_routes())
        .merge(object_routes())
        .merge(own_routes());
    // From the inside out: who asks is known before a byte of the body is read.
    let guarded = guarded
        .layer(from_fn_with_state(state.clone(), read_body))
        .layer(from_fn_with_state(state.clone(), health::refuse_changes))
        .layer(from_fn(authorize))
        .layer(from_fn_with_state(state.clone(), authenticate));
    let login = Router::new()
        .route("/services/auth/login", post(auth::login))
        .route("/services/auth/providers", get(single_sign_on::providers))
        .route("/services/auth/oidc/login", get(oidc::begin))
        .route("/services/auth/oidc/callback", get(oidc::finish))
        .route("/saml/login", get(saml::begin))
        .route("/saml/acs", post(saml::accept))
        .route("/saml/finish", get(saml::finish))
        .route("/saml/spmetadata", get(saml::metadata))
        .route("/saml/logout", get(saml::signed_out).post(saml::signed_out))
        .layer(from_fn_with_state(state.clone(), read_body));
    let routes = open_routes().merge(login).merge(guarded).layer(from_fn(write_errors));
    let flight = flight::router(state.clone());
    let hsts = state.settings.hsts;
    let routes = routes.with_state(state.clone()).merge(flight);
    let routes = routes.layer(from_fn_with_state(state, audit::record));
    let routes = routes.layer(from_fn_with_state(hsts, security_headers::add));
    MapRequestLayer::new(canonical_path).layer(routes)
}

/// What needs no session.
fn open_routes() -> Router<ApiState> {
    Router::new()
        .route("/healthz", get(health::live))
        .route("/readyz", get(health::ready))
        .route("/metrics", get(metrics::metrics))
        .fallback(console::file)
}

fn search_routes() -> Router<ApiState> {
    Router::new()
        .route("/services/search/jobs", get(jobs::list).post(jobs::create))
        .route("/services/search/jobs/export", get(export::export).post(export::export))
        .route(
            "/services/search/jobs/{sid}",
            get(jobs::show).post(jobs::touch).delete(jobs::remove),
        )
        .route("/services/search/jobs/{sid}/control", post(jobs::control))
        .route("/services/search/jobs/{sid}/results", get(results::results).post(results::results))
        .route(
            "/services/search/jobs/{sid}/results_preview",
            get(results::results_preview).post(results::results_preview),
        )
        .route("/services/search/jobs/{sid}/events", get(results::events).post(results::events))
        .route("/services/search/jobs/{sid}/timeline", get(results::timeline))
        .route("/services/search/jobs/{sid}/summary", get(results::summary))
        .route("/services/search/jobs/{sid}/inspector", get(jobs::inspector))
        .route("/services/search/jobs/{sid}/search.log", get(jobs::log))
        .route("/services/search/parser", post(parser::parse).fallback(parser::only_post))
        .route("/services/search/timeparser", get(parser::times))
        .route("/services/search/typeahead", get(parser::typeahead))
}

fn server_routes() -> Router<ApiState> {
    Router::new()
        .route("/services", get(directory::top))
        .route("/services/server", get(directory::server))
        .route("/services/server/info", get(server::info))
        .route("/services/server/info/server-info", get(server::info))
        .route("/services/server/sysinfo", get(server::system))
        .route("/services/server/roles", get(server::roles))
        .route("/services/server/health", get(server::health))
        .route("/services/server/health/splunkd", get(server::health))
        .route("/services/server/settings", get(settings::show))
        .route("/services/server/settings/settings", get(settings::show).post(settings::edit))
        .route("/services/server/logger", get(settings::loggers))
        .route(
            "/services/server/logger/{name}",
            get(settings::show_logger).post(settings::edit_logger),
        )
        .route("/services/server/control/restart", post(server::restart))
        .route("/services/server/status", get(directory::status))
        .route("/services/server/status/cache", get(server::cache))
        .route("/services/server/status/queues", get(server::queues))
        .route("/services/messages", get(messages::list).post(messages::create))
        .route("/services/messages/{name}", get(messages::show).delete(messages::remove))
        .route("/services/licenser", get(directory::licenser))
        .route("/services/licenser/{kind}", get(directory::licences))
        .route("/services/alerts/fired_alerts", get(directory::empty))
        .route("/services/alerts/fired_alerts/{name}", get(directory::empty))
        .route("/services/apps/local", get(apps::list).post(apps::create))
        .route("/services/apps/local/{name}", get(apps::show).post(apps::edit).delete(apps::remove))
        .route("/services/apps/local/{name}/update", get(apps::update))
        .route("/services/apps/local/{name}/{action}", post(apps::act))
}

fn access_routes() -> Router<ApiState> {
    Router::new()
        .route("/services/auth/logout", post(auth::logout))
        .route("/services/authentication/users", get(users::list).post(users::create))
        .route(
            "/services/authentication/users/{name}",
            get(users::show).post(users::edit).delete(users::remove),
        )
        .route("/services/authentication/current-context", get(users::current))
        .route("/services/authentication/current-context/context", get(users::current))
        .route("/services/authentication/httpauth-tokens", get(users::sessions))
        .route("/services/authentication/httpauth-tokens/{name}", delete(users::close_session))
        .route("/services/authorization/tokens", get(api_tokens::list).post(api_tokens::create))
        .route(
            "/services/authorization/tokens/{name}",
            get(api_tokens::list_of).post(api_tokens::edit).delete(api_tokens::remove),
        )
        .route("/services/authorization/roles", get(roles::list).post(roles::create))
        .route(
            "/services/authorization/roles/{name}",
            get(roles::show).post(roles::edit).delete(roles::remove),
        )
        .route("/services/authorization/capabilities", get(roles::capabilities))
        .route("/services/authorization/grantable_capabilities", get(roles::grantable))
}

fn data_routes() -> Router<ApiState> {
    Router::new()
        .route("/services/data/indexes", get(data_indexes::list).post(data_indexes::create))
        .route(
            "/services/data/indexes/{name}",
            get(data_indexes::show).post(data_indexes::edit).delete(data_indexes::remove),
        )
        .route("/services/data/indexes/{name}/enable", post(data_indexes::enable))
        .route("/services/data/indexes/{name}/disable", post(data_indexes::disable))
        .route("/services/data/indexes/{name}/roll-hot-buckets", post(data_indexes::roll))
        .route("/services/data/indexes/{name}/thaw", post(buckets::thaw))
        .route("/services/data/indexes/{name}/freeze", post(buckets::freeze))
        .route("/services/data/buckets", get(buckets::list))
        .route("/services/data/buckets/{id}/quarantine", post(buckets::quarantine))
        .route("/services/data/buckets/{id}/release", post(buckets::release))
        .route("/services/data/inputs", get(data_inputs::list))
        .route("/services/data/inputs/tcp", get(data_inputs::tcp))
        .route("/services/data/inputs/tcp/{kind}", get(data_inputs::of_tcp))
        .route("/services/data/inputs/tcp/{kind}/{name}", get(data_inputs::show_tcp))
        .route(
            "/services/data/inputs/oneshot",
            get(data_inputs::oneshots).post(data_inputs::oneshot),
        )
        .route("/services/data/inputs/http", get(hec_tokens::list).post(hec_tokens::create))
        .route(
            "/services/data/inputs/http/{name}",
            get(hec_tokens::show).post(hec_tokens::edit).delete(hec_tokens::remove),
        )
        .route("/services/data/inputs/http/{name}/{action}", post(hec_tokens::act))
        .route("/services/data/inputs/{kind}", get(data_inputs::of_kind))
        .route("/services/data/inputs/{kind}/{name}", get(data_inputs::show))
        .route("/services/data/modular-inputs", get(directory::empty))
        .route("/services/admin/inputstatus", get(inputstatus::files))
        .route("/services/admin/inputstatus/TailingProcessor:FileStatus", get(inputstatus::files))
        .route("/services/receivers/simple", post(receivers::simple))
        .route("/services/receivers/stream", post(receivers::stream))
}

/// Stanzas of `.conf` files, and what belongs to them.
fn object_routes() -> Router<ApiState> {
    use objects::{action, collection, member};
    Router::new()
        .route("/services/saved/searches", collection(&objects::SAVED_SEARCHES))
        .route("/services/saved/searches/{name}", member(&objects::SAVED_SEARCHES))
        .route("/services/saved/searches/{name}/dispatch", post(saved_searches::dispatch))
        .route("/services/saved/searches/{name}/history", get(saved_searches::history))
        .route("/services/saved/searches/{name}/scheduled_times", get(saved_searches::times))
        .route(
            "/services/saved/searches/{name}/suppress",
            get(saved_searches::suppression).post(saved_searches::suppress),
        )
        .route("/services/saved/searches/{name}/acknowledge", post(saved_searches::acknowledge))
        .route("/services/saved/searches/{name}/{action}", action(&objects::SAVED_SEARCHES))
        .route("/services/saved/eventtypes", collection(&objects::EVENT_TYPES))
        .route("/services/saved/eventtypes/{name}", member(&objects::EVENT_TYPES))
        .route("/services/saved/eventtypes/{name}/{action}", action(&objects::EVENT_TYPES))
        .route("/services/data/macros", collection(&objects::MACROS))
        .route("/services/data/macros/{name}", member(&objects::MACROS))
        .route("/services/data/macros/{name}/{action}", action(&objects::MACROS))
        .route("/services/admin/macros", collection(&objects::MACROS))
        .route("/services/admin/macros/{name}", member(&objects::MACROS))
        .route("/services/admin/macros/{name}/{action}", action(&objects::MACROS))
        .route("/services/data/transforms/lookups", collection(&objects::LOOKUPS))
        .route("/services/data/transforms/lookups/{name}", member(&objects::LOOKUPS))
        .route("/services/data/transforms/lookups/{name}/{action}", action(&objects::LOOKUPS))
        .route("/services/data/transforms/extractions", collection(&objects::EXTRACTIONS))
        .route("/services/data/transforms/extractions/{name}", member(&objects::EXTRACTIONS))
        .route(
            "/services/data/transforms/extractions/{name}/{action}",
            action(&objects::EXTRACTIONS),
        )
        .route("/services/data/ui/views", collection(&objects::VIEWS))
        .route("/services/data/ui/views/{name}", member(&objects::VIEWS))
        .route("/services/data/ui/views/{name}/{action}", action(&objects::VIEWS))
        .route("/services/datamodel/model", collection(&objects::DATAMODELS))
        .route("/services/datamodel/model/{name}", member(&objects::DATAMODELS))
        .route("/services/datamodel/model/{name}/{action}", action(&objects::DATAMODELS))
        .route("/services/storage/collections/config", collection(&objects::COLLECTIONS))
        .route("/services/storage/collections/config/{name}", member(&objects::COLLECTIONS))
        .route(
            "/services/storage/collections/config/{name}/{action}",
            action(&objects::COLLECTIONS),
        )
        .merge(document_routes())
        .merge(password_routes())
        .merge(props_routes())
        .merge(conf_routes())
}

fn document_routes() -> Router<ApiState> {
    Router::new()
        .route(
            "/services/storage/collections/data/{name}",
            get(kvstore::query).post(kvstore::insert).delete(kvstore::delete_found),
        )
        .route(
            "/services/storage/collections/data/{name}/{key}",
            get(kvstore::show).post(kvstore::update).delete(kvstore::delete),
        )
        .route("/services/data/lookup-table-files", get(lookups::list).post(lookups::create))
        .route(
            "/services/data/lookup-table-files/{name}",
            get(lookups::show).post(lookups::edit).delete(lookups::remove),
        )
        .route(
            "/services/data/lookup-table-files/{name}/{action}",
            get(lookups::look).post(lookups::act),
        )
}

fn password_routes() -> Router<ApiState> {
    Router::new()
        .route("/services/storage/passwords", get(passwords::list).post(passwords::create))
        .route(
            "/services/storage/passwords/{name}",
            get(passwords::show).post(passwords::edit).delete(passwords::remove),
        )
}

fn props_routes() -> Router<ApiState> {
    Router::new()
        .route("/services/data/props", get(props::kinds))
        .route("/services/data/props/{kind}", get(props::list).post(props::create))
        .route(
            "/services/data/props/{kind}/{name}",
            get(props::show).post(props::edit).delete(props::remove),
        )
}

fn conf_routes() -> Router<ApiState> {
    Router::new()
        .route("/services/configs/{file}", get(configs::list).post(configs::create))
        .route(
            "/services/configs/{file}/{name}",
            get(configs::show).post(configs::edit).delete(configs::remove),
        )
        .route("/services/configs/{file}/{name}/{action}", post(configs::act))
        .route("/services/properties", get(configs::property_files).post(configs::create_file))
        .route("/services/properties/{file}", get(configs::stanzas).post(configs::create_stanza))
        .route("/services/properties/{file}/{name}", get(configs::keys).post(configs::set_keys))
        .route(
            "/services/properties/{file}/{name}/{key}",
            get(configs::value).post(configs::set_value),
        )
}

/// What Splunk does not have.
fn own_routes() -> Router<ApiState> {
    Router::new()
        .route("/api/v1/sql", post(sql::query))
        .route("/api/v1/explain", get(explain::explain).post(explain::explain))
        .route("/api/v1/complete", get(complete::complete))
}

/// Takes the namespace, the version of the search API and slashes at the end out of the path.
fn canonical_path(mut request: Request) -> Request {
    let path = request.uri().path();
    let (namespace, mut canonical) = PathNamespace::split(path);
    if canonical.starts_with("/services/") && canonical.contains('+') {
        canonical = canonical.replace('+', "%20");
    }
    if let Some(rest) = canonical.strip_prefix("/services/search/v2/") {
        canonical = format!("/services/search/{rest}");
    }
    while canonical.len() > 1 && canonical.ends_with('/') {
        canonical.pop();
    }
    if canonical != path {
        let query = request.uri().query().map(|query| format!("?{query}")).unwrap_or_default();
        if let Ok(uri) = format!("{canonical}{query}").parse::<Uri>() {
            *request.uri_mut() = uri;
        }
    }
    request.extensions_mut().insert(namespace);
    request
}

/// Bytes of a body on this path: forms are small, documents and events are not.
fn body_limit(state: &ApiState, method: &Method, path: &str) -> usize {
    let most = state.settings.max_content_length;
    let documents = [
        "/services/receivers/",
        "/services/storage/collections/data/",
        "/services/data/lookup-table-files",
        "/services/data/ui/views",
        "/services/apps/local",
        "/services/configs/",
        "/services/search/jobs",
    ];
    if path == ACS_PATH && state.accounts.saml().is_some() {
        MAX_SAML_BYTES.min(most)
    } else if path.starts_with("/services/auth/") || path.starts_with("/saml/") {
        MAX_LOGIN_BYTES.min(most)
    } else if documents.iter().any(|begin| path.starts_with(begin)) && !method.is_safe() {
        most
    } else {
        MAX_FORM_BYTES.min(most)
    }
}

/// Reads the body, and its parameters once.
async fn read_body(State(state): State<ApiState>, request: Request, next: Next) -> Response {
    let (mut parts, body) = request.into_parts();
    let path = parts.uri.path();
    let query = parts.uri.query().unwrap_or_default();
    // A stream of events may have no end: it goes on to its route as it comes.
    if path == "/services/receivers/stream" {
        let params = Params::parse(query, &[]);
        observe(&parts, &params, false, 0);
        parts.extensions.insert(params);
        return next.run(Request::from_parts(parts, body)).await;
    }
    let limit = body_limit(&state, &parts.method, path);
    let body = match body::read(&state.request_memory, body, limit, &mut Unwatched).await {
        Ok(body) => body,
        Err(error) => return refused_body(&error).into_response(),
    };
    let is_form = is_form(path, &parts.headers);
    let form: &[u8] = if is_form { &body } else { &[] };
    let most = state.settings.max_form_parameters;
    let params = match Params::read(query, form, most, &state.request_memory).await {
        Ok(params) => params,
        Err(error) => return RestError::from(error).into_response(),
    };
    let mode = mode_of(&parts, &params);
    observe(&parts, &params, is_form, body.len());
    parts.extensions.insert(params);
    parts.extensions.insert(RawBody(body.clone()));
    let response = next.run(Request::from_parts(parts, Body::from(body))).await;
    finish(response, mode)
}

fn refused_body(error: &BodyError) -> RestError {
    let status = body::status(error);
    let text = match error {
        BodyError::TooLarge { limit } => format!(
            "the body is larger than {limit} bytes, the limit of this path ([httpServer] \
             max_content_length of server.conf, and less where only forms are taken)"
        ),
        error => error.to_string(),
    };
    RestError::new(status, "FATAL", text)
}

/// Reads the parameters of the URL, and writes the errors of requests whose body was not read.
async fn write_errors(request: Request, next: Next) -> Response {
    let (mut parts, body) = request.into_parts();
    let params = Params::parse(parts.uri.query().unwrap_or_default(), &[]);
    let mode = mode_of(&parts, &params);
    parts.extensions.insert(params);
    finish(next.run(Request::from_parts(parts, body)).await, mode)
}

/// The format of an error.
fn mode_of(parts: &Parts, params: &Params) -> OutputMode {
    let accepts = parts.headers.get(header::ACCEPT).and_then(|value| value.to_str().ok());
    if parts.uri.path().starts_with("/api/") {
        return OutputMode::Json;
    }
    match params.text("output_mode") {
        None if accepts.is_some_and(|kinds| kinds.starts_with("application/json")) => {
            OutputMode::Json
        }
        _ => OutputMode::of(params).unwrap_or(OutputMode::Xml),
    }
}

/// Shows the parameters to the audit trail.
fn observe(parts: &Parts, params: &Params, form: bool, body: usize) {
    if let Some(seen) = parts.extensions.get::<Observed>() {
        seen.request(params, form, body);
    }
}

/// Whether a body holds parameters: events and documents do not, however much they may look like them.
/// Forms often come without a Content-Type.
fn is_form(path: &str, headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let is_json = kind.is_some_and(|kind| kind.starts_with("application/json"));
    let is_document = path.starts_with("/services/storage/collections/data/");
    !is_json && !is_document && !path.starts_with("/services/receivers/")
}

/// Marks an error that has its body.
#[derive(Debug, Clone)]
pub(crate) struct Written;

/// Gives an error its body.
fn finish(mut response: Response, mode: OutputMode) -> Response {
    if response.extensions().get::<Written>().is_some() {
        return response;
    }
    let unknown_method = response.status() == StatusCode::METHOD_NOT_ALLOWED;
    let error = response.extensions_mut().remove::<RestError>().or_else(|| {
        let error = RestError::new(response.status(), "ERROR", "Method Not Allowed");
        unknown_method.then_some(error)
    });
    let Some(error) = error else { return response };
    let headers = std::mem::take(response.headers_mut());
    let mut response = mode.respond(error.status, error_body(&error, mode));
    response.extensions_mut().insert(Written);
    if response.status() == StatusCode::SERVICE_UNAVAILABLE {
        response.headers_mut().insert(header::RETRY_AFTER, RETRY_AFTER.as_secs().into());
    }
    for name in [header::WWW_AUTHENTICATE, header::ALLOW, header::SET_COOKIE] {
        if let Some(value) = headers.get(&name) {
            response.headers_mut().insert(name, value.clone());
        }
    }
    // The audit trail says why.
    response.extensions_mut().insert(error);
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
