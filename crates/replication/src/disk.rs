//! One copy on the disk.
//!
//! ```text
//! <directory>/<number of the first object>.log:
//!   magic u32, crc32 of what follows u32, number u64, length u64, data      little-endian; for each object
//! ```
//!
//! Objects are appended to the newest file with one fsync each, and a file is deleted when none of its
//! objects is needed. A crash may leave the last object torn: it was not confirmed, and is truncated at the
//! next start. `<directory>/epoch` has the highest epoch of any request.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use runtime::OpenDirectory;

const MAGIC: u32 = 0x4c50_524b;
const HEADER: usize = 24;
/// The file with the epoch, u64 little-endian.
const EPOCH: &str = "epoch";
/// Name of the draft, which is renamed to [`EPOCH`].
const EPOCH_DRAFT: &str = "epoch.new";
/// File size in bytes from which a new file is started.
const FILE: u64 = 16 << 20;

/// Why an object is refused.
#[derive(Debug)]
pub(crate) enum PutError {
    /// Another indexer recovers the events of the owner.
    Sealed,
    /// The disk returned an error.
    Disk(io::Error),
}

impl From<io::Error> for PutError {
    fn from(error: io::Error) -> Self {
        Self::Disk(error)
    }
}

#[derive(Debug, Clone, Copy)]
struct Place {
    file: u64,
    offset: u64,
    length: u64,
    checksum: u32,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Copy {
    directory: OpenDirectory,
    objects: BTreeMap<u64, Place>,
    /// Size of each file, by its number.
    files: BTreeMap<u64, u64>,
    newest: Option<(u64, File)>,
    sealed: bool,
    epoch: u64,
}

impl Copy {
    /// Creates an empty copy.
    pub(crate) fn create(directory: &Path) -> io::Result<Self> {
        fs::create_dir_all(directory)?;
        // Until the directory entries are synced, a crash may remove the copy.
        for parent in directory.ancestors().skip(1).take(3) {
            File::open(parent)?.sync_all()?;
        }
        Ok(Self {
            directory: OpenDirectory::open(directory)?,
            objects: BTreeMap::new(),
            files: BTreeMap::new(),
            newest: None,
            sealed: false,
            epoch: 0,
        })
    }

    /// Opens an existing copy, and truncates a torn end.
    pub(crate) fn open(directory: &Path) -> io::Result<Self> {
        let mut copy = Self {
            directory: OpenDirectory::open(directory)?,
            objects: BTreeMap::new(),
            files: BTreeMap::new(),
            newest: None,
            sealed: false,
            epoch: read_epoch(&directory.join(EPOCH))?,
        };
        let mut numbers = Vec::new();
        for entry in fs::read_dir(directory)? {
            let path = entry?.path();
            let number = path.file_stem().and_then(|stem| stem.to_str()?.parse::<u64>().ok());
            numbers.extend(number.filter(|_| path.extension().is_some_and(|ext| ext == "log")));
        }
        numbers.sort_unstable();
        for number in numbers {
            copy.read(number)?;
        }
        Ok(copy)
    }

    fn path(&self, file: u64) -> PathBuf {
        self.directory.path().join(name(file))
    }

    fn read(&mut self, file: u64) -> io::Result<()> {
        let path = self.path(file);
        let mut opened = OpenOptions::new().read(true).write(true).open(&path)?;
        let size = opened.metadata()?.len();
        let mut offset = 0;
        let mut data = Vec::new();
        while let Some((number, place)) = frame(&mut opened, (file, offset, size), &mut data)? {
            offset = place.offset + place.length;
            self.sealed |= place.length == 0;
            self.objects.insert(number, place);
        }
        if offset < size {
            tracing::warn!(path = %path.display(), offset, size, "a torn end of a copy is cut off");
            opened.set_len(offset)?;
            opened.sync_all()?;
        }
        self.files.insert(file, offset);
        Ok(())
    }

