//! Settings of the server: stanzas of files that the program declares by name, such as `[search]` of
//! `limits.conf`.
//!
//! Guarantees: only settings with an effect and valid values are stored, whatever the namespace of the
//! request; they precede all files. An empty value removes a stored one. Every namespace sees the values in
//! force; objects of apps and users with the name of such a stanza, which earlier versions stored, have no
//! effect. Leaves to others: when a setting takes effect (its declaration says it), and how lists show it
//! (`declared_settings`).

use apps::{ConfObject, NOBODY, SYSTEM, Settings, Sharing};
use conf::{Effect, Layer, Layers, Reader, Setting, nearest_name};

use super::access::{check_conf, check_writable, may_read};
use super::{Asked, defaults, home};
use crate::error::RestError;
use crate::routes::declared_settings::{TIMEOUT, TIMEOUT_PATH, varies};

/// Files whose stanzas have paths of their own, or are objects.
const ELSEWHERE: [&str; 4] = ["indexes", "inputs", "props", "transforms"];

/// The stanza that completes all others of its file.
const DEFAULT: &str = "default";

/// Whether a stanza has settings of the server.
pub(super) fn is_of_server(asked: &Asked<'_>, stanza: &str) -> bool {
    if !asked.kind.is_raw || ELSEWHERE.contains(&asked.conf) {
        return false;
    }
    let settings = asked.state.declared.registry.settings(asked.conf);
    let mut used = settings.filter(|one| one.effect != Effect::None);
    match stanza {
        DEFAULT => used.any(|one| !varies(one)),
        _ => used.any(|one| one.stanza == stanza),
    }
}

