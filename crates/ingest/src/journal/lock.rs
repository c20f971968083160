//! The lock that lets only one process write the journals of a data directory.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use crate::Error;

/// Locks the journals below `root` until the returned file is closed.
///
/// # Errors
/// Another process has the lock, or the file cannot be written.
pub(crate) fn lock(root: &Path) -> Result<File, Error> {
    fs::create_dir_all(root).map_err(|error| Error::journal_write(root, error))?;
    let path = root.join("lock");
    let file = File::create(&path).map_err(|error| Error::journal_write(&path, error))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(fs::TryLockError::WouldBlock) => {
            let reason = "another process writes this journal; stop it, or use another directory";
            Err(Error::journal_write(path, io::Error::other(reason)))
        }
        Err(fs::TryLockError::Error(error)) => Err(Error::journal_write(path, error)),
    }
}
