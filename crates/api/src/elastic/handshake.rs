//! The requests of shippers before and besides sending: version, licence, health, templates, policies.
//!
//! Templates, policies and pipelines are reported as existing and accepted: they describe how Elasticsearch
//! stores documents, and have no effect in Karst.

use axum::http::Method;
use serde_json::{Value, json};

use crate::ServerInfo;

/// Objects that shippers set up; the first part of their paths.
const ACCEPTED: &[&str] = &[
    "_index_template",
    "_component_template",
    "_template",
    "_ilm",
    "_ingest",
    "_data_stream",
    "_alias",
    "_aliases",
    "_slm",
    "_scripts",
];

/// Returns the response to a request, if it is one of those. `HEAD` is answered like `GET`.
pub(super) fn answer(
    method: &Method,
    path: &str,
    version: &str,
    info: &ServerInfo,
) -> Option<Value> {
    let reads = method == Method::GET || method == Method::HEAD;
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    match parts.as_slice() {
        [] if reads => Some(root(version, info)),
        ["_license"] if reads => Some(json!({"license": licence(info)})),
        ["_xpack", ..] if reads => Some(xpack(info)),
        ["_cluster", "health", ..] if reads => Some(health()),
        ["_cluster", "settings"] => {
            Some(json!({"acknowledged": true, "persistent": {}, "transient": {}}))
        }
        ["_nodes", ..] if reads => Some(nodes(version, info)),
        ["_security", "_authenticate"] if reads => Some(json!({
            "username": "karst", "roles": ["superuser"], "enabled": true,
            "authentication_realm": {"name": "karst", "type": "karst"},
        })),
        ["_cat", ..] if reads => Some(json!([])),
        ["_refresh" | "_flush"] | [_, "_refresh" | "_flush"] => {
            Some(json!({"_shards": {"total": 1, "successful": 1, "failed": 0}}))
        }
        [kind, rest @ ..] if ACCEPTED.contains(kind) => Some(accepted(kind, rest, reads)),
        [kind, ..] if kind.starts_with('_') => None,
        // An index: it is there, and made when asked to.
        [index] if reads => Some(json!({*index: {"aliases": {}, "mappings": {}, "settings": {}}})),
        [index] if method == Method::PUT => {
            Some(json!({"acknowledged": true, "shards_acknowledged": true, "index": index}))
        }
        [_, "_settings" | "_mapping" | "_alias", ..] => {
            Some(if reads { json!({}) } else { json!({"acknowledged": true}) })
        }
        _ => None,
    }
}

fn root(version: &str, info: &ServerInfo) -> Value {
    json!({
        "name": info.server_name,
        "cluster_name": "karst",
        "cluster_uuid": info.guid,
        "version": {
            "number": version,
            "build_flavor": "default",
            "build_type": "tar",
            "build_hash": "0000000000000000000000000000000000000000",
            "build_date": "2026-01-01T00:00:00.000000000Z",
            "build_snapshot": false,
            "lucene_version": "9.12.0",
            "minimum_wire_compatibility_version": "7.17.0",
            "minimum_index_compatibility_version": "7.0.0",
        },
        "tagline": "You Know, for Search",
    })
}

fn licence(info: &ServerInfo) -> Value {
    json!({
        "status": "active",
        "uid": info.guid,
        "type": "basic",
        "issue_date": "2026-01-01T00:00:00.000Z",
        "issue_date_in_millis": 1_767_225_600_000_i64,
        "max_nodes": 1_000,
        "issued_to": "karst",
        "issuer": "karst",
        "start_date_in_millis": -1,
    })
}

fn xpack(info: &ServerInfo) -> Value {
    let on = json!({"available": true, "enabled": true});
    let off = json!({"available": false, "enabled": false});
    json!({
        "build": {"hash": "", "date": "2026-01-01T00:00:00.000Z"},
        "license": {"uid": info.guid, "type": "basic", "mode": "basic", "status": "active"},
        "features": {"ilm": on, "security": on, "data_streams": on, "monitoring": off, "ml": off},
        "tagline": "You know, for X",
    })
}

