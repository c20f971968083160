//! Splunk-compatible REST: the processing of every request before and after its route. Routes are declared in
//! `routes/`, one file per resource; the caller is determined in `session`.
//!
//! Routes are declared without namespace, without the version of the search API and without a slash at the
//! end: requests with and without them are equivalent. A `+` in a path is a blank, as clients of Splunk write
//! names with blanks.

use std::sync::Arc;

use access::saml::ACS_PATH;
use axum::body::{Body, HttpBody};
use axum::extract::{MatchedPath, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, StatusCode, Uri, header};
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use inputs::body::BodyError;
use tower::util::MapRequestLayer;
use tower::{Layer, Service};

use crate::ApiState;
use crate::audit::{self, Observed};
use crate::authorize::authorize;
use crate::body::{self, NotSpooled, RawBody, Spooled, Unwatched};
use crate::error::{RestError, Written};
use crate::flight;
use crate::namespace::PathNamespace;
use crate::output::{OutputMode, error_body};
use crate::params::Params;
use crate::receiver::RETRY_AFTER;
use crate::routes::apps::takes_app;
use crate::routes::bundle::takes_bundle;
use crate::routes::deployment_broker::PHONE_HOME;
use crate::routes::preview::PATH as PREVIEW;
use crate::routes::{self, console, health};
use crate::security_headers;
use crate::session::authenticate;
use crate::traced;

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
    // Layers clone their state for each request.
    let shared = Arc::new(state.clone());
    let (guarded, needs) = routes::guarded().into_parts();
    // From the inside out: the caller is determined before a byte of the body is read.
    let guarded = guarded
        .layer(from_fn_with_state(Arc::clone(&shared), read_body))
        .layer(from_fn_with_state(Arc::clone(&shared), health::refuse_changes))
        .layer(from_fn_with_state(Arc::new(needs), authorize))
        .layer(from_fn_with_state(Arc::clone(&shared), authenticate));
    let (login, _) = routes::login().into_parts();
    let login = login.layer(from_fn_with_state(Arc::clone(&shared), read_body));
    let (keyed, _) = routes::keyed().into_parts();
    let keyed = keyed.layer(from_fn_with_state(Arc::clone(&shared), read_body));
    let (open, _) = routes::open().into_parts();
    let open = open.fallback(console::file);
    let routes = open.merge(login).merge(keyed).merge(guarded).layer(from_fn(write_errors));
    let flight = flight::router(state.clone());
    let hsts = state.settings.hsts;
    let routes = routes.with_state(state).merge(flight);
    let routes = routes.layer(from_fn_with_state(Arc::clone(&shared), audit::record));
    let routes = routes.layer(from_fn(outlast_sender));
    let routes = routes.layer(from_fn_with_state(shared, traced::request));
    let routes = routes.layer(from_fn_with_state(hsts, security_headers::add));
    MapRequestLayer::new(canonical_path).layer(routes)
}

/// Aliases of paths; the first two are those of former versions.
const FORMER: [(&str, &str); 3] = [
    ("/services/cluster/master", "/services/cluster/manager"),
    ("/services/cluster/slave", "/services/cluster/peer"),
    ("/services/data/models", "/services/datamodel/model"),
];

/// Collections below `/services/admin`, and their paths below `/services`.
const ADMIN: [(&str, &str); 32] = [
    ("alert_actions", "alerts/alert_actions"),
    ("calcfields", "data/props/calcfields"),
    ("collections-conf", "storage/collections/config"),
    ("commandsconf", "data/commands"),
    ("datamodel-files", "datamodel/model"),
    ("directory", "directory"),
    ("distsearch-peer", "search/distributed/peers"),
    ("eventtypes", "saved/eventtypes"),
    ("fieldaliases", "data/props/fieldaliases"),
    ("indexes", "data/indexes"),
    ("indexes-extended", "data/indexes-extended"),
    ("localapps", "apps/local"),
    ("lookup-table-files", "data/lookup-table-files"),
    ("messages", "messages"),
    ("nav", "data/ui/nav"),
    ("panels", "data/ui/panels"),
    ("passwords", "storage/passwords"),
    ("props-extract", "data/props/extractions"),
    ("props-lookup", "data/props/lookups"),
    ("roles", "authorization/roles"),
    ("savedsearch", "saved/searches"),
    ("search-concurrency-settings-handler", "search/concurrency-settings"),
    ("server-info", "server/info"),
    ("sourcetypes", "saved/sourcetypes"),
    ("system-info", "server/sysinfo"),
    ("transforms-extract", "data/transforms/extractions"),
    ("transforms-lookup", "data/transforms/lookups"),
    ("ui-prefs", "data/ui/prefs"),
    ("user-prefs", "data/user-prefs"),
    ("users", "authentication/users"),
    ("views", "data/ui/views"),
    ("workflow-actions", "data/ui/workflow-actions"),
];