/// The declared settings of a stanza.
fn declared(asked: &Asked<'_>, stanza: &str) -> Vec<&'static Setting> {
    let settings = asked.state.declared.registry.settings(asked.conf);
    settings.filter(|one| one.stanza == stanza && one.effect != Effect::None).collect()
}

/// Stores the settings of the request.
pub(super) async fn change(asked: &Asked<'_>, stanza: &str) -> Result<ConfObject, RestError> {
    check_conf(asked)?;
    let settings = asked.settings()?;
    let (known, stored) =
        (declared(asked, stanza), asked.state.apps.stored_in_system(asked.conf, stanza));
    for (key, value) in &settings {
        // What is stored may be removed even if it would be refused now.
        let is_stored = || stored.iter().any(|(one, _)| one == key);
        if !value.is_empty() {
            check(asked, stanza, key, value)?;
        } else if !known.iter().any(|one| one.has_name(stanza, key)) && !is_stored() {
            return Err(RestError::invalid(unknown(asked, stanza, key)));
        }
    }
    if settings.iter().any(|(_, value)| !value.is_empty()) {
        check_all(asked, stanza, &settings)?;
    }
    asked.state.apps.store_in_system(asked.conf, stanza, &settings).await?;
    in_force(asked, stanza).ok_or_else(|| RestError::no_object(stanza))
}

/// The stanza with the values in force, and with the declared defaults of the other settings. `None` if the
/// caller may not read it.
pub(super) fn in_force(asked: &Asked<'_>, stanza: &str) -> Option<ConfObject> {
    let file = asked.state.apps.knowledge().layers().effective_of_server(asked.conf);
    let own = file.stanza(stanza).map(|own| own.entries.as_slice()).unwrap_or_default();
    let mut settings: Settings =
        own.iter().map(|entry| (entry.key.clone(), entry.value.clone())).collect();
    for setting in declared(asked, stanza) {
        let is_own = settings.iter().any(|(key, _)| key == setting.name);
        if let Some(entry) = Reader::new(&file, stanza).entry(setting).filter(|_| !is_own) {
            settings.push((setting.name.to_owned(), entry.value.clone()));
        }
    }
    let is_empty = settings.is_empty();
    let object = ConfObject {
        conf: asked.conf.to_owned(),
        name: stanza.to_owned(),
        app: SYSTEM.to_owned(),
        owner: NOBODY.to_owned(),
        sharing: Sharing::Global,
        settings,
        removable: !asked.state.apps.stored_in_system(asked.conf, stanza).is_empty(),
    };
    let found = Some(object).filter(|object| !is_empty && may_read(asked, object));
    defaults::completed(asked, stanza, found.into_iter().collect()).pop()
}

/// Puts the values in force in place of the stanzas of a list.
pub(super) fn put_in_force(asked: &Asked<'_>, found: &mut Vec<ConfObject>) {
    let mut names: Vec<String> = Vec::new();
    found.retain(|object| {
        let is_one = is_of_server(asked, &object.name);
        if is_one && !names.contains(&object.name) {
            names.push(object.name.clone());
        }
        !is_one
    });
    if !names.is_empty() {
        found.extend(names.iter().filter_map(|name| in_force(asked, name)));
        found.sort_by(|a, b| (&a.name, &a.app).cmp(&(&b.name, &b.app)));
    }
}

/// Removes all stored settings of a stanza, and the object of its name that an earlier version stored in the
/// namespace of the request.
pub(super) async fn reset(asked: &Asked<'_>, stanza: &str) -> Result<(), RestError> {
    check_conf(asked)?;
    let apps = &asked.state.apps;
    let mut stored = apps.stored_in_system(asked.conf, stanza);
    let old = without_effect(asked, stanza)?;
    if stored.is_empty() && old.is_none() {
        return Err(RestError::no_object(stanza));
    }
    if !stored.is_empty() {
        stored.iter_mut().for_each(|(_, value)| value.clear());
        // Another process may have stored others a moment ago.
        for setting in declared(asked, stanza) {
            if stored.iter().all(|(key, _)| key != setting.name) {
                stored.push((setting.name.to_owned(), String::new()));
            }
        }
        apps.store_in_system(asked.conf, stanza, &stored).await?;
    }
    if let Some(object) = old {
        check_writable(asked, &object)?;
        apps.remove(asked.conf, stanza, &home(&object)).await?;
        asked.state.permissions.remove(&object.place()).await?;
    }
    Ok(())
}

/// Returns the object of an app or a user that has the name of the stanza.
fn without_effect(asked: &Asked<'_>, stanza: &str) -> Result<Option<ConfObject>, RestError> {
    let found = asked.state.apps.get(asked.conf, stanza, &asked.namespace()?).ok();
    let is_elsewhere =
        |object: &ConfObject| object.sharing == Sharing::User || object.app != SYSTEM;
    Ok(found.filter(|object| object.removable && is_elsewhere(object)))
}

/// Returns a message about the changed settings that take effect at the next start.
pub(super) fn warnings(asked: &Asked<'_>, stanza: &str) -> Vec<String> {
    waiting(asked, stanza, |key| asked.params.get(key).is_some())
}

/// Returns a message about the stored settings whose removal takes effect at the next start.
pub(super) fn warnings_of_reset(asked: &Asked<'_>, stanza: &str) -> Vec<String> {
    let stored = asked.state.apps.stored_in_system(asked.conf, stanza);
    waiting(asked, stanza, |key| stored.iter().any(|(known, _)| known == key))
}

fn waiting(asked: &Asked<'_>, stanza: &str, changes: impl Fn(&str) -> bool) -> Vec<String> {
    let settings = declared(asked, stanza).into_iter();
    let waiting = settings.filter(|one| one.effect == Effect::Stored && changes(one.name));
    let names: Vec<&str> = waiting.map(|one| one.name).collect();
    match names.as_slice() {
        [] => Vec::new(),
        names => vec![format!("{}: in force after a restart of the server", names.join(", "))],
    }
}

/// Refuses a change that would not take effect, because another value that is stored or in a file is invalid.
fn check_all(asked: &Asked<'_>, stanza: &str, settings: &Settings) -> Result<(), RestError> {
    let layers = asked.state.apps.system_with(asked.conf, stanza, settings);
    let read = search::Settings::of(&layers);
    read.map(drop).map_err(|error| {
        let text = "no change takes effect as long as another setting is invalid";
        RestError::invalid(format!("{text}: {error}"))
    })
}

/// Refuses a setting that would have no effect, and an invalid value.
fn check(asked: &Asked<'_>, stanza: &str, key: &str, value: &str) -> Result<(), RestError> {
    let conf = asked.conf;
    let here = format!("{conf}.conf [{stanza}] {key}");
    if stanza == DEFAULT {
        let text = format!("{here} is not stored: change it in the stanza that has {key}");
        return Err(RestError::invalid(text));
    }
    let known = declared(asked, stanza);
    let Some(setting) = known.iter().find(|setting| setting.has_name(stanza, key)) else {
        return Err(RestError::invalid(unknown(asked, stanza, key)));
    };
    if let Some(flag) = asked.state.declared.flag(conf, stanza, key) {
        return Err(RestError::invalid(format!(
            "{here} is set by {}, which takes precedence: change the option and restart the server",
            flag.flag
        )));
    }
    if (conf, stanza, key) == TIMEOUT {
        return Err(RestError::invalid(format!("{here} is changed at {TIMEOUT_PATH}")));
    }
    if !matches!(setting.effect, Effect::Live | Effect::Stored) {
        return Err(RestError::invalid(format!(
            "{here} is read from files only: set it in system/local/{conf}.conf of the configuration directory \
             and restart the server"
        )));
    }
    let invalid =
        || RestError::invalid(format!("{here} = {value}: expected {}", setting.kind.expected()));
    if setting.kind.read(value.trim()).is_none() {
        return Err(invalid());
    }
    // The value may be too large for its use: bytes of so many megabytes.
    let alone = format!("[{stanza}]\n{key} = {value}\n");
    let layers = Layers::builtin().with(Layer::SystemLocal, conf, &alone);
    search::Settings::of(&layers).map(drop).map_err(|_| invalid())
}

/// Why a setting that is not declared for a stanza is refused.
fn unknown(asked: &Asked<'_>, stanza: &str, key: &str) -> String {
    let (conf, registry) = (asked.conf, &asked.state.declared.registry);
    match registry.find(conf, stanza, key) {
        Some(setting) if setting.effect == Effect::None => {
            format!("{conf}.conf [{stanza}] {key} has no effect in this version, and is not stored")
        }
        Some(setting) => {
            format!("{key} is a setting of {conf}.conf [{}], not of [{stanza}]", setting.stanza)
        }
        None => {
            let names = declared(asked, stanza).into_iter().map(|setting| setting.name);
            let hint = nearest_name(names, key).map(|name| format!("; did you mean {name}?"));
            format!("unknown setting {key} in {conf}.conf [{stanza}]{}", hint.unwrap_or_default())
        }
    }
}
