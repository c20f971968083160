//! `/services/authentication`: users.

use axum::extract::{Path, State};
use axum::response::Response;
use serde_json::{Map, json};

use super::feed;
use crate::ApiState;
use crate::accounts::{NewUser, User};
use crate::atom::Entry;
use crate::error::RestError;
use crate::params::Params;
use crate::rest::Caller;

const PATH: &str = "/services/authentication/users";

fn entry(user: &User) -> Entry {
    let mut content = Map::new();
    content.insert("username".to_owned(), json!(user.name));
    content.insert("realname".to_owned(), json!(user.realname));
    content.insert("email".to_owned(), json!(user.email));
    content.insert("roles".to_owned(), json!(user.roles));
    content.insert("capabilities".to_owned(), json!(["search"]));
    content.insert("defaultApp".to_owned(), json!("search"));
    content.insert("type".to_owned(), json!("Splunk"));
    feed::entry(PATH, &user.name, content)
}

pub(crate) async fn list(
    State(state): State<ApiState>,
    params: Params,
) -> Result<Response, RestError> {
    feed::respond("users", PATH, state.accounts.all().iter().map(entry).collect(), &params)
}

pub(crate) async fn show(
    State(state): State<ApiState>,
    Path(name): Path<String>,
    params: Params,
) -> Result<Response, RestError> {
    let user = state.accounts.user(&name);
    let user =
        user.ok_or_else(|| RestError::not_found(format!("Could not find object id={name}")))?;
    feed::respond_one("users", PATH, entry(&user), &params)
}

pub(crate) async fn current(
    State(state): State<ApiState>,
    caller: Caller,
    params: Params,
) -> Result<Response, RestError> {
    show(State(state), Path(caller.user), params).await
}

pub(crate) async fn create(
    State(state): State<ApiState>,
    caller: Caller,
    params: Params,
) -> Result<Response, RestError> {
    let is_admin = state
        .accounts
        .user(&caller.user)
        .is_some_and(|user| user.roles.iter().any(|role| role == "admin"));
    if !is_admin {
        let status = axum::http::StatusCode::FORBIDDEN;
        let text = "only users with the role admin may create users";
        return Err(RestError::new(status, "ERROR", text));
    }
    let name = params.required("name")?.to_owned();
    if state.accounts.user(&name).is_some() {
        let text = format!("a user \"{name}\" exists already");
        return Err(RestError::of_kind(model::ErrorKind::Conflict, text));
    }
    let password = params.required("password")?.to_owned();
    let roles: Vec<String> = params.all("roles").map(str::to_owned).collect();
    let roles = if roles.is_empty() { vec!["user".to_owned()] } else { roles };
    state.accounts.put(NewUser { name: name.clone(), password, roles }).await?;
    show(State(state), Path(name), params).await
}
