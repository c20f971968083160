//! `/services/storage/passwords`: passwords that apps keep for their scripts.
//!
//! They belong to apps. Reading them, in clear too, needs `list_storage_passwords`; changing them
//! `edit_storage_passwords`.

use apps::{NOBODY, SEARCH};
use axum::extract::{Path, State};
use axum::response::Response;
use serde_json::json;

use super::feed;
use super::objects::check_app;
use crate::ApiState;
use crate::atom::{Acl, Attributes, Entry, segment};
use crate::error::RestError;
use crate::namespace::PathNamespace;
use crate::params::Params;
use crate::session::Caller;
use access::Secret;

const PATH: &str = "/services/storage/passwords";

/// The app that a request is about; none for all of them.
fn app(state: &ApiState, caller: &Caller, path: &PathNamespace) -> Option<String> {
    let app = path.app.clone().unwrap_or_else(|| caller.default_app(state));
    (app != "-").then_some(app)
}

fn entry(state: &ApiState, secret: &Secret) -> Result<Entry, RestError> {
    let content = feed::content(json!({
        "clear_password": state.secrets.open(secret)?,
        "encr_password": secret.sealed,
        "password": "********",
        "realm": secret.realm,
        "username": secret.user,
    }));
    let acl = Acl {
        owner: secret.owner.clone(),
        app: secret.app.clone(),
        sharing: "app".to_owned(),
        perms: None,
        removable: true,
        writable: true,
    };
    let path = format!("/servicesNS/{NOBODY}/{}/storage/passwords", segment(&secret.app));
    let attributes = Attributes::new(&[], &["password"], &[]);
    let entry = Entry::new(&path, &secret.name(), content).with_acl(acl);
    Ok(entry.with_attributes(attributes).editable())
}

/// The password of a name in the request's app. A name without a realm may begin with its user.
fn found(
    state: &ApiState,
    caller: &Caller,
    path: &PathNamespace,
    name: &str,
) -> Result<Secret, RestError> {
    let app = app(state, caller, path);
    let without_realm = format!(":{name}");
    let all = state.secrets.all().into_iter();
    let mut here = all.filter(|secret| app.as_ref().is_none_or(|app| secret.app == *app));
    let is_named = |secret: &Secret| secret.name() == name || secret.name() == without_realm;
    here.find(is_named).ok_or_else(|| RestError::no_object(name))
}

pub(crate) async fn list(
    State(state): State<ApiState>,
    caller: Caller,
    path: PathNamespace,
    params: Params,
) -> Result<Response, RestError> {
    let app = app(&state, &caller, &path);
    let mut all = state.secrets.all();
    all.retain(|secret| app.as_ref().is_none_or(|app| secret.app == *app));
    let entries = all.iter().map(|secret| entry(&state, secret)).collect::<Result<_, _>>()?;
    feed::respond("passwords", PATH, entries, &params)
}

pub(crate) async fn show(
    State(state): State<ApiState>,
    caller: Caller,
    path: PathNamespace,
    Path(name): Path<String>,
    params: Params,
) -> Result<Response, RestError> {
    if name == "_new" {
        let attributes = Attributes::new(&["name", "password"], &["realm"], &[]);
        return feed::respond_template("passwords", PATH, attributes, &params);
    }
    let secret = found(&state, &caller, &path, &name)?;
    feed::respond_one("passwords", PATH, entry(&state, &secret)?, &params)
}

pub(crate) async fn create(
    State(state): State<ApiState>,
    caller: Caller,
    path: PathNamespace,
    params: Params,
) -> Result<Response, RestError> {
    let app = app(&state, &caller, &path).unwrap_or_else(|| SEARCH.to_owned());
    check_app(&state, &app)?;
    let secret = Secret {
        app,
        owner: caller.user.clone(),
        realm: params.get("realm").unwrap_or_default().to_owned(),
        user: params.required("name")?.to_owned(),
        sealed: String::new(),
    };
    let known = state.secrets.all();
    if known.iter().any(|known| known.app == secret.app && known.name() == secret.name()) {
        let text = format!("a password with name={} already exists", secret.name());
        return Err(RestError::of_kind(model::ErrorKind::Conflict, text));
    }
    let secret = state.secrets.put(secret, params.required("password")?).await?;
    feed::respond_created("passwords", PATH, entry(&state, &secret)?, &params)
}

pub(crate) async fn edit(
    State(state): State<ApiState>,
    caller: Caller,
    path: PathNamespace,
    Path(name): Path<String>,
    params: Params,
) -> Result<Response, RestError> {
    let secret = found(&state, &caller, &path, &name)?;
    let secret = state.secrets.put(secret, params.required("password")?).await?;
    feed::respond_one("passwords", PATH, entry(&state, &secret)?, &params)
}

pub(crate) async fn remove(
    State(state): State<ApiState>,
    caller: Caller,
    path: PathNamespace,
    Path(name): Path<String>,
    params: Params,
) -> Result<Response, RestError> {
    let secret = found(&state, &caller, &path, &name)?;
    state.secrets.remove(&secret).await?;
    feed::respond_empty("passwords", PATH, &params.only_format())
}
