//! Finished buckets on the local disk while they wait for upload, so that they need no memory, and the store
//! through which searches read them meanwhile.
//!
//! The spool is not durable: the journal keeps the events until their bucket is in the catalog, so files are
//! not synced, and each start begins with an empty spool. `maxSpoolSize` and `minFreeSpace` limit its size.

use std::fmt;
use std::fs;
use std::io::{self, ErrorKind, Write};
use std::ops::Range;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path as FilePath, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use foldhash::HashMap;
use futures::stream::BoxStream;
use object_store::local::LocalFileSystem;
use object_store::path::Path;
use object_store::{
    CopyOptions, Error as StoreError, GetOptions, GetResult, ListResult, MultipartUpload,
    ObjectMeta, ObjectStore, PutMultipartOptions, PutOptions, PutPayload, PutResult, RenameOptions,
    Result as StoreResult,
};
use parking_lot::Mutex;
use runtime::OpenDirectory;

use crate::{Error, Settings};

/// The contents of the spool, for the status page.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SpoolStatus {
    /// Number of buckets that wait for upload.
    pub buckets: u64,
    /// Their size in bytes.
    pub bytes: u64,
    /// Bytes free on the file system of the data directory.
    pub free_bytes: u64,
    /// Bytes of that file system.
    pub disk_bytes: u64,
    /// Why no more events are accepted; `None` if they are.
    pub full: Option<String>,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Spool {
    root: OpenDirectory,
    /// The directory of the journal, whose disk must not fill up either.
    journal: PathBuf,
    files: Mutex<HashMap<String, u64>>,
    /// Held while a file is created or removed together with its directory.
    directories: Mutex<()>,
    reader: LocalFileSystem,
    max_size: u64,
    min_free: u64,
}

impl Spool {
    /// Creates an empty spool in `root`.
    pub(crate) fn open(root: &FilePath, settings: &Settings) -> Result<Self, Error> {
        let journal = root.with_file_name("journal");
        // If `root` is a link (--spool-dir), its target is emptied: removing `root` would remove the link.
        let root = &fs::canonicalize(root).unwrap_or_else(|_| root.to_owned());
        let fail = |source| Error::Spool { path: root.to_owned(), source: Arc::new(source) };
        match fs::remove_dir_all(root) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(fail(error)),
            _ => {}
        }
        fs::create_dir_all(root).map_err(fail)?;
        let reader = LocalFileSystem::new_with_prefix(root)
            .map_err(|error| fail(io::Error::other(error)))?;
        Ok(Self {
            root: OpenDirectory::open(root).map_err(fail)?,
            journal,
            files: Mutex::default(),
            directories: Mutex::default(),
            reader,
            max_size: settings.max_spool_size,
            min_free: settings.min_free_space,
        })
    }

    fn file(&self, path: &str) -> PathBuf {
        self.root.path().join(path)
    }

    /// Writes an object under the path it will have in object storage.
    pub(crate) fn write(&self, path: &str, bytes: &[u8]) -> Result<(), Error> {
        let fail = |source| Error::Spool { path: self.file(path), source: Arc::new(source) };
        let created = {
            let _directories = self.directories.lock();
            self.root.create_directories(parent(path)).and_then(|()| self.root.create(path))
        };
        if let Err(error) = created.and_then(|mut created| created.write_all(bytes)) {
            // A partial file is useless, and may be what fills the disk.
            let _ = self.root.remove(path);
            return Err(fail(error));
        }
        self.files.lock().insert(path.to_owned(), bytes.len() as u64);
        Ok(())
    }

    /// Reads a range of an object.
    pub(crate) fn read(&self, path: &str, range: Range<u64>) -> Result<Bytes, Error> {
        let length = usize::try_from(range.end - range.start).unwrap_or(usize::MAX);
        let read = self.root.read(path).and_then(|open| {
            let mut bytes = vec![0; length];
            open.read_exact_at(&mut bytes, range.start)?;
            Ok(Bytes::from(bytes))
        });
        read.map_err(|source| Error::Spool { path: self.file(path), source: Arc::new(source) })
    }

    /// Removes an object that is in object storage.
    pub(crate) fn remove(&self, path: &str) {
        if self.files.lock().remove(path).is_none() {
            return;
        }
        let _directories = self.directories.lock();
        if let Err(error) = self.root.remove(path) {
            tracing::warn!(path = %self.file(path).display(), %error, "cannot remove a spooled bucket");
        }
        // Fails, as intended, while another bucket of the same day exists.
        let _ = self.root.remove_directory(parent(path));
    }

    fn has(&self, path: &Path) -> bool {
        self.files.lock().contains_key(path.as_ref())
    }

    /// Returns why no more events should be accepted; `None` if they can be.
    pub(crate) fn full(&self) -> Option<String> {
        self.status().full
    }

    pub(crate) fn status(&self) -> SpoolStatus {
        let (buckets, bytes) = {
            let files = self.files.lock();
            (files.len() as u64, files.values().sum())
        };
        let reserve = |all: u64| kept_free(self.min_free, all);
        // The journal may be on another disk (--journal-dir): the disk with less spare room counts.
        let places = [self.root.path(), self.journal.as_path()].into_iter();
        let spaces = places.filter_map(|place| space(place).map(|(free, all)| (place, free, all)));
        let tightest = spaces.min_by_key(|(_, free, all)| free.saturating_sub(reserve(*all)));
        let (place, free, all) = tightest.unwrap_or((self.root.path(), u64::MAX, u64::MAX));
        let reserve = reserve(all);
        let full = if self.max_size > 0 && bytes >= self.max_size {
            Some(format!("{bytes} bytes wait for object storage, and maxSpoolSize is reached"))
        } else if free < reserve {
            let place = fs::canonicalize(place).unwrap_or_else(|_| place.to_owned());
            let place = place.parent().unwrap_or(&place).display();
            Some(format!(
                "no space left on device: {place}: {free} bytes are free, less than minFreeSpace \
                 ({reserve})"
            ))
        } else {
            None
        };
        SpoolStatus { buckets, bytes, free_bytes: free, disk_bytes: all, full }
    }
}

