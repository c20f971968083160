//! Karst's own log: to standard error, and to `<data>/log/karst.log`, which the server itself reads
//! into the index `_internal`.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::{Context, Result};
use runtime::telemetry::{self, Format};
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::fmt::writer::BoxMakeWriter;

use crate::config::ServerOptions;

/// A log file is renamed at this size, as Splunk does.
const MAX_BYTES: u64 = 25_000_000;
/// Renamed files kept.
const KEPT: usize = 5;

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
    let levels = telemetry::install(&settings, Some(BoxMakeWriter::new(log)))?;
    Ok(Loggers { levels, shown: Mutex::new(BTreeMap::new()) })
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

/// Levels of the parts of the server, as REST shows and changes them.
#[derive(Debug)]
pub(crate) struct Loggers {
    levels: telemetry::Levels,
    /// Splunk's names of what was changed.
    shown: Mutex<BTreeMap<&'static str, String>>,
}

impl api::LogLevels for Loggers {
    fn all(&self) -> Vec<(String, String)> {
        let shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        let level = |name: &str| shown.get(name).cloned().unwrap_or_else(|| "INFO".to_owned());
        PARTS.iter().map(|(name, _)| ((*name).to_owned(), level(name))).collect()
    }

    fn set(&self, name: &str, level: &str) -> bool {
        let Some((name, target)) = PARTS.iter().find(|(known, _)| *known == name) else {
            return false;
        };
        // There is nothing above an error.
        let least = if matches!(level, "CRIT" | "FATAL") { "ERROR" } else { level };
        if let Err(error) = self.levels.set(target, least) {
            tracing::warn!(%error, name, "the level of a log stays as it is");
            return false;
        }
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        shown.insert(name, level.to_owned());
        true
    }
}

/// A file that is renamed when it is full.
#[derive(Debug, Clone)]
struct LogFile(Arc<Mutex<Open>>);

#[derive(Debug)]
struct Open {
    path: PathBuf,
    file: File,
    size: u64,
}

impl LogFile {
    fn open(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().create(true).append(true).open(path)?;
        let size = file.metadata()?.len();
        Ok(Self(Arc::new(Mutex::new(Open { path: path.to_owned(), file, size }))))
    }
}

impl Open {
    fn rotate(&mut self) -> io::Result<()> {
        let name = |number: usize| self.path.with_extension(format!("log.{number}"));
        for number in (1..KEPT).rev() {
            if name(number).exists() {
                fs::rename(name(number), name(number + 1))?;
            }
        }
        fs::rename(&self.path, name(1))?;
        self.file = OpenOptions::new().create(true).append(true).open(&self.path)?;
        self.size = 0;
        Ok(())
    }
}

/// One line's access to the file.
#[derive(Debug)]
struct Line<'a>(MutexGuard<'a, Open>);

impl Write for Line<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0.size >= MAX_BYTES {
            self.0.rotate()?;
        }
        let written = self.0.file.write(bytes)?;
        self.0.size += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.file.flush()
    }
}

impl<'a> MakeWriter<'a> for LogFile {
    type Writer = Line<'a>;

    fn make_writer(&'a self) -> Line<'a> {
        Line(self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
