//! `/services/data/inputs`: the kinds of inputs, what `inputs.conf` switches on of each, and files
//! taken in once. Tokens of the HTTP collector are in `hec_tokens`.
//!
//! Inputs are read at a start, so they are listed here and not made.

use std::path::PathBuf;
use std::sync::Arc;

use axum::extract::{Path, State};
use axum::response::Response;
use inputs::Sink;
use inputs::oneshot::{Oneshot, load};
use model::IndexName;
use serde_json::json;

use super::feed;
use crate::ApiState;
use crate::atom::{Acl, Attributes, Entry};
use crate::error::RestError;
use crate::params::{Params, is_true};
use crate::redaction;
use crate::session::Caller;

const PATH: &str = "/services/data/inputs";

/// A kind of inputs: its path below `data/inputs`, and how its stanzas begin.
struct Kind {
    path: &'static str,
    stanza: &'static str,
}

const KINDS: [Kind; 7] = [
    Kind { path: "monitor", stanza: "monitor:" },
    Kind { path: "batch", stanza: "batch:" },
    Kind { path: "script", stanza: "script:" },
    Kind { path: "fifo", stanza: "fifo:" },
    Kind { path: "tcp/raw", stanza: "tcp:" },
    Kind { path: "tcp/cooked", stanza: "splunktcp:" },
    Kind { path: "udp", stanza: "udp:" },
];

/// The inputs of a kind. Secrets are shown to those who may change the server's settings.
fn entries(state: &ApiState, caller: &Caller, kind: &Kind) -> Vec<Entry> {
    let may_change = caller.may("admin_all_objects");
    let conf = state.knowledge.conf("inputs");
    let path = format!("{PATH}/{}", kind.path);
    let mut entries = Vec::new();
    for stanza in &conf.stanzas {
        let Some(name) = stanza.name.strip_prefix(kind.stanza) else { continue };
        let name = name.strip_prefix("//").unwrap_or(name);
        // `tcp://:9514` and `tcp://host:9514`: the name is what is listened to.
        let name = if kind.path.contains("tcp") || kind.path == "udp" {
            name.trim_start_matches(':')
        } else {
            name
        };
        let mut content = feed::content(json!({
            "host": state.info.server_name, "index": "main", "disabled": false,
        }));
        for entry in conf.complete(&stanza.name) {
            let value = match entry.key.as_str() {
                "disabled" => json!(is_true(&entry.value)),
                key => json!(redaction::shown("inputs", key, &entry.value, may_change)),
            };
            content.insert(entry.key.clone(), value);
        }
        let acl = Acl { removable: false, writable: false, ..Acl::system() };
        entries.push(Entry::new(&path, name, content).with_acl(acl));
    }
    entries
}

/// A level that lists what is below it. What has a link `create` is a kind, the others are levels.
fn kinds(path: &str, names: &[(&str, bool)], params: &Params) -> Result<Response, RestError> {
    let entry = |(name, is_kind): &(&str, bool)| {
        let entry = Entry::new(path, name, feed::content(json!({}))).with_acl(Acl::system());
        let mut entry = entry.linking(&["_reload"]);
        if *is_kind {
            let new = format!("{}/_new", entry.id);
            entry.links.push(("create".to_owned(), new));
        }
        entry
    };
    feed::respond("inputs", path, names.iter().map(entry).collect(), params)
}

pub(crate) async fn list(params: Params) -> Result<Response, RestError> {
    let names = [
        ("all", false),
        ("batch", true),
        ("fifo", true),
        ("http", true),
        ("monitor", true),
        ("oneshot", true),
        ("script", true),
        ("tcp", false),
        ("udp", true),
    ];
    kinds(PATH, &names, &params)
}

pub(crate) async fn tcp(params: Params) -> Result<Response, RestError> {
    let names = [("cooked", true), ("raw", true), ("ssl", false)];
    kinds(&format!("{PATH}/tcp"), &names, &params)
}

/// The inputs of a kind.
pub(crate) async fn of_kind(
    State(state): State<ApiState>,
    caller: Caller,
    Path(kind): Path<String>,
    params: Params,
) -> Result<Response, RestError> {
    if kind == "all" {
        let all = KINDS.iter().flat_map(|kind| entries(&state, &caller, kind)).collect();
        return feed::respond("all", &format!("{PATH}/all"), all, &params);
    }
    respond_kind(&state, &caller, &kind, &params)
}

