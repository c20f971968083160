//! `/services/server`: properties of the server, and the state of its queues and cache.

use axum::response::Response;
use runtime::health::{Condition, Severity};
use serde_json::{Map, Value, json};

use super::feed;
use super::health::{self, conditions};
use super::jobs::info as message;
use super::reload::refresh;
use crate::atom::{Acl, Entry, REST_VERSION};
use crate::call::Call;
use crate::effects::REFRESH;
use crate::error::RestError;
use crate::params::Params;
use crate::rights::Need::{May, Session};
use crate::routing::{Routes, get, post};
#[cfg(test)]
use crate::tests::cases::{Case, case};

pub(super) fn routes() -> Routes {
    Routes::default()
        .at("/services/server/info", get(Session, "Version, name and identity", info))
        .at("/services/server/info/server-info", get(Session, "The same", info))
        .at(
            "/services/server/sysinfo",
            get(Session, "CPU cores, operating system and process", system),
        )
        .at("/services/server/roles", get(Session, "The roles of this process", roles))
        .at(
            "/services/server/health",
            get(
                May("list_health"),
                "`red` while the server is not ready, `yellow` with warnings, else `green`",
                health,
            ),
        )
        .at("/services/server/health/splunkd", get(May("list_health"), "The same", health))
        .at(DETAILS, get(May("list_health"), "The same, by feature", health_details))
        .at(
            REFRESH,
            get(May("edit_server"), RELOADS, refresh).post(May("edit_server"), RELOADS, refresh),
        )
        .at(
            "/services/server/control/restart",
            post(May("restart_splunkd"), "Restarts the server", restart),
        )
        .at(
            "/services/server/status/cache",
            get(May("list_introspection"), "Counters of the cache, by tier", cache),
        )
        .at(CONCURRENCY, get(Session, "Maximum number of concurrent searches", concurrency))
        .at(KV_STORE, get(Session, "Status of the KV store", kv_store))
        .at(
            "/services/server/status/memory",
            get(
                May("list_introspection"),
                "The memory limit, and the share of each part of the process",
                memory,
            ),
        )
        .at(
            "/services/server/status/queues",
            get(
                May("list_introspection"),
                "Ingest queues, and uploads waiting for object storage",
                queues,
            ),
        )
}

const DETAILS: &str = "/services/server/health/splunkd/details";
/// The summary of `REFRESH`.
const RELOADS: &str = "Reads the files of the configuration directory again";
const CONCURRENCY: &str = "/services/server/status/limits/search-concurrency";
const KV_STORE: &str = "/services/kvstore/status";

/// The parts of a Splunk installation that this one process is.
const ROLES: [&str; 4] = ["indexer", "search_head", "license_master", "kv_store"];