/// Returns the directory of an object; empty for the root of the spool.
fn parent(path: &str) -> &FilePath {
    FilePath::new(path).parent().unwrap_or(FilePath::new(""))
}

/// Returns the bytes that must stay free on a file system of `all` bytes. On a small disk, `minFreeSpace`
/// alone could exceed the size of the disk.
fn kept_free(min_free: u64, all: u64) -> u64 {
    min_free.min(all / 20)
}

/// Returns the bytes that can be written to the file system of a directory, which need not exist yet, before
/// `minFreeSpace` is reached; `None` if the system does not report them.
#[must_use]
pub fn spare_bytes(path: &FilePath, min_free: u64) -> Option<u64> {
    let (free, all) = path.ancestors().find_map(space)?;
    Some(free.saturating_sub(kept_free(min_free, all)))
}

/// The free space and inodes of file systems, compared with `minFreeSpace` and `FREE_INODES`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DiskCheck {
    /// The file systems that have less, with the remedy; `None` if there are none.
    pub full: Option<String>,
    /// Whether a file system has less than a twentieth above them.
    pub is_close: bool,
}

/// Divisor of the reserve: the space above it that a file system which was full has to have. Journal segments
/// are written and deleted all the time, so that the free space of a full disk swings around the reserve by
/// some segments.
const MARGIN: u64 = 20;

/// Number of inodes that should be free, at most a twentieth of all: journal, spool and catalog create files
/// all the time.
const FREE_INODES: u64 = 100;

