//! `/services/server`: what the server is, and how its queues and cache fare.

use axum::extract::State;
use axum::response::Response;
use runtime::health::{Condition, Severity};
use serde_json::{Value, json};

use super::feed;
use super::health::{self, conditions};
use super::jobs::info as message;
use crate::ApiState;
use crate::atom::{Acl, REST_VERSION};
use crate::error::RestError;
use crate::params::Params;

/// The parts of a Splunk installation that this one process is.
const ROLES: [&str; 4] = ["indexer", "search_head", "license_master", "kv_store"];

pub(crate) async fn info(
    State(state): State<ApiState>,
    params: Params,
) -> Result<Response, RestError> {
    let info = &state.info;
    let os = std::env::consts::OS;
    let content = feed::content(json!({
        "version": REST_VERSION,
        "build": env!("CARGO_PKG_VERSION"),
        "product_type": "karst",
        "instance_type": "karst",
        "karst_version": env!("CARGO_PKG_VERSION"),
        "serverName": info.server_name,
        "host": info.server_name,
        "host_fqdn": info.server_name,
        "guid": info.guid,
        "master_guid": info.guid,
        "manager_guid": info.guid,
        "cpu_arch": std::env::consts::ARCH,
        "os_name": os,
        "os_name_extended": os,
        "os_build": "",
        "os_version": "",
        "numberOfCores": info.cores,
        "numberOfVirtualCores": info.cores,
        "physicalMemoryMB": 0,
        "startup_time": info.startup_time,
        "server_roles": ROLES,
        "mode": "normal",
        "health_info": colour(&conditions(&state)),
        "isFree": false,
        "isTrial": false,
        "isForwarding": false,
        "kvStoreStatus": "ready",
        "licenseKeys": [],
        "licenseLabels": [],
        "licenseSignature": "",
        "licenseState": "OK",
        "activeLicenseGroup": "Enterprise",
        "activeLicenseSubgroup": "Production",
        "max_users": u32::MAX,
        "rtsearch_enabled": false,
        "shutting_down": state.shutdown.is_stopped(),
    }));
    let entry = feed::entry("/services/server/info", "server-info", content);
    feed::respond_one("server-info", "/services/server/info", entry, &params)
}

/// The parts that this process is.
pub(crate) async fn roles(params: Params) -> Result<Response, RestError> {
    let path = "/services/server/roles";
    let entry = feed::entry(path, "result", feed::content(json!({"role_list": ROLES})));
    feed::respond_one("roles", path, entry.with_acl(Acl::system()), &params)
}

/// What the server works with.
pub(crate) async fn system(
    State(state): State<ApiState>,
    params: Params,
) -> Result<Response, RestError> {
    let path = "/services/server/sysinfo";
    let content = feed::content(json!({
        "numberOfCores": state.info.cores,
        "os_name": std::env::consts::OS,
        "cpu_arch": std::env::consts::ARCH,
        "pid": std::process::id(),
    }));
    feed::respond_one("sysinfo", path, feed::entry(path, "system-info", content), &params)
}

/// Whether the server can do its work: red while it should get none, yellow while somebody should look.
pub(crate) async fn health(
    State(state): State<ApiState>,
    params: Params,
) -> Result<Response, RestError> {
    let path = "/services/server/health";
    let conditions = conditions(&state);
    let told: Vec<Value> = conditions.iter().map(|one| health::told(one, &one.text)).collect();
    let content = feed::content(json!({"health": colour(&conditions), "conditions": told}));
    feed::respond_one("health", path, feed::entry(path, "splunkd", content), &params)
}

fn colour(conditions: &[Condition]) -> &'static str {
    match conditions.iter().map(|condition| condition.severity).max() {
        Some(Severity::Error | Severity::Fatal) => "red",
        Some(Severity::Warning) => "yellow",
        None => "green",
    }
}

/// Ends the server as a signal would, and starts it again.
pub(crate) async fn restart(
    State(state): State<ApiState>,
    params: Params,
) -> Result<Response, RestError> {
    state.control.restart();
    message("Restarting.", &params)
}

pub(crate) async fn cache(
    State(state): State<ApiState>,
    params: Params,
) -> Result<Response, RestError> {
    let content =
        state.cache.counters().into_iter().map(|(name, value)| (name.to_owned(), json!(value)));
    let entry = feed::entry("/services/server/status/cache", "cache", content.collect());
    feed::respond_one("cache", "/services/server/status/cache", entry, &params)
}

pub(crate) async fn queues(
    State(state): State<ApiState>,
    params: Params,
) -> Result<Response, RestError> {
    let path = "/services/server/status/queues";
    let status = state.ingest.status();
    let queues: Vec<Value> = status
        .queues
        .iter()
        .map(|queue| {
            json!({"set": queue.set, "stage": queue.stage, "bytes": queue.bytes,
                   "items": queue.items, "capacity": queue.capacity,
                   "passed_bytes": queue.passed_bytes, "passed_items": queue.passed_items,
                   "blocked_seconds": queue.blocked.as_secs_f64()})
        })
        .collect();
    let content = feed::content(json!({
        "queues": queues,
        "hot_buckets": status.hot.len(),
        "uploads_waiting": status.uploads.waiting,
        "uploads_failed": status.uploads.failures,
        "upload_error": status.uploads.last_error,
        "spool_buckets": status.spool.buckets,
        "spool_bytes": status.spool.bytes,
        "disk_free_bytes": status.spool.free_bytes,
        "intake_stopped": status.spool.full,
        "journal_bytes": status.journal_bytes,
        "journal_segments": status.journal_segments,
        "recovered_events": status.recovered_events,
    }));
    let entry = feed::entry(path, "ingest", content);
    feed::respond_one("queues", path, entry, &params)
}
