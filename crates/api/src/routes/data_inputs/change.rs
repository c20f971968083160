//! Changes of inputs: checked, stored beside the files of apps, then applied.
//!
//! In this order, a server that is killed in between has the input at its next start. If the client
//! disconnects, the change is completed nevertheless. Changes that may end apps are in `ending`.

use apps::{NOBODY, Namespace, SEARCH, SYSTEM, Settings};
use conf::{Effective, Entry, Layer, Place, Stanza};
use inputs::configured::Skipped;
use model::ErrorKind;

use crate::ApiState;
use crate::error::RestError;
use crate::params::is_true;

const CONF: &str = "inputs";

/// The change of a stanza.
#[derive(Debug, Clone)]
pub(crate) enum Edit {
    /// Creates the stanza in an app.
    Create(String, Settings),
    /// Changes settings; the others are kept.
    Set(Settings),
    /// Removes the stanza.
    Remove,
}

/// The location of a stanza.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Home {
    /// The app whose value counts, or `system`.
    pub(crate) app: String,
    /// Whether a file has it, so that it cannot be removed.
    pub(crate) in_files: bool,
    /// Whether it was made or changed over REST.
    pub(crate) is_stored: bool,
}

/// Returns the location of a stanza of `inputs.conf`; `None` if there is no such stanza.
pub(crate) fn home(state: &ApiState, stanza: &str) -> Option<Home> {
    let knowledge = state.apps.knowledge();
    let mut home: Option<Home> = None;
    for (layer, _) in knowledge.layers().stanzas(CONF).filter(|(_, one)| one.name == stanza) {
        let home = home.get_or_insert_with(|| Home {
            app: layer.app().unwrap_or(SYSTEM).to_owned(),
            in_files: false,
            is_stored: false,
        });
        match layer {
            Layer::SystemStored | Layer::AppStored(_) => home.is_stored = true,
            Layer::User(..) => {}
            _ => home.in_files = true,
        }
    }
    home
}

/// Makes a change.
///
/// # Errors
/// If the change is invalid, or this process is not an indexer; nothing is changed then.
pub(crate) async fn change(state: &ApiState, stanza: &str, edit: Edit) -> Result<(), RestError> {
    check_process(state, stanza)?;
    let (own, stanza) = (state.clone(), stanza.to_owned());
    let task = state.shutdown.spawn(async move { bring_about(&own, &stanza, edit).await });
    task.await.map_err(|error| RestError::of_kind(ErrorKind::Internal, error.to_string()))?
}

async fn bring_about(state: &ApiState, stanza: &str, edit: Edit) -> Result<(), RestError> {
    let mut change = state.inputs.change().await?;
    let ending = state.ending_apps.names();
    let home = home(state, stanza);
    let app = match (&edit, &home) {
        (Edit::Create(..), Some(_)) => return Err(apps::Error::Exists(stanza.to_owned()).into()),
        (Edit::Create(app, _), None) => app.clone(),
        (_, None) => return Err(RestError::no_object(stanza)),
        (Edit::Set(_), Some(home)) => home.app.clone(),
        (Edit::Remove, Some(home)) if home.in_files => {
            let text =
                format!("[{stanza}] is defined in inputs.conf; disable it, or remove it there");
            return Err(RestError::invalid(text));
        }
        (Edit::Remove, Some(home)) => home.app.clone(),
    };
    if ending.contains(&app) {
        let text = format!("the app {app} is being disabled, removed or read again: try again");
        return Err(RestError::of_kind(ErrorKind::Unavailable, text));
    }
    let mut conf = state.apps.knowledge().layers().effective_without(CONF, &ending);
    propose(&mut conf, stanza, &app, &edit);
    let disables = matches!(&edit, Edit::Set(settings)
        if matches!(&settings[..], [(key, value)] if key == "disabled" && is_true(value)));
    // An input that is wrong is switched off, too.
    let checked = if disables { "" } else { stanza };
    change.prepare(&conf, checked).await.map_err(refused)?;
    let namespace = Namespace::new(NOBODY, &app);
    match edit {
        Edit::Create(_, settings) => {
            state.apps.create(CONF, stanza, &namespace, settings).await?;
        }
        Edit::Set(settings) => {
            state.apps.update(CONF, stanza, &namespace, &settings).await?;
        }
        Edit::Remove => state.apps.remove(CONF, stanza, &namespace).await?,
    }
    change.apply().await;
    Ok(())
}

