//! `/services/apps/local`: apps, those with files and those made here.

use apps::{AppInfo, SEARCH};
use axum::extract::{Path, State};
use axum::response::Response;
use serde_json::json;

use super::feed;
use crate::ApiState;
use crate::atom::{Acl, Attributes, Entry};
use crate::error::RestError;
use crate::messages::Notice;
use crate::params::{Params, is_true};

const PATH: &str = "/services/apps/local";
/// The notice that clients look for which wait for a restart.
const RESTART_REQUIRED: &str = "restart_required";

/// What can be set, and where `app.conf` has it.
const SETTINGS: [(&str, &str); 8] = [
    ("author", "launcher.author"),
    ("configured", "install.is_configured"),
    ("description", "launcher.description"),
    ("disabled", "install.disabled"),
    ("label", "ui.label"),
    ("version", "launcher.version"),
    ("visible", "ui.is_visible"),
    ("check_for_updates", "package.check_for_updates"),
];

fn attributes(required: &[&str]) -> Attributes {
    let optional: Vec<&str> = SETTINGS.iter().map(|(name, _)| *name).collect();
    Attributes::new(required, &optional, &[])
}

fn entry(app: &AppInfo) -> Entry {
    let text = |key: &str| app.get(key).unwrap_or_default().to_owned();
    let flag = |key: &str, missing: bool| app.get(key).map_or(missing, is_true);
    let is_search = app.name == SEARCH;
    let own_label = app.get("ui.label").map(str::to_owned);
    let label = own_label.unwrap_or_else(|| match is_search {
        true => "Search & Reporting".to_owned(),
        false => app.name.clone(),
    });
    let version = match text("launcher.version") {
        version if version.is_empty() && is_search => env!("CARGO_PKG_VERSION").to_owned(),
        version => version,
    };
    let content = feed::content(json!({
        "label": label,
        "author": text("launcher.author"),
        "description": text("launcher.description"),
        "version": version,
        "visible": flag("ui.is_visible", true),
        "disabled": flag("install.disabled", false),
        "configured": flag("install.is_configured", true),
        "check_for_updates": flag("package.check_for_updates", false),
        "core": is_search,
        "managed_by_deployment_client": false,
        "show_in_nav": true,
        "state_change_requires_restart": false,
        "eai:setup": "",
    }));
    let acl = Acl {
        app: app.name.clone(),
        sharing: "app".to_owned(),
        removable: app.removable,
        ..Acl::default()
    };
    Entry::new(PATH, &app.name, content)
        .with_acl(acl)
        .with_attributes(attributes(&[]))
        .editable()
        .linking(&["enable", "disable", "update"])
}

fn found(state: &ApiState, name: &str) -> Result<AppInfo, RestError> {
    let found = state.apps.apps().into_iter().find(|app| app.name == name);
    found.ok_or_else(|| RestError::no_object(name))
}

pub(crate) async fn list(
    State(state): State<ApiState>,
    params: Params,
) -> Result<Response, RestError> {
    let entries = state.apps.apps().iter().map(entry).collect();
    feed::respond("localapps", PATH, entries, &params)
}

pub(crate) async fn show(
    State(state): State<ApiState>,
    Path(name): Path<String>,
    params: Params,
) -> Result<Response, RestError> {
    if name == "_new" {
        return feed::respond_template("localapps", PATH, attributes(&["name"]), &params);
    }
    feed::respond_one("localapps", PATH, entry(&found(&state, &name)?), &params)
}

/// What the request sets, as `app.conf` has it.
fn settings(params: &Params) -> Vec<(String, String)> {
    let given = SETTINGS.iter().filter_map(|(name, key)| {
        let value = params.get(name)?;
        let flag = matches!(*name, "configured" | "disabled" | "visible" | "check_for_updates");
        let value = if flag { u8::from(is_true(value)).to_string() } else { value.to_owned() };
        Some(((*key).to_owned(), value))
    });
    given.collect()
}

/// Makes an app without files. Apps with files are installed with `karst`.
pub(crate) async fn create(
    State(state): State<ApiState>,
    params: Params,
) -> Result<Response, RestError> {
    let name = params.required("name")?;
    if params.flag("filename") || params.flag("update") {
        let text = "apps are not installed over REST; use the command line, karst app install";
        return Err(RestError::invalid(text));
    }
    let mut settings = settings(&params);
    // As every app has that is made from a template.
    if params.text("version").is_none() {
        settings.push(("launcher.version".to_owned(), "1.0.0".to_owned()));
    }
    state.apps.create_app(name, &settings).await?;
    feed::respond_created("localapps", PATH, entry(&found(&state, name)?), &params)
}

pub(crate) async fn edit(
    State(state): State<ApiState>,
    Path(name): Path<String>,
    params: Params,
) -> Result<Response, RestError> {
    found(&state, &name)?;
    state.apps.update_app(&name, &settings(&params)).await?;
    feed::respond_one("localapps", PATH, entry(&found(&state, &name)?), &params)
}

/// `enable` and `disable`.
pub(crate) async fn act(
    State(state): State<ApiState>,
    Path((name, action)): Path<(String, String)>,
    params: Params,
) -> Result<Response, RestError> {
    found(&state, &name)?;
    let off = match action.as_str() {
        "enable" => "0",
        "disable" => "1",
        "_reload" => return feed::respond_empty("localapps", PATH, &params),
        _ => return Err(RestError::no_object(&action)),
    };
    state.apps.update_app(&name, &[("install.disabled".to_owned(), off.to_owned())]).await?;
    feed::respond_one("localapps", PATH, entry(&found(&state, &name)?), &params)
}

/// Whether there is a newer one somewhere: nobody is asked.
pub(crate) async fn update(
    State(state): State<ApiState>,
    Path(name): Path<String>,
    params: Params,
) -> Result<Response, RestError> {
    let app = found(&state, &name)?;
    let entry = Entry::new(PATH, &app.name, feed::content(json!({"update.name": app.name})));
    feed::respond_one("localapps", PATH, entry, &params)
}

/// Removes an app that was made here, with its objects. What it said of taking events in is in force
/// until a restart, which a notice says.
pub(crate) async fn remove(
    State(state): State<ApiState>,
    Path(name): Path<String>,
    params: Params,
) -> Result<Response, RestError> {
    state.apps.remove_app(&name).await?;
    let text = format!("what the app {name} said of taking events in is in force until a restart");
    let created = state.clock.now().0 / 1_000_000;
    let notice = Notice { text, severity: "warn".to_owned(), created };
    state.messages.put(RESTART_REQUIRED, notice);
    list(State(state), params.only_format()).await
}
