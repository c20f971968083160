//! `/services/data/inputs`: inputs of `inputs.conf`, and those created over REST. They are created, changed,
//! disabled and removed at run time. Tokens of the HTTP collector are in `hec_tokens`.

pub(crate) mod change;
pub(crate) mod ending;
pub(crate) mod following;
mod kind;
mod oneshot;

use axum::response::Response;
use serde_json::json;

pub(crate) use self::change::{Edit, change, check_process, follow, home};
pub(crate) use self::ending::{end_inputs_of, follow_inputs, without_inputs_of};
use self::kind::{BATCH, FIFO, FORWARDERS, KINDS, Kind, MONITOR, SCRIPT, TCP, UDP};
use super::feed;
use super::objects::check_app;
use super::resource::{About, Access, Removal, Resource};
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
    let oneshot = get(see, "Always empty", oneshot::oneshots).post(
        May("edit_monitor"),
        "Loads a file on this machine, and responds when its events are durable",
        oneshot::take_in_once,
    );
    let routes = Routes::default()
        .at(PATH, get(see, "Lists kinds of inputs", list))
        .at("/services/data/inputs/tcp", get(see, "Lists kinds of TCP inputs", tcp))
        .at("/services/data/inputs/oneshot", oneshot);
    let access = Access { list: Some(see), show: Some(see), ..Access::default() };
    let routes = routes.resource("/services/data/inputs/all", &ALL, &access);
    let kinds: [&'static Kind; 7] = [&MONITOR, &BATCH, &FIFO, &SCRIPT, &TCP, &FORWARDERS, &UDP];
    kinds.into_iter().fold(routes, |routes, kind| {
        let edit = Some(May(kind.capability));
        let access =
            Access { create: edit, edit, remove: edit, act: edit, acl: Some(see), ..access };
        routes.resource(&format!("{PATH}/{}", kind.path), kind, &access)
    })
}

/// Returns the inputs of a kind. Secrets are shown to users who may change the server's settings.
fn entries(state: &ApiState, caller: &Caller, kind: &Kind) -> Vec<Entry> {
    let may_change = caller.may("admin_all_objects");
    let conf = state.apps.knowledge().conf("inputs");
    let path = format!("{PATH}/{}", kind.path);
    let mut entries = Vec::new();
    for stanza in &conf.stanzas {
        let Some(name) = kind.name_of(&stanza.name) else { continue };
        let mut content = feed::content(json!({
            "host": state.info.host, "index": "main", "disabled": false,
        }));
        for entry in conf.complete(&stanza.name) {
            let value = match entry.key.as_str() {
                "disabled" => json!(is_true(&entry.value)),
                key => json!(apps::redaction::shown("inputs", key, &entry.value, may_change)),
            };
            content.insert(entry.key.clone(), value);
        }
        let home = home(state, &stanza.name);
        let acl = Acl {
            app: home.as_ref().map_or_else(|| apps::SYSTEM.to_owned(), |home| home.app.clone()),
            sharing: "app".to_owned(),
            removable: home.is_some_and(|home| !home.in_files),
            writable: caller.may(kind.capability),
            ..Acl::default()
        };
        let switch = if content["disabled"] == json!(true) { "enable" } else { "disable" };
        let attributes = Attributes::new(&[], &kind.setting_names(), &[]);
        let entry = Entry::new(&path, name, content).with_acl(acl).with_attributes(attributes);
        entries.push(entry.editable().linking(&["_reload", switch]));
    }
    entries
}

fn named(call: &Call, kind: &Kind, name: &str) -> Option<Entry> {
    let all = entries(&call.state, &call.caller, kind);
    all.into_iter().find(|entry| entry.name == name)
}

/// Lists the entries below a level. An entry with a link `create` is a kind, the others are levels.
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

/// The inputs of all kinds.
struct All;

static ALL: All = All;

impl Resource for All {
    type Item = Entry;

    fn about(&self) -> About {
        let path = "/services/data/inputs/all";
        About { title: "all", path, one: "an input", many: "inputs of all kinds" }
    }

    fn entry(&self, _: &Call, entry: &Entry) -> Result<Entry, RestError> {
        Ok(entry.clone())
    }

    async fn list(&self, call: &Call) -> Result<Vec<Entry>, RestError> {
        Ok(KINDS.iter().flat_map(|kind| entries(&call.state, &call.caller, kind)).collect())
    }

    async fn find(&self, call: &Call) -> Result<Vec<Entry>, RestError> {
        let mut found = self.list(call).await?;
        found.retain(|entry| entry.name == call.name());
        Ok(found)
    }
}

