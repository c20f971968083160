//! Karst's own log: to standard error, and to `<data>/log/karst.log`, which the server itself reads
//! into the index `_internal`.

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

pub(crate) fn install(options: &ServerOptions) -> Result<()> {
    let folder = directory(options);
    fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
    let path = folder.join("karst.log");
    let log = LogFile::open(&path).with_context(|| format!("cannot open {}", path.display()))?;
    let settings = telemetry::Settings { level: options.log.clone(), format: Format::Auto };
    telemetry::install(&settings, Some(BoxMakeWriter::new(log)))?;
    Ok(())
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