    /// Whether to serve a request of this epoch. If so, requests of earlier epochs are refused from then on;
    /// this is synced on return. Epoch 0 is that of readers.
    pub(crate) fn enter(&mut self, epoch: u64) -> io::Result<bool> {
        if epoch > self.epoch {
            self.directory.replace(EPOCH, EPOCH_DRAFT, &epoch.to_le_bytes())?;
            self.epoch = epoch;
        }
        Ok(epoch == self.epoch || epoch == 0)
    }

    /// Adds an object, synced on return. An object without data seals the copy.
    pub(crate) fn put(&mut self, number: u64, data: &[u8]) -> Result<(), PutError> {
        // The owner may have put that object after the number was chosen: then the seal goes after it.
        let last = self.objects.last_key_value().map(|(last, _)| *last);
        let number = match last.filter(|last| data.is_empty() && *last >= number) {
            Some(last) if !self.sealed => last + 1,
            _ => number,
        };
        let checksum = checksum(number, data);
        let length = data.len() as u64;
        if let Some(known) = self.objects.get(&number)
            && (known.length, known.checksum) == (length, checksum)
        {
            return Ok(());
        }
        if self.sealed {
            // Another recovering indexer may seal it again.
            return if data.is_empty() { Ok(()) } else { Err(PutError::Sealed) };
        }
        let (file, offset, mut opened) = self.newest(number)?;
        let mut header = [0; HEADER];
        header[..4].copy_from_slice(&MAGIC.to_le_bytes());
        header[4..8].copy_from_slice(&checksum.to_le_bytes());
        header[8..16].copy_from_slice(&number.to_le_bytes());
        header[16..].copy_from_slice(&length.to_le_bytes());
        let written = opened
            .seek(SeekFrom::Start(offset))
            .and_then(|_| opened.write_all(&header))
            .and_then(|()| opened.write_all(data))
            .and_then(|()| opened.sync_data());
        if let Err(error) = written {
            // The state of the file is unknown: it takes no more objects, and the next start truncates it.
            let _ = opened.set_len(offset);
            self.files.insert(file, FILE);
            return Err(error.into());
        }
        self.newest = Some((file, opened));
        let offset = offset + HEADER as u64;
        self.files.insert(file, offset + length);
        self.objects.insert(number, Place { file, offset, length, checksum });
        self.sealed = data.is_empty();
        Ok(())
    }

    /// Returns the file for the next object, and the offset in it.
    fn newest(&mut self, number: u64) -> io::Result<(u64, u64, File)> {
        if let Some((file, opened)) = self.newest.take() {
            let size = self.files.get(&file).copied().unwrap_or(FILE);
            if size < FILE {
                return Ok((file, size, opened));
            }
        }
        let after = self.files.last_key_value().map_or(0, |(last, _)| last + 1);
        let file = number.max(after);
        let opened = self.directory.create_new(name(file))?;
        self.directory.sync()?;
        self.files.insert(file, 0);
        Ok((file, 0, opened))
    }

    /// Returns number and size of each object.
    pub(crate) fn list(&self) -> Vec<(u64, u64)> {
        self.objects.iter().map(|(number, place)| (*number, place.length)).collect()
    }