impl Kind {
    /// The stanza of an input that is there.
    fn stanza(&self, call: &Call, name: &str) -> Result<String, RestError> {
        let conf = call.state.apps.knowledge().conf("inputs");
        let found = conf.stanzas.iter().find(|stanza| self.name_of(&stanza.name) == Some(name));
        found.map(|stanza| stanza.name.clone()).ok_or_else(|| RestError::no_object(name))
    }

    async fn set(
        &self,
        call: &Call,
        name: &str,
        settings: apps::Settings,
    ) -> Result<Entry, RestError> {
        let stanza = self.stanza(call, name)?;
        if !settings.is_empty() {
            change(&call.state, &stanza, Edit::Set(settings)).await?;
        }
        named(call, self, name).ok_or_else(|| RestError::no_object(name))
    }
}

impl Resource for Kind {
    type Item = Entry;

    fn about(&self) -> About {
        About { title: self.path, path: PATH, one: self.one, many: self.many }
    }

    fn place(&self, _: &Call) -> Result<(String, String), RestError> {
        Ok((self.path.to_owned(), format!("{PATH}/{}", self.path)))
    }

    fn removal(&self) -> Removal {
        Removal::Rest
    }

    fn reloads(&self) -> bool {
        true
    }

    fn template(&self, _: &Call) -> Result<Option<Attributes>, RestError> {
        Ok(Some(Attributes::new(&["name"], &self.setting_names(), &[])))
    }

    fn entry(&self, _: &Call, entry: &Entry) -> Result<Entry, RestError> {
        Ok(entry.clone())
    }

    async fn list(&self, call: &Call) -> Result<Vec<Entry>, RestError> {
        Ok(entries(&call.state, &call.caller, self))
    }

    async fn find(&self, call: &Call) -> Result<Vec<Entry>, RestError> {
        Ok(named(call, self, call.name()).into_iter().collect())
    }

    async fn create(&self, call: &Call) -> Result<Entry, RestError> {
        let mut settings = self.settings(&call.params)?;
        let name = self.name_of_new(&call.state, &call.params, &mut settings)?;
        if named(call, self, &name).is_some() {
            return Err(apps::Error::Exists(name).into());
        }
        let app = change::app_of_new(call.namespace.app.as_deref());
        check_app(&call.state, &app)?;
        change(&call.state, &self.stanza_of(&name), Edit::Create(app, settings)).await?;
        named(call, self, &name).ok_or_else(|| RestError::no_object(&name))
    }

    async fn edit(&self, call: &Call, entry: Entry) -> Result<Entry, RestError> {
        let mut settings = self.settings(&call.params)?;
        // Clients send it along; it is a part of the name.
        if let Some(at) = settings.iter().position(|(key, _)| key == "restrictToHost") {
            let (_, host) = settings.remove(at);
            let is_same = entry.content.get("restrictToHost").and_then(|value| value.as_str());
            if is_same.unwrap_or_default() != host {
                let text =
                    "restrictToHost cannot be changed; remove the input and create another one";
                return Err(RestError::invalid(text));
            }
        }
        self.set(call, &entry.name, settings).await
    }

    async fn remove(&self, call: &Call, entry: Entry) -> Result<(), RestError> {
        change(&call.state, &self.stanza(call, &entry.name)?, Edit::Remove).await
    }

    fn actions(&self) -> &'static str {
        "`enable` or `disable`"
    }

    async fn act(
        &self,
        call: &Call,
        entry: Entry,
        action: &str,
    ) -> Result<Option<Entry>, RestError> {
        let off = match action {
            "enable" => "0",
            "disable" => "1",
            _ => return Err(RestError::no_object(action)),
        };
        let settings = vec![("disabled".to_owned(), off.to_owned())];
        self.set(call, &entry.name, settings).await.map(Some)
    }
}

