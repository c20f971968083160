//! `_reload` of a collection and of its objects, and `/services/debug/refresh`: the server reads the files of
//! its configuration directory again.
//!
//! Guarantees: the response names the changed files that are in force, or the reason why nothing is read;
//! a mistake that the files did not have before refuses the reload, unless `force=1` is set.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use apps::{FileRules, Reloaded};
use axum::http::StatusCode;
use axum::response::Response;
use futures::FutureExt;
use serde_json::{Map, Value, json};

use super::data_inputs::{end_inputs_of, follow, follow_inputs};
use super::feed;
use super::jobs::info;
use crate::AppReports;
use crate::atom::{Acl, Entry, Message};
use crate::call::Call;
use crate::effects::RELOAD;
use crate::error::RestError;
use crate::output::OutputMode;
use crate::work::to_its_end;

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
    let (mut reloaded, mut messages) = (None, Vec::new());
    if call.caller.may(RIGHT) {
        let outcome = reload(call).await?;
        if outcome.reloaded.is_none() {
            messages.push(Message::info(NO_DIRECTORY));
        }
        messages.extend(outcome.warnings.into_iter().map(Message::warning));
        reloaded = outcome.reloaded;
    } else {
        messages.push(Message::info(NOT_PERMITTED));
    }
    let entry = Entry::new(path, RELOAD, content_of(reloaded.as_ref())).with_acl(Acl::system());
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
    let text = reload(&call).await?.summary();
    match mode {
        OutputMode::Raw => Ok(mode.respond(StatusCode::OK, format!("{text}\n"))),
        _ => info(&text, &call.params),
    }
}

/// Reads the files again, and starts and stops inputs. Inputs are compared with those that run also if no
/// file has changed: a port may be free now, or an app enabled.
async fn reload(call: &Call) -> Result<Outcome, RestError> {
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
        let has_ended = Arc::new(AtomicBool::new(false));
        let (own, told) = (state.clone(), Arc::clone(&has_ended));
        let end = move |apps| {
            told.store(true, Ordering::Relaxed);
            async move { end_inputs_of(&own, apps).await }
        };
        let done = AssertUnwindSafe(state.apps.reload(read, end, check)).catch_unwind().await;
        if !matches!(done, Ok(Ok(_))) && has_ended.load(Ordering::Relaxed) {
            // Those that have ended begin again.
            follow_inputs(&state).await;
        }
        let reloaded = match done {
            Ok(reloaded) => reloaded?,
            Err(panic) => resume_unwind(panic),
        };
        let files = reloaded.as_ref().map(|reloaded| reloaded.warnings.clone());
        let mut warnings = files.unwrap_or_default();
        warnings.extend(follow(&state).await?.iter().map(ToString::to_string));
        Ok::<Outcome, RestError>(Outcome { reloaded, warnings })
    };
    let outcome = to_its_end(task).await?;
    let files = outcome.reloaded.as_ref().map_or(0, |reloaded| reloaded.changed.len());
    if files > 0 {
        let user = &call.caller.user;
        tracing::info!(%user, files, "changed configuration files are read again");
    }
    Ok(outcome)
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

/// The result of a reload.
struct Outcome {
    /// `None` if there is no configuration directory.
    reloaded: Option<Reloaded>,
    /// Lines of changed files that have no effect, and enabled inputs that do not run.
    warnings: Vec<String>,
}

impl Outcome {
    fn summary(&self) -> String {
        let mut text = self.reloaded.as_ref().map_or_else(|| NO_DIRECTORY.to_owned(), summary_of);
        for warning in &self.warnings {
            text.push_str(&format!("\n{warning}"));
        }
        text
    }
}

/// What has changed, in words.
fn summary_of(reloaded: &Reloaded) -> String {
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
        let outcome = |files: &[&str]| {
            let changed = files.iter().map(|file| (*file).to_owned()).collect();
            let (directory, http_inputs) = ("/conf".into(), BTreeSet::new());
            let reloaded = Reloaded { directory, changed, warnings: Vec::new(), http_inputs };
            let warnings = vec!["/conf/apps/a/local/props.conf:3: unused".to_owned()];
            Outcome { reloaded: Some(reloaded), warnings }
        };
        assert!(outcome(&[]).summary().starts_with("No file below /conf has changed. "));
        let files = ["apps/a/local/props.conf", "system/local/server.conf"];
        assert_eq!(
            outcome(&files).summary(),
            "Changes below /conf are in force: apps/a/local/props.conf, system/local/server.conf. Restart \
             the server for the settings in: system/local/server.conf.\n/conf/apps/a/local/props.conf:3: unused"
        );
        let none = Outcome { reloaded: None, warnings: Vec::new() };
        assert_eq!(none.summary(), NO_DIRECTORY);
    }
}
