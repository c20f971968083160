//! `/services/data/inputs/http`: HEC tokens, and the settings of all of them under the name `http`.

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;
use model::IndexName;
use serde_json::{Map, Value, json};

use super::feed;
use crate::ApiState;
use crate::atom::Entry;
use crate::error::RestError;
use crate::http_input::{ConnectionHost, HttpInput};
use crate::params::Params;
use access::HecToken;

const PATH: &str = "/services/data/inputs/http";
/// The entry that holds what is not a token's.
const GLOBAL: &str = "http";

/// A token with its secret: whoever may not change tokens does not see them at all.
fn entry(token: &HecToken) -> Entry {
    let content = [
        ("token", json!(token.token)),
        ("index", json!(token.index)),
        ("indexes", json!(token.indexes)),
        ("sourcetype", json!(token.sourcetype)),
        ("source", json!(token.source)),
        ("host", json!(token.host)),
        ("disabled", json!(token.disabled)),
        ("useACK", json!(token.use_ack)),
        ("allowQueryStringAuth", json!(token.allow_query_string_auth)),
    ];
    feed::entry(PATH, &token.name, members(content))
}

fn global(state: &ApiState) -> Result<Entry, RestError> {
    let settings = HttpInput::read(&state.knowledge)?;
    let connection_host = match settings.connection_host {
        ConnectionHost::Address => "ip",
        ConnectionHost::Proxied => "proxied_ip",
        ConnectionHost::Server => "none",
    };
    let acks = &settings.acks;
    let content = [
        ("disabled", json!(false)),
        ("connection_host", json!(connection_host)),
        ("ackIdleCleanup", json!(acks.idle_cleanup)),
        ("maxIdleTime", json!(acks.max_idle.as_secs())),
        ("max_content_length", json!(settings.max_content_length)),
        ("max_number_of_tokens", json!(settings.max_tokens)),
        ("max_number_of_ack_channel", json!(acks.max_channels)),
        ("max_number_of_acked_requests_pending_query", json!(acks.max_pending)),
        (
            "max_number_of_acked_requests_pending_query_per_ack_channel",
            json!(acks.max_pending_per_channel),
        ),
    ];
    Ok(feed::entry(PATH, GLOBAL, members(content)))
}

fn members<const N: usize>(content: [(&str, Value); N]) -> Map<String, Value> {
    content.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// Splunk names them with the scheme in front.
fn bare(name: &str) -> &str {
    name.strip_prefix("http://").unwrap_or(name)
}

fn found(state: &ApiState, name: &str) -> Result<HecToken, RestError> {
    let token = state.tokens.named(bare(name));
    let missing = || RestError::not_found(format!("Could not find object id={name}"));
    token.map(|token| token.as_ref().clone()).ok_or_else(missing)
}

pub(crate) async fn list(
    State(state): State<ApiState>,
    params: Params,
) -> Result<Response, RestError> {
    let tokens = state.tokens.all();
    let entries = tokens.iter().map(|token| entry(token)).collect();
    feed::respond("http", PATH, entries, &params)
}

pub(crate) async fn show(
    State(state): State<ApiState>,
    Path(name): Path<String>,
    params: Params,
) -> Result<Response, RestError> {
    let shown = match state.tokens.named(bare(&name)) {
        None if name == GLOBAL => global(&state)?,
        _ => entry(&found(&state, &name)?),
    };
    feed::respond_one("http", PATH, shown, &params)
}

pub(crate) async fn create(
    State(state): State<ApiState>,
    params: Params,
) -> Result<Response, RestError> {
    let name = bare(params.required("name")?).to_owned();
    if state.tokens.named(&name).is_some() {
        let text = format!("a token \"{name}\" exists already");
        return Err(RestError::of_kind(model::ErrorKind::Conflict, text));
    }
    let main = IndexName::new("main").map_err(|error| RestError::invalid(error.to_string()))?;
    let mut token = HecToken::new(&name, &runtime::random::uuid().to_string(), main);
    apply(&state, &mut token, &params)?;
    state.tokens.put(token.clone()).await?;
    let mut response = feed::respond_one("http", PATH, entry(&token), &params)?;
    *response.status_mut() = StatusCode::CREATED;
    Ok(response)
}

pub(crate) async fn edit(
    State(state): State<ApiState>,
    Path(name): Path<String>,
    params: Params,
) -> Result<Response, RestError> {
    if name == GLOBAL && state.tokens.named(GLOBAL).is_none() {
        let text = "the settings of all tokens stand in inputs.conf [http] and limits.conf \
                    [http_input]; change them there and restart";
        return Err(RestError::invalid(text));
    }
    let mut token = found(&state, &name)?;
    apply(&state, &mut token, &params)?;
    state.tokens.put(token.clone()).await?;
    feed::respond_one("http", PATH, entry(&token), &params)
}

/// `enable`, `disable`, and `rotate`, which makes a new secret.
pub(crate) async fn act(
    State(state): State<ApiState>,
    Path((name, action)): Path<(String, String)>,
    params: Params,
) -> Result<Response, RestError> {
    let mut token = found(&state, &name)?;
    match action.as_str() {
        "enable" => token.disabled = false,
        "disable" => token.disabled = true,
        "rotate" => token.token = runtime::random::uuid().to_string(),
        _ => {
            let text = format!("a token has no \"{action}\"; there are enable, disable, rotate");
            return Err(RestError::not_found(text));
        }
    }
    state.tokens.put(token.clone()).await?;
    feed::respond_one("http", PATH, entry(&token), &params)
}

/// Changes what the request names. An empty text takes a default away.
fn apply(state: &ApiState, token: &mut HecToken, params: &Params) -> Result<(), RestError> {
    let index = |name: &str| -> Result<IndexName, RestError> {
        let index = IndexName::new(name).map_err(|e| RestError::invalid(e.to_string()))?;
        index.check_open().map_err(|error| RestError::invalid(error.to_string()))?;
        if state.indexes.contains(&index) {
            return Ok(index);
        }
        let fix = "create it first at /services/data/indexes";
        Err(RestError::invalid(format!("there is no index \"{name}\"; {fix}")))
    };
    if let Some(secret) = params.text("token") {
        secret.clone_into(&mut token.token);
    }
    if let Some(name) = params.text("index") {
        token.index = index(name)?;
    }
    if let Some(names) = params.get("indexes") {
        let names = names.split(',').map(str::trim).filter(|name| !name.is_empty());
        token.indexes = names.map(index).collect::<Result<_, _>>()?;
    }
    let texts = [
        ("sourcetype", &mut token.sourcetype),
        ("source", &mut token.source),
        ("host", &mut token.host),
    ];
    for (name, value) in texts {
        if let Some(text) = params.get(name) {
            *value = Some(text.to_owned()).filter(|text| !text.is_empty());
        }
    }
    let flags = [
        ("disabled", &mut token.disabled),
        ("useACK", &mut token.use_ack),
        ("allowQueryStringAuth", &mut token.allow_query_string_auth),
    ];
    for (name, value) in flags {
        if params.text(name).is_some() {
            *value = params.flag(name);
        }
    }
    Ok(())
}

pub(crate) async fn remove(
    State(state): State<ApiState>,
    Path(name): Path<String>,
    params: Params,
) -> Result<Response, RestError> {
    let name = found(&state, &name)?.name;
    state.tokens.remove(&name).await?;
    list(State(state), params).await
}