/// Checks the file systems of these directories, each once. Directories that do not exist are skipped.
#[must_use]
pub fn full_disks(directories: &[PathBuf], min_free: u64) -> DiskCheck {
    let mut devices = Vec::new();
    let (mut full, mut without_inodes) = (Vec::new(), Vec::new());
    let mut is_near = false;
    for directory in directories {
        let Ok(device) = fs::metadata(directory).map(|found| found.dev()) else { continue };
        if devices.contains(&device) {
            continue;
        }
        devices.push(device);
        let Some(measured) = space(directory) else { continue };
        full.extend(shortage(directory, measured, min_free));
        is_near |= is_close(measured, min_free);
        let Some(counted) = inodes(directory) else { continue };
        without_inodes.extend(inode_shortage(directory, counted));
        is_near |= is_close(counted, FREE_INODES);
    }
    let mut texts = Vec::new();
    if !full.is_empty() {
        texts.push(format!(
            "no space left on device: {}; remove other files there or enlarge the file system, or lower \
             minFreeSpace (server.conf [diskUsage])",
            full.join("; ")
        ));
    }
    if !without_inodes.is_empty() {
        texts.push(format!(
            "no inodes left on device: {}; remove other files there, or use a file system with more inodes",
            without_inodes.join("; ")
        ));
    }
    let full = (!texts.is_empty()).then(|| texts.join("; "));
    DiskCheck { full, is_close: is_near }
}

/// Whether a file system with this free space and size has less than a twentieth above its reserve.
fn is_close((free, all): (u64, u64), min_free: u64) -> bool {
    let reserve = kept_free(min_free, all);
    all > 0 && free < reserve.max(1) + reserve / MARGIN
}

/// Returns the directory with the free bytes and the size of its file system if too few bytes are free.
fn shortage(directory: &FilePath, (free, all): (u64, u64), min_free: u64) -> Option<String> {
    let reserve = kept_free(min_free, all);
    // Some file systems do not report a size.
    if all == 0 || free >= reserve.max(1) {
        return None;
    }
    let place = fs::canonicalize(directory).unwrap_or_else(|_| directory.to_owned());
    let text = format!("{}: {free} of {all} bytes are free", place.display());
    Some(if reserve == 0 { text } else { format!("{text}, less than minFreeSpace ({reserve})") })
}

/// Returns the directory with the free inodes of its file system, and all of them, if too few are free.
fn inode_shortage(directory: &FilePath, (free, all): (u64, u64)) -> Option<String> {
    // Some file systems have no fixed number of inodes, and report 0.
    if all == 0 || free >= kept_free(FREE_INODES, all).max(1) {
        return None;
    }
    let place = fs::canonicalize(directory).unwrap_or_else(|_| directory.to_owned());
    Some(format!("{}: {free} of {all} inodes are free", place.display()))
}

/// Returns the free inodes of a file system, and all of them; `None` if the system does not report them.
fn inodes(path: &FilePath) -> Option<(u64, u64)> {
    let stat = rustix::fs::statvfs(path).ok()?;
    Some((stat.f_favail, stat.f_files))
}

/// Returns the free bytes and the size of a file system; `None` if the system does not report them.
fn space(path: &FilePath) -> Option<(u64, u64)> {
    let stat = rustix::fs::statvfs(path).ok()?;
    let bytes = |blocks: u64| blocks.saturating_mul(stat.f_frsize);
    Some((bytes(stat.f_bavail), bytes(stat.f_blocks)))
}

/// A store that reads buckets from the spool first, as long as they are there.
#[derive(Debug)]
pub(crate) struct SpoolFirst {
    pub(crate) spool: Arc<Spool>,
    pub(crate) inner: Arc<dyn ObjectStore>,
}

impl fmt::Display for SpoolFirst {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SpoolFirst({})", self.inner)
    }
}

