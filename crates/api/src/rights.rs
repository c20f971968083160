//! What each path needs: one table, which a middleware enforces and `docs/rights.md` is made of.
//!
//! Guarantees: a path or method that is not in the table answers nobody. What the table calls
//! [`Need::Object`] or [`Need::Own`] any user may ask; the route answers with what [`access::Rights`]
//! let the user see, and refuses the rest.

use axum::extract::{MatchedPath, Request};
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::error::RestError;
use crate::session::Caller;

/// What a method of a path needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// There is no such method.
    Absent,
    /// Nothing, not even a session; `/metrics` asks senders from other machines for a token or a capability.
    Open,
    /// A session.
    Session,
    /// A session; it answers with what is the user's own, or more with a capability.
    Own,
    /// A session; it answers with objects that their permissions let the user read.
    Object,
    /// A capability.
    May(&'static str),
    /// A capability, and for each object that its permissions let the user change it.
    Change(&'static str),
}

impl Need {
    /// The capability that a user has to have.
    #[must_use]
    pub fn capability(self) -> Option<&'static str> {
        match self {
            Self::May(capability) | Self::Change(capability) => Some(capability),
            _ => None,
        }
    }
}

use Need::{Absent, Change, May, Object, Open, Own, Session};

/// Making and changing objects of `.conf` files.
const EDIT: Need = Change("edit_own_objects");
const SEARCH: Need = May("search");

