//! `/services/authentication`: users, who the caller is, and sessions.
//!
//! Names are in lower case, as Splunk keeps them.

use axum::extract::{Path, State};
use axum::http::{Extensions, StatusCode};
use axum::response::Response;
use jiff::tz::TimeZone;
use serde_json::json;

use super::feed;
use crate::ApiState;
use crate::atom::{Acl, Attributes, Entry};
use crate::error::RestError;
use crate::params::Params;
use crate::session::{Caller, log_in, source};
use access::{Attempt, NewUser, User, UserChange};

const PATH: &str = "/services/authentication/users";
const CONTEXT: &str = "/services/authentication/current-context";
const SESSIONS: &str = "/services/authentication/httpauth-tokens";

fn attributes(required: &[&str]) -> Attributes {
    let optional = [
        "defaultApp",
        "email",
        "force-change-pass",
        "locked-out",
        "password",
        "realname",
        "restart_background_jobs",
        "roles",
        "tz",
    ];
    let optional: Vec<&str> =
        optional.into_iter().filter(|name| !required.contains(name)).collect();
    Attributes::new(required, &optional, &[])
}

fn entry(state: &ApiState, user: &User) -> Entry {
    let own_app = !user.default_app.is_empty();
    let content = feed::content(json!({
        "username": user.name,
        "realname": user.realname,
        "email": user.email,
        "password": "********",
        "roles": user.roles,
        "capabilities": state.authority.of(&user.name).capabilities(),
        "defaultApp": if own_app { user.default_app.as_str() } else { "search" },
        "defaultAppIsUserOverride": own_app,
        "defaultAppSourceRole": "system",
        "tz": user.tz,
        "restart_background_jobs": user.restart_background_jobs,
        "locked-out": state.accounts.is_locked_out(&user.name),
        "force-change-pass": user.must_change,
        "type": if user.is_local() { "Splunk" } else { user.provider.as_str() },
    }));
    feed::entry(PATH, &user.name, content)
        .with_acl(Acl::system())
        .with_attributes(attributes(&[]))
        .editable()
}

/// The user of that name, whatever its case.
fn found(state: &ApiState, name: &str) -> Result<User, RestError> {
    let user = state.accounts.user(name).or_else(|| state.accounts.user(&name.to_lowercase()));
    user.ok_or_else(|| RestError::no_object(name))
}

/// Users see themselves; all others with `list_all_users` or `edit_user`.
fn may_see(caller: &Caller, user: &User) -> bool {
    user.name == caller.user || caller.may("list_all_users") || caller.may("edit_user")
}

pub(crate) async fn list(
    State(state): State<ApiState>,
    caller: Caller,
    params: Params,
) -> Result<Response, RestError> {
    let mut users = state.accounts.all();
    users.retain(|user| may_see(&caller, user));
    let entries = users.iter().map(|user| entry(&state, user)).collect();
    feed::respond("users", PATH, entries, &params)
}

pub(crate) async fn show(
    State(state): State<ApiState>,
    caller: Caller,
    Path(name): Path<String>,
    params: Params,
) -> Result<Response, RestError> {
    if name == "_new" {
        return feed::respond_template("users", PATH, attributes(&["name", "roles"]), &params);
    }
    let user = found(&state, &name)?;
    if !may_see(&caller, &user) {
        return Err(RestError::no_object(&name));
    }
    feed::respond_one("users", PATH, entry(&state, &user), &params)
}

/// Who the caller is.
pub(crate) async fn current(
    State(state): State<ApiState>,
    caller: Caller,
    params: Params,
) -> Result<Response, RestError> {
    let user = found(&state, &caller.user)?;
    let mut entry = entry(&state, &user);
    "context".clone_into(&mut entry.name);
    entry.id = format!("{CONTEXT}/context");
    entry.links.clear();
    feed::respond_one("current-context", CONTEXT, entry, &params)
}

pub(crate) async fn create(
    State(state): State<ApiState>,
    caller: Caller,
    params: Params,
) -> Result<Response, RestError> {
    let name = params.required("name")?.to_lowercase();
    check_name(&name)?;
    if state.accounts.user(&name).is_some() {
        let text = format!("a user with name={name} already exists");
        return Err(RestError::of_kind(model::ErrorKind::Conflict, text));
    }
    let password = params.required("password")?.to_owned();
    let mut change = change(&state, &params)?;
    let roles = change.roles.take().filter(|roles| !roles.is_empty());
    let roles =
        roles.ok_or_else(|| RestError::invalid("a user needs at least one role (roles)"))?;
    check_grant(&state, &caller, &roles)?;
    change.password = None;
    state.accounts.put(NewUser { name: name.clone(), password, roles }).await?;
    state.accounts.change(&name, change, None).await?;
    let user = found(&state, &name)?;
    feed::respond_created("users", PATH, entry(&state, &user), &params)
}

/// Nobody grants what they do not have.
fn check_grant(state: &ApiState, caller: &Caller, roles: &[String]) -> Result<(), RestError> {
    roles.iter().try_for_each(|role| {
        let granted = state.authority.of_roles("", std::slice::from_ref(role));
        caller.require_all_of(&granted, &format!("the role \"{role}\""))
    })
}

/// Nobody takes over a user who may do more.
fn check_over(state: &ApiState, caller: &Caller, user: &User) -> Result<(), RestError> {
    let theirs = state.authority.of(&user.name);
    caller.require_all_of(&theirs, &format!("the user \"{}\"", user.name))
}

fn check_name(name: &str) -> Result<(), RestError> {
    access::user_name_fault(name).map_or(Ok(()), |reason| Err(RestError::invalid(reason)))
}

