//! A directory that is held open. Files are created, renamed and removed in the opened directory, even if it
//! has been moved or replaced at its path: a server whose data directory was replaced does not touch the
//! files of the server that now uses the path.
//!
//! The server of a network file system may be unavailable for a while, and the file system may be mounted
//! again: when the open handle no longer works, the path is opened again if it leads to the same inode. If
//! the device differs, the directory may be on another disk: then files are created, but none is removed or
//! replaced.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;

/// See the module.
#[derive(Debug)]
pub struct OpenDirectory {
    path: PathBuf,
    inode: u64,
    device: u64,
    place: Place,
    handle: Mutex<Handle>,
}

#[derive(Debug, Clone)]
struct Handle {
    file: Arc<File>,
    /// Whether it was opened again on another device. While the former handle is open, the number of its
    /// device is not reused.
    may_be_other: bool,
}

impl OpenDirectory {
    /// Opens an existing directory.
    ///
    /// # Errors
    /// The directory cannot be opened.
    pub fn open(path: &Path) -> io::Result<Self> {
        // The parent of a file name without a directory.
        let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
        let handle = File::open(path)?;
        let about = handle.metadata()?;
        let place = Place::of(&handle, path)?;
        Ok(Self {
            path: path.to_owned(),
            inode: about.ino(),
            device: about.dev(),
            place,
            handle: Mutex::new(Handle { file: Arc::new(handle), may_be_other: false }),
        })
    }

    /// Opens the directory that contains a file.
    ///
    /// # Errors
    /// The directory cannot be opened.
    pub fn of_file(path: &Path) -> io::Result<Self> {
        Self::open(path.parent().unwrap_or(Path::new("/")))
    }

