//! `/services/server/settings` and `/services/server/logger`: what can be changed while the server
//! runs, and what it was started with.

use axum::extract::{Path, State};
use axum::response::Response;
use serde_json::json;

use super::feed;
use crate::ApiState;
use crate::atom::{Acl, Attributes, Entry};
use crate::error::RestError;
use crate::params::Params;
use crate::server_settings::Changed;

const PATH: &str = "/services/server/settings";
const LOGGER: &str = "/services/server/logger";
/// Splunk's levels, the least important first.
const LEVELS: [&str; 6] = ["DEBUG", "INFO", "WARN", "ERROR", "CRIT", "FATAL"];

fn entry(state: &ApiState) -> Entry {
    let info = &state.info;
    let home = info.home.to_string_lossy();
    let content = feed::content(json!({
        "SPLUNK_HOME": home,
        "SPLUNK_DB": format!("{home}/objects"),
        "enableSplunkWebSSL": info.web_tls,
        "host": info.server_name,
        "serverName": info.server_name,
        "httpport": info.web_port.to_string(),
        "mgmtHostPort": info.management_port.to_string(),
        "kvStorePort": "",
        "minFreeSpace": state.ingest.settings().min_free_space >> 20,
        "pass4SymmKey": "********",
        "sessionTimeout": state.server_settings.now().session_timeout,
        "startwebserver": true,
        "trustedIP": "",
    }));
    feed::entry(PATH, "settings", content)
        .with_acl(Acl { removable: false, ..Acl::system() })
        .with_attributes(Attributes::new(&[], &["sessionTimeout"], &[]))
        .editable()
}

pub(crate) async fn show(
    State(state): State<ApiState>,
    params: Params,
) -> Result<Response, RestError> {
    feed::respond_one("server-settings", PATH, entry(&state), &params)
}

/// Changes `sessionTimeout`. A setting that takes effect at a start only is refused, not kept for
/// nothing.
pub(crate) async fn edit(
    State(state): State<ApiState>,
    params: Params,
) -> Result<Response, RestError> {
    let known = entry(&state).content;
    for (name, _) in params.iter() {
        if name != "sessionTimeout" && known.contains_key(name) {
            return Err(RestError::invalid(format!(
                "{name} is set in server.conf or on the command line, and read at a start"
            )));
        }
    }
    if let Some(text) = params.text("sessionTimeout") {
        let timeout = access::time_span(text).ok_or_else(|| {
            let text = format!("sessionTimeout = {text}: expected a time span such as 90s, 5m, 1h");
            RestError::invalid(text)
        })?;
        state.server_settings.put(Changed { session_timeout: text.to_owned() }).await?;
        state.accounts.set_session_timeout(timeout);
    }
    feed::respond_one("server-settings", PATH, entry(&state), &params)
}

fn logger(name: &str, level: &str) -> Entry {
    let content = feed::content(json!({"level": level}));
    feed::entry(LOGGER, name, content)
        .with_acl(Acl { removable: false, ..Acl::system() })
        .with_attributes(Attributes::new(&["level"], &[], &[]))
        .editable()
}

/// The parts of the server that write a log, and from which level on.
pub(crate) async fn loggers(
    State(state): State<ApiState>,
    params: Params,
) -> Result<Response, RestError> {
    let entries = state.loggers.all().iter().map(|(name, level)| logger(name, level)).collect();
    feed::respond("logger", LOGGER, entries, &params)
}

pub(crate) async fn show_logger(
    State(state): State<ApiState>,
    Path(name): Path<String>,
    params: Params,
) -> Result<Response, RestError> {
    let found = state.loggers.all().into_iter().find(|(known, _)| *known == name);
    let (name, level) = found.ok_or_else(|| RestError::no_object(&name))?;
    feed::respond_one("logger", LOGGER, logger(&name, &level), &params)
}

/// Changes a level until the server ends.
pub(crate) async fn edit_logger(
    State(state): State<ApiState>,
    Path(name): Path<String>,
    params: Params,
) -> Result<Response, RestError> {
    let level = params.required("level")?.to_uppercase();
    if !LEVELS.contains(&level.as_str()) {
        let text = format!("unknown level \"{level}\"; use {}", LEVELS.join(", "));
        return Err(RestError::invalid(text));
    }
    if !state.loggers.set(&name, &level) {
        return Err(RestError::no_object(&name));
    }
    feed::respond_one("logger", LOGGER, logger(&name, &level), &params)
}
