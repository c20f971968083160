//! `/services/authentication`: users, who the caller is, and sessions.
//!
//! Names are in lower case, as Splunk keeps them.

use axum::http::StatusCode;
use axum::response::Response;
use jiff::tz::TimeZone;
use serde_json::json;

use super::auth::logout;
use super::feed;
use super::resource::{About, Access, Removal, Resource};
use crate::ApiState;
use crate::atom::{Acl, Attributes, Entry};
use crate::call::Call;
use crate::error::RestError;
use crate::params::Params;
use crate::rights::Need::{May, Own, Session};
use crate::routing::{Routes, delete, get, post};
use crate::session::{Caller, log_in};
#[cfg(test)]
use crate::tests::cases::{Case, case, object_cases, removal_cases};
use access::{Attempt, NewUser, SessionInfo, User, UserChange};

const PATH: &str = "/services/authentication/users";
const CONTEXT: &str = "/services/authentication/current-context";
const LOGOUT: &str = "/services/auth/logout";
const SESSIONS: &str = "/services/authentication/httpauth-tokens";
const MODULE: &str = "/services/authentication/providers/services/active_authmodule";
const PREFERENCES: &str = "/services/data/user-prefs";

pub(super) fn routes() -> Routes {
    let edit = Some(May("edit_user"));
    let users = Access {
        list: Some(Own),
        create: edit,
        show: Some(Own),
        edit: Some(Own),
        remove: edit,
        ..Access::default()
    };
    let who = "The caller, with roles and capabilities";
    Routes::default()
        .resource(PATH, &Users, &users)
        .at(LOGOUT, post(Session, "Ends the session of the request", logout))
        .at(CONTEXT, get(Own, who, current))
        .at("/services/authentication/current-context/context", get(Own, "The same", current))
        .at(
            SESSIONS,
            get(Own, "Lists sessions: the caller's own, or all with `edit_httpauths`", sessions),
        )
        .at(
            "/services/authentication/httpauth-tokens/{name}",
            delete(Own, "Ends a session, by its ID or key", close_session),
        )
        .at(MODULE, get(May("list_settings"), "What checks users who are not local", auth_module))
        .at(PREFERENCES, get(Own, "The caller's time zone and default app", preferences))
        .at("/services/data/user-prefs/{name}", get(Own, "The same, of `general`", preferences))
}

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
    Entry::new(PATH, &user.name, content)
        .with_acl(Acl::system())
        .with_attributes(attributes(&[]))
        .editable()
}

/// The user of that name, whatever its case.
fn found(state: &ApiState, name: &str) -> Result<User, RestError> {
    let user = state.accounts.user(name).or_else(|| state.accounts.user(&name.to_lowercase()));
    user.ok_or_else(|| RestError::no_object(name))
}

struct Users;

impl Resource for Users {
    type Item = User;

    fn about(&self) -> About {
        About { title: "users", path: PATH, one: "a user", many: "users" }
    }

    fn removal(&self) -> Removal {
        Removal::Rest
    }

    fn template(&self, _: &Call) -> Result<Option<Attributes>, RestError> {
        Ok(Some(attributes(&["name", "roles"])))
    }

    fn entry(&self, call: &Call, user: &User) -> Result<Entry, RestError> {
        Ok(entry(&call.state, user))
    }

    /// Whether the caller may see a user: users see themselves; all others with `list_all_users` or
    /// `edit_user`.
    fn may_see(&self, call: &Call, user: &User) -> bool {
        let caller = &call.caller;
        user.name == caller.user || caller.may("list_all_users") || caller.may("edit_user")
    }

    async fn list(&self, call: &Call) -> Result<Vec<User>, RestError> {
        Ok(call.state.accounts.all())
    }

    async fn find(&self, call: &Call) -> Result<Vec<User>, RestError> {
        Ok(vec![found(&call.state, call.name())?])
    }

