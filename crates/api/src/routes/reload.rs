//! `_reload` of a collection and of its objects, and `/services/debug/refresh`: the server reads the files of
//! its configuration directory again.
//!
//! Guarantees: the response names the changed files that are in force, or the reason why nothing is read;
//! a mistake that the files did not have before refuses the reload, unless `force=1` is set.

use std::collections::BTreeSet;
use std::sync::Arc;

use apps::{FileRules, Reloaded};
use axum::http::StatusCode;
use axum::response::Response;
use model::ErrorKind;
use serde_json::{Map, Value, json};

use super::data_inputs::follow;
use super::feed;
use super::jobs::info;
use crate::AppReports;
use crate::atom::{Acl, Entry, Message};
use crate::call::Call;
use crate::effects::RELOAD;
use crate::error::RestError;
use crate::output::OutputMode;

/// The capability that a reload requires.
const RIGHT: &str = "edit_server";
/// The message to callers without this capability, whose programs send `_reload` after changes over REST.
const NOT_PERMITTED: &str = "the files of the configuration directory are not read again: this requires the \
    capability edit_server; changes over REST are in force";
/// The message of a server without files.
const NO_DIRECTORY: &str = "there is no configuration directory (--conf-dir, KARST_CONF_DIR), and nothing had \
    to be read: changes over REST are in force. The files of installed apps are in object storage: change \
    the source of the app and install it with `karst app install --update APP`";
/// Maximum number of mistakes in an error message.
const NAMED: usize = 5;
/// The begin of the error messages.
const NOT_RELOADED: &str = "nothing is reloaded, and the former settings stay in force";

/// Responds to `_reload` of the collection at `path`.
pub(super) async fn respond(title: &str, path: &str, call: &Call) -> Result<Response, RestError> {
    // Before the reload: a request that is refused has no effect.
    OutputMode::of(&call.params)?;
    let reloaded = if call.caller.may(RIGHT) { Some(reload(call).await?) } else { None };
    let content = content_of(reloaded.as_ref().and_then(Option::as_ref));
    let messages = match reloaded {
        None => vec![Message::info(NOT_PERMITTED)],
        Some(None) => vec![Message::info(NO_DIRECTORY)],
        Some(Some(reloaded)) => reloaded.warnings.into_iter().map(Message::warning).collect(),
    };
    let entry = Entry::new(path, RELOAD, content).with_acl(Acl::system());
    feed::respond_with_messages(title, path, entry, messages, &call.params)
}

/// The content of the entry; `None` if no files were read.
fn content_of(reloaded: Option<&Reloaded>) -> Map<String, Value> {
    let restart: Vec<&str> = reloaded.into_iter().flat_map(Reloaded::restart_required).collect();
    feed::content(json!({
        "directory": reloaded.map(|reloaded| reloaded.directory.display().to_string()),
        "changed": reloaded.map(|reloaded| &reloaded.changed).cloned().unwrap_or_default(),
        "restart_required": restart,
    }))
}

/// Responds to `/services/debug/refresh`.
pub(super) async fn refresh(call: Call) -> Result<Response, RestError> {
    let mode = OutputMode::of(&call.params)?;
    let text = match reload(&call).await? {
        Some(reloaded) => summary(&reloaded),
        None => NO_DIRECTORY.to_owned(),
    };
    match mode {
        OutputMode::Raw => Ok(mode.respond(StatusCode::OK, format!("{text}\n"))),
        _ => info(&text, &call.params),
    }
}

/// Reads the files again; `None` if there is no configuration directory.
async fn reload(call: &Call) -> Result<Option<Reloaded>, RestError> {
    let (state, force) = (call.state.clone(), call.params.flag("force"));
    let task = async move {
        let (reading, reports) = (Arc::clone(&state.app_reports), Arc::clone(&state.app_reports));
        let read = move || {
            let invalid = |text: String| apps::Error::Invalid(format!("{NOT_RELOADED}: {text}"));
            reading.read().map_err(invalid)
        };
        let check = move |before: &FileRules, after: &FileRules| {
            let refusal = refusal(&found(&*reports, before), &found(&*reports, after));
            refusal.filter(|_| !force).map_or(Ok(()), |text| Err(apps::Error::Invalid(text)))
        };
        let reloaded = state.apps.reload(read, check).await?;
        if reloaded.as_ref().is_some_and(Reloaded::has_inputs) {
            follow(&state).await?;
        }
        Ok::<Option<Reloaded>, RestError>(reloaded)
    };
    // A client that leaves does not leave half of it behind.
    let stops = |_| RestError::of_kind(ErrorKind::Unavailable, "the server stops".to_owned());
    let reloaded = runtime::detached(task).await.map_err(stops)??;
    if let Some(reloaded) = reloaded.as_ref().filter(|reloaded| !reloaded.changed.is_empty()) {
        let (user, files) = (&call.caller.user, reloaded.changed.len());
        tracing::info!(%user, files, "changed configuration files are read again");
    }
    Ok(reloaded)
}