    /// Returns an object.
    pub(crate) fn get(&self, number: u64) -> io::Result<Option<Bytes>> {
        let Some(place) = self.objects.get(&number) else { return Ok(None) };
        let length = usize::try_from(place.length).unwrap_or(usize::MAX);
        let mut data = vec![0; length];
        self.directory.read(name(place.file))?.read_exact_at(&mut data, place.offset)?;
        if checksum(number, &data) != place.checksum {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "the object is damaged"));
        }
        Ok(Some(data.into()))
    }

    /// Releases the objects below `below` except `numbers`. A seal stays, even if the owner does not know it.
    pub(crate) fn keep(&mut self, below: u64, numbers: &[u64]) {
        self.objects.retain(|number, place| {
            *number >= below || place.length == 0 || numbers.contains(number)
        });
        let used: Vec<u64> = self.objects.values().map(|place| place.file).collect();
        let newest = self.newest.as_ref().map(|(file, _)| *file);
        let directory = &self.directory;
        self.files.retain(|file, size| {
            if used.contains(file) || (Some(*file) == newest && *size < FILE) {
                return true;
            }
            let removed = directory.remove(name(*file));
            if let Err(error) = &removed {
                let path = directory.path().join(name(*file));
                tracing::warn!(path = %path.display(), %error, "a file of a copy stays");
            }
            removed.is_err()
        });
    }

    /// Returns the size on disk in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        self.files.values().sum()
    }

    /// Removes the copy, unless another directory is now at its path.
    pub(crate) fn remove(self) -> io::Result<()> {
        if !self.directory.is_at_path() {
            return Err(io::Error::other("the directory was moved or replaced"));
        }
        fs::remove_dir_all(self.directory.path())
    }
}

/// Returns the name of a file.
fn name(file: u64) -> String {
    format!("{file:020}.log")
}

fn read_epoch(path: &Path) -> io::Result<u64> {
    match fs::read(path) {
        Ok(bytes) => Ok(bytes.first_chunk().map_or(0, |epoch| u64::from_le_bytes(*epoch))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(0),
        Err(error) => Err(error),
    }
}

fn checksum(number: u64, data: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&number.to_le_bytes());
    hasher.update(&(data.len() as u64).to_le_bytes());
    hasher.update(data);
    hasher.finalize()
}