/// Returns the path for which a path below `/services/admin` is an alias; `None` if it is a path of its own.
fn without_admin(path: &str) -> Option<String> {
    let rest = path.strip_prefix("/services/admin/")?;
    if rest.starts_with("conf-") {
        return Some(format!("/services/configs/{rest}"));
    }
    let (name, below) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let (_, collection) = ADMIN.iter().find(|(admin, _)| *admin == name)?;
    Some(format!("/services/{collection}{below}"))
}

/// The end of the path that reads the configuration files again.
const REFRESH: &str = "/debug/refresh";

/// Whether a path is that of Splunk Web for this, with its locale (`/en-US/debug/refresh`) or without.
fn is_refresh_of_web(path: &str) -> bool {
    let Some(before) = path.strip_suffix(REFRESH) else { return false };
    let locale = before.strip_prefix('/').and_then(|locale| locale.split_once('-'));
    let is_code = |text: &str| text.len() == 2 && text.bytes().all(|b| b.is_ascii_alphabetic());
    before.is_empty() || locale.is_some_and(|(language, land)| is_code(language) && is_code(land))
}

/// The namespace of a path, and the path as routes have it: without the namespace, the version of the search
/// API, former names, `admin` and slashes at the end.
pub(crate) fn canonical(path: &str) -> (PathNamespace, String) {
    let (namespace, mut canonical) = PathNamespace::split(path);
    if canonical.starts_with("/services/") && canonical.contains('+') {
        canonical = canonical.replace('+', "%20");
    }
    if let Some(rest) = canonical.strip_prefix("/services/search/v2/") {
        canonical = format!("/services/search/{rest}");
    }
    for (former, name) in FORMER {
        let rest = canonical.strip_prefix(former);
        if let Some(rest) = rest.filter(|rest| rest.is_empty() || rest.starts_with('/')) {
            canonical = format!("{name}{rest}");
        }
    }
    if let Some(path) = without_admin(&canonical) {
        canonical = path;
    }
    while canonical.len() > 1 && canonical.ends_with('/') {
        canonical.pop();
    }
    if is_refresh_of_web(&canonical) {
        canonical = format!("/services{REFRESH}");
    }
    (namespace, canonical)
}