/// The mistakes in files that would be ignored, each with its place.
fn found(reports: &dyn AppReports, files: &FileRules) -> Vec<String> {
    let mut all: Vec<String> =
        files.rules.layers().warnings().iter().map(ToString::to_string).collect();
    all.extend(reports.mistakes(&files.rules, &files.ignored).into_iter().map(|(_, text)| text));
    all
}

/// Returns the error message if there are mistakes that were not there before.
fn refusal(before: &[String], after: &[String]) -> Option<String> {
    let known: BTreeSet<String> = before.iter().map(|text| without_line(text)).collect();
    let mut new: Vec<&str> = after.iter().map(String::as_str).collect();
    new.retain(|text| !known.contains(&without_line(text)));
    let more = match new.len() {
        0 => return None,
        all @ 0..=NAMED => format!("correct {}", if all == 1 { "it" } else { "them" }),
        all => format!("and {} more, see `karst btool check`; correct them", all - NAMED),
    };
    new.truncate(NAMED);
    Some(format!(
        "{NOT_RELOADED}: {}; {more}, or reload anyway without these settings (force=1, or --force of \
         `karst reload apps`)",
        new.join("; ")
    ))
}

/// A message without the line in its place, which other edits of the file move.
fn without_line(text: &str) -> String {
    let Some((place, rest)) = text.split_once(": ") else { return text.to_owned() };
    let file = place.rsplit_once(':').map_or(place, |(file, _)| file);
    format!("{file}: {rest}")
}

/// The result of a reload in words.
fn summary(reloaded: &Reloaded) -> String {
    let directory = reloaded.directory.display();
    let list = |files: &[&str]| files.join(", ");
    let changed: Vec<&str> = reloaded.changed.iter().map(String::as_str).collect();
    if changed.is_empty() {
        return format!(
            "No file below {directory} has changed. The files of installed apps are in object storage: \
             change them with `karst app install --update`."
        );
    }
    let mut text = format!("Changes below {directory} are in force: {}.", list(&changed));
    let restart: Vec<&str> = reloaded.restart_required().collect();
    if !restart.is_empty() {
        text.push_str(&format!(" Restart the server for the settings in: {}.", list(&restart)));
    }
    for warning in &reloaded.warnings {
        text.push_str(&format!("\n{warning}"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mistake_that_was_there_before_does_not_refuse_a_reload_wherever_it_has_moved() {
        let texts =
            |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        let before = texts(&["apps/a/local/props.conf:2: EXTRACT-x: wrong"]);
        let moved = texts(&["apps/a/local/props.conf:7: EXTRACT-x: wrong"]);
        assert_eq!(refusal(&before, &moved), None);
        let other = texts(&["apps/a/local/props.conf:2: EXTRACT-y: wrong"]);
        let text = refusal(&before, &other).expect("a refusal");
        let place = "stay in force: apps/a/local/props.conf:2: EXTRACT-y: wrong; correct it, or";
        assert!(text.contains(place), "{text}");
        let many: Vec<String> = (0..7).map(|n| format!("apps/a/c:{n}: wrong {n}")).collect();
        let text = refusal(&before, &many).expect("a refusal");
        assert!(text.contains("wrong 4; and 2 more, see `karst btool check`"), "{text}");
    }

    #[test]
    fn the_text_names_what_changed_and_what_needs_a_restart() {
        let mut reloaded = Reloaded {
            directory: "/conf".into(),
            changed: BTreeSet::new(),
            warnings: vec!["/conf/apps/a/local/props.conf:3: unused".to_owned()],
        };
        assert!(summary(&reloaded).starts_with("No file below /conf has changed. "));
        let files = ["apps/a/local/props.conf", "system/local/server.conf"];
        reloaded.changed = files.map(str::to_owned).into();
        assert_eq!(
            summary(&reloaded),
            "Changes below /conf are in force: apps/a/local/props.conf, system/local/server.conf. Restart \
             the server for the settings in: system/local/server.conf.\n/conf/apps/a/local/props.conf:3: unused"
        );
    }
}
