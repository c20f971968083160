//! `/services/configs/conf-{file}` and `/services/properties`: any stanza of any file, as it is.
//!
//! `configs` shows a stanza as an entry with its settings; `properties` shows files, stanzas and
//! settings each as a list of their own.

use apps::{ConfObject, NOBODY};
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;
use serde_json::{Map, json};

use super::feed;
use super::jobs::info;
use super::objects::{self, Asked, CONFS, found, home, namespace};
use crate::ApiState;
use crate::atom::{Acl, Entry};
use crate::error::RestError;
use crate::namespace::PathNamespace;
use crate::output::OutputMode;
use crate::params::Params;
use crate::redaction;
use crate::session::Caller;

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

fn asked<'a>(
    file: &'a str,
    state: &'a ApiState,
    caller: &'a Caller,
    params: &'a Params,
) -> Result<Asked<'a>, RestError> {
    let conf = file.strip_prefix("conf-").unwrap_or(file);
    if conf.is_empty() {
        return Err(RestError::no_object(file));
    }
    Ok(Asked { conf, ..Asked::new(&CONFS, state, caller, params) })
}

pub(crate) async fn list(
    State(state): State<ApiState>,
    caller: Caller,
    path: PathNamespace,
    Path(file): Path<String>,
    params: Params,
) -> Result<Response, RestError> {
    objects::list(&asked(&file, &state, &caller, &params)?, &path)
}

pub(crate) async fn create(
    State(state): State<ApiState>,
    caller: Caller,
    path: PathNamespace,
    Path(file): Path<String>,
    params: Params,
) -> Result<Response, RestError> {
    objects::create(&asked(&file, &state, &caller, &params)?, &path).await
}

pub(crate) async fn show(
    State(state): State<ApiState>,
    caller: Caller,
    path: PathNamespace,
    Path((file, name)): Path<(String, String)>,
    params: Params,
) -> Result<Response, RestError> {
    objects::show(&asked(&file, &state, &caller, &params)?, &path, &name)
}

pub(crate) async fn edit(
    State(state): State<ApiState>,
    caller: Caller,
    path: PathNamespace,
    Path((file, name)): Path<(String, String)>,
    params: Params,
) -> Result<Response, RestError> {
    objects::edit(&asked(&file, &state, &caller, &params)?, &path, &name).await
}

pub(crate) async fn remove(
    State(state): State<ApiState>,
    caller: Caller,
    path: PathNamespace,
    Path((file, name)): Path<(String, String)>,
    params: Params,
) -> Result<Response, RestError> {
    objects::remove(&asked(&file, &state, &caller, &params)?, &path, &name).await
}

pub(crate) async fn act(
    State(state): State<ApiState>,
    caller: Caller,
    path: PathNamespace,
    Path((file, name, action)): Path<(String, String, String)>,
    params: Params,
) -> Result<Response, RestError> {
    objects::act(&asked(&file, &state, &caller, &params)?, &path, &name, &action).await
}