/// Returns the answer of the spool; `None` if the file has just been uploaded and removed.
fn unless_gone<T>(read: StoreResult<T>) -> Option<StoreResult<T>> {
    match read {
        Err(StoreError::NotFound { .. }) => None,
        other => Some(other),
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl ObjectStore for SpoolFirst {
    async fn put_opts(
        &self,
        location: &Path,
        payload: PutPayload,
        options: PutOptions,
    ) -> StoreResult<PutResult> {
        self.inner.put_opts(location, payload, options).await
    }

    async fn put_multipart_opts(
        &self,
        location: &Path,
        options: PutMultipartOptions,
    ) -> StoreResult<Box<dyn MultipartUpload>> {
        self.inner.put_multipart_opts(location, options).await
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> StoreResult<GetResult> {
        if self.spool.has(location) {
            let read = self.spool.reader.get_opts(location, options.clone()).await;
            if let Some(answer) = unless_gone(read) {
                return answer;
            }
        }
        self.inner.get_opts(location, options).await
    }

    async fn get_ranges(&self, location: &Path, ranges: &[Range<u64>]) -> StoreResult<Vec<Bytes>> {
        if self.spool.has(location) {
            let read = self.spool.reader.get_ranges(location, ranges).await;
            if let Some(answer) = unless_gone(read) {
                return answer;
            }
        }
        self.inner.get_ranges(location, ranges).await
    }

    fn delete_stream(
        &self,
        locations: BoxStream<'static, StoreResult<Path>>,
    ) -> BoxStream<'static, StoreResult<Path>> {
        self.inner.delete_stream(locations)
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, StoreResult<ObjectMeta>> {
        self.inner.list(prefix)
    }

    fn list_with_offset(
        &self,
        prefix: Option<&Path>,
        offset: &Path,
    ) -> BoxStream<'static, StoreResult<ObjectMeta>> {
        self.inner.list_with_offset(prefix, offset)
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> StoreResult<ListResult> {
        self.inner.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> StoreResult<()> {
        self.inner.copy_opts(from, to, options).await
    }

    async fn rename_opts(&self, from: &Path, to: &Path, options: RenameOptions) -> StoreResult<()> {
        self.inner.rename_opts(from, to, options).await
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use object_store::ObjectStoreExt;
    use object_store::memory::InMemory;

    use super::*;

    #[tokio::test]
    async fn reads_find_an_object_before_and_after_its_upload() {
        let directory = tempfile::tempdir().unwrap();
        let spool = Spool::open(directory.path(), &Settings::default()).unwrap();
        let spool = Arc::new(spool);
        let inner = Arc::new(InMemory::new());
        let store = SpoolFirst { spool: Arc::clone(&spool), inner: Arc::clone(&inner) as _ };
        let path = Path::from("buckets/main/20261120/a.parquet");
        spool.write(path.as_ref(), b"0123456789").unwrap();
        assert_eq!(store.get_range(&path, 2..4).await.unwrap(), "23");
        inner.put(&path, PutPayload::from_static(b"0123456789")).await.unwrap();
        spool.remove(path.as_ref());
        assert_eq!(store.get_range(&path, 2..4).await.unwrap(), "23");
        assert_eq!((spool.status().buckets, spool.status().bytes), (0, 0));
    }

    #[test]
    fn the_last_bucket_of_a_day_leaves_while_another_one_comes() {
        let directory = tempfile::tempdir().unwrap();
        let spool = Spool::open(directory.path(), &Settings::default()).unwrap();
        std::thread::scope(|scope| {
            for writer in 0..4 {
                let spool = &spool;
                scope.spawn(move || {
                    let path = format!("buckets/main/20261120/{writer}.parquet");
                    for _ in 0..2_000 {
                        spool.write(&path, b"0").unwrap();
                        spool.remove(&path);
                    }
                });
            }
        });
        assert_eq!(spool.status().buckets, 0);
    }

    #[test]
    fn a_spool_is_full_at_its_size_and_when_the_disk_is_nearly_full() {
        let directory = tempfile::tempdir().unwrap();
        let small = Settings { max_spool_size: 5, min_free_space: 0, ..Settings::default() };
        let spool = Spool::open(directory.path(), &small).unwrap();
        assert_eq!(spool.full(), None);
        spool.write("a", b"01234").unwrap();
        assert!(spool.full().unwrap().contains("maxSpoolSize"));
        spool.remove("a");
        assert_eq!(spool.full(), None);
    }

    #[test]
    fn spare_bytes_are_those_above_the_reserve_of_the_disk() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("not/there/yet");
        let (_, all) = space(directory.path()).unwrap();
        assert_eq!(kept_free(u64::MAX, all), all / 20);
        let spare = |min_free| spare_bytes(&path, min_free).unwrap();
        assert!(spare(0) > 0 && spare(0) <= all);
        assert!(spare(u64::MAX) <= all - all / 20);
    }

    #[test]
    fn a_full_disk_is_told_with_its_directory_and_its_bytes() {
        let directory = tempfile::tempdir().unwrap();
        let place = fs::canonicalize(directory.path()).unwrap();
        let of = |space, min_free| shortage(directory.path(), space, min_free);
        let told = of((4, 100), u64::MAX).unwrap();
        let bytes = "4 of 100 bytes are free, less than minFreeSpace (5)";
        assert_eq!(told, format!("{}: {bytes}", place.display()));
        assert_eq!(of((5, 100), u64::MAX), None, "there is room again");
        assert!(of((0, 100), 0).unwrap().ends_with("0 of 100 bytes are free"));
        assert_eq!(of((1, 100), 0), None);
        assert_eq!(of((0, 0), u64::MAX), None, "it reports no size");
        let missing = directory.path().join("missing");
        assert_eq!(full_disks(&[missing], u64::MAX), DiskCheck::default());
    }

    #[test]
    fn a_disk_without_inodes_is_told_with_its_directory_and_its_inodes() {
        let directory = tempfile::tempdir().unwrap();
        let place = fs::canonicalize(directory.path()).unwrap();
        let of = |free, all| inode_shortage(directory.path(), (free, all));
        let told = of(29, 600).unwrap();
        assert_eq!(told, format!("{}: 29 of 600 inodes are free", place.display()));
        assert_eq!(of(30, 600), None, "a twentieth is enough");
        assert!(of(99, 1_000_000).is_some());
        assert_eq!(of(100, 1_000_000), None);
        assert!(of(0, 10).is_some());
        assert_eq!(of(0, 0), None, "it reports none");
    }

    #[test]
    fn a_disk_is_close_up_to_a_twentieth_above_the_reserve() {
        let of = |free, all| is_close((free, all), u64::MAX);
        assert!(of(50, 1_000) && of(51, 1_000) && !of(52, 1_000));
        assert!(of(0, 10) && !of(1, 10) && !of(0, 0));
    }

    #[test]
    fn a_link_to_another_disk_stays_one() {
        let directory = tempfile::tempdir().unwrap();
        let (root, place) = (directory.path().join("spool"), directory.path().join("disk"));
        fs::create_dir(&place).unwrap();
        fs::write(place.join("left"), b"over").unwrap();
        std::os::unix::fs::symlink(&place, &root).unwrap();
        let spool = Spool::open(&root, &Settings::default()).unwrap();
        spool.write("x/a", b"01234").unwrap();
        assert!(root.is_symlink() && place.join("x/a").exists() && !place.join("left").exists());
    }

    #[test]
    fn a_spool_that_was_replaced_keeps_what_another_server_has_there() {
        let directory = tempfile::tempdir().unwrap();
        let (root, moved) = (directory.path().join("spool"), directory.path().join("moved"));
        let spool = Spool::open(&root, &Settings::default()).unwrap();
        spool.write("x/a", b"own").unwrap();
        fs::rename(&root, &moved).unwrap();
        let other = Spool::open(&root, &Settings::default()).unwrap();
        other.write("x/a", b"other").unwrap();
        assert_eq!(spool.read("x/a", 0..3).unwrap(), "own");
        spool.remove("x/a");
        assert!(!moved.join("x").exists());
        spool.write("x/b", b"own").unwrap();
        assert!(moved.join("x/b").exists() && !root.join("x/b").exists());
        assert_eq!(other.read("x/a", 0..5).unwrap(), "other");
    }

    #[test]
    fn a_start_begins_with_an_empty_spool() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().join("spool");
        let spool = Spool::open(&root, &Settings::default()).unwrap();
        spool.write("x/a", b"left over").unwrap();
        drop(spool);
        Spool::open(&root, &Settings::default()).unwrap();
        assert!(!root.join("x").exists());
    }
}
