//! The attributes of a file in the system: identity, size and modification time.

use std::fs::{self, File, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use foldhash::{HashMap, HashSet};
use model::EventTime;

/// Maximum number of files that a search by identity opens; of further files, only the names are compared.
const OPENED: usize = 100;

/// The identity of a file, independent of its name: device, inode and, where the file system has it, the time
/// of creation, which distinguishes a file from a later one with the same inode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct FileId {
    pub(crate) device: u64,
    pub(crate) inode: u64,
    pub(crate) born: u64,
}

/// A file as it was looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) id: FileId,
    pub(crate) size: u64,
    /// Microseconds since 1970.
    pub(crate) modified: i64,
}

impl Seen {
    pub(crate) fn of(metadata: &Metadata) -> Self {
        let born = metadata.created().map_or(0, |time| micros(time).unsigned_abs());
        Self {
            id: FileId { device: metadata.dev(), inode: metadata.ino(), born },
            size: metadata.len(),
            modified: metadata.modified().map_or(0, micros),
        }
    }

    pub(crate) fn at(path: &Path) -> io::Result<Self> {
        Ok(Self::of(&fs::metadata(path)?))
    }

    pub(crate) fn time(&self) -> EventTime {
        EventTime(self.modified)
    }
}

/// Opens a file that was listed; `None` if its name now refers to another file, or to none.
///
/// Rotation moves files between a look at their names and the moment they are opened: whoever takes
/// what the name leads to for the file that was seen reads one twice and the other never.
pub(crate) fn open(path: &Path, id: FileId) -> io::Result<Option<File>> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let same = Seen::of(&file.metadata()?).id == id;
    Ok(same.then_some(file))
}

/// A file that was found by its identity.
#[derive(Debug)]
pub(crate) struct Located {
    pub(crate) path: PathBuf,
    /// Open, so that it is not lost when it is renamed once more; `None` above [`OPENED`].
    pub(crate) file: Option<File>,
}

/// Looks for files by their identity among the files of a directory; blocks.
pub(crate) fn locate(
    directory: &Path,
    wanted: &HashSet<FileId>,
    found: &mut HashMap<FileId, Located>,
) {
    // A file that is renamed while the names are listed may be missed, and is under its new name then.
    for _ in 0..2 {
        if wanted.iter().all(|id| found.contains_key(id)) {
            return;
        }
        let Ok(entries) = fs::read_dir(directory) else { return };
        for entry in entries.filter_map(Result::ok) {
            let Ok(metadata) = entry.metadata() else { continue };
            let id = Seen::of(&metadata).id;
            if !metadata.is_file() || !wanted.contains(&id) || found.contains_key(&id) {
                continue;
            }
            let path = entry.path();
            if found.len() >= OPENED {
                found.insert(id, Located { path, file: None });
                continue;
            }
            match open(&path, id) {
                // Renamed once more.
                Ok(None) => {}
                opened => {
                    found.insert(id, Located { path, file: opened.ok().flatten() });
                }
            }
        }
    }
}

fn micros(time: SystemTime) -> i64 {
    let since = time.duration_since(UNIX_EPOCH).map(|since| since.as_micros());
    since.ok().and_then(|micros| i64::try_from(micros).ok()).unwrap_or(0)
}
