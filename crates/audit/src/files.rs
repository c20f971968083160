//! The files `audit-<number of the first record>.log`: append-only, never renamed.

use std::fs::{self, File, OpenOptions};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use crate::Error;

/// The file being written.
#[derive(Debug)]
pub(crate) struct Active {
    pub(crate) path: PathBuf,
    pub(crate) file: File,
    pub(crate) bytes: u64,
}

/// A file and the number of its first record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LogFile {
    pub(crate) first: u64,
    pub(crate) path: PathBuf,
}

/// The files of a directory, oldest first.
pub(crate) fn list(directory: &Path) -> Result<Vec<LogFile>, Error> {
    let failed = |error: &std::io::Error| Error::file("read", directory, error);
    let mut files = Vec::new();
    for entry in fs::read_dir(directory).map_err(|error| failed(&error))? {
        let path = entry.map_err(|error| failed(&error))?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let digits = name.strip_prefix("audit-").and_then(|rest| rest.strip_suffix(".log"));
        if let Some(first) = digits.and_then(|digits| digits.parse().ok()) {
            files.push(LogFile { first, path });
        }
    }
    files.sort_by_key(|file| file.first);
    Ok(files)
}

/// Creates the file whose first record has that number.
pub(crate) fn create(directory: &Path, first: u64) -> Result<(PathBuf, File), Error> {
    let path = directory.join(format!("audit-{first:020}.log"));
    let file = open(&path).map_err(|error| Error::file("create", &path, &error))?;
    // The file is durable only once its directory entry is.
    let folder = File::open(directory).and_then(|folder| folder.sync_all());
    folder.map_err(|error| Error::file("write", directory, &error))?;
    Ok((path, file))
}

/// Opens a file for appending.
pub(crate) fn open(path: &Path) -> std::io::Result<File> {
    let mut options = OpenOptions::new();
    options.create(true).append(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Reads the raw lines of a file.
pub(crate) struct Lines {
    path: PathBuf,
    reader: BufReader<File>,
}

impl Lines {
    pub(crate) fn open(path: &Path) -> Result<Self, Error> {
        let file = File::open(path).map_err(|error| Error::file("read", path, &error))?;
        Ok(Self { path: path.to_owned(), reader: BufReader::with_capacity(256 << 10, file) })
    }

    /// The next line without its line end, and whether it had one; `None` at the end of the file.
    pub(crate) fn next(&mut self, line: &mut Vec<u8>) -> Result<Option<bool>, Error> {
        line.clear();
        let read = self.reader.read_until(b'\n', line);
        let read = read.map_err(|error| Error::file("read", &self.path, &error))?;
        let ended = line.last() == Some(&b'\n');
        if ended {
            line.pop();
        }
        Ok((read > 0).then_some(ended))
    }
}
