//! The action names of requests in the audit trail, by route and method.
//!
//! A name consists of a verb and an object: `create_user`, `edit_index`, `remove_role`, `disable_token_http`.
//! A route that is not listed gets its name from its path, so that every change has a name.

use axum::http::Method;

use super::LOGIN_ATTEMPT;
use super::redact::{decoded, is_secret};
use crate::effects::{REFRESH, changes, reloads};

/// How a request is recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Class {
    /// Changes something: recorded before it is answered.
    Change,
    /// Opens a session.
    Login,
    /// Searches: recorded where the search begins.
    Search,
    /// Changes nothing that lasts, although it is no GET.
    Light,
    /// Asked by every forwarder every minute, changes nothing that lasts: only failures are recorded.
    Polled,
    /// Shows secrets.
    Secret,
    /// Only refusals are recorded.
    #[default]
    Read,
}

/// See the module.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Action {
    pub(super) name: String,
    pub(super) class: Class,
    pub(super) object: String,
}

/// The action of receiving a SAML provider's response. A refused one is a failed login.
pub(super) const SAML_RESPONSE: &str = "saml_response";

/// Routes whose name does not follow from their path.
const EXACT: [(&str, &str, Class); 29] = [
    // The same as with the whole app.
    ("/services/apps/upload/changes", "create_apps_upload", Class::Change),
    ("/services/auth/login", LOGIN_ATTEMPT, Class::Login),
    ("/services/auth/oidc/callback", LOGIN_ATTEMPT, Class::Login),
    // Logs nobody in: the next request does.
    ("/saml/acs", SAML_RESPONSE, Class::Light),
    ("/saml/finish", LOGIN_ATTEMPT, Class::Login),
    ("/saml/logout", "saml_logout_return", Class::Light),
    ("/services/auth/logout", "logout", Class::Change),
    ("/services/broker/phonehome", "phone_home", Class::Polled),
    ("/services/indexer_discovery", "discover_indexers", Class::Polled),
    ("/services/deployment/server/config/_reload", "reload_deploy_server", Class::Change),
    ("/services/server/control/restart", "restart_splunkd", Class::Change),
    ("/services/server/settings/settings", "edit_server_settings", Class::Change),
    (REFRESH, "refresh", Class::Change),
    ("/services/search/jobs", "search", Class::Search),
    ("/services/search/jobs/export", "search", Class::Search),
    ("/services/saved/searches/{name}/dispatch", "search", Class::Search),
    ("/api/v1/sql", "sql", Class::Search),
    ("/arrow.flight.protocol.FlightService/{*call}", "sql", Class::Search),
    ("/services/search/jobs/{sid}/results", "read_results", Class::Light),
    ("/services/search/jobs/{sid}/results_preview", "read_results", Class::Light),
    ("/services/search/jobs/{sid}/events", "read_results", Class::Light),
    ("/services/search/jobs/{sid}/control", "control_search", Class::Light),
    // Gives other users access to results.
    ("/services/search/jobs/{sid}/acl", "acl_search_job", Class::Change),
    ("/api/v1/jobs/status", "read_job_status", Class::Light),
    ("/services/search/parser", "parse_search", Class::Light),
    ("/api/v1/explain", "explain_search", Class::Light),
    ("/api/v1/preview", "preview_data", Class::Light),
    ("/services/receivers/simple", "send_events", Class::Light),
    ("/services/receivers/stream", "send_events", Class::Light),
];

/// The names of the objects below a path; the longest matching path counts.
const NOUNS: [(&str, &str); 37] = [
    ("/services/authentication/users", "user"),
    ("/services/authentication/httpauth-tokens", "session"),
    ("/services/authorization/roles", "role"),
    ("/services/authorization/tokens", "token"),
    ("/services/data/indexes", "index"),
    ("/services/data/buckets", "bucket"),
    ("/services/data/inputs/http", "token_http"),
    ("/services/data/inputs/oneshot", "oneshot"),
    ("/services/data/inputs/batch", "input_batch"),
    ("/services/data/inputs/fifo", "input_fifo"),
    ("/services/data/inputs/monitor", "input_monitor"),
    ("/services/data/inputs/script", "input_script"),
    ("/services/data/inputs/tcp/cooked", "input_splunktcp"),
    ("/services/data/inputs/tcp/raw", "input_tcp"),
    ("/services/data/inputs/udp", "input_udp"),
    ("/services/data/inputs", "input"),
    ("/services/saved/searches", "saved_search"),
    ("/services/saved/eventtypes", "eventtype"),
    ("/services/data/macros", "macro"),
    ("/services/admin/macros", "macro"),
    ("/services/data/transforms/lookups", "lookup_definition"),
    ("/services/data/transforms/extractions", "transform"),
    ("/services/data/props", "props"),
    ("/services/data/lookup-table-files", "lookup_file"),
    ("/services/storage/collections/config", "collection"),
    ("/services/storage/collections/data", "documents"),
    ("/services/storage/passwords", "stored_password"),
    ("/services/configs", "conf"),
    ("/services/properties", "conf"),
    ("/services/apps/local", "app"),
    ("/services/deployment/server/clients", "deployment_client"),
    ("/services/messages", "message"),
    ("/services/server/logger", "logger"),
    ("/services/server/settings", "server_settings"),
    ("/services/search/jobs", "search_job"),
    ("/services/datamodel/model", "datamodel"),
    ("/services/alerts", "alert"),
];

