//! A marker file that exists while records that the disk has lost are restored from other places. If a start
//! is killed after it has restored the first of them, the journals look complete although they are not.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use crate::Error;

/// Name of the file, next to the directories of the sets.
const NAME: &str = "restoring";

/// Whether a start has begun to restore records and has not finished.
pub(crate) fn is_under_way(root: &Path) -> bool {
    root.join(NAME).exists()
}

/// Creates the marker before records are restored.
///
/// # Errors
/// The file cannot be written.
pub(crate) fn begin(root: &Path) -> Result<(), Error> {
    let begun = File::create(root.join(NAME)).and_then(|file| file.sync_all());
    begun.and_then(|()| sync(root)).map_err(|error| Error::journal_write(root.join(NAME), error))
}

/// Removes the marker after every place has restored its records.
///
/// # Errors
/// The file cannot be removed.
pub(crate) fn end(root: &Path) -> Result<(), Error> {
    let ended = fs::remove_file(root.join(NAME)).and_then(|()| sync(root));
    ended.map_err(|error| Error::journal_write(root.join(NAME), error))
}

fn sync(root: &Path) -> io::Result<()> {
    File::open(root)?.sync_all()
}
