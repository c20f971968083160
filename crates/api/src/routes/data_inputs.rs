//! `/services/data/inputs`: the kinds of inputs, what `inputs.conf` switches on of each, and files
//! taken in once. Tokens of the HTTP collector are in `hec_tokens`.
//!
//! Inputs are read at a start, so they are listed here and not made.

use std::path::PathBuf;
use std::sync::Arc;

use axum::response::Response;
use inputs::Sink;
use inputs::oneshot::{Oneshot, load};
use model::IndexName;
use serde_json::json;

use super::feed;
use super::resource::{About, Access, Resource};
use crate::ApiState;
use crate::atom::{Acl, Attributes, Entry};
use crate::call::Call;
use crate::error::RestError;
use crate::params::{Params, is_true};
use crate::rights::Need::May;
use crate::routing::{Routes, get};
use crate::session::Caller;
#[cfg(test)]
use crate::tests::cases::{Case, case};

const PATH: &str = "/services/data/inputs";

pub(super) fn routes() -> Routes {
    let see = May("list_inputs");
    let access = Access { list: Some(see), show: Some(see), ..Access::default() };
    let oneshot = get(see, "Always empty", oneshots).post(
        May("edit_monitor"),
        "Loads a file of this machine, and responds when its events are durable",
        take_in_once,
    );
    Routes::default()
        .at(PATH, get(see, "Lists kinds of inputs", list))
        .at("/services/data/inputs/tcp", get(see, "Lists kinds of TCP inputs", tcp))
        .at("/services/data/inputs/oneshot", oneshot)
        .resource("/services/data/inputs/tcp/{kind}", &TCP, &access)
        .resource("/services/data/inputs/{kind}", &INPUTS, &access)
}

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
                key => json!(apps::redaction::shown("inputs", key, &entry.value, may_change)),
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

async fn list(params: Params) -> Result<Response, RestError> {
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

async fn tcp(params: Params) -> Result<Response, RestError> {
    let names = [("cooked", true), ("raw", true), ("ssl", false)];
    kinds(&format!("{PATH}/tcp"), &names, &params)
}

/// The inputs of the kinds that `inputs.conf` switches on: `{kind}`, below `tcp/` or not.
struct ConfiguredInputs {
    below: &'static str,
}

static INPUTS: ConfiguredInputs = ConfiguredInputs { below: "" };
static TCP: ConfiguredInputs = ConfiguredInputs { below: "tcp/" };

impl ConfiguredInputs {
    fn kind(&self, call: &Call) -> String {
        format!("{}{}", self.below, call.segment("kind"))
    }
}

impl Resource for ConfiguredInputs {
    type Item = Entry;

    fn about(&self) -> About {
        About { title: "inputs", path: PATH, one: "an input", many: "inputs of a kind" }
    }

    fn place(&self, call: &Call) -> Result<(String, String), RestError> {
        let kind = self.kind(call);
        let path = format!("{PATH}/{kind}");
        Ok((kind, path))
    }

    fn check(&self, call: &Call) -> Result<(), RestError> {
        let kind = self.kind(call);
        let is_listed = kind == "all" && call.name().is_empty();
        let is_known = is_listed || KINDS.iter().any(|known| known.path == kind);
        let named = if call.name().is_empty() { &kind } else { call.name() };
        if is_known { Ok(()) } else { Err(RestError::no_object(named)) }
    }

    fn template(&self, _: &Call) -> Result<Option<Attributes>, RestError> {
        Ok(Some(Attributes::new(&["name"], &["index", "host", "sourcetype"], &[])))
    }

    fn entry(&self, _: &Call, entry: &Entry) -> Result<Entry, RestError> {
        Ok(entry.clone())
    }

    async fn list(&self, call: &Call) -> Result<Vec<Entry>, RestError> {
        let wanted = self.kind(call);
        let kinds = KINDS.iter().filter(|kind| wanted == "all" || kind.path == wanted);
        Ok(kinds.flat_map(|kind| entries(&call.state, &call.caller, kind)).collect())
    }

    async fn find(&self, call: &Call) -> Result<Vec<Entry>, RestError> {
        let mut found = self.list(call).await?;
        found.retain(|entry| entry.name == call.name());
        found.truncate(1);
        Ok(found)
    }
}

/// Files that were taken in once are not remembered as inputs.
async fn oneshots(params: Params) -> Result<Response, RestError> {
    feed::respond_empty("oneshot", &format!("{PATH}/oneshot"), &params)
}

/// Takes in a file of this machine: `name` is its path. Answers when its events are safe.
async fn take_in_once(Call { state, params, .. }: Call) -> Result<Response, RestError> {
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
    let loaded = load(&sink, std::slice::from_ref(&path), &target, |_| {}).await?;
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

/// Requests and their answers.
#[cfg(test)]
pub(super) fn cases() -> Vec<Case> {
    let (none, mode) = ("Could not find object", "unknown output_mode");
    let oneshot = format!("{PATH}/oneshot");
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
    vec![
        case(&format!("GET {PATH}"), "", 200, "\"name\":\"monitor\""),
        case(&format!("GET {PATH}?output_mode=none"), "", 400, mode),
        case(&format!("GET {PATH}/tcp"), "", 200, "\"name\":\"cooked\""),
        case(&format!("GET {PATH}/tcp?output_mode=none"), "", 400, mode),
        case(&format!("GET {PATH}/tcp/cooked"), "", 200, "\"name\":\"9997\""),
        case(&format!("GET {PATH}/tcp/none"), "", 404, none),
        case(&format!("GET {PATH}/tcp/cooked/9997"), "", 200, "\"index\":\"main\""),
        case(&format!("GET {PATH}/tcp/cooked/1"), "", 404, none),
        case(&format!("GET {PATH}/all"), "", 200, "\"name\":\"9997\""),
        case(&format!("GET {PATH}/none"), "", 404, none),
        case(&format!("GET {PATH}/monitor/_new"), "", 200, "\"required\":[\"name\"]"),
        case(&format!("GET {PATH}/monitor/none"), "", 404, none),
        case(&format!("GET {oneshot}"), "", 200, "\"entry\":[]"),
        case(&format!("GET {oneshot}?output_mode=none"), "", 400, mode),
        case(&format!("POST {oneshot}"), &format!("name={file}"), 201, "Sources Indexed"),
        case(&format!("POST {oneshot}"), "name=%2Fnowhere", 400, "is not a file on this machine"),
    ]
}
