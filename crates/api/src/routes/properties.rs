//! `/services/properties`: files, stanzas and settings of any `.conf` file, each as a list of its own. The
//! same stanzas as entries with their settings are below `/services/configs` (`objects`).

use apps::{ConfObject, NOBODY, Namespace};
use axum::http::StatusCode;
use axum::response::Response;
use serde_json::{Map, json};

use super::feed;
use super::jobs::info;
use super::objects::{self, Asked, CONFS, found, namespace};
use crate::atom::{Acl, Entry, segment};
use crate::call::Call;
use crate::error::RestError;
use crate::output::OutputMode;
use crate::params::Params;
use crate::rights::Need::{Change, May};
use crate::routing::{Routes, get};
#[cfg(test)]
use crate::tests::cases::{Case, case};

const PROPERTIES: &str = "/services/properties";

/// Files that exist without a stanza.
const FILES: [&str; 24] = [
    "app",
    "authentication",
    "authorize",
    "collections",
    "datamodels",
    "eventtypes",
    "fields",
    "indexes",
    "inputs",
    "limits",
    "macros",
    "outputs",
    "props",
    "savedsearches",
    "server",
    "tags",
    "times",
    "transactiontypes",
    "transforms",
    "ui-prefs",
    "user-prefs",
    "viewstates",
    "web",
    "workflow_actions",
];

pub(super) fn routes() -> Routes {
    let (see, set) = (May("rest_properties_get"), Change("rest_properties_set"));
    let files = get(see, "Lists files", list_files).post(set, "Creates a file", create_file);
    let stanzas = get(see, "Lists the names of stanzas", stanzas).post(
        set,
        "Creates a stanza",
        create_stanza,
    );
    let keys = get(see, "Lists the settings of a stanza", keys).post(
        set,
        "Changes settings of a stanza",
        set_keys,
    );
    let value = get(see, "The value of a setting, as text", value).post(
        set,
        "Changes a setting",
        set_value,
    );
    Routes::default()
        .at(PROPERTIES, files)
        .at("/services/properties/{file}", stanzas)
        .at("/services/properties/{file}/{name}", keys)
        .at("/services/properties/{file}/{name}/{key}", value)
}

/// The files that the namespace's app sees.
fn files(call: &Call) -> Result<Vec<String>, RestError> {
    let view = call.state.apps.view(&namespace(&call.state, &call.caller, &call.namespace)?);
    let mut files: Vec<String> = view.confs().into_iter().map(str::to_owned).collect();
    files.extend(FILES.iter().map(|file| (*file).to_owned()));
    files.sort();
    files.dedup();
    Ok(files)
}

/// An entry that only names something.
fn named(path: &str, name: &str) -> Entry {
    Entry::new(path, name, Map::new()).with_acl(Acl::system())
}

async fn list_files(call: Call) -> Result<Response, RestError> {
    let entries = files(&call)?.iter().map(|file| named(PROPERTIES, file)).collect();
    feed::respond("properties", PROPERTIES, entries, &call.params)
}

/// Makes a file: from now on there is one of that name, without stanzas.
async fn create_file(call: Call) -> Result<Response, RestError> {
    let file = call.params.required("__conf")?;
    if files(&call)?.iter().any(|known| known == file) {
        let mut response = info(&format!("The file {file} exists already."), &call.params)?;
        *response.status_mut() = StatusCode::SEE_OTHER;
        return Ok(response);
    }
    let asked = Asked::new(&CONFS, file, &call)?;
    objects::access::check_conf(&asked)?;
    let namespace = Namespace { owner: NOBODY.to_owned(), ..asked.namespace()? };
    // A file is there as long as it has a stanza; `default` is one that no list shows.
    call.state.apps.create(asked.conf, "default", &namespace, Vec::new()).await?;
    created(&format!("The file {file} has been created."), &call.params)
}

fn created(text: &str, params: &Params) -> Result<Response, RestError> {
    let mut response = info(text, params)?;
    *response.status_mut() = StatusCode::CREATED;
    Ok(response)
}

async fn stanzas(call: Call) -> Result<Response, RestError> {
    let file = call.segment("file");
    if !files(&call)?.iter().any(|known| known == file) {
        return Err(RestError::not_found(format!("{file} does not exist")));
    }
    let asked = Asked::new(&CONFS, file, &call)?;
    let all = objects::objects(&asked, &asked.namespace()?);
    let below = format!("{PROPERTIES}/{file}");
    let entries = all.iter().map(|object| named(&below, &object.name)).collect();
    feed::respond(file, &below, entries, &call.params)
}