/// A path with what `GET`, `POST` and `DELETE` need.
pub type Rule = (&'static str, Need, Need, Need);

/// Every path of the management port.
pub const RULES: &[Rule] = &[
    ("/healthz", Open, Absent, Absent),
    ("/readyz", Open, Absent, Absent),
    ("/metrics", Open, Absent, Absent),
    ("/saml/acs", Absent, Open, Absent),
    ("/saml/finish", Open, Absent, Absent),
    ("/saml/login", Open, Absent, Absent),
    ("/saml/logout", Open, Open, Absent),
    ("/saml/spmetadata", Open, Absent, Absent),
    ("/services/auth/login", Absent, Open, Absent),
    ("/services/auth/logout", Absent, Session, Absent),
    ("/services/auth/oidc/callback", Open, Absent, Absent),
    ("/services/auth/oidc/login", Open, Absent, Absent),
    ("/services/auth/providers", Open, Absent, Absent),
    ("/api/v1/complete", SEARCH, Absent, Absent),
    ("/api/v1/explain", SEARCH, SEARCH, Absent),
    ("/api/v1/sql", Absent, SEARCH, Absent),
    ("/services", Session, Absent, Absent),
    ("/services/admin/inputstatus", May("list_inputs"), Absent, Absent),
    ("/services/admin/inputstatus/TailingProcessor:FileStatus", May("list_inputs"), Absent, Absent),
    ("/services/admin/macros", Object, EDIT, Absent),
    ("/services/admin/macros/{name}", Object, EDIT, EDIT),
    ("/services/admin/macros/{name}/{action}", Object, EDIT, Absent),
    ("/services/alerts/fired_alerts", Session, Absent, Absent),
    ("/services/alerts/fired_alerts/{name}", Session, Absent, Absent),
    ("/services/apps/local", May("rest_apps_view"), May("edit_local_apps"), Absent),
    (
        "/services/apps/local/{name}",
        May("rest_apps_view"),
        May("edit_local_apps"),
        May("edit_local_apps"),
    ),
    ("/services/apps/local/{name}/update", May("rest_apps_view"), Absent, Absent),
    ("/services/apps/local/{name}/{action}", Absent, May("edit_local_apps"), Absent),
    ("/services/authentication/current-context", Own, Absent, Absent),
    ("/services/authentication/current-context/context", Own, Absent, Absent),
    ("/services/authentication/httpauth-tokens", Own, Absent, Absent),
    ("/services/authentication/httpauth-tokens/{name}", Absent, Absent, Own),
    ("/services/authentication/users", Own, May("edit_user"), Absent),
    ("/services/authentication/users/{name}", Own, Own, May("edit_user")),
    ("/services/authorization/capabilities", Session, Absent, Absent),
    ("/services/authorization/grantable_capabilities", Own, Absent, Absent),
    ("/services/authorization/roles", Own, May("edit_roles"), Absent),
    ("/services/authorization/roles/{name}", Own, May("edit_roles"), May("edit_roles")),
    ("/services/authorization/tokens", Own, Own, Absent),
    ("/services/authorization/tokens/{name}", Own, Own, Own),
    ("/services/configs/{file}", Object, EDIT, Absent),
    ("/services/configs/{file}/{name}", Object, EDIT, EDIT),
    ("/services/configs/{file}/{name}/{action}", Absent, EDIT, Absent),
    ("/services/data/buckets", Own, Absent, Absent),
    ("/services/data/buckets/{id}/quarantine", Absent, May("indexes_edit"), Absent),
    ("/services/data/buckets/{id}/release", Absent, May("indexes_edit"), Absent),
    ("/services/data/indexes", Own, May("indexes_edit"), Absent),
    ("/services/data/indexes/{name}", Own, May("indexes_edit"), May("indexes_edit")),
    ("/services/data/indexes/{name}/disable", Absent, May("indexes_edit"), Absent),
    ("/services/data/indexes/{name}/enable", Absent, May("indexes_edit"), Absent),
    ("/services/data/indexes/{name}/freeze", Absent, May("indexes_edit"), Absent),
    ("/services/data/indexes/{name}/roll-hot-buckets", Absent, May("indexes_edit"), Absent),
    ("/services/data/indexes/{name}/thaw", Absent, May("indexes_edit"), Absent),
    ("/services/data/inputs", May("list_inputs"), Absent, Absent),
    ("/services/data/inputs/http", May("edit_token_http"), May("edit_token_http"), Absent),
    (
        "/services/data/inputs/http/{name}",
        May("edit_token_http"),
        May("edit_token_http"),
        May("edit_token_http"),
    ),
    ("/services/data/inputs/http/{name}/{action}", Absent, May("edit_token_http"), Absent),
    ("/services/data/inputs/oneshot", May("list_inputs"), May("edit_monitor"), Absent),
    ("/services/data/inputs/tcp", May("list_inputs"), Absent, Absent),
    ("/services/data/inputs/tcp/{kind}", May("list_inputs"), Absent, Absent),
    ("/services/data/inputs/tcp/{kind}/{name}", May("list_inputs"), Absent, Absent),
    ("/services/data/inputs/{kind}", May("list_inputs"), Absent, Absent),
    ("/services/data/inputs/{kind}/{name}", May("list_inputs"), Absent, Absent),
    ("/services/data/lookup-table-files", Object, Change("upload_lookup_files"), Absent),
    (
        "/services/data/lookup-table-files/{name}",
        Object,
        Change("upload_lookup_files"),
        Change("upload_lookup_files"),
    ),
    (
        "/services/data/lookup-table-files/{name}/{action}",
        Object,
        Change("upload_lookup_files"),
        Absent,
    ),
    ("/services/data/macros", Object, EDIT, Absent),
    ("/services/data/macros/{name}", Object, EDIT, EDIT),
    ("/services/data/macros/{name}/{action}", Object, EDIT, Absent),
    ("/services/data/modular-inputs", May("list_inputs"), Absent, Absent),
    ("/services/data/props", Session, Absent, Absent),
    ("/services/data/props/{kind}", Object, EDIT, Absent),
    ("/services/data/props/{kind}/{name}", Object, EDIT, EDIT),
    ("/services/data/transforms/extractions", Object, EDIT, Absent),
    ("/services/data/transforms/extractions/{name}", Object, EDIT, EDIT),
    ("/services/data/transforms/extractions/{name}/{action}", Object, EDIT, Absent),
    ("/services/data/transforms/lookups", Object, EDIT, Absent),
    ("/services/data/transforms/lookups/{name}", Object, EDIT, EDIT),
    ("/services/data/transforms/lookups/{name}/{action}", Object, EDIT, Absent),
    ("/services/data/ui/views", Object, EDIT, Absent),
    ("/services/data/ui/views/{name}", Object, EDIT, EDIT),
    ("/services/data/ui/views/{name}/{action}", Object, EDIT, Absent),
    ("/services/datamodel/model", Object, EDIT, Absent),
    ("/services/datamodel/model/{name}", Object, EDIT, EDIT),
    ("/services/datamodel/model/{name}/{action}", Object, EDIT, Absent),
    ("/services/licenser", Session, Absent, Absent),
    ("/services/licenser/{kind}", Session, Absent, Absent),
    ("/services/messages", Session, May("edit_messages"), Absent),
    ("/services/messages/{name}", Session, Absent, May("edit_messages")),
    ("/services/properties", May("rest_properties_get"), Change("rest_properties_set"), Absent),
    (
        "/services/properties/{file}",
        May("rest_properties_get"),
        Change("rest_properties_set"),
        Absent,
    ),
    (
        "/services/properties/{file}/{name}",
        May("rest_properties_get"),
        Change("rest_properties_set"),
        Absent,
    ),
    (
        "/services/properties/{file}/{name}/{key}",
        May("rest_properties_get"),
        Change("rest_properties_set"),
        Absent,
    ),
    ("/services/receivers/simple", Absent, May("edit_tcp"), Absent),
    ("/services/receivers/stream", Absent, May("edit_tcp_stream"), Absent),
    ("/services/saved/eventtypes", Object, EDIT, Absent),
    ("/services/saved/eventtypes/{name}", Object, EDIT, EDIT),
    ("/services/saved/eventtypes/{name}/{action}", Object, EDIT, Absent),
    ("/services/saved/searches", Object, EDIT, Absent),
    ("/services/saved/searches/{name}", Object, EDIT, EDIT),
    ("/services/saved/searches/{name}/acknowledge", Absent, EDIT, Absent),
    ("/services/saved/searches/{name}/dispatch", Absent, SEARCH, Absent),
    ("/services/saved/searches/{name}/history", Object, Absent, Absent),
    ("/services/saved/searches/{name}/scheduled_times", Object, Absent, Absent),
    ("/services/saved/searches/{name}/suppress", Object, EDIT, Absent),
    ("/services/saved/searches/{name}/{action}", Object, EDIT, Absent),
    ("/services/search/jobs", Own, SEARCH, Absent),
    ("/services/search/jobs/export", SEARCH, SEARCH, Absent),
    ("/services/search/jobs/{sid}", Own, Own, Own),
    ("/services/search/jobs/{sid}/control", Absent, Own, Absent),
    ("/services/search/jobs/{sid}/events", Own, Own, Absent),
    ("/services/search/jobs/{sid}/inspector", Own, Absent, Absent),
    ("/services/search/jobs/{sid}/results", Own, Own, Absent),
    ("/services/search/jobs/{sid}/results_preview", Own, Own, Absent),
    ("/services/search/jobs/{sid}/search.log", Own, Absent, Absent),
    ("/services/search/jobs/{sid}/summary", Own, Absent, Absent),
    ("/services/search/jobs/{sid}/timeline", Own, Absent, Absent),
    ("/services/search/parser", Absent, SEARCH, Absent),
    ("/services/search/timeparser", Session, Absent, Absent),
    ("/services/search/typeahead", May("get_typeahead"), Absent, Absent),
    ("/services/server", Session, Absent, Absent),
    ("/services/server/control/restart", Absent, May("restart_splunkd"), Absent),
    ("/services/server/health", May("list_health"), Absent, Absent),
    ("/services/server/health/splunkd", May("list_health"), Absent, Absent),
    ("/services/server/info", Session, Absent, Absent),
    ("/services/server/info/server-info", Session, Absent, Absent),
    ("/services/server/logger", May("list_settings"), Absent, Absent),
    ("/services/server/logger/{name}", May("list_settings"), May("edit_server"), Absent),
    ("/services/server/roles", Session, Absent, Absent),
    ("/services/server/settings", May("list_settings"), Absent, Absent),
    ("/services/server/settings/settings", May("list_settings"), May("edit_server"), Absent),
    ("/services/server/status", May("list_introspection"), Absent, Absent),
    ("/services/server/status/cache", May("list_introspection"), Absent, Absent),
    ("/services/server/status/queues", May("list_introspection"), Absent, Absent),
    ("/services/server/sysinfo", Session, Absent, Absent),
    ("/services/storage/collections/config", Object, EDIT, Absent),
    ("/services/storage/collections/config/{name}", Object, EDIT, EDIT),
    ("/services/storage/collections/config/{name}/{action}", Object, EDIT, Absent),
    ("/services/storage/collections/data/{name}", Object, Object, Object),
    ("/services/storage/collections/data/{name}/{key}", Object, Object, Object),
    (
        "/services/storage/passwords",
        May("list_storage_passwords"),
        May("edit_storage_passwords"),
        Absent,
    ),
    (
        "/services/storage/passwords/{name}",
        May("list_storage_passwords"),
        May("edit_storage_passwords"),
        May("edit_storage_passwords"),
    ),
];

/// Capabilities that routes and searches ask for besides, for more than a user's own.
pub const MORE: &[(&str, &str)] = &[
    ("admin_all_objects", "objects and jobs of others, and files of the server's own settings"),
    ("change_own_password", "the own password (`POST /services/authentication/users/{name}`)"),
    ("edit_httpauths", "ends sessions of others"),
    ("edit_tokens_all", "makes, disables and removes API tokens of others"),
    ("edit_tokens_own", "makes, disables and removes own API tokens"),
    ("indexes_list_all", "indexes that the user may not search"),
    ("list_all_objects", "reads shared objects whatever their permissions"),
    ("list_all_roles", "roles that the user does not have"),
    ("list_all_users", "other users"),
    ("list_httpauths", "sessions of others"),
    ("list_introspection", "`/metrics` from another machine, without the scrape token"),
    ("list_tokens_all", "API tokens of others"),
    ("list_tokens_own", "own API tokens"),
    ("schedule_search", "saved searches with `is_scheduled` or `enableSched`"),
];

/// The rule of a path as the router writes it.
fn rule(path: &str) -> Option<&'static Rule> {
    RULES.iter().find(|(known, ..)| *known == path)
}

