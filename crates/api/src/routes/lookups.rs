//! `/services/data/lookup-table-files`: lookup files, as CSV.

use std::path::{Component, Path as FilePath, PathBuf};

use access::{Object, Perms};
use apps::{LookupFile, NOBODY, Namespace};
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;
use serde_json::json;

use super::feed;
use super::objects::namespace;
use crate::ApiState;
use crate::atom::{Acl, Attributes, Entry, segment};
use crate::error::RestError;
use crate::namespace::PathNamespace;
use crate::output::OutputMode;
use crate::params::Params;
use crate::session::Caller;

const PATH: &str = "/services/data/lookup-table-files";
/// Where files are put that are to become lookups, below the server's own directory.
const STAGING: &str = "lookup_tmp";

fn entry(state: &ApiState, caller: &Caller, file: &LookupFile) -> Entry {
    let path = format!("/servicesNS/{}/{}/data/lookup-table-files", segment(&file.owner), file.app);
    let content = feed::content(json!({
        "eai:appName": file.app,
        "eai:data": format!("apps/{}/lookups/{}", file.app, file.name),
        "eai:userName": file.owner,
        "disabled": false,
    }));
    let shared = file.owner == NOBODY;
    let acl = Acl {
        owner: file.owner.clone(),
        app: file.app.clone(),
        sharing: if shared { "app" } else { "user" }.to_owned(),
        perms: shared.then(|| {
            let perms = state.permissions.of(&file.place());
            (perms.read, perms.write)
        }),
        removable: file.removable,
        writable: caller.rights.may_write(&object(file, &file.place())),
    };
    Entry::new(&path, &file.name, content)
        .with_acl(acl)
        .with_attributes(Attributes::new(&[], &["contents", "eai:data"], &[]))
        .editable()
        .linking(&["acl"])
}

/// A file as permissions see it.
fn object<'a>(file: &'a LookupFile, place: &'a str) -> Object<'a> {
    Object { owner: &file.owner, shared: file.owner == NOBODY, place }
}

fn may_read(caller: &Caller, file: &LookupFile) -> bool {
    let all = file.owner == NOBODY && caller.may("list_all_objects");
    all || caller.rights.may_read(&object(file, &file.place()))
}

/// The file of that name, unless the caller may not read it.
async fn found(
    state: &ApiState,
    caller: &Caller,
    namespace: &Namespace,
    name: &str,
) -> Result<LookupFile, RestError> {
    let files = state.apps.list_lookups(namespace).await?;
    let found = files.into_iter().find(|file| file.name == name && may_read(caller, file));
    found.ok_or_else(|| RestError::no_object(name))
}

pub(crate) async fn list(
    State(state): State<ApiState>,
    caller: Caller,
    path: PathNamespace,
    params: Params,
) -> Result<Response, RestError> {
    let files = state.apps.list_lookups(&namespace(&state, &caller, &path)?).await?;
    let files = files.iter().filter(|file| may_read(&caller, file));
    let entries = files.map(|file| entry(&state, &caller, file)).collect();
    feed::respond("lookup-table-files", PATH, entries, &params)
}

pub(crate) async fn show(
    State(state): State<ApiState>,
    caller: Caller,
    path: PathNamespace,
    Path(name): Path<String>,
    params: Params,
) -> Result<Response, RestError> {
    let namespace = namespace(&state, &caller, &path)?;
    if name == "_new" {
        let attributes = Attributes::new(&["name"], &["contents", "eai:data"], &[]);
        return feed::respond_template("lookup-table-files", PATH, attributes, &params);
    }
    let file = found(&state, &caller, &namespace, &name).await?;
    if OutputMode::of(&params)? == OutputMode::Csv {
        let there = Namespace::new(&file.owner, &file.app);
        let content = state.apps.read_lookup_where(&name, &there, |found| {
            found.owner == file.owner && found.app == file.app
        });
        let content = content.await?;
        let content = content.ok_or_else(|| RestError::no_object(&name))?;
        let text = String::from_utf8_lossy(&content.bytes).into_owned();
        return Ok(OutputMode::Csv.respond(StatusCode::OK, text));
    }
    feed::respond_one("lookup-table-files", PATH, entry(&state, &caller, &file), &params)
}

/// Takes `contents`, the CSV itself, or `eai:data`, a file that lies in the staging directory.
async fn content(state: &ApiState, params: &Params) -> Result<Vec<u8>, RestError> {
    if let Some(text) = params.get("contents") {
        return Ok(text.as_bytes().to_vec());
    }
    let staging = state.info.home.join(STAGING);
    let path = PathBuf::from(params.required("eai:data")?);
    let inside = path.starts_with(&staging)
        && path.components().all(|part| !matches!(part, Component::ParentDir));
    if !inside {
        return Err(RestError::invalid(format!(
            "eai:data must be a file below {}; or send the CSV itself as contents",
            staging.display()
        )));
    }
    read(&path).await
}

