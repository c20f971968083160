//! `/services/messages`: notices for administrators.
//!
//! Those that clients leave, and what the server says of itself as long as it is so.

use axum::extract::{Path, State};
use axum::response::Response;
use runtime::health::{Condition, Severity};
use serde_json::json;

use super::feed;
use super::health::{conditions, text_for};
use crate::ApiState;
use crate::atom::{Acl, Attributes, Entry};
use crate::error::RestError;
use crate::messages::{MAX_BYTES, MAX_MESSAGES, Notice};
use crate::params::Params;
use crate::session::Caller;

const PATH: &str = "/services/messages";

fn attributes() -> Attributes {
    Attributes::new(&["name", "value"], &["severity", "capability", "role"], &[])
}

fn entry(name: &str, notice: &Notice) -> Entry {
    let mut content = feed::content(json!({
        "message": notice.text,
        "severity": notice.severity,
        "timeCreated_epochSecs": notice.created,
        "timeCreated_iso": iso(notice.created),
        "server": "",
        "help": "",
    }));
    // Clients read the text under the notice's own name.
    content.insert(name.to_owned(), json!(notice.text));
    let mut entry = feed::entry(PATH, name, content).with_acl(Acl::system()).editable();
    entry.updated = iso(notice.created);
    entry
}

fn iso(seconds: i64) -> String {
    let time = jiff::Timestamp::from_second(seconds).ok();
    time.map(|time| time.strftime("%Y-%m-%dT%H:%M:%S+00:00").to_string()).unwrap_or_default()
}

/// What the server says of itself now, as far as the caller may know.
fn own(state: &ApiState, caller: &Caller) -> Vec<(String, Notice)> {
    let notice = |condition: Condition| {
        let severity = if condition.severity == Severity::Warning { "warn" } else { "error" };
        let notice = Notice {
            text: text_for(Some(caller), &condition).to_owned(),
            severity: severity.to_owned(),
            created: condition.since.0 / 1_000_000,
        };
        (condition.name.to_owned(), notice)
    };
    conditions(state).into_iter().map(notice).collect()
}

fn all(state: &ApiState, caller: &Caller) -> Vec<(String, Notice)> {
    let mut notices: Vec<_> = state.messages.all().into_iter().collect();
    notices.extend(own(state, caller));
    notices
}

pub(crate) async fn list(
    State(state): State<ApiState>,
    caller: Caller,
    params: Params,
) -> Result<Response, RestError> {
    let entries = all(&state, &caller).iter().map(|(name, notice)| entry(name, notice)).collect();
    feed::respond("messages", PATH, entries, &params)
}

pub(crate) async fn show(
    State(state): State<ApiState>,
    caller: Caller,
    Path(name): Path<String>,
    params: Params,
) -> Result<Response, RestError> {
    if name == "_new" {
        return feed::respond_template("messages", PATH, attributes(), &params);
    }
    let found = all(&state, &caller).into_iter().find(|(known, _)| *known == name);
    let (name, notice) = found.ok_or_else(|| RestError::no_object(&name))?;
    feed::respond_one("messages", PATH, entry(&name, &notice), &params)
}

pub(crate) async fn create(
    State(state): State<ApiState>,
    params: Params,
) -> Result<Response, RestError> {
    let name = params.required("name")?.to_owned();
    let text = params.get("value").unwrap_or_default().to_owned();
    if name.len() + text.len() > MAX_BYTES {
        return Err(RestError::invalid(format!("a message has at most {MAX_BYTES} bytes")));
    }
    let severity = params.text("severity").unwrap_or("info").to_owned();
    if !matches!(severity.as_str(), "info" | "warn" | "error") {
        let text = format!("unknown severity \"{severity}\"; use info, warn or error");
        return Err(RestError::invalid(text));
    }
    let notice = Notice { text, severity, created: state.clock.now().0 / 1_000_000 };
    if !state.messages.put(&name, notice.clone()) {
        let text = format!("there are {MAX_MESSAGES} messages already; delete some");
        return Err(RestError::of_kind(model::ErrorKind::Exhausted, text));
    }
    feed::respond_created("messages", PATH, entry(&name, &notice), &params)
}

pub(crate) async fn remove(
    State(state): State<ApiState>,
    caller: Caller,
    Path(name): Path<String>,
    params: Params,
) -> Result<Response, RestError> {
    if !state.messages.remove(&name) {
        return Err(RestError::no_object(&name));
    }
    list(State(state), caller, params).await
}
