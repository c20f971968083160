//! Archives of apps on the local disk while they arrive.
//!
//! Guarantees: an archive has no name, so nothing is left of it when its request has ended or the process was
//! killed. It is refused before it uses space that has to stay free. Of an archive, a buffer of its sender is
//! in memory. Leaves to others: how large it may be (`api`), and what is in it (`package.rs`).

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Arc;

use crate::blocking::blocking;
use crate::installed::InstalledApps;
use crate::{Apps, Error};

/// The beginning of the name that the file has for a moment.
const PREFIX: &str = ".upload-";
/// Only the process reads it.
const MODE: u32 = 0o600;

/// An archive that is arriving.
#[derive(Debug)]
pub struct Spool {
    installed: Arc<InstalledApps>,
    file: File,
    bytes: u64,
}

/// An archive that is complete. Clones are handles to the same.
#[derive(Debug, Clone)]
pub struct Archive {
    file: Arc<File>,
    bytes: u64,
}

impl Apps {
    /// Begins an archive on the local disk.
    ///
    /// # Errors
    /// If the file cannot be created, or no apps can be installed here.
    pub async fn spool(&self) -> Result<Spool, Error> {
        let installed = Arc::clone(self.installed()?);
        blocking(move || {
            let file = nameless(&installed.directory)
                .map_err(failed("create a file in", &installed.directory))?;
            Ok(Spool { installed, file, bytes: 0 })
        })
        .await
    }
}

impl Spool {
    /// Writes a part of the archive, and returns the buffer, which is empty.
    ///
    /// # Errors
    /// If the local disk does not take it, or has no room.
    pub async fn append(mut self, mut part: Vec<u8>) -> Result<(Self, Vec<u8>), Error> {
        blocking(move || {
            let bytes = part.len() as u64;
            self.installed.check_room("a part of an app archive", bytes)?;
            let written = self.file.write_all(&part);
            written.map_err(failed("write a file in", &self.installed.directory))?;
            self.bytes += bytes;
            part.clear();
            Ok((self, part))
        })
        .await
    }

    /// The archive, if this is all of it.
    #[must_use]
    pub fn finish(self) -> Archive {
        Archive { file: Arc::new(self.file), bytes: self.bytes }
    }
}

impl Archive {
    /// Its size.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Reads it from its beginning.
    #[must_use]
    pub fn reader(&self) -> impl BufRead + Send + use<> {
        BufReader::new(ReadAt { file: Arc::clone(&self.file), position: 0 })
    }
}

/// Reads a file from a position on.
struct ReadAt {
    file: Arc<File>,
    position: u64,
}

impl Read for ReadAt {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read_at(buffer, self.position)?;
        self.position += read as u64;
        Ok(read)
    }
}

/// Creates a file that is removed when it is closed.
fn nameless(directory: &Path) -> io::Result<File> {
    fs::create_dir_all(directory)?;
    let path = directory.join(format!("{PREFIX}{}", runtime::random::uuid()));
    let file = OpenOptions::new().read(true).write(true).create_new(true).mode(MODE).open(&path)?;
    fs::remove_file(&path)?;
    Ok(file)
}

fn failed(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Error + use<> {
    let path = path.display().to_string();
    move |source| Error::File { action, path, source }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;
    use crate::Room;
    use crate::installed_tests::Setup;

    fn text(archive: &Archive) -> String {
        let mut text = String::new();
        archive.reader().read_to_string(&mut text).unwrap();
        text
    }

    #[tokio::test]
    async fn an_archive_is_what_was_written_and_has_no_name() {
        let setup = Setup::new().await;
        let apps = setup.process("one").await;
        let mut spool = apps.spool().await.unwrap();
        let mut buffer = Vec::new();
        for part in ["a part, ", "", "another one"] {
            buffer.extend_from_slice(part.as_bytes());
            (spool, buffer) = spool.append(buffer).await.unwrap();
            assert!(buffer.is_empty());
        }
        let left = fs::read_dir(setup.data.path().join("one")).unwrap().count();
        assert_eq!(left, 0, "the process may be killed at any moment");
        let archive = spool.finish();
        assert_eq!(archive.bytes(), 19);
        for archive in [archive.clone(), archive] {
            assert_eq!(text(&archive), "a part, another one");
        }
    }

    #[tokio::test]
    async fn an_archive_that_the_disk_has_no_room_for_is_refused_while_it_arrives() {
        let setup = Setup::new().await;
        let spare = Arc::new(AtomicU64::new(10));
        let seen = Arc::clone(&spare);
        let room = Room::new(move |_| Some(seen.load(Ordering::Relaxed)));
        let apps = setup.process_with("small", room).await;
        let spool = apps.spool().await.unwrap();
        let (spool, _) = spool.append(vec![b'x'; 10]).await.unwrap();
        spare.store(0, Ordering::Relaxed);
        let refused = spool.append(vec![b'x']).await.unwrap_err();
        assert_eq!(refused.kind(), model::ErrorKind::Unavailable);
        let text = refused.to_string();
        assert!(text.contains("/small: no space left on device"), "{text}");
    }
}