    /// Returns the path that was opened, for messages.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn current(&self) -> io::Result<Handle> {
        let mut handle = self.handle.lock();
        if handle.file.metadata().is_err() {
            let may_have_been = handle.may_be_other;
            *handle = self.open_again(may_have_been)?;
        }
        Ok(handle.clone())
    }

    fn open_again(&self, may_have_been_other: bool) -> io::Result<Handle> {
        let again = File::open(&self.path)?;
        let about = again.metadata()?;
        if about.ino() != self.inode {
            return Err(io::Error::other("another directory has taken its path"));
        }
        let may_be_other = may_have_been_other || about.dev() != self.device;
        Ok(Handle { file: Arc::new(again), may_be_other })
    }

    fn handle(&self) -> io::Result<Arc<File>> {
        Ok(self.current()?.file)
    }

    /// Returns the handle for removing or replacing files.
    fn own_handle(&self) -> io::Result<Arc<File>> {
        let Handle { file, may_be_other } = self.current()?;
        if may_be_other {
            return Err(io::Error::other(format!(
                "the file system of {} was mounted again, or another one was: restart the server",
                self.path.display()
            )));
        }
        Ok(file)
    }

    fn open_file(&self, name: &Path, flags: OFlags) -> io::Result<File> {
        let empties = flags.contains(OFlags::TRUNC);
        let handle = if empties { self.own_handle()? } else { self.handle()? };
        let (flags, mode) = (flags | OFlags::CLOEXEC, Mode::from_raw_mode(0o666));
        let open = || rustix::fs::openat(&*handle, name, flags, mode);
        Ok(File::from(rustix::io::retry_on_intr(open)?))
    }

    /// Creates a file and opens it for appending.
    ///
    /// # Errors
    /// The file exists, or the file system returns an error.
    pub fn create_new(&self, name: impl AsRef<Path>) -> io::Result<File> {
        let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE | OFlags::EXCL;
        self.open_file(name.as_ref(), flags)
    }

    /// Creates a file or empties it, and opens it for writing.
    ///
    /// # Errors
    /// The file system returns an error.
    pub fn create(&self, name: impl AsRef<Path>) -> io::Result<File> {
        self.open_file(name.as_ref(), OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC)
    }

    /// Opens a file for appending.
    ///
    /// # Errors
    /// The file does not exist, or the file system returns an error.
    pub fn append(&self, name: impl AsRef<Path>) -> io::Result<File> {
        self.open_file(name.as_ref(), OFlags::WRONLY | OFlags::APPEND)
    }

    /// Opens a file for reading.
    ///
    /// # Errors
    /// The file does not exist, or the file system returns an error.
    pub fn read(&self, name: impl AsRef<Path>) -> io::Result<File> {
        self.open_file(name.as_ref(), OFlags::RDONLY)
    }

    /// Replaces a file atomically: writes `draft` and renames it, so that the file is always complete, old or
    /// new. It is durable on return.
    ///
    /// # Errors
    /// The file system returns an error.
    pub fn replace(
        &self,
        name: impl AsRef<Path>,
        draft: impl AsRef<Path>,
        bytes: &[u8],
    ) -> io::Result<()> {
        let draft = draft.as_ref();
        let mut file = self.create(draft)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        self.rename(draft, name)?;
        self.sync()
    }

    /// Renames a file within the directory; an existing file with the new name is replaced.
    ///
    /// # Errors
    /// The file does not exist, or the file system returns an error.
    pub fn rename(&self, from: impl AsRef<Path>, to: impl AsRef<Path>) -> io::Result<()> {
        let handle = self.own_handle()?;
        let renamed = rustix::fs::renameat(&*handle, from.as_ref(), &*handle, to.as_ref());
        renamed.map_err(io::Error::from)
    }

    /// Removes a file.
    ///
    /// # Errors
    /// The file does not exist, or the file system returns an error.
    pub fn remove(&self, name: impl AsRef<Path>) -> io::Result<()> {
        let handle = self.own_handle()?;
        let removed = rustix::fs::unlinkat(&*handle, name.as_ref(), AtFlags::empty());
        removed.map_err(io::Error::from)
    }

    /// Removes an empty subdirectory.
    ///
    /// # Errors
    /// The directory is not empty, or the file system returns an error.
    pub fn remove_directory(&self, name: impl AsRef<Path>) -> io::Result<()> {
        let handle = self.own_handle()?;
        let removed = rustix::fs::unlinkat(&*handle, name.as_ref(), AtFlags::REMOVEDIR);
        removed.map_err(io::Error::from)
    }

    /// Creates a subdirectory and its missing parents.
    ///
    /// # Errors
    /// The file system returns an error.
    pub fn create_directories(&self, name: impl AsRef<Path>) -> io::Result<()> {
        let handle = self.handle()?;
        let mut path = PathBuf::new();
        for part in name.as_ref().components() {
            path.push(part);
            match rustix::fs::mkdirat(&*handle, &path, Mode::from_raw_mode(0o777)) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Makes creations, renames and removals of names durable.
    ///
    /// # Errors
    /// The file system returns an error.
    pub fn sync(&self) -> io::Result<()> {
        self.handle()?.sync_all()
    }

    /// Whether the path still leads to this directory, also after its network file system was mounted again.
    /// Code that removes or replaces files by path must check this first. May be false if the directory is
    /// changed at the same moment.
    #[must_use]
    pub fn is_at_path(&self) -> bool {
        let Ok(handle) = self.own_handle() else { return false };
        let (Ok(open), Ok(named)) = (handle.metadata(), fs::metadata(&self.path)) else {
            return false;
        };
        self.place.is_same(&FileMark::from(&open), &FileMark::from(&named))
    }

    /// Returns what happened to the directory, if it was removed or replaced: see [`Place::loss`].
    #[must_use]
    pub fn loss(&self) -> Option<String> {
        let handle = self.handle().ok()?;
        self.place.loss(&handle, &self.path)
    }

    /// Examines a file that has just been opened in the directory.
    ///
    /// # Errors
    /// The metadata of the file cannot be read.
    pub fn entry(&self, open: &File, name: impl AsRef<Path>) -> io::Result<Entry> {
        let handle = self.handle()?;
        let named = rustix::fs::statat(&*handle, name.as_ref(), AtFlags::empty())?;
        let open = open.metadata()?;
        Ok(Entry { counts_names: open.nlink() > 0, has_inode_of_name: open.ino() == named.st_ino })
    }

    /// Returns what happened to an open file of the directory, if its name is missing or belongs to another
    /// file. The name is looked up in the opened directory, so no other disk on the path is accessed. A
    /// missing name is conclusive even on a network file system, where a removed file may keep a hidden name.
    #[must_use]
    pub fn loss_of(&self, open: &File, name: impl AsRef<Path>, entry: Entry) -> Option<String> {
        let name = name.as_ref();
        let was = |what: &str| Some(format!("{} was {what}", self.path.join(name).display()));
        let open = open.metadata().ok()?;
        if entry.counts_names && open.nlink() == 0 {
            return was("removed");
        }
        let handle = self.handle().ok()?;
        match rustix::fs::statat(&*handle, name, AtFlags::empty()) {
            Err(Errno::NOENT) => was("removed"),
            Ok(named) if entry.has_inode_of_name && named.st_ino != open.ino() => was("replaced"),
            // The file system may be temporarily unavailable.
            Ok(_) | Err(_) => None,
        }
    }
}

/// How a file system represents that an open file has its name in its directory, see [`Place`].
#[derive(Debug, Clone, Copy)]
pub struct Entry {
    counts_names: bool,
    has_inode_of_name: bool,
}

/// The identity and state of a file, according to its file system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileMark {
    /// Number of its names.
    names: u64,
    inode: u64,
    device: u64,
    /// Time of the last change in seconds and nanoseconds, including changes of names, owner and mode.
    changed: (i64, i64),
    bytes: u64,
}

