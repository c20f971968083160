//! Karst's own log: to standard error, and to `<data>/log/karst.log`, which the server indexes in
//! `_internal`.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};
use parking_lot::Mutex;
use runtime::telemetry::{self, Format};
use tracing_subscriber::fmt::writer::BoxMakeWriter;

use super::log_file::LogFile;
use crate::config::ServerOptions;

/// Directory of the log files.
pub(crate) fn directory(options: &ServerOptions) -> PathBuf {
    options.data.data_dir.join("log")
}

pub(crate) fn install(options: &ServerOptions) -> Result<Loggers> {
    let folder = directory(options);
    fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
    let path = folder.join("karst.log");
    let log = LogFile::open(&path).with_context(|| format!("cannot open {}", path.display()))?;
    let settings = telemetry::Settings { level: options.log.clone(), format: Format::Auto };
    let levels = telemetry::install(&settings, Some(BoxMakeWriter::new(log.clone())))?;
    Ok(Loggers { levels, shown: Mutex::new(BTreeMap::new()), file: log })
}

/// The parts of the server that write a log, and the targets of their lines.
const PARTS: [(&str, &str); 14] = [
    ("AuditLogger", "karst_audit"),
    ("Api", "karst_api"),
    ("Apps", "karst_apps"),
    ("Bucket", "karst_bucket"),
    ("Cache", "karst_cache"),
    ("Catalog", "karst_catalog"),
    ("Ingest", "karst_ingest"),
    ("Inputs", "karst_inputs"),
    ("Knowledge", "karst_knowledge"),
    ("Metrics", "metrics"),
    ("Plan", "karst_plan"),
    ("Runtime", "karst_runtime"),
    ("Search", "karst_search"),
    ("Server", "karst"),
];

/// The part of the server that a line is of, by its target.
pub(crate) fn component(target: &str) -> String {
    let name = target.split("::").next().unwrap_or(target);
    let part = PARTS.iter().find(|(_, known)| *known == name);
    part.map_or(name, |(part, _)| part).to_owned()
}

/// Levels of the parts of the server, as REST shows and changes them.
#[derive(Debug)]
pub(crate) struct Loggers {
    levels: telemetry::Levels,
    /// The changed levels, under Splunk's names.
    shown: Mutex<BTreeMap<&'static str, String>>,
    file: LogFile,
}

impl Loggers {
    /// The file that all lines go to.
    pub(crate) fn file(&self) -> &LogFile {
        &self.file
    }
}

impl api::LogLevels for Loggers {
    fn all(&self) -> Vec<(String, String)> {
        let shown = self.shown.lock();
        let level = |name: &str| shown.get(name).cloned().unwrap_or_else(|| "INFO".to_owned());
        PARTS.iter().map(|(name, _)| ((*name).to_owned(), level(name))).collect()
    }

    fn set(&self, name: &str, level: &str) -> bool {
        let Some((name, target)) = PARTS.iter().find(|(known, _)| *known == name) else {
            return false;
        };
        // ERROR is the highest level.
        let least = if matches!(level, "CRIT" | "FATAL") { "ERROR" } else { level };
        if let Err(error) = self.levels.set(target, least) {
            tracing::warn!(%error, name, "the level of a log is not changed");
            return false;
        }
        let mut shown = self.shown.lock();
        shown.insert(name, level.to_owned());
        true
    }
}
