//! `/services/authorization`: roles, and the capabilities they can be given.

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;
use serde_json::{Value, json};

use super::feed;
use crate::ApiState;
use crate::atom::{Acl, Attributes, Entry};
use crate::error::RestError;
use crate::params::Params;
use crate::session::Caller;
use access::capabilities;
use access::limits::{FILTER, NUMBERS};
use access::{Role, is_built_in};

const PATH: &str = "/services/authorization/roles";
const CAPABILITIES: &str = "/services/authorization/capabilities";

/// Quotas of what there is not: they are shown as 0 and cannot be anything else.
const WITHOUT_USE: [&str; 2] = ["cumulativeRTSrchJobsQuota", "rtSrchJobsQuota"];
const LISTS: [&str; 4] =
    ["capabilities", "imported_roles", "srchIndexesAllowed", "srchIndexesDefault"];

fn attributes(required: &[&str]) -> Attributes {
    let mut optional = LISTS.to_vec();
    optional.extend(["defaultApp", FILTER]);
    optional.extend(WITHOUT_USE);
    optional.extend(NUMBERS.iter().map(|(name, _)| *name));
    Attributes::new(required, &optional, &[])
}

fn entry(state: &ApiState, role: &Role) -> Entry {
    let imported = state.roles.imported(role);
    let mut content = feed::content(json!({
        "capabilities": role.capabilities,
        "imported_roles": role.imported_roles,
        "imported_capabilities": imported.capabilities,
        "srchIndexesAllowed": role.indexes_allowed,
        "srchIndexesDefault": role.indexes_default,
        "imported_srchIndexesAllowed": imported.indexes_allowed,
        "imported_srchIndexesDefault": imported.indexes_default,
        "srchFilter": role.settings.get(FILTER).cloned().unwrap_or_default(),
        "imported_srchFilter": imported.filter,
        "defaultApp": role.settings.get("defaultApp").cloned().unwrap_or_default(),
    }));
    for name in WITHOUT_USE {
        content.insert(name.to_owned(), json!(0));
    }
    for (name, default) in NUMBERS.iter().copied() {
        let number = role.settings.get(name).and_then(|text| text.parse().ok()).unwrap_or(default);
        content.insert(name.to_owned(), json!(number));
    }
    let acl = Acl { removable: !is_built_in(&role.name), ..Acl::system() };
    feed::entry(PATH, &role.name, content).with_acl(acl).with_attributes(attributes(&[])).editable()
}

fn found(state: &ApiState, name: &str) -> Result<Role, RestError> {
    state.roles.get(&name.to_lowercase()).ok_or_else(|| RestError::no_object(name))
}

/// Users see the roles they have, imported ones included; all with `list_all_roles` or `edit_roles`.
fn may_see(caller: &Caller, role: &str) -> bool {
    let all = ["list_all_roles", "edit_roles", "edit_user"];
    caller.rights.roles().contains(role) || all.iter().any(|capability| caller.may(capability))
}

pub(crate) async fn list(
    State(state): State<ApiState>,
    caller: Caller,
    params: Params,
) -> Result<Response, RestError> {
    let mut roles = state.roles.all();
    roles.retain(|role| may_see(&caller, &role.name));
    let entries = roles.iter().map(|role| entry(&state, role)).collect();
    feed::respond("roles", PATH, entries, &params)
}

pub(crate) async fn show(
    State(state): State<ApiState>,
    caller: Caller,
    Path(name): Path<String>,
    params: Params,
) -> Result<Response, RestError> {
    if name == "_new" {
        return feed::respond_template("roles", PATH, attributes(&["name"]), &params);
    }
    let role = found(&state, &name)?;
    if !may_see(&caller, &role.name) {
        return Err(RestError::no_object(&name));
    }
    feed::respond_one("roles", PATH, entry(&state, &role), &params)
}

pub(crate) async fn create(
    State(state): State<ApiState>,
    caller: Caller,
    params: Params,
) -> Result<Response, RestError> {
    let name = params.required("name")?.to_lowercase();
    let fits = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
    if name.len() > 1_024 || !name.chars().all(fits) {
        let text = format!("\"{name}\" is not a valid role name: letters, digits, _ - . only");
        return Err(RestError::invalid(text));
    }
    if state.roles.get(&name).is_some() {
        let text = format!("a role with name={name} already exists");
        return Err(RestError::of_kind(model::ErrorKind::Conflict, text));
    }
    let mut role = Role::new(&name);
    apply(&state, &mut role, &params)?;
    keep(&state, &caller, role).await?;
    feed::respond_created("roles", PATH, entry(&state, &found(&state, &name)?), &params)
}