    async fn create(&self, call: &Call) -> Result<User, RestError> {
        let Call { state, caller, params, .. } = call;
        let name = params.required("name")?.to_lowercase();
        check_name(&name)?;
        if state.accounts.user(&name).is_some() {
            let text = format!("a user with name={name} already exists");
            return Err(RestError::of_kind(model::ErrorKind::Conflict, text));
        }
        let password = params.required("password")?.to_owned();
        let mut change = change(state, params)?;
        let roles = change.roles.take().filter(|roles| !roles.is_empty());
        let roles =
            roles.ok_or_else(|| RestError::invalid("a user needs at least one role (roles)"))?;
        check_grant(state, caller, &roles)?;
        change.password = None;
        state.accounts.put(NewUser { name: name.clone(), password, roles }).await?;
        state.accounts.change(&name, change, None).await?;
        found(state, &name)
    }

    async fn edit(&self, call: &Call, user: User) -> Result<User, RestError> {
        edit(call, &user).await?;
        found(&call.state, &user.name)
    }

    async fn remove(&self, call: &Call, user: User) -> Result<(), RestError> {
        if user.name == call.caller.user {
            return Err(RestError::invalid("users cannot remove themselves"));
        }
        check_over(&call.state, &call.caller, &user)?;
        call.state.accounts.remove(&user.name).await?;
        call.state.api_tokens.remove_all_of(&user.name).await?;
        Ok(())
    }

    /// Returns the same status as Splunk.
    fn removal_of_none(&self) -> StatusCode {
        StatusCode::BAD_REQUEST
    }
}

/// Returns the caller.
async fn current(call: Call) -> Result<Response, RestError> {
    let user = found(&call.state, &call.caller.user)?;
    let mut entry = entry(&call.state, &user);
    "context".clone_into(&mut entry.name);
    entry.id = format!("{CONTEXT}/context");
    entry.links.clear();
    feed::respond_one("current-context", CONTEXT, entry, &call.params)
}

/// Returns the provider of users who are not local.
async fn auth_module(Call { state, params, .. }: Call) -> Result<Response, RestError> {
    let content = json!({"active_authmodule": state.accounts.provider_kind()});
    let entry = Entry::new(MODULE, "active_authmodule", feed::content(content));
    feed::respond_one("active_authmodule", MODULE, entry.with_acl(Acl::system()), &params)
}

/// Returns the settings of the account, under the names of `user-prefs.conf`.
async fn preferences(call: Call) -> Result<Response, RestError> {
    if !matches!(call.name(), "" | "general") {
        return Err(RestError::no_object(call.name()));
    }
    let user = found(&call.state, &call.caller.user)?;
    let content = json!({
        "default_namespace": call.caller.default_app(&call.state),
        "tz": user.tz,
        "eai:userName": user.name,
    });
    let acl = Acl { owner: user.name, sharing: "user".to_owned(), perms: None, ..Acl::system() };
    let entry = Entry::new(PREFERENCES, "general", feed::content(content)).with_acl(acl);
    feed::respond_one("user-prefs", PREFERENCES, entry, &call.params)
}

/// Checks that the caller has all rights of the granted roles.
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

