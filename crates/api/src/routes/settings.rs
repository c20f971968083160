//! `/services/server/settings` and `/services/server/logger`: settings that can be changed at run time, and
//! those of the start.

use axum::response::Response;
use serde_json::json;

use super::feed;
use crate::ApiState;
use crate::atom::{Acl, Attributes, Entry};
use crate::call::Call;
use crate::error::RestError;
use crate::rights::Need::May;
use crate::routing::{Routes, get};
#[cfg(test)]
use crate::tests::cases::{Case, case};

pub(super) fn routes() -> Routes {
    Routes::default()
        .at(
            "/services/server/settings",
            get(May("list_settings"), "Settings as read at startup", show),
        )
        .at(
            "/services/server/settings/settings",
            get(May("list_settings"), "The same", show).post(
                May("edit_server"),
                "Changes `sessionTimeout`",
                edit,
            ),
        )
        .at(
            "/services/server/logger",
            get(May("list_settings"), "Loggers and their levels", loggers),
        )
        .at(
            "/services/server/logger/{name}",
            get(May("list_settings"), "Shows a logger", show_logger).post(
                May("edit_server"),
                "Changes the level of a logger until the server stops",
                edit_logger,
            ),
        )
}

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
        "host": info.host,
        "serverName": info.server_name,
        "httpport": info.web_port.to_string(),
        "mgmtHostPort": info.management_port.to_string(),
        "kvStorePort": "",
        "minFreeSpace": state.ingest.settings().min_free_space >> 20,
        "pass4SymmKey": "********",
        "sessionTimeout": state.server_settings.session_timeout_text(),
        "startwebserver": true,
        "trustedIP": "",
    }));
    Entry::new(PATH, "settings", content)
        .with_acl(Acl { removable: false, ..Acl::system() })
        .with_attributes(Attributes::new(&[], &["sessionTimeout"], &[]))
        .editable()
}

async fn show(Call { state, params, .. }: Call) -> Result<Response, RestError> {
    feed::respond_one("server-settings", PATH, entry(&state), &params)
}

/// Changes `sessionTimeout`. A setting that takes effect at a start only is refused, not kept for
/// nothing.
async fn edit(Call { state, params, .. }: Call) -> Result<Response, RestError> {
    let known = entry(&state).content;
    for (name, _) in params.iter() {
        if name != "sessionTimeout" && known.contains_key(name) {
            return Err(RestError::invalid(format!(
                "{name} is set in server.conf or on the command line, and read at startup"
            )));
        }
    }
    if let Some(text) = params.text("sessionTimeout") {
        let timeout = state.server_settings.set_session_timeout(text).await?;
        state.accounts.set_session_timeout(timeout);
    }
    feed::respond_one("server-settings", PATH, entry(&state), &params)
}

fn logger(name: &str, level: &str) -> Entry {
    let content = feed::content(json!({"level": level}));
    Entry::new(LOGGER, name, content)
        .with_acl(Acl { removable: false, ..Acl::system() })
        .with_attributes(Attributes::new(&["level"], &[], &[]))
        .editable()
}

/// The parts of the server that write a log, and from which level on.
async fn loggers(Call { state, params, .. }: Call) -> Result<Response, RestError> {
    let entries = state.loggers.all().iter().map(|(name, level)| logger(name, level)).collect();
    feed::respond("logger", LOGGER, entries, &params)
}

async fn show_logger(call: Call) -> Result<Response, RestError> {
    let Call { state, params, .. } = &call;
    let name = call.segment("name");
    let found = state.loggers.all().into_iter().find(|(known, _)| *known == name);
    let (name, level) = found.ok_or_else(|| RestError::no_object(name))?;
    feed::respond_one("logger", LOGGER, logger(&name, &level), params)
}

/// Changes a level until the server ends.
async fn edit_logger(call: Call) -> Result<Response, RestError> {
    let Call { state, params, .. } = &call;
    let name = call.segment("name");
    let level = params.required("level")?.to_uppercase();
    if !LEVELS.contains(&level.as_str()) {
        let text = format!("unknown level \"{level}\"; use {}", LEVELS.join(", "));
        return Err(RestError::invalid(text));
    }
    if !state.loggers.set(name, &level) {
        return Err(RestError::no_object(name));
    }
    feed::respond_one("logger", LOGGER, logger(name, &level), params)
}

/// Requests and their answers.
#[cfg(test)]
pub(super) fn cases() -> Vec<Case> {
    let (one, mode) = (format!("{PATH}/settings"), "unknown output_mode");
    vec![
        case(&format!("GET {PATH}"), "", 200, "sessionTimeout"),
        case(&format!("GET {PATH}?output_mode=none"), "", 400, mode),
        case(&format!("GET {one}"), "", 200, "sessionTimeout"),
        case(&format!("GET {one}?output_mode=none"), "", 400, mode),
        case(&format!("POST {one}"), "sessionTimeout=2h", 200, "\"sessionTimeout\":\"2h\""),
        case(&format!("POST {one}"), "sessionTimeout=long", 400, "expected a time span"),
        case(&format!("POST {one}"), "host=x", 400, "read at startup"),
        case(&format!("GET {LOGGER}"), "", 200, "\"name\":\"Api\""),
        case(&format!("GET {LOGGER}?count=x"), "", 400, "must be a whole number"),
        case(&format!("GET {LOGGER}/Api"), "", 200, "\"level\":\"INFO\""),
        case(&format!("GET {LOGGER}/none"), "", 404, "Could not find object id=none"),
        case(&format!("POST {LOGGER}/Api"), "level=debug", 200, "\"level\":\"DEBUG\""),
        case(&format!("POST {LOGGER}/Api"), "level=loud", 400, "unknown level"),
    ]
}