impl From<&fs::Metadata> for FileMark {
    fn from(about: &fs::Metadata) -> Self {
        Self {
            names: about.nlink(),
            inode: about.ino(),
            device: about.dev(),
            changed: (about.ctime(), about.ctime_nsec()),
            bytes: about.size(),
        }
    }
}

impl FileMark {
    /// Whether the path of this mark now leads to the same inode on another device: its network file system
    /// was mounted again, or a file system with the same contents was mounted over it.
    #[must_use]
    pub fn is_on_other_device(&self, now: &Self) -> bool {
        now.inode == self.inode && now.device != self.device
    }
}

/// How a file system represents that an open file or directory is at its path. With some layered file
/// systems, an open file has another inode than its path, or no count of names.
#[derive(Debug, Clone, Copy)]
pub struct Place {
    counts_names: bool,
    has_inode_of_path: bool,
    has_device_of_path: bool,
}

impl Place {
    /// Examines a file that has just been opened at the path.
    ///
    /// # Errors
    /// The metadata of the file cannot be read.
    pub fn of(open: &File, path: &Path) -> io::Result<Self> {
        let (open, named) = (open.metadata()?, fs::metadata(path)?);
        Ok(Self::between(&FileMark::from(&open), &FileMark::from(&named)))
    }

    /// Compares a file that has just been opened with the one at its path.
    #[must_use]
    pub fn between(open: &FileMark, named: &FileMark) -> Self {
        Self {
            counts_names: open.names > 0,
            has_inode_of_path: open.inode == named.inode,
            has_device_of_path: open.device == named.device,
        }
    }

    /// Whether an open file no longer has a name.
    #[must_use]
    pub fn is_removed(self, open: &FileMark) -> bool {
        self.counts_names && open.names == 0
    }

    /// Whether another inode is at the path of an open file. On two file systems with the same contents, the
    /// same names can have the same inode numbers.
    #[must_use]
    pub fn has_other_inode(self, open: &FileMark, named: &FileMark) -> bool {
        self.has_inode_of_path && named.inode != open.inode
    }

    /// Whether the open file is the one at its path, also after its network file system was mounted again and
    /// has another device number. For files that are not changed between the two checks.
    #[must_use]
    pub fn is_same(self, open: &FileMark, named: &FileMark) -> bool {
        let has_device = !self.has_device_of_path || named.device == open.device;
        // A file of another file system has another time of change.
        let is_unchanged = (named.changed, named.bytes) == (open.changed, open.bytes);
        !self.has_other_inode(open, named) && (has_device || is_unchanged)
    }

