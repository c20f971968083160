//! Logging: output and format (plain text or JSON lines).
//!
//! Installed once per process by `services`; libraries only use the `tracing` macros. Lines go to
//! standard error; standard output is for results.

use std::collections::BTreeMap;
use std::io::IsTerminal;

use parking_lot::Mutex;
use tracing_subscriber::filter::EnvFilter;
use tracing_subscriber::fmt;
use tracing_subscriber::fmt::writer::BoxMakeWriter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::registry::Registry;
use tracing_subscriber::reload;
use tracing_subscriber::util::SubscriberInitExt;

use crate::Error;

/// The format of log lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Format {
    /// Text on a terminal, JSON otherwise.
    #[default]
    Auto,
    /// One readable line per event.
    Text,
    /// One JSON object per line.
    Json,
}

/// Log settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Minimum level (`error`, `warn`, `info`, `debug`, `trace`), optionally per crate as in
    /// `info,ingest=debug`. `debug` and `trace` take noticeable time per event.
    pub level: String,
    /// The format of lines.
    pub format: Format,
}

impl Default for Settings {
    fn default() -> Self {
        Self { level: "info".to_owned(), format: Format::Auto }
    }
}

impl Settings {
    /// Checks the level.
    ///
    /// # Errors
    /// [`Error::Level`] says why it is invalid.
    pub fn validate(&self) -> Result<(), Error> {
        self.filter().map(drop)
    }

    fn filter(&self) -> Result<EnvFilter, Error> {
        // Libraries that log every request at info level would flood the log.
        let quiet = ["foyer", "foyer_storage", "slatedb", "object_store", "hyper", "h2", "rustls"];
        let mut text = String::new();
        if !self.level.contains("foyer") {
            // It logs every failed write; the health of the server already reports a full disk.
            text.push_str("foyer_storage::engine::block::flusher=off,");
        }
        for name in quiet.iter().filter(|name| !self.level.contains(**name)) {
            text.push_str(name);
            text.push_str("=warn,");
        }
        text.push_str(&self.level);
        EnvFilter::builder()
            .parse(&text)
            .map_err(|error| Error::Level { level: self.level.clone(), reason: error.to_string() })
    }
}

/// A handle to change levels while the process runs.
#[derive(Debug)]
pub struct Levels {
    settings: Settings,
    filter: reload::Handle<EnvFilter, Registry>,
    /// Level by target (crate name or other log target).
    changed: Mutex<BTreeMap<String, String>>,
}

impl Levels {
    /// Sets the minimum level of a target, overriding the settings.
    ///
    /// # Errors
    /// [`Error::Level`] for an invalid level.
    pub fn set(&self, target: &str, level: &str) -> Result<(), Error> {
        let mut changed = self.changed.lock();
        let mut next = changed.clone();
        next.insert(target.to_owned(), level.to_owned());
        let mut settings = self.settings.clone();
        for (target, level) in &next {
            settings.level.push_str(&format!(",{target}={level}"));
        }
        let filter = settings.filter()?;
        let level = settings.level;
        let done = self.filter.reload(filter);
        done.map_err(|error| Error::Level { level, reason: error.to_string() })?;
        *changed = next;
        Ok(())
    }
}

/// Starts logging for the process. `file` additionally gets every line as JSON.
///
/// # Errors
/// [`Error::Level`] for an invalid level, [`Error::AlreadyInstalled`] the second time.
pub fn install(settings: &Settings, file: Option<BoxMakeWriter>) -> Result<Levels, Error> {
    let (filter, handle) = reload::Layer::new(settings.filter()?);
    let levels = Levels { settings: settings.clone(), filter: handle, changed: Mutex::default() };
    let json = match settings.format {
        Format::Auto => !std::io::stderr().is_terminal(),
        Format::Text => false,
        Format::Json => true,
    };
    let kept = file.map(|file| fmt::layer().json().flatten_event(true).with_writer(file));
    let registry = tracing_subscriber::registry().with(filter).with(kept);
    let installed = if json {
        let lines = fmt::layer().json().flatten_event(true).with_writer(std::io::stderr);
        registry.with(lines).try_init()
    } else {
        let colours = std::io::stderr().is_terminal();
        let lines = fmt::layer().with_ansi(colours).with_writer(std::io::stderr);
        registry.with(lines).try_init()
    };
    let failed = |_| Error::AlreadyInstalled { what: "the log subscriber" };
    installed.map(|()| levels).map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_per_crate_is_accepted_and_nonsense_is_refused() {
        let settings = |level: &str| Settings { level: level.to_owned(), format: Format::Text };
        assert!(settings("info,ingest=debug").validate().is_ok());
        let error = settings("info,=loud=").validate().err();
        assert!(error.is_some_and(|e| e.to_string().contains("info,=loud=")));
    }
}
