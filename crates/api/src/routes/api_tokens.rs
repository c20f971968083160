//! `/services/authorization/tokens`: creates, lists, disables and removes tokens of users.
//!
//! The text of a token is only in the response to its creation. A token cannot create tokens if it is
//! narrower than its user, because it could create one that is not.

use access::{ApiToken, MAX_EPHEMERAL_SECONDS, NewToken, Scope, Use, time_span};
use axum::response::Response;
use serde_json::json;

use super::feed;
use crate::ApiState;
use crate::atom::{Acl, Attributes, Entry};
use crate::call::Call;
use crate::error::RestError;
use crate::params::Params;
use crate::rights::Need::Own;
use crate::routing::{Routes, get};
use crate::session::Caller;
#[cfg(test)]
use crate::tests::cases::{Case, case};

pub(super) fn routes() -> Routes {
    Routes::default()
        .at(
            "/services/authorization/tokens",
            get(Own, "Lists API tokens: the caller's own, or all with `list_tokens_all`", list)
                .post(Own, "Creates a token; only this response contains its text", create),
        )
        .at(
            "/services/authorization/tokens/{name}",
            get(Own, "Shows a token by its ID, or the tokens of a user", list_of)
                .post(Own, "Enables or disables a token", edit)
                .delete(Own, "Removes a token", remove),
        )
}

const PATH: &str = "/services/authorization/tokens";
/// Characters of an audience.
const MAX_AUDIENCE: usize = 256;

fn entry(token: &ApiToken, used: Use) -> Entry {
    let content = feed::content(json!({
        "claims": {
            "aud": token.audience,
            "exp": token.expires.unwrap_or(0),
            "iat": token.created,
            "idp": "Splunk",
            "iss": token.created_by,
            "jti": token.id,
            "nbr": token.not_before,
            "sub": token.user,
        },
        "headers": {"alg": "HS512", "ttyp": "static"},
        "lastUsed": used.at,
        "lastUsedIp": used.from.map(|address| address.to_string()).unwrap_or_default(),
        "status": if token.enabled { "enabled" } else { "disabled" },
        "capabilities": token.scope.capabilities,
        "srchIndexesAllowed": token.scope.indexes,
    }));
    let optional =
        ["audience", "capabilities", "expires_on", "not_before", "srchIndexesAllowed", "type"];
    Entry::new(PATH, &token.id, content)
        .with_acl(Acl::system())
        .with_attributes(Attributes::new(&["name"], &optional, &[]))
        .editable()
}

async fn list(Call { state, caller, params, .. }: Call) -> Result<Response, RestError> {
    let user = params.text("username").map(str::to_lowercase);
    respond_list(&state, &caller, user.as_deref(), &params)
}

/// The tokens of a user, or the token of that name.
async fn list_of(call: Call) -> Result<Response, RestError> {
    let Call { state, caller, params, .. } = &call;
    let name = call.segment("name");
    match state.api_tokens.get(name) {
        Some((token, used)) if may_list(caller, &token.user) => {
            feed::respond_one("tokens", PATH, entry(&token, used), params)
        }
        Some(_) => Err(RestError::no_object(name)),
        None => respond_list(state, caller, Some(&name.to_lowercase()), params),
    }
}

fn respond_list(
    state: &ApiState,
    caller: &Caller,
    user: Option<&str>,
    params: &Params,
) -> Result<Response, RestError> {
    let seen = |token: &ApiToken| {
        user.is_none_or(|user| token.user == user) && may_list(caller, &token.user)
    };
    let all = state.api_tokens.all();
    let seen = all.iter().filter(|(token, _)| seen(token));
    let entries = seen.map(|(token, used)| entry(token, *used)).collect();
    feed::respond_in_order("tokens", PATH, entries, params)
}

fn may_list(caller: &Caller, user: &str) -> bool {
    let own = ["list_tokens_own", "edit_tokens_own"];
    let all = ["list_tokens_all", "edit_tokens_all"];
    let may = |names: [&str; 2]| names.iter().any(|name| caller.may(name));
    may(all) || (user == caller.user && may(own))
}

/// Refuses who may not make, disable or remove a token of the user.
fn require_edit(caller: &Caller, user: &str) -> Result<(), RestError> {
    if user == caller.user && caller.may("edit_tokens_own") {
        return Ok(());
    }
    caller.require("edit_tokens_all")
}

async fn create(Call { state, caller, params, .. }: Call) -> Result<Response, RestError> {
    let user = params.text("name").unwrap_or(&caller.user).to_lowercase();
    require_edit(&caller, &user)?;
    if caller.scope.as_ref().is_some_and(|scope| *scope != Scope::default()) {
        return Err(RestError::forbidden("a token with a scope cannot create tokens"));
    }
    let Some(kept) = state.accounts.user(&user) else {
        return Err(RestError::invalid(format!("there is no user \"{user}\"")));
    };
    if kept.name != caller.user {
        // Nobody gets a token of a user who may do more.
        let theirs = state.authority.of(&kept.name);
        caller.require_all_of(&theirs, &format!("the user \"{}\"", kept.name))?;
    }
    let now = state.clock.now().0 / 1_000_000;
    let new = new_token(now, kept.name, &caller, &params)?;
    let (audience, expires) = (new.audience.clone(), new.expires);
    let (id, text) = state.api_tokens.create(now, new).await?;
    tracing::info!(
        target: "audit", user = caller.user, token = id, of = user, audience, expires,
        "token created"
    );
    let content = feed::content(json!({"id": id, "token": text}));
    let entry = Entry::new(PATH, &id, content).with_acl(Acl::system());
    feed::respond_created("tokens", PATH, entry, &params)
}

