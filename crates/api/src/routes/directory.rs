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
use crate::rights::Need::{May, Session};
use crate::routing::{Routes, get};
#[cfg(test)]
use crate::tests::cases::{Case, case};

pub(super) fn routes() -> Routes {
    Routes::default()
        .at("/services", get(Session, "Lists the paths below", top))
        .at("/services/server", get(Session, "Lists the paths below", server))
        .at(
            "/services/server/status",
            get(May("list_introspection"), "Lists the paths below", status),
        )
        .at("/services/licenser", get(Session, "Lists the paths below", licenser))
        .at(
            "/services/licenser/{kind}",
            get(Session, "A licence without limits, for clients that require one", licences),
        )
        .at("/services/alerts/fired_alerts", get(Session, "Always empty", empty))
        .at("/services/alerts/fired_alerts/{name}", get(Session, "Always empty", empty))
        .at("/services/admin/summarization", get(Session, "Always empty", empty))
        .at("/services/data/index-volumes", get(May("list_settings"), "Always empty", empty))
        .at("/services/data/modular-inputs", get(May("list_inputs"), "Always empty", empty))
        .at(
            "/services/data/outputs/tcp/{kind}",
            get(May("list_inputs"), "Always empty: a server does not forward events", outputs),
        )
        .at(SHCLUSTER, get(May("list_settings"), "Always disabled", shcluster))
        .at("/services/workloads/pools", get(May("list_settings"), "Always empty", empty))
        .at("/services/workloads/rules", get(May("list_settings"), "Always empty", empty))
}

const SHCLUSTER: &str = "/services/shcluster/config";

/// The entries of `/services`.
const TOP: &[&str] = &[
    "admin",
    "alerts",
    "apps",
    "auth",
    "authentication",
    "authorization",
    "cluster",
    "configs",
    "data",
    "datamodel",
    "debug",
    "deployment",
    "directory",
    "kvstore",
    "licenser",
    "messages",
    "properties",
    "receivers",
    "saved",
    "search",
    "server",
    "shcluster",
    "storage",
    "workloads",
];
const SERVER: &[&str] =
    &["control", "cost", "health", "info", "logger", "roles", "settings", "status", "sysinfo"];
const STATUS: &[&str] =
    &["cache", "limits", "memory", "partitions-space", "queues", "resource-usage"];
const LICENSER: &[&str] =
    &["groups", "licenses", "localpeer", "messages", "peers", "pools", "stacks", "usage"];

fn listing(path: &str, names: &[&str], params: &Params) -> Result<Response, RestError> {
    let entry = |name: &&str| Entry::new(path, name, Map::new()).with_acl(Acl::system());
    let title = path.rsplit('/').next().unwrap_or_default();
    feed::respond(title, path, names.iter().map(entry).collect(), params)
}

async fn top(params: Params) -> Result<Response, RestError> {
    listing("/services", TOP, &params)
}

async fn server(params: Params) -> Result<Response, RestError> {
    listing("/services/server", SERVER, &params)
}

async fn status(params: Params) -> Result<Response, RestError> {
    listing("/services/server/status", STATUS, &params)
}

async fn licenser(params: Params) -> Result<Response, RestError> {
    listing("/services/licenser", LICENSER, &params)
}

/// Karst needs no licence; clients that look for one find one without limits.
async fn licences(Path(kind): Path<String>, params: Params) -> Result<Response, RestError> {
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
        // Former versions of Splunk call peers slaves.
        "licenses" | "localpeer" | "localslave" | "messages" | "peers" | "pools" | "slaves" => {
            Vec::new()
        }
        _ => return Err(RestError::no_object(&kind)),
    };
    feed::respond(&kind, &path, entries, &params)
}

/// A collection without members.
async fn empty(uri: Uri, params: Params) -> Result<Response, RestError> {
    let title = uri.path().rsplit('/').next().unwrap_or_default().to_owned();
    feed::respond_empty(&title, uri.path(), &params)
}

/// Returns the status of a search head cluster: disabled, because search heads share their state without one.
async fn shcluster(params: Params) -> Result<Response, RestError> {
    let content = json!({"mode": "disabled", "disabled": true, "shcluster_label": ""});
    let entry = Entry::new(SHCLUSTER, "config", feed::content(content)).with_acl(Acl::system());
    feed::respond_one("shclusterconfig", SHCLUSTER, entry, &params)
}

/// Returns the outputs of a server: none, unlike those of a forwarder.
async fn outputs(Path(kind): Path<String>, params: Params) -> Result<Response, RestError> {
    if !matches!(kind.as_str(), "default" | "group" | "server" | "syslog") {
        return Err(RestError::no_object(&kind));
    }
    feed::respond_empty(&kind, &format!("/services/data/outputs/tcp/{kind}"), &params)
}

/// Requests and their answers.
#[cfg(test)]
pub(super) fn cases() -> Vec<Case> {
    let mut all = vec![
        case("GET /services/licenser/stacks", "", 200, "\"enterprise\""),
        case("GET /services/licenser/slaves", "", 200, "\"entry\":[]"),
        case("GET /services/data/outputs/tcp/none", "", 404, "Could not find object id=none"),
        case("GET /services/licenser/none", "", 404, "Could not find object id=none"),
    ];
    for (path, part) in [
        ("/services", "\"name\":\"search\""),
        ("/services/server", "\"name\":\"info\""),
        ("/services/server/status", "\"name\":\"queues\""),
        ("/services/licenser", "\"name\":\"pools\""),
        ("/services/alerts/fired_alerts", "\"entry\":[]"),
        ("/services/alerts/fired_alerts/one", "\"entry\":[]"),
        ("/services/admin/summarization", "\"entry\":[]"),
        ("/services/data/index-volumes", "\"entry\":[]"),
        ("/services/data/modular-inputs", "\"entry\":[]"),
        (SHCLUSTER, "\"mode\":\"disabled\""),
        ("/services/workloads/pools", "\"entry\":[]"),
        ("/services/workloads/rules", "\"entry\":[]"),
        ("/services/data/outputs/tcp/group", "\"entry\":[]"),
    ] {
        all.push(case(&format!("GET {path}"), "", 200, part));
        let unknown = "unknown output_mode";
        all.push(case(&format!("GET {path}?output_mode=none"), "", 400, unknown));
    }
    all
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn lists_have_what_lies_below_their_paths() {
        // Routes of machines are not listed.
        let all = crate::routes::open().merge(crate::routes::login());
        let all = all.merge(crate::routes::guarded()).into_paths();
        let lists = [
            ("/services/", TOP),
            ("/services/server/", SERVER),
            ("/services/server/status/", STATUS),
        ];
        for (path, listed) in lists {
            let below = all.iter().filter_map(|(declared, _)| declared.strip_prefix(path));
            let names = below.filter_map(|rest| rest.split('/').next());
            let names: BTreeSet<&str> = names.filter(|name| !name.starts_with('{')).collect();
            assert_eq!(listed.iter().copied().collect::<BTreeSet<_>>(), names, "{path}");
        }
    }
}
