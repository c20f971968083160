//! The disk space for copies of apps.
//!
//! Guarantees: an app whose files would use space that has to stay free is refused before any of them is
//! written.

use std::fmt;
use std::io;
use std::path::Path;

use crate::Error;

/// Bytes that may be written to the file system of a directory; `None` where they are not known.
type Spare = dyn Fn(&Path) -> Option<u64> + Send + Sync;

/// Tells how many bytes may be written to a disk.
pub struct Room(Box<Spare>);

impl fmt::Debug for Room {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Room")
    }
}

impl Default for Room {
    /// All room that there is.
    fn default() -> Self {
        Self::new(|_| None)
    }
}

impl Room {
    /// `spare`: how many bytes may be written to the file system of a directory.
    pub fn new(spare: impl Fn(&Path) -> Option<u64> + Send + Sync + 'static) -> Self {
        Self(Box::new(spare))
    }

    /// Returns an error if the bytes do not fit into a directory.
    pub(crate) fn check(&self, directory: &Path, what: &str, bytes: u64) -> Result<(), Error> {
        let Some(spare) = self.0(directory).filter(|spare| bytes > *spare) else { return Ok(()) };
        let text = format!(
            "no space left on device: {what} has {bytes} bytes, and only {spare} can be written before \
             minFreeSpace is reached"
        );
        let source = io::Error::new(io::ErrorKind::StorageFull, text);
        Err(Error::File { action: "write", path: directory.display().to_string(), source })
    }
}