/// Refuses a change of a stanza by a process that does not run the inputs of the shared `inputs.conf`. Every
/// process changes tokens of the HTTP Event Collector.
pub(crate) fn check_process(state: &ApiState, stanza: &str) -> Result<(), RestError> {
    if state.intake.is_indexer || stanza == "http" || stanza.starts_with("http:") {
        return Ok(());
    }
    let text = "this process does not have the role indexer: send changes of inputs to a process that has it; \
        /services/cluster/manager/peers lists the processes with their addresses and roles";
    Err(RestError::of_kind(ErrorKind::Unavailable, text))
}

/// Applies `inputs.conf` after it was changed by other means. Returns the enabled inputs that do not run.
/// Those of them that were created or changed over REST are named, and `FollowedInputs` tries them again. A
/// process without the role indexer runs none of them.
///
/// # Errors
/// If the server is stopping, or has not started its inputs yet.
pub(crate) async fn follow(state: &ApiState) -> Result<Vec<Skipped>, RestError> {
    if !state.intake.is_indexer {
        return Ok(Vec::new());
    }
    let own = state.clone();
    let task = state.shutdown.spawn(async move {
        let mut change = own.inputs.change().await?;
        change.prepare(&without_ending_apps(&own), "").await?;
        let skipped = change.skipped().to_vec();
        // Before another change names those that it skips.
        let is_stored = |one: &&Skipped| home(&own, &one.stanza).is_some_and(|home| home.is_stored);
        let stored: Vec<&Skipped> = skipped.iter().filter(is_stored).collect();
        own.inputs.name_skipped(stored.into_iter());
        change.apply().await;
        Ok::<Vec<Skipped>, inputs::Error>(skipped)
    });
    let done = task.await;
    let done = done.map_err(|error| RestError::of_kind(ErrorKind::Internal, error.to_string()))?;
    Ok(done?)
}

/// Ends the inputs that `inputs.conf` does not have any more, or that it disables. No other input begins.
///
/// # Errors
/// As [`follow`].
pub(crate) async fn end_missing(state: &ApiState) -> Result<(), RestError> {
    if !state.intake.is_indexer {
        return Ok(());
    }
    let own = state.clone();
    let task = state.shutdown.spawn(async move {
        let mut change = own.inputs.change().await?;
        change.prepare_end(&without_ending_apps(&own))?;
        change.apply().await;
        Ok::<(), inputs::Error>(())
    });
    let done = task.await;
    done.map_err(|error| RestError::of_kind(ErrorKind::Internal, error.to_string()))??;
    Ok(())
}

/// The settings in force, without those of apps that are about to end.
fn without_ending_apps(state: &ApiState) -> Effective {
    let ending = state.ending_apps.names();
    state.apps.knowledge().layers().effective_without(CONF, &ending)
}

/// The app of a new input.
pub(super) fn app_of_new(asked: Option<&str>) -> String {
    asked.filter(|app| *app != "-").unwrap_or(SEARCH).to_owned()
}

/// A port in use is a mistake of the request, as any other.
fn refused(error: inputs::Error) -> RestError {
    match error {
        inputs::Error::Listen { .. } => RestError::invalid(error.to_string()),
        error => error.into(),
    }
}

/// The configuration as it will be.
fn propose(conf: &mut Effective, name: &str, app: &str, edit: &Edit) {
    let at = conf.stanzas.binary_search_by(|stanza| stanza.name.as_str().cmp(name));
    let settings = match edit {
        Edit::Remove => {
            if let Ok(at) = at {
                conf.stanzas.remove(at);
            }
            return;
        }
        Edit::Create(_, settings) | Edit::Set(settings) => settings,
    };
    let file = if app == SYSTEM { format!("system/{CONF}") } else { format!("apps/{app}/{CONF}") };
    let place = Place { file: file.into(), line: 1 };
    let at = at.unwrap_or_else(|at| {
        let (name, place) = (name.to_owned(), place.clone());
        conf.stanzas.insert(at, Stanza { name, place, entries: Vec::new() });
        at
    });
    let entries = &mut conf.stanzas[at].entries;
    for (key, value) in settings {
        entries.retain(|entry| entry.key != *key);
        entries.push(Entry { key: key.clone(), value: value.clone(), place: place.clone() });
    }
}
