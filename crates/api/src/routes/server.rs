//! `/services/server`: what the server is, and how its queues and cache fare.

use axum::extract::State;
use axum::response::Response;
use serde_json::{Map, Value, json};

use super::feed;
use crate::ApiState;
use crate::atom::REST_VERSION;
use crate::error::RestError;
use crate::params::Params;

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}

pub(crate) async fn info(
    State(state): State<ApiState>,
    params: Params,
) -> Result<Response, RestError> {
    let info = &state.info;
    let content = object(json!({
        "version": REST_VERSION,
        "build": env!("CARGO_PKG_VERSION"),
        "product_type": "karst",
        "karst_version": env!("CARGO_PKG_VERSION"),
        "serverName": info.server_name,
        "host": info.server_name,
        "guid": info.guid,
        "cpu_arch": std::env::consts::ARCH,
        "os_name": std::env::consts::OS,
        "numberOfCores": info.cores,
        "startup_time": info.startup_time,
        "server_roles": ["indexer", "search_head", "license_master"],
        "mode": "normal",
        "isFree": false,
        "isTrial": false,
        "licenseState": "OK",
        "activeLicenseGroup": "Enterprise",
    }));
    let entry = feed::entry("/services/server/info", "server-info", content);
    feed::respond_one("server-info", "/services/server/info", entry, &params)
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
    let content = object(json!({
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