/// Reads the object at an offset; returns `None` at the end of the file or if the object is torn.
fn frame(
    file: &mut File,
    (name, offset, size): (u64, u64, u64),
    data: &mut Vec<u8>,
) -> io::Result<Option<(u64, Place)>> {
    let begin = offset + HEADER as u64;
    if begin > size {
        return Ok(None);
    }
    let mut header = [0; HEADER];
    file.seek(SeekFrom::Start(offset))?;
    file.read_exact(&mut header)?;
    let short = |at: usize| header[at..].first_chunk().map_or(0, |four| u32::from_le_bytes(*four));
    let long = |at: usize| header[at..].first_chunk().map_or(0, |eight| u64::from_le_bytes(*eight));
    let (number, length) = (long(8), long(16));
    if short(0) != MAGIC || begin.checked_add(length).is_none_or(|end| end > size) {
        return Ok(None);
    }
    data.resize(usize::try_from(length).unwrap_or(usize::MAX), 0);
    file.read_exact(data)?;
    let checksum = short(4);
    if self::checksum(number, data) != checksum {
        return Ok(None);
    }
    Ok(Some((number, Place { file: name, offset: begin, length, checksum })))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn objects_are_there_after_a_restart_and_a_torn_one_is_not() {
        let root = tempfile::tempdir().unwrap();
        let directory = root.path().join("a/b");
        let mut copy = Copy::create(&directory).unwrap();
        copy.put(4, b"four").unwrap();
        copy.put(5, b"five").unwrap();
        copy.put(5, b"another five").unwrap();
        let whole = copy.bytes();
        copy.put(6, b"six").unwrap();
        let path = copy.path(4);
        drop(copy);
        let torn = OpenOptions::new().write(true).open(&path).unwrap();
        torn.set_len(whole + 26).unwrap();
        let mut copy = Copy::open(&directory).unwrap();
        assert_eq!(copy.list(), [(4, 4), (5, 12)]);
        assert_eq!(copy.get(5).unwrap().unwrap(), "another five");
        assert_eq!((copy.bytes(), path.metadata().unwrap().len()), (whole, whole));
        copy.put(6, b"six").unwrap();
        assert_eq!(copy.get(6).unwrap().unwrap(), "six");
        assert!(copy.get(7).unwrap().is_none());
    }

    #[test]
    fn a_copy_whose_directory_was_replaced_removes_nothing_of_another_one() {
        let root = tempfile::tempdir().unwrap();
        let (directory, moved) = (root.path().join("copy"), root.path().join("moved"));
        let mut first = Copy::create(&directory).unwrap();
        first.put(1, &vec![0; usize::try_from(FILE).unwrap()]).unwrap();
        fs::rename(&directory, &moved).unwrap();
        let mut second = Copy::create(&directory).unwrap();
        second.put(1, b"one").unwrap();
        assert!(first.enter(7).unwrap());
        first.keep(2, &[]);
        assert!(first.list().is_empty() && !moved.join(name(1)).exists());
        assert!(moved.join(EPOCH).exists() && !directory.join(EPOCH).exists());
        assert!(first.remove().is_err());
        assert_eq!(second.get(1).unwrap().unwrap(), "one");
    }

    #[test]
    fn a_seal_does_not_take_the_place_of_an_object() {
        let root = tempfile::tempdir().unwrap();
        let mut copy = Copy::create(root.path()).unwrap();
        copy.put(1, b"one").unwrap();
        // The recovering indexer has listed the objects before this one was put.
        copy.put(1, b"").unwrap();
        copy.put(1, b"").unwrap();
        assert_eq!(copy.list(), [(1, 3), (2, 0)]);
        assert!(matches!(copy.put(3, b"three"), Err(PutError::Sealed)));
        assert_eq!(Copy::open(root.path()).unwrap().list(), [(1, 3), (2, 0)]);
    }

    #[test]
    fn a_sealed_copy_takes_nothing_more_also_after_a_restart() {
        let root = tempfile::tempdir().unwrap();
        let mut copy = Copy::create(root.path()).unwrap();
        copy.put(1, b"one").unwrap();
        copy.put(2, b"").unwrap();
        assert!(matches!(copy.put(3, b"three"), Err(PutError::Sealed)));
        copy.put(1, b"one").unwrap();
        copy.put(9, b"").unwrap();
        copy.keep(10, &[]);
        let mut copy = Copy::open(root.path()).unwrap();
        assert!(matches!(copy.put(3, b"three"), Err(PutError::Sealed)));
        assert_eq!(copy.list(), [(1, 3), (2, 0)], "what was let go of is back");
    }

    #[test]
    fn requests_of_an_earlier_epoch_are_refused_also_after_a_restart() {
        let root = tempfile::tempdir().unwrap();
        let mut copy = Copy::create(root.path()).unwrap();
        assert!(copy.enter(3).unwrap() && copy.enter(3).unwrap());
        assert!(!copy.enter(2).unwrap());
        assert!(copy.enter(0).unwrap(), "it only looks");
        copy.put(1, b"one").unwrap();
        let mut copy = Copy::open(root.path()).unwrap();
        assert!(!copy.enter(2).unwrap() && copy.enter(4).unwrap() && !copy.enter(3).unwrap());
        assert_eq!(copy.list(), [(1, 3)]);
    }

    #[test]
    fn a_file_goes_when_none_of_its_objects_is_needed() {
        let root = tempfile::tempdir().unwrap();
        let mut copy = Copy::create(root.path()).unwrap();
        let large = vec![7; FILE as usize];
        for number in 0..4 {
            copy.put(number, &large).unwrap();
        }
        copy.keep(3, &[1]);
        let numbers: Vec<u64> = copy.list().iter().map(|(number, _)| *number).collect();
        assert_eq!(numbers, [1, 3]);
        assert_eq!(fs::read_dir(root.path()).unwrap().count(), 2);
        copy.keep(4, &[]);
        assert_eq!((copy.list().len(), copy.bytes()), (0, 0));
        copy.put(4, b"four").unwrap();
        assert_eq!(Copy::open(root.path()).unwrap().list(), [(4, 4)]);
    }
}
