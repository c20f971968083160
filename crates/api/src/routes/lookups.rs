//! `/services/data/lookup-table-files`: lookup files, as CSV.

use std::path::{Component, Path as FilePath, PathBuf};

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

fn entry(file: &LookupFile) -> Entry {
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
        perms: if shared { Acl::default().perms } else { None },
        removable: file.removable,
        writable: true,
    };
    Entry::new(&path, &file.name, content)
        .with_acl(acl)
        .with_attributes(Attributes::new(&[], &["contents", "eai:data"], &[]))
        .editable()
}

async fn found(
    state: &ApiState,
    namespace: &Namespace,
    name: &str,
) -> Result<LookupFile, RestError> {
    let files = state.apps.list_lookups(namespace).await?;
    let found = files.into_iter().find(|file| file.name == name);
    found.ok_or_else(|| RestError::no_object(name))
}

pub(crate) async fn list(
    State(state): State<ApiState>,
    caller: Caller,
    path: PathNamespace,
    params: Params,
) -> Result<Response, RestError> {
    let files = state.apps.list_lookups(&namespace(&state, &caller, &path)?).await?;
    feed::respond("lookup-table-files", PATH, files.iter().map(entry).collect(), &params)
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
    let file = found(&state, &namespace, &name).await?;
    if OutputMode::of(&params)? == OutputMode::Csv {
        let content = state.apps.read_lookup(&name, &namespace).await?;
        let content = content.ok_or_else(|| RestError::no_object(&name))?;
        let text = String::from_utf8_lossy(&content.bytes).into_owned();
        return Ok(OutputMode::Csv.respond(StatusCode::OK, text));
    }
    feed::respond_one("lookup-table-files", PATH, entry(&file), &params)
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
    caller.require(&state, "upload_lookup_files")?;
    let mut namespace = namespace(&state, &caller, &path)?;
    if namespace.owner == "-" {
        namespace.owner.clone_from(&caller.user);
    }
    let name = params.required("name")?;
    if found(&state, &namespace, name).await.is_ok_and(|file| file.owner == namespace.owner) {
        let text = format!("a lookup file \"{name}\" exists already");
        return Err(RestError::of_kind(model::ErrorKind::Conflict, text));
    }
    let bytes = content(&state, &params).await?;
    state.apps.write_lookup(name, &namespace, bytes.into()).await?;
    let file = found(&state, &namespace, name).await?;
    feed::respond_created("lookup-table-files", PATH, entry(&file), &params)
}

pub(crate) async fn edit(
    State(state): State<ApiState>,
    caller: Caller,
    path: PathNamespace,
    Path(name): Path<String>,
    params: Params,
) -> Result<Response, RestError> {
    caller.require(&state, "upload_lookup_files")?;
    let file = found(&state, &namespace(&state, &caller, &path)?, &name).await?;
    check_writable(&state, &caller, &file)?;
    let bytes = content(&state, &params).await?;
    let there = Namespace::new(&file.owner, &file.app);
    state.apps.write_lookup(&name, &there, bytes.into()).await?;
    feed::respond_one("lookup-table-files", PATH, entry(&file), &params)
}

fn check_writable(state: &ApiState, caller: &Caller, file: &LookupFile) -> Result<(), RestError> {
    if file.owner == caller.user || caller.may(state, "admin_all_objects") {
        return Ok(());
    }
    // What everybody sees, power users look after.
    caller.require(state, "list_all_objects")
}

pub(crate) async fn remove(
    State(state): State<ApiState>,
    caller: Caller,
    path: PathNamespace,
    Path(name): Path<String>,
    params: Params,
) -> Result<Response, RestError> {
    let file = found(&state, &namespace(&state, &caller, &path)?, &name).await?;
    check_writable(&state, &caller, &file)?;
    state.apps.remove_lookup(&name, &Namespace::new(&file.owner, &file.app)).await?;
    feed::respond_empty("lookup-table-files", PATH, &params.only_format())
}