/// The package of an app: it leaves the installation, with all files and lookups of the app.
const APP_PACKAGE: &str = "/services/apps/local/{name}/package";
/// Files of configuration with secrets in them.
const SECRET_FILES: [&str; 8] = [
    "inputs",
    "conf-inputs",
    "outputs",
    "conf-outputs",
    "server",
    "conf-server",
    "passwords",
    "conf-passwords",
];

pub(super) fn of(method: &Method, route: Option<&str>, path: &str) -> Action {
    let read = !changes(method, path);
    let Some(route) = route else {
        // The console's files, and unknown paths.
        let class = if read { Class::Read } else { Class::Light };
        return Action { name: "unknown_path".to_owned(), class, object: decoded(path) };
    };
    let object = object(route, path);
    if let Some((_, name, class)) = EXACT.iter().find(|(exact, ..)| *exact == route)
        && (!read || *class == Class::Login || route == "/services/search/jobs/export")
    {
        return Action { name: (*name).to_owned(), class: *class, object };
    }
    let (noun, rest) = noun(route);
    let class = match read {
        true if shows_secrets(route, &object) => Class::Secret,
        true => Class::Read,
        false if noun == "search_job" => Class::Light,
        false => Class::Change,
    };
    Action { name: format!("{}_{noun}", verb(method, rest, path)), class, object }
}

/// Returns the object's name, and the rest of the route after it.
fn noun(route: &str) -> (String, &str) {
    let fits = |(base, _): &&(&str, &str)| {
        route.strip_prefix(base).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    if let Some((base, noun)) = NOUNS.iter().filter(fits).max_by_key(|(base, _)| base.len()) {
        return ((*noun).to_owned(), &route[base.len()..]);
    }
    let end = route.find("/{").unwrap_or(route.len());
    let literal = route[..end].strip_prefix("/services").unwrap_or(&route[..end]);
    let noun = literal.trim_matches('/').replace(['/', '-', '.'], "_");
    (noun, &route[end..])
}

/// Returns the verb of the request.
fn verb(method: &Method, rest: &str, path: &str) -> String {
    let last = rest.rsplit('/').next().unwrap_or_default();
    let acts = last == "{action}" || (!last.is_empty() && !last.starts_with('{'));
    match *method {
        Method::GET | Method::HEAD | Method::POST if reloads(path) => "reload".to_owned(),
        Method::DELETE => "remove".to_owned(),
        Method::GET | Method::HEAD | Method::OPTIONS => "read".to_owned(),
        // The last segment of the path is the verb: enable, disable, acl, thaw.
        _ if acts => {
            let word = path.rsplit('/').next().unwrap_or_default();
            let word = if word == "roll-hot-buckets" { "roll" } else { word };
            decoded(word).replace('-', "_")
        }
        _ if last.is_empty() => "create".to_owned(),
        _ => "edit".to_owned(),
    }
}

/// The parts of the path that the route leaves open, but for the name of an action.
fn object(route: &str, path: &str) -> String {
    let mut names = Vec::new();
    for (pattern, part) in route.split('/').zip(path.split('/')) {
        if pattern.starts_with('{') && pattern != "{action}" {
            names.push(decoded(part));
        }
    }
    names.join("/")
}

fn shows_secrets(route: &str, object: &str) -> bool {
    let below = |base: &str| route.strip_prefix(base).is_some_and(|rest| !rest.starts_with('s'));
    let file = object.split('/').next().unwrap_or_default();
    let key = object.rsplit('/').next().unwrap_or_default();
    let is_conf = below("/services/configs") || below("/services/properties");
    below("/services/storage/passwords")
        || below("/services/data/inputs/http")
        || route == APP_PACKAGE
        || (is_conf && (SECRET_FILES.contains(&file) || is_secret(key)))
}
