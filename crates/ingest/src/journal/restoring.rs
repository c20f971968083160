//! A file that says that the disk has lost records which other places are to restore. A start that is killed
//! after the first of them leaves journals that look whole, and are not.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use crate::Error;

/// Beside the directories of the sets.
const NAME: &str = "restoring";

/// Whether a start has begun to restore records, and has not ended.
pub(crate) fn is_under_way(root: &Path) -> bool {
    root.join(NAME).exists()
}

/// Notes that records are to be restored.
///
/// # Errors
/// The disk refuses.
pub(crate) fn begin(root: &Path) -> Result<(), Error> {
    let begun = File::create(root.join(NAME)).and_then(|file| file.sync_all());
    begun.and_then(|()| sync(root)).map_err(|error| Error::journal_write(root.join(NAME), error))
}

/// Notes that every place has restored what it had.
///
/// # Errors
/// The disk refuses.
pub(crate) fn end(root: &Path) -> Result<(), Error> {
    let ended = fs::remove_file(root.join(NAME)).and_then(|()| sync(root));
    ended.map_err(|error| Error::journal_write(root.join(NAME), error))
}

fn sync(root: &Path) -> io::Result<()> {
    File::open(root)?.sync_all()
}
