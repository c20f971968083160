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
use access::{Role, is_built_in};

const PATH: &str = "/services/authorization/roles";
const CAPABILITIES: &str = "/services/authorization/capabilities";

/// Settings with a number, and what they are if nobody set them. They are kept and shown; searches
/// are not held to them.
const NUMBERS: [(&str, i64); 8] = [
    ("cumulativeRTSrchJobsQuota", 0),
    ("cumulativeSrchJobsQuota", 0),
    ("rtSrchJobsQuota", 6),
    ("srchDiskQuota", 100),
    ("srchJobsQuota", 3),
    ("srchTimeEarliest", -1),
    ("srchTimeWin", -1),
    ("deleteIndexesAllowed", 0),
];
const LISTS: [&str; 4] =
    ["capabilities", "imported_roles", "srchIndexesAllowed", "srchIndexesDefault"];

fn attributes(required: &[&str]) -> Attributes {
    let mut optional = LISTS.to_vec();
    optional.push("defaultApp");
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
        "srchFilter": "",
        "imported_srchFilter": "",
        "defaultApp": role.settings.get("defaultApp").cloned().unwrap_or_default(),
    }));
    for (name, default) in NUMBERS {
        let number = role.settings.get(name).and_then(|text| text.parse().ok()).unwrap_or(default);
        content.insert(name.to_owned(), json!(number));
    }
    let acl = Acl { removable: !is_built_in(&role.name), ..Acl::system() };
    feed::entry(PATH, &role.name, content).with_acl(acl).with_attributes(attributes(&[])).editable()
}

fn found(state: &ApiState, name: &str) -> Result<Role, RestError> {
    state.roles.get(&name.to_lowercase()).ok_or_else(|| RestError::no_object(name))
}

pub(crate) async fn list(
    State(state): State<ApiState>,
    params: Params,
) -> Result<Response, RestError> {
    let entries = state.roles.all().iter().map(|role| entry(&state, role)).collect();
    feed::respond("roles", PATH, entries, &params)
}

pub(crate) async fn show(
    State(state): State<ApiState>,
    Path(name): Path<String>,
    params: Params,
) -> Result<Response, RestError> {
    if name == "_new" {
        return feed::respond_template("roles", PATH, attributes(&["name"]), &params);
    }
    feed::respond_one("roles", PATH, entry(&state, &found(&state, &name)?), &params)
}

pub(crate) async fn create(
    State(state): State<ApiState>,
    caller: Caller,
    params: Params,
) -> Result<Response, RestError> {
    caller.require(&state, "edit_roles")?;
    let name = params.required("name")?.to_lowercase();
    let fits = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
    if name.len() > 1_024 || !name.chars().all(fits) {
        let text = format!("\"{name}\" is no name for a role: letters, digits, _ - . only");
        return Err(RestError::invalid(text));
    }
    if state.roles.get(&name).is_some() {
        let text = format!("a role with name={name} already exists");
        return Err(RestError::of_kind(model::ErrorKind::Conflict, text));
    }
    let mut role = Role::new(&name);
    apply(&state, &mut role, &params)?;
    state.roles.put(role).await?;
    feed::respond_created("roles", PATH, entry(&state, &found(&state, &name)?), &params)
}

pub(crate) async fn edit(
    State(state): State<ApiState>,
    caller: Caller,
    Path(name): Path<String>,
    params: Params,
) -> Result<Response, RestError> {
    caller.require(&state, "edit_roles")?;
    let mut role = found(&state, &name)?;
    apply(&state, &mut role, &params)?;
    state.roles.put(role).await?;
    show(State(state), Path(name), params).await
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
    if params.text("srchFilter").is_some() {
        let text = "srchFilter is not supported: searches would not be held to it";
        return Err(RestError::invalid(text));
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
    for (name, _) in NUMBERS {
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
    caller.require(&state, "edit_roles")?;
    let role = found(&state, &name).map_err(|mut error| {
        error.status = StatusCode::BAD_REQUEST;
        error
    })?;
    if is_built_in(&role.name) {
        let text = format!("the role \"{}\" is built in and stays", role.name);
        return Err(RestError::invalid(text));
    }
    let users = state.accounts.all();
    let bound = users.iter().find(|user| user.roles == [role.name.clone()]);
    if let Some(user) = bound {
        let text = format!("the role \"{}\" is the only one of user \"{}\"", role.name, user.name);
        return Err(RestError::of_kind(model::ErrorKind::Conflict, text));
    }
    state.roles.remove(&role.name).await?;
    list(State(state), params).await
}

/// Every capability there is.
pub(crate) async fn capabilities(params: Params) -> Result<Response, RestError> {
    let content = feed::content(json!({"capabilities": capabilities::ALL}));
    respond_capabilities(content, &params)
}

/// What each role may do.
pub(crate) async fn grantable(
    State(state): State<ApiState>,
    caller: Caller,
    params: Params,
) -> Result<Response, RestError> {
    let roles = state.accounts.user(&caller.user).map(|user| user.roles).unwrap_or_default();
    let content = feed::content(json!({"capabilities": state.roles.capabilities(&roles)}));
    respond_capabilities(content, &params)
}

fn respond_capabilities(
    content: serde_json::Map<String, Value>,
    params: &Params,
) -> Result<Response, RestError> {
    let entry = feed::entry(CAPABILITIES, "capabilities", content).with_acl(Acl::system());
    feed::respond_one("capabilities", CAPABILITIES, entry, params)
}