/// What the request changes.
fn change(state: &ApiState, params: &Params) -> Result<UserChange, RestError> {
    let text = |name: &str| params.get(name).map(str::to_owned);
    let roles: Vec<String> = params.list("roles");
    for role in &roles {
        if state.roles.get(role).is_none() {
            return Err(RestError::invalid(format!("there is no role \"{role}\"")));
        }
    }
    if let Some(zone) = params.text("tz") {
        TimeZone::get(zone).map_err(|error| {
            RestError::invalid(format!("unknown time zone \"{zone}\": {error}"))
        })?;
    }
    Ok(UserChange {
        password: params.text("password").map(str::to_owned),
        roles: params.get("roles").is_some().then_some(roles),
        realname: text("realname"),
        email: text("email"),
        default_app: text("defaultApp"),
        tz: text("tz"),
        restart_background_jobs: params
            .text("restart_background_jobs")
            .map(|_| params.flag("restart_background_jobs")),
        must_change: params.text("force-change-pass").map(|_| params.flag("force-change-pass")),
        locked: params.text("locked-out").map(|_| params.flag("locked-out")),
    })
}

/// Users may change their own name for people, address, time zone and app, and with
/// `change_own_password` their password; the rest needs `edit_user`.
pub(crate) async fn edit(
    State(state): State<ApiState>,
    caller: Caller,
    Path(name): Path<String>,
    extensions: Extensions,
    params: Params,
) -> Result<Response, RestError> {
    let user = found(&state, &name)?;
    let change = change(&state, &params)?;
    let by_others =
        change.roles.is_some() || change.locked.is_some() || change.must_change.is_some();
    if user.name != caller.user || by_others {
        caller.require("edit_user")?;
        check_over(&state, &caller, &user)?;
    }
    if let Some(roles) = &change.roles {
        check_grant(&state, &caller, roles)?;
    }
    if change.password.is_some() && !caller.may("edit_user") {
        caller.require("change_own_password")?;
        let old = params.get("oldpassword").unwrap_or_default();
        let source = source(&extensions);
        let attempt = Attempt { user: &user.name, password: old, new_password: None, source };
        // That it has to be changed is what happens here.
        let is_right = match log_in(&state, attempt).await {
            Ok(_) => true,
            Err(told) => told.is_some_and(|error| error.code == Some("password_expired")),
        };
        if !is_right {
            return Err(RestError::invalid("oldpassword is not the current password"));
        }
    }
    if change.roles.as_ref().is_some_and(Vec::is_empty) {
        return Err(RestError::invalid("a user needs at least one role (roles)"));
    }
    if change.locked == Some(true) && user.name == caller.user {
        return Err(RestError::invalid("users cannot lock themselves out"));
    }
    if change.locked == Some(false) {
        state.accounts.unlock(&user.name).await?;
    }
    state.accounts.change(&user.name, change, caller.session.as_deref()).await?;
    let user = found(&state, &user.name)?;
    feed::respond_one("users", PATH, entry(&state, &user), &params)
}

/// Answers 400 for a user that is not there, as Splunk does.
pub(crate) async fn remove(
    State(state): State<ApiState>,
    caller: Caller,
    Path(name): Path<String>,
    params: Params,
) -> Result<Response, RestError> {
    let user = found(&state, &name).map_err(|mut error| {
        error.status = StatusCode::BAD_REQUEST;
        error
    })?;
    if user.name == caller.user {
        return Err(RestError::invalid("users cannot remove themselves"));
    }
    check_over(&state, &caller, &user)?;
    state.accounts.remove(&user.name).await?;
    state.api_tokens.remove_all_of(&user.name).await?;
    list(State(state), caller, params).await
}

/// The sessions that the caller may see: all with `list_httpauths` or `edit_httpauths`, otherwise the
/// caller's own. They
/// are listed under names that are not their keys.
pub(crate) async fn sessions(
    State(state): State<ApiState>,
    caller: Caller,
    params: Params,
) -> Result<Response, RestError> {
    let all = caller.may("list_httpauths") || caller.may("edit_httpauths");
    let now = state.clock.now().0 / 1_000_000;
    let mut entries = Vec::new();
    for session in state.accounts.sessions() {
        if all || session.user == caller.user {
            let idle = i64::try_from(session.idle.as_secs()).unwrap_or(i64::MAX);
            let content = feed::content(json!({
                "authString": session.id,
                "userName": session.user,
                "searchId": "",
                "timeAccessed": now - idle,
                "timeOpened": now - i64::try_from(session.age.as_secs()).unwrap_or(i64::MAX),
                "clientIp": session.source.map(|address| address.to_string()).unwrap_or_default(),
            }));
            entries.push(feed::entry(SESSIONS, &session.id, content).with_acl(Acl::system()));
        }
    }
    feed::respond("httpauth-tokens", SESSIONS, entries, &params)
}

/// Ends a session, by the name it is listed under or by its key.
pub(crate) async fn close_session(
    State(state): State<ApiState>,
    caller: Caller,
    Path(name): Path<String>,
    params: Params,
) -> Result<Response, RestError> {
    let session = state.accounts.sessions().into_iter().find(|session| session.id == name);
    let own_key = caller.session.as_deref() == Some(name.as_str());
    match session {
        _ if own_key => drop(state.accounts.close_session(&name)),
        Some(session) => {
            if session.user != caller.user {
                caller.require("edit_httpauths")?;
            }
            // One that has ended meanwhile is ended as well.
            let _ = state.accounts.close_session_by_id(&session.id);
        }
        None => return Err(RestError::no_object(&name)),
    }
    feed::respond_empty("httpauth-tokens", SESSIONS, &params)
}
