//! Directories of servers, which `karst add` leaves out: they contain keys, passwords and an administrator's
//! session.
//!
//! They are recognized by the files in them or beside them: the command does not know the options of each
//! server on this machine, and a copy of a data directory has the same secrets.

use std::path::Path;

/// The directory in a data directory in which `make run` keeps the data that it loads.
const SAMPLE: &str = "sample";

/// Whether a path leads to a server's directory or into it; links are followed.
pub(super) fn holds(path: &Path) -> bool {
    let Ok(real) = path.canonicalize() else { return false };
    real.ancestors().any(|directory| {
        let is_sample =
            || real.strip_prefix(directory).is_ok_and(|below| below.starts_with(SAMPLE));
        is_own(directory) && !is_sample()
    })
}

/// Whether a directory is a server's: a data directory, a part of one that is on another disk, or a local
/// object store.
pub(super) fn is_own(directory: &Path) -> bool {
    let is_data = || directory.join("server.lock").is_file() && directory.join("auth").is_dir();
    let is_store =
        || ["manifest", "wal"].iter().all(|name| directory.join("catalog").join(name).is_dir());
    is_data() || is_part(directory) || is_store()
}

/// Whether a directory is one of `--journal-dir`, `--spool-dir` or `--cache-dir`.
fn is_part(directory: &Path) -> bool {
    let name = directory.file_name().and_then(|name| name.to_str());
    name.filter(|name| ["journal", "spool", "cache"].contains(name))
        .is_some_and(|name| directory.with_file_name(format!("{name}.owner")).is_file())
}