/// The files that the namespace's app sees.
fn files(
    state: &ApiState,
    caller: &Caller,
    path: &PathNamespace,
) -> Result<Vec<String>, RestError> {
    let view = state.apps.view(&namespace(state, caller, path)?);
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

pub(crate) async fn property_files(
    State(state): State<ApiState>,
    caller: Caller,
    path: PathNamespace,
    params: Params,
) -> Result<Response, RestError> {
    let files = files(&state, &caller, &path)?;
    let entries = files.iter().map(|file| named(PROPERTIES, file)).collect();
    feed::respond("properties", PROPERTIES, entries, &params)
}

/// Makes a file: from now on there is one of that name, without stanzas.
pub(crate) async fn create_file(
    State(state): State<ApiState>,
    caller: Caller,
    path: PathNamespace,
    params: Params,
) -> Result<Response, RestError> {
    let file = params.required("__conf")?;
    if files(&state, &caller, &path)?.iter().any(|known| known == file) {
        let mut response = info(&format!("There is a file {file} already."), &params)?;
        *response.status_mut() = StatusCode::SEE_OTHER;
        return Ok(response);
    }
    let asked = asked(file, &state, &caller, &params)?;
    objects::access::check_conf(&asked)?;
    let mut namespace = namespace(&state, &caller, &path)?;
    NOBODY.clone_into(&mut namespace.owner);
    // A file is there as long as it has a stanza; `default` is one that no list shows.
    state.apps.create(asked.conf, "default", &namespace, Vec::new()).await?;
    let mut response = info(&format!("The file {file} is made."), &params)?;
    *response.status_mut() = StatusCode::CREATED;
    Ok(response)
}

pub(crate) async fn stanzas(
    State(state): State<ApiState>,
    caller: Caller,
    path: PathNamespace,
    Path(file): Path<String>,
    params: Params,
) -> Result<Response, RestError> {
    if !files(&state, &caller, &path)?.contains(&file) {
        return Err(RestError::not_found(format!("{file} does not exist")));
    }
    let asked = asked(&file, &state, &caller, &params)?;
    let all = objects::objects(&asked, &namespace(&state, &caller, &path)?);
    let below = format!("{PROPERTIES}/{file}");
    let entries = all.iter().map(|object| named(&below, &object.name)).collect();
    feed::respond(&file, &below, entries, &params)
}

/// Makes a stanza, `__stanza`.
pub(crate) async fn create_stanza(
    State(state): State<ApiState>,
    caller: Caller,
    path: PathNamespace,
    Path(file): Path<String>,
    params: Params,
) -> Result<Response, RestError> {
    let stanza = params.required("__stanza")?;
    let named = Params::of(&[("name", stanza)]);
    objects::create(&asked(&file, &state, &caller, &named)?, &path).await?;
    let mut response = info(&format!("The stanza {stanza} is made."), &params)?;
    *response.status_mut() = StatusCode::CREATED;
    Ok(response)
}

/// A stanza, with secrets hidden from those who may not change it.
fn stanza(
    state: &ApiState,
    caller: &Caller,
    path: &PathNamespace,
    file: &str,
    name: &str,
) -> Result<ConfObject, RestError> {
    let params = Params::default();
    let asked = asked(file, state, caller, &params)?;
    let mut object = found(&asked, &namespace(state, caller, path)?, name)?;
    let writable = objects::access::may_write(&asked, &object);
    for (key, value) in &mut object.settings {
        *value = redaction::shown(asked.conf, key, value, writable).to_owned();
    }
    Ok(object)
}

pub(crate) async fn keys(
    State(state): State<ApiState>,
    caller: Caller,
    path: PathNamespace,
    Path((file, name)): Path<(String, String)>,
    params: Params,
) -> Result<Response, RestError> {
    let object = stanza(&state, &caller, &path, &file, &name)?;
    let below = format!("{PROPERTIES}/{file}/{}", crate::atom::segment(&name));
    let entry = |(key, value): &(String, String)| {
        let content = feed::content(json!({"value": value}));
        Entry::new(&below, key, content).with_acl(Acl::system())
    };
    let entries = object.settings.iter().map(entry).collect();
    feed::respond(&name, &below, entries, &params)
}

/// Changes settings of a stanza.
pub(crate) async fn set_keys(
    state: State<ApiState>,
    caller: Caller,
    path: PathNamespace,
    place: Path<(String, String)>,
    params: Params,
) -> Result<Response, RestError> {
    edit(state, caller, path, place, params.clone()).await?;
    info("The settings are changed.", &params)
}

/// The value of a setting, as text.
pub(crate) async fn value(
    State(state): State<ApiState>,
    caller: Caller,
    path: PathNamespace,
    Path((file, name, key)): Path<(String, String, String)>,
) -> Result<Response, RestError> {
    let object = stanza(&state, &caller, &path, &file, &name)?;
    let value = object.get(&key).ok_or_else(|| RestError::no_object(&key))?;
    Ok(OutputMode::Raw.respond(StatusCode::OK, value.to_owned()))
}

/// Changes one setting, to `value`.
pub(crate) async fn set_value(
    State(state): State<ApiState>,
    caller: Caller,
    path: PathNamespace,
    Path((file, name, key)): Path<(String, String, String)>,
    params: Params,
) -> Result<Response, RestError> {
    let object = stanza(&state, &caller, &path, &file, &name)?;
    let value = params.get("value").unwrap_or_default();
    let one = Params::of(&[(key.as_str(), value)]);
    let asked = asked(&file, &state, &caller, &one)?;
    objects::edit(&asked, &at(&object), &name).await?;
    info(&format!("{key} is changed."), &params)
}

/// The path of an object's own namespace.
fn at(object: &ConfObject) -> PathNamespace {
    let there = home(object);
    PathNamespace { owner: Some(there.owner), app: Some(there.app) }
}