async fn info(Call { state, params, .. }: Call) -> Result<Response, RestError> {
    let info = &state.info;
    let os = std::env::consts::OS;
    let content = feed::content(json!({
        "version": REST_VERSION,
        "build": env!("CARGO_PKG_VERSION"),
        "product_type": "karst",
        "instance_type": "karst",
        "karst_version": env!("CARGO_PKG_VERSION"),
        "serverName": info.server_name,
        "host": info.host,
        "host_fqdn": info.host,
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
    let entry = Entry::new("/services/server/info", "server-info", content);
    feed::respond_one("server-info", "/services/server/info", entry, &params)
}

/// The parts that this process is.
async fn roles(params: Params) -> Result<Response, RestError> {
    let path = "/services/server/roles";
    let entry = Entry::new(path, "result", feed::content(json!({"role_list": ROLES})));
    feed::respond_one("roles", path, entry.with_acl(Acl::system()), &params)
}

/// Returns properties of the machine.
async fn system(Call { state, params, .. }: Call) -> Result<Response, RestError> {
    let path = "/services/server/sysinfo";
    let content = feed::content(json!({
        "numberOfCores": state.info.cores,
        "os_name": std::env::consts::OS,
        "cpu_arch": std::env::consts::ARCH,
        "pid": std::process::id(),
    }));
    feed::respond_one("sysinfo", path, Entry::new(path, "system-info", content), &params)
}

/// Whether the server can do its work: red while it should get none, yellow while somebody should look.
async fn health(Call { state, params, .. }: Call) -> Result<Response, RestError> {
    let path = "/services/server/health";
    let conditions = conditions(&state);
    let told: Vec<Value> =
        conditions.iter().map(|one| health::condition_json(one, &one.text)).collect();
    let content = feed::content(json!({"health": colour(&conditions), "conditions": told}));
    feed::respond_one("health", path, Entry::new(path, "splunkd", content), &params)
}

/// The same in the words of Splunk's health report: a condition is a feature that is not green.
async fn health_details(Call { state, params, .. }: Call) -> Result<Response, RestError> {
    let conditions = conditions(&state);
    let count = |wanted: &str| {
        let colours = conditions.iter().map(|one| colour(std::slice::from_ref(one)));
        colours.filter(|one| *one == wanted).count()
    };
    let feature = |one: &Condition| {
        let health = colour(std::slice::from_ref(one));
        let mut reasons = Map::new();
        let reason = json!({"1": {"indicator": one.name, "reason": &*one.text}});
        reasons.insert(health.to_owned(), reason);
        let told = json!({
            "display_name": one.name,
            "health": health,
            "num_red": u8::from(health == "red"),
            "num_yellow": u8::from(health == "yellow"),
            "reasons": reasons,
        });
        (one.name.to_owned(), told)
    };
    let features: Map<String, Value> = conditions.iter().map(feature).collect();
    let content = feed::content(json!({
        "health": colour(&conditions),
        "disabled": false,
        "num_red": count("red"),
        "num_yellow": count("yellow"),
        "features": features,
    }));
    let path = "/services/server/health/splunkd";
    feed::respond_one("health-report", path, Entry::new(path, "details", content), &params)
}

fn colour(conditions: &[Condition]) -> &'static str {
    match conditions.iter().map(|condition| condition.severity).max() {
        Some(Severity::Error | Severity::Fatal) => "red",
        Some(Severity::Warning) => "yellow",
        None => "green",
    }
}

/// Ends the server as a signal would, and starts it again.
async fn restart(Call { state, params, .. }: Call) -> Result<Response, RestError> {
    state.control.restart();
    message("Restarting.", &params)
}

async fn cache(Call { state, params, .. }: Call) -> Result<Response, RestError> {
    let content =
        state.cache.counters().into_iter().map(|(name, value)| (name.to_owned(), json!(value)));
    let entry = Entry::new("/services/server/status/cache", "cache", content.collect());
    feed::respond_one("cache", "/services/server/status/cache", entry, &params)
}

/// Limits under Splunk's names: of historical searches there are some, none is scheduled or in real time.
async fn concurrency(Call { state, params, .. }: Call) -> Result<Response, RestError> {
    let content = feed::content(json!({
        "max_hist_searches": state.search.load().limit,
        "max_hist_scheduled_searches": 0,
        "max_auto_summary_searches": 0,
        "max_rt_searches": 0,
        "max_rt_scheduled_searches": 0,
    }));
    let entry = Entry::new(CONCURRENCY, "search-concurrency", content);
    feed::respond_one("search-concurrency", CONCURRENCY, entry.with_acl(Acl::system()), &params)
}

/// Collections are in the catalog, without which the process does not answer.
async fn kv_store(Call { state, params, .. }: Call) -> Result<Response, RestError> {
    let content = feed::content(json!({
        "current": {
            "status": "ready",
            "disabled": false,
            "guid": state.info.guid,
            "hostAndPort": state.info.server_name,
            "replicationStatus": "KV store captain",
            "standalone": true,
            "storageEngine": "karst",
        },
    }));
    let entry = Entry::new(KV_STORE, "status", content);
    feed::respond_one("status", KV_STORE, entry.with_acl(Acl::system()), &params)
}

/// Returns the memory limits of the components, not their usage.
async fn memory(Call { state, params, .. }: Call) -> Result<Response, RestError> {
    let path = "/services/server/status/memory";
    let limits = &state.info.memory;
    let shares: Vec<Value> = limits
        .shares
        .iter()
        .map(|share| {
            json!({"name": share.name, "setting": share.setting, "setting_bytes": share.setting_bytes,
                   "bytes": share.bytes, "source": share.source})
        })
        .collect();
    let content = feed::content(json!({
        "limit_bytes": limits.limit,
        "available_bytes": limits.available,
        "shares": shares,
    }));
    feed::respond_one("memory", path, Entry::new(path, "memory", content), &params)
}

async fn queues(Call { state, params, .. }: Call) -> Result<Response, RestError> {
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
    let entry = Entry::new(path, "ingest", content);
    feed::respond_one("queues", path, entry, &params)
}

/// Requests and their answers.
#[cfg(test)]
pub(super) fn cases() -> Vec<Case> {
    let mut all = vec![
        case("POST /services/server/control/restart", "", 200, "Restarting"),
        case(&format!("POST {REFRESH}"), "", 200, "No file below"),
        case(&format!("GET {REFRESH}?output_mode=raw"), "", 200, "No file below"),
        case("GET /en-US/debug/refresh", "", 200, "No file below"),
        case(&format!("POST {REFRESH}?output_mode=none"), "", 400, "unknown output_mode"),
    ];
    for (path, part) in [
        ("info", "\"serverName\":\"test\""),
        ("info/server-info", "\"serverName\":\"test\""),
        ("sysinfo", "numberOfCores"),
        ("roles", "role_list"),
        ("health", "\"health\":\"green\""),
        ("health/splunkd", "\"health\":\"green\""),
        ("health/splunkd/details", "\"features\":{}"),
        ("status/cache", "\"name\":\"cache\""),
        ("status/limits/search-concurrency", "max_hist_searches"),
        ("status/memory", "\"limit_bytes\":null"),
        ("status/queues", "hot_buckets"),
        ("../debug/refresh", "No file below"),
        ("../kvstore/status", "\"status\":\"ready\""),
    ] {
        let path = match path.strip_prefix("../") {
            Some(beside) => format!("/services/{beside}"),
            None => format!("/services/server/{path}"),
        };
        all.push(case(&format!("GET {path}"), "", 200, part));
        let unknown = "unknown output_mode";
        all.push(case(&format!("GET {path}?output_mode=none"), "", 400, unknown));
    }
    all
}
