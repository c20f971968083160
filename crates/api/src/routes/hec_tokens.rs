//! `/services/data/inputs/http`: HEC tokens.

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;
use model::IndexName;
use serde_json::{Map, json};

use super::feed;
use crate::ApiState;
use crate::atom::Entry;
use crate::error::RestError;
use crate::params::Params;
use crate::tokens::HecToken;

const PATH: &str = "/services/data/inputs/http";

fn entry(token: &HecToken) -> Entry {
    let mut content = Map::new();
    content.insert("token".to_owned(), json!(token.token));
    content.insert("index".to_owned(), json!(token.index));
    content.insert("indexes".to_owned(), json!(token.indexes));
    content.insert("sourcetype".to_owned(), json!(token.sourcetype));
    content.insert("source".to_owned(), json!(token.source));
    content.insert("host".to_owned(), json!(token.host));
    content.insert("disabled".to_owned(), json!(token.disabled));
    content.insert("useACK".to_owned(), json!(false));
    feed::entry(PATH, &token.name, content)
}

fn named(state: &ApiState, name: &str) -> Result<Entry, RestError> {
    // Splunk names them with the scheme in front.
    let name = name.strip_prefix("http://").unwrap_or(name);
    let token = state.tokens.named(name);
    let missing = || RestError::not_found(format!("Could not find object id={name}"));
    token.map(|token| entry(&token)).ok_or_else(missing)
}

pub(crate) async fn list(
    State(state): State<ApiState>,
    params: Params,
) -> Result<Response, RestError> {
    let entries = state.tokens.all().iter().map(|token| entry(token)).collect();
    feed::respond("http", PATH, entries, &params)
}

pub(crate) async fn show(
    State(state): State<ApiState>,
    Path(name): Path<String>,
    params: Params,
) -> Result<Response, RestError> {
    feed::respond_one("http", PATH, named(&state, &name)?, &params)
}

pub(crate) async fn create(
    State(state): State<ApiState>,
    params: Params,
) -> Result<Response, RestError> {
    let name = params.required("name")?.to_owned();
    if state.tokens.named(&name).is_some() {
        let text = format!("a token \"{name}\" exists already");
        return Err(RestError::of_kind(model::ErrorKind::Conflict, text));
    }
    let index = |name: &str| -> Result<IndexName, RestError> {
        let index = IndexName::new(name).map_err(|e| RestError::invalid(e.to_string()))?;
        if state.indexes.contains(&index) {
            return Ok(index);
        }
        let fix = "create it first at /services/data/indexes";
        Err(RestError::invalid(format!("there is no index \"{name}\"; {fix}")))
    };
    let secret =
        params.text("token").map_or_else(|| uuid::Uuid::new_v4().to_string(), str::to_owned);
    let mut token = HecToken::new(&name, &secret, index(params.text("index").unwrap_or("main"))?);
    let allowed = params.text("indexes").unwrap_or_default();
    token.indexes = allowed
        .split(',')
        .map(str::trim)
        .filter(|n| !n.is_empty())
        .map(index)
        .collect::<Result<_, _>>()?;
    token.sourcetype = params.text("sourcetype").map(str::to_owned);
    token.source = params.text("source").map(str::to_owned);
    token.host = params.text("host").map(str::to_owned);
    token.disabled = params.flag("disabled");
    state.tokens.put(token).await?;
    let mut response = feed::respond_one("http", PATH, named(&state, &name)?, &params)?;
    *response.status_mut() = StatusCode::CREATED;
    Ok(response)
}

pub(crate) async fn remove(
    State(state): State<ApiState>,
    Path(name): Path<String>,
    params: Params,
) -> Result<Response, RestError> {
    let name = name.strip_prefix("http://").unwrap_or(&name).to_owned();
    named(&state, &name)?;
    state.tokens.remove(&name).await?;
    list(State(state), params).await
}