pub(crate) async fn edit(
    State(state): State<ApiState>,
    caller: Caller,
    Path(name): Path<String>,
    params: Params,
) -> Result<Response, RestError> {
    let mut role = found(&state, &name)?;
    check_over(&state, &caller, &role)?;
    apply(&state, &mut role, &params)?;
    keep(&state, &caller, role).await?;
    show(State(state), caller, Path(name), params).await
}

/// Nobody changes, removes or grants what they do not have.
fn check_over(state: &ApiState, caller: &Caller, role: &Role) -> Result<(), RestError> {
    let granted = state.authority.of_role(role);
    caller.require_all_of(&granted, &format!("the role \"{}\"", role.name))
}

async fn keep(state: &ApiState, caller: &Caller, role: Role) -> Result<(), RestError> {
    check_over(state, caller, &role)?;
    state.roles.put(role).await?;
    Ok(())
}

/// Changes what the request names.
fn apply(state: &ApiState, role: &mut Role, params: &Params) -> Result<(), RestError> {
    for name in params.list("capabilities") {
        if !capabilities::ALL.contains(&name.as_str()) {
            return Err(RestError::invalid(format!("there is no capability \"{name}\"")));
        }
    }
    for name in params.list("imported_roles") {
        if name == role.name || state.roles.get(&name).is_none() {
            return Err(RestError::invalid(format!("there is no other role \"{name}\"")));
        }
    }
    for name in WITHOUT_USE {
        if params.text(name).is_some_and(|text| text.trim() != "0") {
            let text = format!("{name}: there are no real-time searches, so their quota is 0");
            return Err(RestError::invalid(text));
        }
    }
    if let Some(filter) = params.get(FILTER) {
        state.search.check_filter(filter)?;
        role.settings.insert(FILTER.to_owned(), filter.trim().to_owned());
    }
    let lists = [
        ("capabilities", &mut role.capabilities),
        ("imported_roles", &mut role.imported_roles),
        ("srchIndexesAllowed", &mut role.indexes_allowed),
        ("srchIndexesDefault", &mut role.indexes_default),
    ];
    for (name, kept) in lists {
        if params.get(name).is_some() {
            *kept = params.list(name);
        }
    }
    for (name, _) in NUMBERS.iter().copied() {
        if let Some(text) = params.text(name) {
            text.parse::<i64>()
                .map_err(|_| RestError::invalid(format!("{name} must be a whole number")))?;
            role.settings.insert(name.to_owned(), text.to_owned());
        }
    }
    if let Some(app) = params.get("defaultApp") {
        role.settings.insert("defaultApp".to_owned(), app.to_owned());
    }
    Ok(())
}

/// Answers 400 for a role that is not there, as Splunk does.
pub(crate) async fn remove(
    State(state): State<ApiState>,
    caller: Caller,
    Path(name): Path<String>,
    params: Params,
) -> Result<Response, RestError> {
    let role = found(&state, &name).map_err(|mut error| {
        error.status = StatusCode::BAD_REQUEST;
        error
    })?;
    if is_built_in(&role.name) {
        let text = format!("the role \"{}\" is built in and stays", role.name);
        return Err(RestError::invalid(text));
    }
    check_over(&state, &caller, &role)?;
    let users = state.accounts.all();
    let bound = users.iter().find(|user| user.roles == [role.name.clone()]);
    if let Some(user) = bound {
        let text = format!("the role \"{}\" is the only one of user \"{}\"", role.name, user.name);
        return Err(RestError::of_kind(model::ErrorKind::Conflict, text));
    }
    state.roles.remove(&role.name).await?;
    list(State(state), caller, params).await
}

/// Every capability there is.
pub(crate) async fn capabilities(params: Params) -> Result<Response, RestError> {
    let content = feed::content(json!({"capabilities": capabilities::ALL}));
    respond_capabilities(content, &params)
}

/// What each role may do.
pub(crate) async fn grantable(caller: Caller, params: Params) -> Result<Response, RestError> {
    let content = feed::content(json!({"capabilities": caller.rights.capabilities()}));
    respond_capabilities(content, &params)
}

fn respond_capabilities(
    content: serde_json::Map<String, Value>,
    params: &Params,
) -> Result<Response, RestError> {
    let entry = feed::entry(CAPABILITIES, "capabilities", content).with_acl(Acl::system());
    feed::respond_one("capabilities", CAPABILITIES, entry, params)
}