pub(crate) async fn of_tcp(
    State(state): State<ApiState>,
    caller: Caller,
    Path(kind): Path<String>,
    params: Params,
) -> Result<Response, RestError> {
    respond_kind(&state, &caller, &format!("tcp/{kind}"), &params)
}

fn respond_kind(
    state: &ApiState,
    caller: &Caller,
    path: &str,
    params: &Params,
) -> Result<Response, RestError> {
    let kind = KINDS.iter().find(|kind| kind.path == path);
    let kind = kind.ok_or_else(|| RestError::no_object(path))?;
    feed::respond(path, &format!("{PATH}/{path}"), entries(state, caller, kind), params)
}

pub(crate) async fn show(
    State(state): State<ApiState>,
    caller: Caller,
    Path((kind, name)): Path<(String, String)>,
    params: Params,
) -> Result<Response, RestError> {
    respond_one(&state, &caller, &kind, &name, &params)
}

pub(crate) async fn show_tcp(
    State(state): State<ApiState>,
    caller: Caller,
    Path((kind, name)): Path<(String, String)>,
    params: Params,
) -> Result<Response, RestError> {
    respond_one(&state, &caller, &format!("tcp/{kind}"), &name, &params)
}

fn respond_one(
    state: &ApiState,
    caller: &Caller,
    path: &str,
    name: &str,
    params: &Params,
) -> Result<Response, RestError> {
    let full = format!("{PATH}/{path}");
    let kind = KINDS.iter().find(|kind| kind.path == path);
    let kind = kind.ok_or_else(|| RestError::no_object(name))?;
    if name == "_new" {
        let attributes = Attributes::new(&["name"], &["index", "host", "sourcetype"], &[]);
        return feed::respond_template(path, &full, attributes, params);
    }
    let found = entries(state, caller, kind).into_iter().find(|entry| entry.name == name);
    feed::respond_one(path, &full, found.ok_or_else(|| RestError::no_object(name))?, params)
}

/// Files that were taken in once are not remembered as inputs.
pub(crate) async fn oneshots(params: Params) -> Result<Response, RestError> {
    feed::respond_empty("oneshot", &format!("{PATH}/oneshot"), &params)
}

/// Takes in a file of this machine: `name` is its path. Answers when its events are safe.
pub(crate) async fn oneshot(
    State(state): State<ApiState>,
    params: Params,
) -> Result<Response, RestError> {
    let path = PathBuf::from(params.required("name")?);
    let index = IndexName::new(params.text("index").unwrap_or("main"))
        .map_err(|error| RestError::invalid(error.to_string()))?;
    state.indexes.check_takes(&index).map_err(RestError::invalid)?;
    if !path.is_absolute() || !path.is_file() {
        let text = format!("\"{}\" is not a file on this machine", path.display());
        return Err(RestError::invalid(text));
    }
    let target = Oneshot {
        index,
        host: params.text("host").unwrap_or(&state.info.server_name).into(),
        source: params.text("rename-source").map(Arc::from),
        sourcetype: params.text("sourcetype").map(Arc::from),
    };
    let sink = Arc::clone(&state.ingest) as Arc<dyn Sink>;
    let loaded = load(&sink, std::slice::from_ref(&path), &target, |_| {}).await;
    let loaded = loaded.map_err(|error| RestError::of_kind(error.kind(), error.to_string()))?;
    if let Some((path, error)) = loaded.failed.first() {
        let text = format!("{}: {error}", path.display());
        return Err(RestError::of_kind(error.kind(), text));
    }
    let progress = loaded.progress;
    let content = feed::content(json!({
        "Bytes Indexed": progress.event_bytes, "Events": progress.events, "Offset": progress.bytes,
        "Size": progress.all_bytes, "Sources Indexed": 1,
    }));
    let entry = Entry::new(&format!("{PATH}/oneshot"), &path.to_string_lossy(), content);
    feed::respond_created("oneshot", &format!("{PATH}/oneshot"), entry, &params)
}