/// Lets through who has what the path needs.
pub(crate) async fn authorize(request: Request, next: Next) -> Response {
    let path = request.extensions().get::<MatchedPath>().map(|path| path.as_str().to_owned());
    let caller = request.extensions().get::<Caller>();
    match checked(path.as_deref().unwrap_or_default(), request.method(), caller) {
        Ok(()) => next.run(request).await,
        Err(response) => *response,
    }
}

fn checked(path: &str, method: &Method, caller: Option<&Caller>) -> Result<(), Box<Response>> {
    let Some((_, get, post, delete)) = rule(path) else {
        let text = format!("nothing says who may ask for {path}");
        return Err(Box::new(RestError::forbidden(text).into_response()));
    };
    let need = match *method {
        Method::GET | Method::HEAD => *get,
        Method::POST => *post,
        Method::DELETE => *delete,
        _ => Absent,
    };
    if need == Absent {
        return Err(Box::new(unknown_method(&[
            ("GET", *get),
            ("POST", *post),
            ("DELETE", *delete),
        ])));
    }
    match (need.capability(), caller) {
        (None, _) => Ok(()),
        (Some(capability), Some(caller)) => {
            caller.require(capability).map_err(|error| Box::new(error.into_response()))
        }
        (Some(_), None) => Err(Box::new(crate::session::unauthorized().into_response())),
    }
}

fn unknown_method(methods: &[(&str, Need)]) -> Response {
    let error = RestError::new(StatusCode::METHOD_NOT_ALLOWED, "ERROR", "Method Not Allowed");
    let mut response = error.into_response();
    let there = methods.iter().filter(|(_, need)| *need != Absent).map(|(name, _)| *name);
    let mut names: Vec<&str> = there.collect();
    if names.contains(&"GET") {
        names.insert(1, "HEAD");
    }
    if let Ok(names) = HeaderValue::from_str(&names.join(",")) {
        response.headers_mut().insert(header::ALLOW, names);
    }
    response
}