fn new_token(
    now: i64,
    user: String,
    caller: &Caller,
    params: &Params,
) -> Result<NewToken, RestError> {
    let audience = params.required("audience")?.to_owned();
    if audience.chars().count() > MAX_AUDIENCE {
        let text = format!("audience is longer than {MAX_AUDIENCE} characters");
        return Err(RestError::invalid(text));
    }
    let ephemeral = match params.text("type").unwrap_or("static") {
        "static" => false,
        "ephemeral" => true,
        other => {
            let text = format!("type = {other}: expected static or ephemeral");
            return Err(RestError::invalid(text));
        }
    };
    let not_before = time(now, params, "not_before")?;
    let mut expires = time(now, params, "expires_on")?;
    if expires.is_some_and(|expires| expires <= not_before.unwrap_or(now)) {
        return Err(RestError::invalid("expires_on is not after not_before"));
    }
    if ephemeral {
        let latest = now + MAX_EPHEMERAL_SECONDS;
        if expires.is_some_and(|expires| expires > latest) {
            return Err(RestError::invalid(
                "an ephemeral token lasts at most 6 hours (expires_on)",
            ));
        }
        expires = expires.or(Some(latest));
    }
    let list = |name: &str| params.get(name).is_some().then(|| params.list(name));
    let capabilities = list("capabilities");
    let unknown = |name: &&String| !access::capabilities::ALL.contains(&name.as_str());
    if let Some(name) = capabilities.iter().flatten().find(unknown) {
        return Err(RestError::invalid(format!("there is no capability \"{name}\"")));
    }
    Ok(NewToken {
        user,
        created_by: caller.user.clone(),
        audience,
        not_before,
        expires,
        ephemeral,
        scope: Scope { capabilities, indexes: list("srchIndexesAllowed") },
    })
}

/// `+30d`, epoch seconds, or a date; nothing, 0 and `never` are none.
fn time(now: i64, params: &Params, name: &str) -> Result<Option<i64>, RestError> {
    let Some(text) = params.text(name).filter(|text| !matches!(*text, "0" | "never")) else {
        return Ok(None);
    };
    let relative = || {
        let span = time_span(text.strip_prefix('+')?)?;
        now.checked_add(i64::try_from(span.as_secs()).ok()?)
    };
    let date = || text.parse::<jiff::Timestamp>().ok().map(|time| time.as_second());
    let found = relative().or_else(|| text.parse::<i64>().ok()).or_else(date);
    found.filter(|time| *time > 0).map(Some).ok_or_else(|| {
        RestError::invalid(format!(
            "{name} = {text}: expected +30d, epoch seconds or a time such as 2027-01-31T00:00:00Z"
        ))
    })
}

/// Returns the token of a request: its name is in the path, or the path has a user and the parameter `id` the
/// name.
fn found(
    state: &ApiState,
    caller: &Caller,
    name: &str,
    params: &Params,
) -> Result<ApiToken, RestError> {
    let id = params.text("id").unwrap_or(name);
    let token = state.api_tokens.get(id).map(|(token, _)| token);
    let token = token.filter(|token| id == name || token.user == name.to_lowercase());
    let token = token.ok_or_else(|| RestError::no_object(id))?;
    require_edit(caller, &token.user)?;
    Ok(token)
}

/// Disables a token, or enables it again.
async fn edit(call: Call) -> Result<Response, RestError> {
    let Call { state, caller, params, .. } = &call;
    let name = call.segment("name");
    let token = found(state, caller, name, params)?;
    let enabled = match params.required("status")? {
        "enabled" => true,
        "disabled" => false,
        other => {
            let text = format!("status = {other}: expected enabled or disabled");
            return Err(RestError::invalid(text));
        }
    };
    state.api_tokens.enable(&token.id, enabled).await?;
    tracing::info!(target: "audit", user = caller.user, token = token.id, enabled, "token changed");
    let (token, used) =
        state.api_tokens.get(&token.id).ok_or_else(|| RestError::no_object(&token.id))?;
    feed::respond_one("tokens", PATH, entry(&token, used), params)
}

async fn remove(call: Call) -> Result<Response, RestError> {
    let Call { state, caller, params, .. } = &call;
    let name = call.segment("name");
    let token = found(state, caller, name, params)?;
    state.api_tokens.remove(&token.id).await?;
    tracing::info!(target: "audit", user = caller.user, token = token.id, "token removed");
    feed::respond_empty("tokens", PATH, params)
}

/// Requests and their answers.
#[cfg(test)]
pub(super) fn cases() -> Vec<Case> {
    let unknown = "Could not find object";
    vec![
        case(&format!("POST {PATH}"), "audience=tests&expires_on=%2B1d", 201, "token")
            .keeping("id", "/entry/0/content/id"),
        case(
            &format!("POST {PATH}"),
            "audience=tests&type=none",
            400,
            "expected static or ephemeral",
        ),
        case(&format!("GET {PATH}"), "", 200, "\"sub\":\"admin\""),
        case(&format!("GET {PATH}?count=x"), "", 400, "must be a whole number"),
        case(&format!("GET {PATH}/$id"), "", 200, "\"sub\":\"admin\""),
        case(&format!("GET {PATH}/$id?output_mode=none"), "", 400, "unknown output_mode"),
        case(&format!("POST {PATH}/$id"), "status=disabled", 200, "\"status\":\"disabled\""),
        case(&format!("POST {PATH}/$id"), "status=off", 400, "expected enabled or disabled"),
        case(&format!("DELETE {PATH}/$id"), "", 200, "\"entry\":[]"),
        case(&format!("DELETE {PATH}/$id"), "", 404, unknown),
    ]
}