/// Requests and their answers.
#[cfg(test)]
pub(super) fn cases() -> Vec<Case> {
    let (none, mode) = ("Could not find object", "unknown output_mode");
    let oneshot = format!("{PATH}/oneshot");
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
    let mut all = vec![
        case(&format!("GET {PATH}"), "", 200, "\"name\":\"monitor\""),
        case(&format!("GET {PATH}?output_mode=none"), "", 400, mode),
        case(&format!("GET {PATH}/tcp"), "", 200, "\"name\":\"cooked\""),
        case(&format!("GET {PATH}/tcp?output_mode=none"), "", 400, mode),
        case(&format!("GET {PATH}/tcp/cooked/9997"), "", 200, "\"index\":\"main\""),
        case(&format!("GET {PATH}/all"), "", 200, "\"name\":\"9997\""),
        case(&format!("GET {PATH}/all?output_mode=none"), "", 400, mode),
        case(&format!("GET {PATH}/all/9997"), "", 200, "\"name\":\"9997\""),
        case(&format!("GET {PATH}/all/none"), "", 404, none),
        case(&format!("GET {oneshot}"), "", 200, "\"entry\":[]"),
        case(&format!("GET {oneshot}?output_mode=none"), "", 400, mode),
        case(&format!("POST {oneshot}"), &format!("name={file}"), 201, "Sources Indexed"),
        case(&format!("POST {oneshot}"), "name=%2Fnowhere", 400, "is not a file on this machine"),
        case(
            &format!("POST {PATH}/script"),
            "name=%2Fbin%2Fsh",
            400,
            "outside the allowed directories",
        ),
        case(&format!("POST {PATH}/tcp/cooked/9997/disable"), "", 200, "\"disabled\":true"),
        case(&format!("DELETE {PATH}/tcp/cooked/9997"), "", 400, "is defined in inputs.conf"),
        case(&format!("POST {PATH}/script/%2Fmade"), "interval=9", 200, "\"interval\":\"9\""),
        case(&format!("POST {PATH}/script/%2Fmade"), "interval=often", 400, "expected seconds"),
        case(&format!("DELETE {PATH}/script/%2Fmade"), "", 400, "is defined in inputs.conf"),
    ];
    let kinds = [
        (&MONITOR, "/karst-none/a", "index=main", "sourcetype=st"),
        (&BATCH, "/karst-none/b", "index=main", "sourcetype=st"),
        (&FIFO, "/karst-none/c", "disabled=1", "sourcetype=st"),
        (&TCP, "50514", "disabled=1", "sourcetype=st"),
        (&FORWARDERS, "50515", "disabled=1", "host=h"),
        (&UDP, "50516", "disabled=1", "sourcetype=st"),
    ];
    for (kind, name, form, other) in kinds {
        let encoded = name.replace('/', "%2F");
        let path = format!("{PATH}/{}", kind.path);
        let one = format!("{path}/{encoded}");
        let unknown = "is not supported by this handler";
        // The events of forwarders name their indexes.
        let (invalid, told) = match kind.capability {
            "edit_splunktcp" => ("restrictToHost=x", "cannot be changed"),
            _ => ("index=no_such", "there is no index"),
        };
        all.extend([
            case(&format!("POST {path}"), &format!("name={encoded}&{form}"), 201, name),
            case(&format!("POST {path}"), &format!("name={encoded}"), 409, "already exists"),
            case(&format!("POST {path}"), "", 400, "is missing"),
            case(&format!("POST {path}"), &format!("name={encoded}1&x=y"), 400, unknown),
            case(&format!("GET {path}"), "", 200, name),
            case(&format!("GET {path}?output_mode=none"), "", 400, mode),
            case(&format!("GET {path}/_new"), "", 200, "\"required\":[\"name\"]"),
            case(&format!("GET {one}"), "", 200, name),
            case(&format!("GET {path}/none"), "", 404, none),
            case(&format!("GET {one}/acl"), "", 200, "\"app\":\"search\""),
            case(&format!("GET {one}/size"), "", 404, none),
            case(&format!("POST {one}"), other, 200, other.split('=').next().unwrap_or("")),
            case(&format!("POST {one}"), invalid, 400, told),
            case(&format!("POST {path}/none"), other, 404, none),
            case(&format!("POST {one}/disable"), "", 200, "\"disabled\":true"),
            case(&format!("POST {one}/explode"), "", 404, none),
            case(&format!("DELETE {one}"), "", 200, "\"entry\":"),
            case(&format!("DELETE {one}"), "", 404, none),
        ]);
    }
    let restricted = "name=127.0.0.1:50517&restrictToHost=web-1";
    all.push(case(&format!("POST {PATH}/tcp/raw"), restricted, 400, "give the port alone"));
    let script = format!("{PATH}/script");
    let program = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/conf/apps/made/bin/hello");
    let encoded = program.replace('/', "%2F");
    let new = format!("name={encoded}&interval=0&disabled=1");
    all.extend([
        case(&format!("POST {script}"), &new, 201, "apps/made/bin/hello"),
        case(&format!("POST {script}"), &new, 409, "already exists"),
        case(&format!("DELETE {script}/{encoded}"), "", 200, "\"name\":\"/made\""),
        case(&format!("GET {script}"), "", 200, "\"name\":\"/made\""),
        case(&format!("GET {script}?output_mode=none"), "", 400, mode),
        case(&format!("GET {script}/%2Fmade"), "", 200, "\"name\":\"/made\""),
        case(&format!("GET {script}/none"), "", 404, none),
        case(&format!("GET {script}/%2Fmade/acl"), "", 200, "\"removable\":false"),
        case(&format!("GET {script}/%2Fmade/size"), "", 404, none),
        case(&format!("POST {script}/%2Fmade/disable"), "", 200, "\"disabled\":true"),
        case(&format!("POST {script}/%2Fmade/explode"), "", 404, none),
    ]);
    all
}