async fn read(path: &FilePath) -> Result<Vec<u8>, RestError> {
    let unreadable = |error| RestError::invalid(format!("eai:data {}: {error}", path.display()));
    tokio::fs::read(path).await.map_err(unreadable)
}

pub(crate) async fn create(
    State(state): State<ApiState>,
    caller: Caller,
    path: PathNamespace,
    params: Params,
) -> Result<Response, RestError> {
    let mut namespace = namespace(&state, &caller, &path)?;
    if namespace.owner == "-" {
        namespace.owner.clone_from(&caller.user);
    }
    let name = params.required("name")?;
    if namespace.owner == NOBODY && !caller.rights.may_share(&namespace.app) {
        return Err(refused(&caller, "the lookup files of everybody"));
    }
    if found(&state, &caller, &namespace, name).await.is_ok_and(|f| f.owner == namespace.owner) {
        let text = format!("a lookup file \"{name}\" exists already");
        return Err(RestError::of_kind(model::ErrorKind::Conflict, text));
    }
    let bytes = content(&state, &params).await?;
    state.apps.write_lookup(name, &namespace, bytes.into()).await?;
    let file = found(&state, &caller, &namespace, name).await?;
    feed::respond_created("lookup-table-files", PATH, entry(&state, &caller, &file), &params)
}

pub(crate) async fn edit(
    State(state): State<ApiState>,
    caller: Caller,
    path: PathNamespace,
    Path(name): Path<String>,
    params: Params,
) -> Result<Response, RestError> {
    let file = found(&state, &caller, &namespace(&state, &caller, &path)?, &name).await?;
    check_writable(&caller, &file)?;
    let bytes = content(&state, &params).await?;
    let there = Namespace::new(&file.owner, &file.app);
    state.apps.write_lookup(&name, &there, bytes.into()).await?;
    feed::respond_one("lookup-table-files", PATH, entry(&state, &caller, &file), &params)
}

fn check_writable(caller: &Caller, file: &LookupFile) -> Result<(), RestError> {
    match caller.rights.may_write(&object(file, &file.place())) {
        true => Ok(()),
        false => Err(refused(caller, &file.name)),
    }
}

fn refused(caller: &Caller, what: &str) -> RestError {
    RestError::forbidden(format!("the user \"{}\" may not change {what}", caller.user))
}

/// Who reads and changes a shared file: `acl` with `perms.read` and `perms.write`.
pub(crate) async fn act(
    State(state): State<ApiState>,
    caller: Caller,
    path: PathNamespace,
    Path((name, action)): Path<(String, String)>,
    params: Params,
) -> Result<Response, RestError> {
    if action != "acl" {
        return Err(RestError::no_object(&action));
    }
    let file = found(&state, &caller, &namespace(&state, &caller, &path)?, &name).await?;
    check_writable(&caller, &file)?;
    let sharing = if file.owner == NOBODY { "app" } else { "user" };
    let asked = params.text("sharing").unwrap_or(sharing);
    if asked != sharing && !(sharing == "app" && asked == "global") {
        let text = format!("a lookup file stays where it is made: its sharing is {sharing}");
        return Err(RestError::invalid(text));
    }
    if sharing == "app" {
        let known = state.permissions.of(&file.place());
        let list = |key: &str, kept: Vec<String>| match params.get(key) {
            Some(_) => params.list(key),
            None => kept,
        };
        let (read, write) = (list("perms.read", known.read), list("perms.write", known.write));
        state.permissions.put(&file.place(), Perms { read, write }).await?;
    }
    feed::respond_one("lookup-table-files", PATH, entry(&state, &caller, &file), &params)
}

/// Who reads and changes a file.
pub(crate) async fn look(
    state: State<ApiState>,
    caller: Caller,
    path: PathNamespace,
    Path((name, action)): Path<(String, String)>,
    params: Params,
) -> Result<Response, RestError> {
    if action != "acl" {
        return Err(RestError::no_object(&action));
    }
    show(state, caller, path, Path(name), params.only_format()).await
}

pub(crate) async fn remove(
    State(state): State<ApiState>,
    caller: Caller,
    path: PathNamespace,
    Path(name): Path<String>,
    params: Params,
) -> Result<Response, RestError> {
    let file = found(&state, &caller, &namespace(&state, &caller, &path)?, &name).await?;
    check_writable(&caller, &file)?;
    state.apps.remove_lookup(&name, &Namespace::new(&file.owner, &file.app)).await?;
    state.permissions.remove(&file.place()).await?;
    feed::respond_empty("lookup-table-files", PATH, &params.only_format())
}