/// Makes a stanza, `__stanza`.
async fn create_stanza(call: Call) -> Result<Response, RestError> {
    let stanza = call.params.required("__stanza")?;
    let without = call.with_params(Params::default());
    objects::create(&Asked::new(&CONFS, call.segment("file"), &without)?, stanza).await?;
    created(&format!("The stanza {stanza} has been created."), &call.params)
}

/// Returns the stanza of the path, with secrets hidden from users who may not change it.
fn stanza(call: &Call) -> Result<ConfObject, RestError> {
    let asked = Asked::new(&CONFS, call.segment("file"), call)?;
    let mut object = found(&asked, &asked.namespace()?, call.name())?;
    let writable = objects::access::may_write(&asked, &object);
    for (key, value) in &mut object.settings {
        *value = apps::redaction::shown(asked.conf, key, value, writable).to_owned();
    }
    Ok(object)
}

async fn keys(call: Call) -> Result<Response, RestError> {
    let object = stanza(&call)?;
    let below = format!("{PROPERTIES}/{}/{}", call.segment("file"), segment(call.name()));
    let entry = |(key, value): &(String, String)| {
        let content = feed::content(json!({"value": value}));
        Entry::new(&below, key, content).with_acl(Acl::system())
    };
    let entries = object.settings.iter().map(entry).collect();
    feed::respond(call.name(), &below, entries, &call.params)
}

/// Changes settings of a stanza.
async fn set_keys(call: Call) -> Result<Response, RestError> {
    edit(&call).await?;
    info("The settings have been changed.", &call.params)
}

async fn edit(call: &Call) -> Result<(), RestError> {
    let asked = Asked::new(&CONFS, call.segment("file"), call)?;
    let object = found(&asked, &asked.namespace()?, call.name())?;
    objects::edit(&asked, &object).await.map(drop)
}

/// The value of a setting, as text.
async fn value(call: Call) -> Result<Response, RestError> {
    let (object, key) = (stanza(&call)?, call.segment("key"));
    let value = object.get(key).ok_or_else(|| RestError::no_object(key))?;
    Ok(OutputMode::Raw.respond(StatusCode::OK, value.to_owned()))
}

/// Changes one setting, to `value`.
async fn set_value(call: Call) -> Result<Response, RestError> {
    let key = call.segment("key");
    let value = call.params.get("value").unwrap_or_default();
    edit(&call.with_params(Params::of(&[(key, value)]))).await?;
    info(&format!("{key} is changed."), &call.params)
}

/// Requests and their answers.
#[cfg(test)]
pub(super) fn cases() -> Vec<Case> {
    let (mode, absent) = ("unknown output_mode", "Could not find object");
    let file = "/servicesNS/nobody/search/properties/mine";
    let ttl = "/servicesNS/nobody/search/properties/limits/search/ttl";
    vec![
        case("POST /servicesNS/nobody/search/properties", "__conf=mine", 201, "has been created"),
        case("POST /servicesNS/nobody/search/properties", "__conf=props", 303, "already"),
        case("POST /services/properties", "", 400, "is missing"),
        case("GET /servicesNS/nobody/search/properties?count=0", "", 200, "\"name\":\"mine\""),
        case("GET /services/properties?output_mode=none", "", 400, mode),
        case(&format!("POST {file}"), "__stanza=one", 201, "has been created"),
        case(&format!("POST {file}"), "", 400, "is missing"),
        case(&format!("GET {file}"), "", 200, "\"name\":\"one\""),
        case("GET /services/properties/none", "", 404, "none does not exist"),
        case(&format!("POST {file}/one"), "a=1", 200, "changed"),
        case(&format!("POST {file}/two"), "a=1", 404, absent),
        case(&format!("GET {file}/one"), "", 200, "\"name\":\"a\""),
        case(&format!("GET {file}/two"), "", 404, absent),
        case(&format!("POST {file}/one/a"), "value=2", 200, "a is changed"),
        case(&format!("POST {file}/two/a"), "value=2", 404, absent),
        case(&format!("GET {file}/one/a"), "", 200, "2"),
        case(&format!("GET {file}/one/b"), "", 404, absent),
        case("GET /services/properties/limits/search/ttl", "", 200, "600"),
        case("GET /services/properties/limits/nosuch/ttl", "", 404, absent),
        // A stanza that has its declared defaults alone is created.
        case(&format!("POST {ttl}"), "value=700", 200, "ttl is changed"),
        case(&format!("GET {ttl}"), "", 200, "700"),
    ]
}
