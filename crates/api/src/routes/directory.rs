//! `/services` and the levels below it that only list what lies below them; collections that exist for
//! clients and are always empty here.

use axum::extract::Path;
use axum::http::Uri;
use axum::response::Response;
use serde_json::{Map, json};

use super::feed;
use crate::atom::{Acl, Entry};
use crate::error::RestError;
use crate::params::Params;

/// What lies below `/services`.
const TOP: &[&str] = &[
    "alerts",
    "apps",
    "authentication",
    "authorization",
    "configs",
    "data",
    "licenser",
    "messages",
    "properties",
    "receivers",
    "saved",
    "search",
    "server",
    "storage",
];
const SERVER: &[&str] =
    &["control", "health", "info", "logger", "roles", "settings", "status", "sysinfo"];
const STATUS: &[&str] = &["cache", "queues"];
const LICENSER: &[&str] =
    &["groups", "licenses", "localpeer", "messages", "pools", "stacks", "usage"];

fn listing(path: &str, names: &[&str], params: &Params) -> Result<Response, RestError> {
    let entry = |name: &&str| Entry::new(path, name, Map::new()).with_acl(Acl::system());
    let title = path.rsplit('/').next().unwrap_or_default();
    feed::respond(title, path, names.iter().map(entry).collect(), params)
}

pub(crate) async fn top(params: Params) -> Result<Response, RestError> {
    listing("/services", TOP, &params)
}

pub(crate) async fn server(params: Params) -> Result<Response, RestError> {
    listing("/services/server", SERVER, &params)
}

pub(crate) async fn status(params: Params) -> Result<Response, RestError> {
    listing("/services/server/status", STATUS, &params)
}

pub(crate) async fn licenser(params: Params) -> Result<Response, RestError> {
    listing("/services/licenser", LICENSER, &params)
}

/// Karst needs no licence; clients that look for one find one without limits.
pub(crate) async fn licences(
    Path(kind): Path<String>,
    params: Params,
) -> Result<Response, RestError> {
    let path = format!("/services/licenser/{kind}");
    let entry = |name: &str, content| Entry::new(&path, name, content).with_acl(Acl::system());
    let entries = match kind.as_str() {
        "groups" => vec![entry(
            "Enterprise",
            feed::content(json!({"is_active": true, "stack_ids": ["enterprise"]})),
        )],
        "stacks" => vec![entry(
            "enterprise",
            feed::content(json!({"label": "Karst", "quota": u64::MAX, "type": "enterprise"})),
        )],
        "usage" => vec![entry("license_usage", feed::content(json!({"quota": u64::MAX})))],
        "licenses" | "localpeer" | "messages" | "pools" => Vec::new(),
        _ => return Err(RestError::no_object(&kind)),
    };
    feed::respond(&kind, &path, entries, &params)
}

/// A collection without members.
pub(crate) async fn empty(uri: Uri, params: Params) -> Result<Response, RestError> {
    let title = uri.path().rsplit('/').next().unwrap_or_default().to_owned();
    feed::respond_empty(&title, uri.path(), &params)
}