    /// Returns what happened to an open file, if it was removed, or another one is at its path. A file that
    /// was moved is not lost, nor is one that cannot be examined, because the server of a network file system
    /// may be unavailable.
    #[must_use]
    pub fn loss(self, open: &File, path: &Path) -> Option<String> {
        let open = FileMark::from(&open.metadata().ok()?);
        if self.is_removed(&open) {
            return Some(format!("{} was removed", path.display()));
        }
        let named = FileMark::from(&fs::metadata(path).ok()?);
        // The device is not compared, because it may change when a network file system is mounted again. Nor
        // is the time of change, because the file may be written at the same time.
        self.has_other_inode(&open, &named).then(|| format!("{} was replaced", path.display()))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::io::Read;

    use super::*;

    #[test]
    fn work_goes_on_in_the_directory_that_was_opened() {
        let root = tempfile::tempdir().unwrap();
        let (path, moved) = (root.path().join("data"), root.path().join("moved"));
        fs::create_dir(&path).unwrap();
        let directory = OpenDirectory::open(&path).unwrap();
        directory.create_new("a").unwrap().write_all(b"own").unwrap();
        directory.create("b").unwrap();
        assert!(directory.is_at_path() && directory.loss().is_none());
        fs::rename(&path, &moved).unwrap();
        assert!(!directory.is_at_path(), "it was moved");
        assert_eq!(directory.loss(), None, "it still has a name");
        fs::create_dir(&path).unwrap();
        fs::write(path.join("a"), "other").unwrap();
        fs::write(path.join("b"), "other").unwrap();
        assert!(!directory.is_at_path());
        assert!(directory.loss().unwrap().ends_with("data was replaced"));
        directory.remove("b").unwrap();
        directory.rename("a", "c").unwrap();
        directory.append("c").unwrap().write_all(b" file").unwrap();
        directory.replace("f", "f.next", b"first").unwrap();
        directory.replace("f", "f.next", b"whole").unwrap();
        directory.create_directories("d/e").unwrap();
        directory.create_directories("d/e").unwrap();
        directory.remove_directory("d/e").unwrap();
        directory.sync().unwrap();
        let mut text = String::new();
        directory.read("c").unwrap().read_to_string(&mut text).unwrap();
        assert_eq!(text, "own file");
        assert!(moved.join("c").exists() && moved.join("d").exists() && !moved.join("b").exists());
        assert_eq!(fs::read(moved.join("f")).unwrap(), b"whole");
        assert!(!moved.join("f.next").exists());
        assert_eq!(fs::read(path.join("a")).unwrap(), b"other");
        assert_eq!(fs::read(path.join("b")).unwrap(), b"other");
        assert_eq!(fs::read_dir(&path).unwrap().count(), 2);
    }

    #[test]
    fn a_file_is_looked_up_in_the_directory_that_was_opened() {
        let root = tempfile::tempdir().unwrap();
        let (path, moved) = (root.path().join("data"), root.path().join("moved"));
        fs::create_dir(&path).unwrap();
        let directory = OpenDirectory::open(&path).unwrap();
        let file = directory.create_new("a").unwrap();
        let entry = directory.entry(&file, "a").unwrap();
        fs::rename(&path, &moved).unwrap();
        fs::create_dir(&path).unwrap();
        fs::write(path.join("a"), "other").unwrap();
        assert_eq!(directory.loss_of(&file, "a", entry), None, "it is in its directory");
        // A network file system removes an open file in this way.
        fs::rename(moved.join("a"), moved.join(".nfs0001")).unwrap();
        assert!(directory.loss_of(&file, "a", entry).unwrap().ends_with("a was removed"));
        fs::write(moved.join("a"), "other").unwrap();
        assert!(directory.loss_of(&file, "a", entry).unwrap().ends_with("a was replaced"));
        fs::remove_file(moved.join(".nfs0001")).unwrap();
        assert!(directory.loss_of(&file, "a", entry).unwrap().ends_with("a was removed"));
    }

    #[test]
    fn a_directory_that_was_removed_is_lost() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("data");
        fs::create_dir(&path).unwrap();
        let directory = OpenDirectory::open(&path).unwrap();
        fs::remove_dir(&path).unwrap();
        assert!(directory.loss().unwrap().ends_with("data was removed"));
        assert!(directory.create_new("a").is_err());
    }

    #[test]
    fn nothing_is_removed_or_replaced_in_a_directory_that_was_opened_again_on_another_device() {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join("a"), "other").unwrap();
        let mut directory = OpenDirectory::open(root.path()).unwrap();
        assert!(!directory.open_again(false).unwrap().may_be_other, "it is on the same device");
        // Simulates that it had been opened on another device.
        directory.device += 1;
        *directory.handle.lock() = directory.open_again(false).unwrap();
        for refused in [directory.remove("a"), directory.rename("a", "b")] {
            assert!(refused.unwrap_err().to_string().ends_with("restart the server"));
        }
        assert!(directory.create("a").is_err() && !directory.is_at_path());
        directory.create_new("b").unwrap();
        directory.create_directories("c").unwrap();
        assert!(directory.remove_directory("c").is_err());
        assert_eq!(fs::read(root.path().join("a")).unwrap(), b"other");
        directory.inode += 1;
        assert!(directory.open_again(false).is_err());
    }

    #[test]
    fn a_file_on_another_device_is_the_same_if_it_has_the_same_times() {
        let open = FileMark { names: 1, inode: 13, device: 7, changed: (60, 1), bytes: 4 };
        let place = Place::between(&open, &open);
        // Simulates a network file system that was mounted again.
        let again = FileMark { device: 8, ..open };
        assert!(place.is_same(&open, &open) && place.is_same(&open, &again));
        assert!(open.is_on_other_device(&again) && !open.is_on_other_device(&open));
        // Simulates another disk with the same contents that is mounted over it.
        let other = FileMark { changed: (60, 2), ..again };
        assert!(!place.is_same(&open, &other) && !place.has_other_inode(&open, &other));
        assert!(!place.is_same(&open, &FileMark { bytes: 5, ..again }));
        assert!(!place.is_same(&open, &FileMark { inode: 14, ..open }));
        // On the same device, the file was written between the two checks.
        assert!(place.is_same(&open, &FileMark { changed: (61, 0), ..open }));
        // Simulates a layered file system, which shows an open file with another device and inode.
        let layered = Place::between(&open, &FileMark { inode: 99, device: 9, ..open });
        assert!(layered.is_same(&open, &FileMark { inode: 98, ..other }));
    }
}