/// Returns the changes in the request.
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
async fn edit(call: &Call, user: &User) -> Result<(), RestError> {
    let Call { state, caller, params, .. } = call;
    let change = change(state, params)?;
    let by_others =
        change.roles.is_some() || change.locked.is_some() || change.must_change.is_some();
    if user.name != caller.user || by_others {
        caller.require("edit_user")?;
        check_over(state, caller, user)?;
    }
    if let Some(roles) = &change.roles {
        check_grant(state, caller, roles)?;
    }
    if change.password.is_some() && !caller.may("edit_user") {
        caller.require("change_own_password")?;
        let old = params.get("oldpassword").unwrap_or_default();
        let source = call.source;
        let attempt = Attempt { user: &user.name, password: old, new_password: None, source };
        // This request is the one that changes an expired password.
        let is_right = match log_in(state, attempt).await {
            Ok(_) => true,
            Err(told) => told.is_some_and(|error| error.code == Some("password_expired")),
        };
        if !is_right {
            return Err(RestError::invalid("the current password (oldpassword) is not correct"));
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
    Ok(())
}

/// Lists the sessions that the caller may see: all with `list_httpauths` or `edit_httpauths`, otherwise the
/// caller's own. Their names are not their keys.
async fn sessions(call: Call) -> Result<Response, RestError> {
    let all = call.caller.may("list_httpauths") || call.caller.may("edit_httpauths");
    let mut sessions = call.state.accounts.sessions();
    sessions.retain(|session| all || session.user == call.caller.user);
    let entries = sessions.iter().map(|session| session_entry(call.now(), session)).collect();
    feed::respond("httpauth-tokens", SESSIONS, entries, &call.params)
}

fn session_entry(now: i64, session: &SessionInfo) -> Entry {
    let seconds = |span: std::time::Duration| i64::try_from(span.as_secs()).unwrap_or(i64::MAX);
    let content = feed::content(json!({
        "authString": session.id,
        "userName": session.user,
        "searchId": "",
        "timeAccessed": now - seconds(session.idle),
        "timeOpened": now - seconds(session.age),
        "clientIp": session.source.map(|address| address.to_string()).unwrap_or_default(),
    }));
    Entry::new(SESSIONS, &session.id, content).with_acl(Acl::system())
}

/// Ends a session, by the name it is listed under or by its key.
async fn close_session(call: Call) -> Result<Response, RestError> {
    let Call { state, caller, .. } = &call;
    let name = call.name();
    let session = state.accounts.sessions().into_iter().find(|session| session.id == name);
    let own_key = caller.session.as_deref() == Some(name);
    match session {
        _ if own_key => state.accounts.close_session(name).await.1?,
        Some(session) => {
            if session.user != caller.user {
                caller.require("edit_httpauths")?;
            }
            // A session that has ended meanwhile needs no removal.
            let _ = state.accounts.close_session_by_id(&session.id).await?;
        }
        None => return Err(RestError::no_object(name)),
    }
    feed::respond_empty("httpauth-tokens", SESSIONS, &call.params)
}

/// Requests and their answers.
#[cfg(test)]
pub(super) fn cases() -> Vec<Case> {
    let context = format!("{CONTEXT}/context");
    let (mode, absent) = ("unknown output_mode", "Could not find object");
    let mut all = object_cases(PATH, "password=changeme-1&roles=user", "realname=One");
    all.extend([
        case(&format!("POST {PATH}"), "name=two&password=changeme-1", 400, "at least one role"),
        case(&format!("POST {PATH}/one"), "tz=Nowhere", 400, "unknown time zone"),
        case(&format!("POST {PATH}/one"), "roles=none", 400, "there is no role"),
        case(&format!("DELETE {PATH}/admin"), "", 400, "cannot remove themselves"),
        case(&format!("GET {CONTEXT}"), "", 200, "\"username\":\"admin\""),
        case(&format!("GET {CONTEXT}?output_mode=none"), "", 400, mode),
        case(&format!("GET {context}"), "", 200, "\"username\":\"admin\""),
        case(&format!("GET {context}?output_mode=none"), "", 400, mode),
        case(&format!("GET {MODULE}"), "", 200, "\"active_authmodule\":\"Splunk\""),
        case(&format!("GET {MODULE}?output_mode=none"), "", 400, mode),
        case(&format!("GET {PREFERENCES}"), "", 200, "\"default_namespace\":\"search\""),
        case(&format!("GET {PREFERENCES}?output_mode=none"), "", 400, mode),
        case(&format!("GET {PREFERENCES}/general"), "", 200, "\"name\":\"general\""),
        case(&format!("GET {PREFERENCES}/none"), "", 404, absent),
        case(&format!("POST {LOGOUT}"), "", 200, "{}"),
        case("POST /services/auth/login", "username=one&password=changeme-1", 200, "sessionKey"),
        case(&format!("GET {SESSIONS}?search=one"), "", 200, "\"userName\":\"one\"")
            .keeping("session", "/entry/0/name"),
        case(&format!("GET {SESSIONS}?count=x"), "", 400, "must be a whole number"),
        case(&format!("DELETE {SESSIONS}/$session"), "", 200, "\"entry\":[]"),
        case(&format!("DELETE {SESSIONS}/$session"), "", 404, absent),
    ]);
    all.extend(removal_cases(PATH, 400));
    all
}