fn canonical_path(mut request: Request) -> Request {
    let path = request.uri().path();
    let (namespace, canonical) = canonical(path);
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
        PREVIEW,
        "/services/storage/collections/data/",
        "/services/data/lookup-table-files",
        "/services/data/ui/",
        "/services/apps/local",
        "/services/configs/",
        "/services/search/jobs",
    ];
    if takes_app(path) || takes_bundle(path) {
        state.settings.max_upload_bytes
    } else if path == PHONE_HOME {
        state.deployment.max_message().min(most)
    } else if path == ACS_PATH && state.accounts.saml().is_some() {
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
async fn read_body(State(state): State<Arc<ApiState>>, request: Request, next: Next) -> Response {
    let (mut parts, body) = request.into_parts();
    let path = parts.uri.path();
    let query = parts.uri.query().unwrap_or_default();
    // A stream of events may be endless: it is passed to its route unread.
    if path == "/services/receivers/stream" {
        let params = Params::parse(query, &[]);
        observe(&parts, &params, false, 0);
        parts.extensions.insert(params);
        return next.run(Request::from_parts(parts, body)).await;
    }
    let limit = body_limit(&state, &parts.method, path);
    if parts.method == Method::POST && (takes_app(path) || takes_bundle(path)) {
        return read_archive(&state, Request::from_parts(parts, body), limit, next).await;
    }
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

/// Handles a request with an archive of apps to its end: a client that disconnects once it has sent all of it
/// stops neither the installation nor its record in the audit trail. An archive of unknown length is left
/// out: if its connection is given up, it ends like one that is complete.
async fn outlast_sender(request: Request, next: Next) -> Response {
    let path = request.uri().path();
    let has_archive = request.method() == Method::POST && (takes_app(path) || takes_bundle(path));
    if !has_archive || HttpBody::size_hint(request.body()).exact().is_none() {
        return next.run(request).await;
    }
    let handled = runtime::detached(next.run(request)).await;
    handled.unwrap_or_else(|_| finish(RestError::stopping().into_response(), OutputMode::Xml))
}

/// Writes an archive of apps to the local disk, and reads the parameters of the URL.
async fn read_archive(state: &ApiState, request: Request, limit: usize, next: Next) -> Response {
    let (mut parts, body) = request.into_parts();
    let archive = match body::spool(&state.apps, body, limit).await {
        Ok(archive) => archive,
        Err(NotSpooled::Body(error)) => return refused_body(&error).into_response(),
        Err(NotSpooled::Disk(error)) => return RestError::from(error).into_response(),
    };
    let params = Params::parse(parts.uri.query().unwrap_or_default(), &[]);
    let mode = mode_of(&parts, &params);
    observe(&parts, &params, false, usize::try_from(archive.bytes()).unwrap_or(usize::MAX));
    parts.extensions.insert(params);
    parts.extensions.insert(Spooled(archive));
    finish(next.run(Request::from_parts(parts, Body::empty())).await, mode)
}

fn refused_body(error: &BodyError) -> RestError {
    let status = body::status(error);
    let text = match error {
        BodyError::TooLarge { limit } => format!(
            "the body is larger than {limit} bytes, the limit of this path ([httpServer] \
             max_content_length of server.conf, and less for paths that accept only forms; for app \
             archives [settings] max_upload_size of web.conf; for messages of forwarders [deployment] \
             maxPhoneHomeSize of server.conf)"
        ),
        error => error.to_string(),
    };
    RestError::new(status, "FATAL", text)
}

/// Reads the parameters of the URL, and writes the errors of requests whose body was not read.
async fn write_errors(request: Request, next: Next) -> Response {
    let (mut parts, body) = request.into_parts();
    let query = parts.uri.query().unwrap_or_default();
    // The form of a request with an unknown path, which contains the response format, has not been read.
    let is_unknown = parts.extensions.get::<MatchedPath>().is_none();
    let path = parts.uri.path();
    let is_refused = is_unknown && parts.method == Method::POST && path.starts_with("/services/");
    let (params, body) = match is_refused && is_form(path, &parts.headers) {
        true => (Params::of_refused(query, body).await, Body::empty()),
        false => (Params::parse(query, &[]), body),
    };
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

/// Whether a body contains parameters: events and documents do not, even if they look like parameters. Forms
/// often have no Content-Type.
fn is_form(path: &str, headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let is_json = kind.is_some_and(|kind| kind.starts_with("application/json"));
    let is_document = path.starts_with("/services/storage/collections/data/");
    let is_upload = takes_app(path) || path == PHONE_HOME || takes_bundle(path);
    let is_text = path.starts_with("/services/receivers/") || path == PREVIEW;
    !is_json && !is_document && !is_upload && !is_text
}

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
    // For the audit trail.
    response.extensions_mut().insert(error);
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_below_admin_are_other_names_of_collections() {
        for (path, expected) in [
            ("/services/admin/users", "/services/authentication/users"),
            ("/services/admin/users/eve/", "/services/authentication/users/eve"),
            ("/servicesNS/-/search/admin/savedsearch/a/acl", "/services/saved/searches/a/acl"),
            ("/services/admin/conf-limits/search", "/services/configs/conf-limits/search"),
            ("/services/admin/macros/m", "/services/admin/macros/m"),
            ("/services/admin/system-info", "/services/server/sysinfo"),
            ("/services/data/models/Web/acl", "/services/datamodel/model/Web/acl"),
            ("/servicesNS/-/-/data/models", "/services/datamodel/model"),
            ("/services/data/modelsx", "/services/data/modelsx"),
            ("/services/admin/usersx", "/services/admin/usersx"),
            ("/services/data/admin/users", "/services/data/admin/users"),
            ("/debug/refresh", "/services/debug/refresh"),
            ("/en-US/debug/refresh/", "/services/debug/refresh"),
            ("/services/debug/refresh", "/services/debug/refresh"),
            ("/app/debug/refresh", "/app/debug/refresh"),
            ("/ab/c-d/debug/refresh", "/ab/c-d/debug/refresh"),
            ("/a/-cd/debug/refresh", "/a/-cd/debug/refresh"),
        ] {
            assert_eq!(canonical(path).1, expected, "{path}");
        }
    }

    #[test]
    fn every_name_below_admin_is_that_of_a_route() {
        let routes = routes::all().into_paths();
        for (name, collection) in ADMIN {
            let path = format!("/services/{collection}");
            let props = "/services/data/props/";
            let is_route = routes.iter().any(|(route, _)| *route == path);
            assert!(is_route || path.starts_with(props), "{name}: {path}");
        }
    }
}