fn health() -> Value {
    json!({
        "cluster_name": "karst",
        "status": "green",
        "timed_out": false,
        "number_of_nodes": 1,
        "number_of_data_nodes": 1,
        "active_primary_shards": 1,
        "active_shards": 1,
        "relocating_shards": 0,
        "initializing_shards": 0,
        "unassigned_shards": 0,
    })
}

/// Returns the list of nodes for clients that look for them: only this one, at the address they know.
fn nodes(version: &str, info: &ServerInfo) -> Value {
    json!({
        "_nodes": {"total": 1, "successful": 1, "failed": 0},
        "cluster_name": "karst",
        "nodes": {info.guid.as_str(): {
            "name": info.server_name, "version": version, "roles": ["data", "ingest", "master"],
        }},
    })
}

fn accepted(kind: &str, rest: &[&str], reads: bool) -> Value {
    if !reads {
        return json!({"acknowledged": true});
    }
    let name = rest.last().copied().unwrap_or_default();
    match kind {
        // All of them: there are none.
        "_template" if rest.is_empty() => json!({}),
        "_ilm" | "_ingest" if matches!(rest, ["policy" | "pipeline"]) => json!({}),
        "_index_template" => json!({"index_templates": [
            {"name": name, "index_template": {"index_patterns": [], "composed_of": []}},
        ]}),
        "_component_template" => json!({"component_templates": [
            {"name": name, "component_template": {"template": {}}},
        ]}),
        "_data_stream" => json!({"data_streams": []}),
        "_ilm" if name == "status" => json!({"operation_mode": "RUNNING"}),
        "_ilm" => json!({name: {"version": 1, "policy": {"phases": {}}}}),
        _ => json!({name: {}}),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn what_shippers_ask_first_is_answered() {
        let asked = [
            (Method::GET, "/"),
            (Method::HEAD, "/"),
            (Method::GET, "/_license"),
            (Method::GET, "/_xpack"),
            (Method::GET, "/_cluster/health"),
            (Method::GET, "/_nodes/http"),
            (Method::PUT, "/_ilm/policy/filebeat"),
            (Method::HEAD, "/_index_template/logs"),
            (Method::PUT, "/_component_template/logs@custom"),
            (Method::GET, "/_cat/templates/x"),
            (Method::HEAD, "/logs"),
            (Method::PUT, "/logs"),
        ];
        for (method, path) in asked {
            assert!(ask(&method, path).is_some(), "{method} {path}");
        }
        assert_eq!(ask(&Method::GET, "/").unwrap()["version"]["number"], "8.1.2");
    }

    #[test]
    fn lists_of_templates_policies_and_pipelines_are_empty() {
        for path in ["/_template", "/_ilm/policy", "/_ingest/pipeline/"] {
            assert_eq!(ask(&Method::GET, path), Some(json!({})), "{path}");
        }
        let one = ask(&Method::GET, "/_ilm/policy/logs").unwrap();
        assert!(one.get("logs").is_some(), "{one}");
    }

    #[test]
    fn all_indexes_are_refreshed_as_one_is() {
        let of_one = ask(&Method::POST, "/main/_refresh");
        assert!(of_one.is_some());
        assert_eq!(ask(&Method::POST, "/_refresh"), of_one);
    }

    #[test]
    fn searches_are_not_answered_with_an_empty_result() {
        for (method, path) in [
            (Method::POST, "/logs/_search"),
            (Method::GET, "/_search"),
            (Method::POST, "/_count"),
            (Method::DELETE, "/logs"),
        ] {
            assert!(ask(&method, path).is_none(), "{method} {path}");
        }
    }

    fn ask(method: &Method, path: &str) -> Option<Value> {
        let info = ServerInfo {
            server_name: "n".into(),
            host: "h".into(),
            guid: "g".into(),
            cores: 1,
            startup_time: 0,
            home: std::path::PathBuf::new(),
            management_port: 0,
            web_port: 0,
            web_tls: false,
            memory: crate::MemoryLimits::default(),
            site: String::new(),
            placement: cluster::Placement::default(),
        };
        answer(method, path, "8.1.2", &info)
    }
}
