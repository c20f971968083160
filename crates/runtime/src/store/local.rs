//! A directory as object storage that survives a power failure.
//!
//! `object_store`'s `LocalFileSystem` never calls fsync: after a power failure an object that it
//! reported as written can be missing or empty, after Karst has already released its journal. This
//! store writes each object to a staging file, fsyncs it, moves it into place, and fsyncs the
//! directories, so that an object is either absent or complete, and a reported one is durable. That
//! costs two fsyncs per object (milliseconds on NVMe, tens on a hard disk). It also adds conditional updates
//! by etag, which `LocalFileSystem` lacks, under a lock file, so that the catalog is as safe on a directory
//! as on S3. Listing and deleting use `LocalFileSystem`. A read opens the object as that does, and checks the
//! directory (below) in the same task of a blocking thread.
//!
//! The directory may be on a separate disk that is unmounted. Its path then leads to another directory or to
//! none: an object written there would be missing once the disk is back, and an empty listing would be wrong.
//! So each operation fails, and can be retried, unless the path still leads to the opened directory; and that
//! directory is never created again.
//!
//! A directory must be used from one machine only: etags and locks on network file systems are not
//! reliable.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::ops::Range;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path as FilePath, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use bytes::Bytes;
use futures::stream::{self, BoxStream};
use futures::{StreamExt, TryFutureExt};
use object_store::local::LocalFileSystem;
use object_store::path::Path;
use object_store::{
    Attributes, CopyOptions, Error, GetOptions, GetResult, GetResultPayload, ListResult,
    MultipartUpload, ObjectMeta, ObjectStore, ObjectStoreExt, PutMode, PutMultipartOptions,
    PutOptions, PutPayload, PutResult, RenameOptions, Result, UpdateVersion, UploadPart,
};
use tokio::runtime::Handle;

const NAME: &str = "DurableLocal";
/// Number of concurrent deletions of one stream.
const DELETIONS: usize = 10;

/// A directory whose objects are fsynced before a put returns. Clones share it.
#[derive(Debug, Clone)]
pub struct DurableLocal {
    inner: Arc<LocalFileSystem>,
    root: Arc<Root>,
    /// A counter for the names of staging files; the process ID distinguishes processes.
    staged: Arc<AtomicU64>,
}

impl DurableLocal {
    /// Opens the store in `root`, creating the directory if it is missing.
    ///
    /// # Errors
    /// The directory cannot be created or read.
    pub fn open(root: impl AsRef<FilePath>) -> Result<Self> {
        let generic = |error: io::Error| failed(root.as_ref(), "make the directory", error);
        fs::create_dir_all(root.as_ref()).map_err(generic)?;
        let root = fs::canonicalize(root.as_ref()).map_err(generic)?;
        let inner = LocalFileSystem::new_with_prefix(&root)?;
        let root = Root::open(root)?;
        Ok(Self { inner: Arc::new(inner), root: Arc::new(root), staged: Arc::default() })
    }

    /// Returns the directory.
    #[must_use]
    pub fn root(&self) -> &FilePath {
        &self.root.path
    }

    /// Fails if the directory of the store is not at its path.
    async fn expect_here(&self) -> Result<()> {
        self.blocking(|store| store.root.expect_here()).await
    }

    /// Creates a staging file next to the target; its name ends with `#` and digits, which listings ignore.
    fn stage(&self, target: &FilePath) -> Result<Staged> {
        self.root.expect_here()?;
        let number = self.staged.fetch_add(1, Ordering::Relaxed);
        let mut name = target.as_os_str().to_owned();
        name.push(format!("#{}0{number}", std::process::id()));
        let path = PathBuf::from(name);
        if let Some(parent) = target.parent() {
            self.root.make(parent).map_err(|error| failed(parent, "make", error))?;
        }
        let file = File::create(&path).map_err(|error| failed(&path, "create", error))?;
        Ok(Staged { file, path, kept: false })
    }

    fn put_blocking(
        &self,
        target: &FilePath,
        payload: &PutPayload,
        mode: &PutMode,
    ) -> Result<PutResult> {
        let mut staged = self.stage(target)?;
        for chunk in payload {
            staged.file.write_all(chunk).map_err(|error| failed(&staged.path, "write", error))?;
        }
        let put = match mode {
            PutMode::Overwrite => staged.publish(target)?,
            PutMode::Create => staged.publish_new(target)?,
            PutMode::Update(version) => {
                let _lock = self.lock()?;
                expect_version(target, version)?;
                staged.publish(target)?
            }
        };
        self.sync_directories(target)?;
        Ok(put)
    }

    /// Takes the lock that is held while an etag is compared and the object replaced; it excludes other
    /// processes, too.
    fn lock(&self) -> Result<File> {
        let path = self.root().join(".lock#0");
        let file = File::create(&path).map_err(|error| failed(&path, "create", error))?;
        file.lock().map_err(|error| failed(&path, "lock", error))?;
        Ok(file)
    }

    /// Syncs the directory entries of the object and of directories that may be new. Then the object is
    /// durable, provided that the directory is still that of the store.
    fn sync_directories(&self, target: &FilePath) -> Result<()> {
        for directory in target.ancestors().skip(1) {
            let synced = File::open(directory).and_then(|opened| opened.sync_all());
            synced.map_err(|error| failed(directory, "fsync", error))?;
            if directory == self.root() {
                break;
            }
        }
        self.root.expect_here()
    }

    /// Checks the directory for a listing: otherwise that of another directory could be taken for that of the
    /// store.
    fn listed(
        &self,
        listed: BoxStream<'static, Result<ObjectMeta>>,
    ) -> BoxStream<'static, Result<ObjectMeta>> {
        let (before, after) = (self.clone(), self.clone());
        let listed = async move { before.expect_here().await.map(|()| listed) };
        let end = async move {
            after.expect_here().await.map(|()| stream::empty::<Result<ObjectMeta>>())
        };
        listed.try_flatten_stream().chain(end.try_flatten_stream()).boxed()
    }

    async fn delete_one(self, location: Result<Path>) -> Result<Path> {
        let location = location?;
        self.expect_here().await?;
        let deleted = self.inner.delete(&location).await;
        // An object may be missing because the directory is now elsewhere.
        self.expect_here().await?;
        deleted.map(|()| location)
    }

    async fn blocking<T, F>(&self, work: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnOnce(&Self) -> Result<T> + Send + 'static,
    {
        if Handle::try_current().is_err() {
            return work(self);
        }
        let store = self.clone();
        tokio::task::spawn_blocking(move || work(&store)).await?
    }
}

impl fmt::Display for DurableLocal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{NAME}({})", self.root().display())
    }
}

/// The root directory of a store, as it was opened.
///
/// Not an [`OpenDirectory`](crate::OpenDirectory), which follows a moved directory, and accepts the same
/// inode on another device, as after a mount of a network file system. Here, objects are found by path, so
/// the path must lead to the directory; a store is not on a network file system, so another device is another
/// disk; and a check must be a single system call, because each read needs one.
#[derive(Debug)]
struct Root {
    path: PathBuf,
    /// Device and inode.
    identity: (u64, u64),
    /// Kept open, so that no other directory gets its inode number.
    _open: File,
}

impl Root {
    fn open(path: PathBuf) -> Result<Self> {
        // The metadata of the path: with some layered file systems, an open file has another inode.
        let opened = File::open(&path).and_then(|open| Ok((fs::metadata(&path)?, open)));
        let (found, open) = opened.map_err(|error| failed(&path, "open", error))?;
        Ok(Self { path, identity: (found.dev(), found.ino()), _open: open })
    }

    /// Fails unless the path leads to this directory.
    fn expect_here(&self) -> Result<()> {
        let why = match fs::metadata(&self.path) {
            Ok(found) if (found.dev(), found.ino()) == self.identity => return Ok(()),
            Ok(_) => "another directory is at its path".to_owned(),
            Err(error) => error.to_string(),
        };
        let text = format!(
            "the directory {} of the object store was unmounted, moved or replaced ({why}), and nothing \
             is read or written at its path: mount it again, or put it back; if it is there, restart this \
             process",
            self.path.display()
        );
        Err(Error::Generic { store: NAME, source: Box::new(io::Error::other(text)) })
    }

    /// Creates a subdirectory and its missing parents up to the root.
    fn make(&self, directory: &FilePath) -> io::Result<()> {
        if directory == self.path {
            return Ok(());
        }
        let make = || match fs::create_dir(directory) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
            made => made,
        };
        match (make(), directory.parent()) {
            (Err(error), Some(parent)) if error.kind() == ErrorKind::NotFound => {
                self.make(parent)?;
                make()
            }
            (made, _) => made,
        }
    }
}

/// Fails if there are attributes or tags, which a plain file cannot store.
fn refuse_attributes(empty: bool, operation: &str) -> Result<()> {
    if empty {
        return Ok(());
    }
    let operation = format!("`{operation}` with attributes");
    Err(Error::NotImplemented { operation, implementer: NAME.to_owned() })
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl ObjectStore for DurableLocal {
    async fn put_opts(
        &self,
        location: &Path,
        payload: PutPayload,
        options: PutOptions,
    ) -> Result<PutResult> {
        refuse_attributes(options.attributes.is_empty(), "put_opts")?;
        let target = self.inner.path_to_filesystem(location)?;
        self.blocking(move |store| store.put_blocking(&target, &payload, &options.mode)).await
    }

    async fn put_multipart_opts(
        &self,
        location: &Path,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        refuse_attributes(options.attributes.is_empty(), "put_multipart_opts")?;
        let target = self.inner.path_to_filesystem(location)?;
        let staging = target.clone();
        let staged = self.blocking(move |store| store.stage(&staging)).await?;
        let store = self.clone();
        Ok(Box::new(Upload { store, target, staged: Some(Arc::new(staged)), offset: 0 }))
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        let (path, location) = (self.inner.path_to_filesystem(location)?, location.clone());
        self.blocking(move |store| {
            let got = open_object(path, location, &options);
            store.root.expect_here()?;
            got
        })
        .await
    }

    async fn get_ranges(&self, location: &Path, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        let (path, ranges) = (self.inner.path_to_filesystem(location)?, ranges.to_vec());
        self.blocking(move |store| {
            let got = read_ranges(&path, &ranges);
            store.root.expect_here()?;
            got
        })
        .await
    }

    fn delete_stream(
        &self,
        locations: BoxStream<'static, Result<Path>>,
    ) -> BoxStream<'static, Result<Path>> {
        let store = self.clone();
        let delete = move |location| store.clone().delete_one(location);
        locations.map(delete).buffered(DELETIONS).boxed()
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        self.listed(self.inner.list(prefix))
    }

    fn list_with_offset(
        &self,
        prefix: Option<&Path>,
        offset: &Path,
    ) -> BoxStream<'static, Result<ObjectMeta>> {
        self.listed(self.inner.list_with_offset(prefix, offset))
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        let listed = self.inner.list_with_delimiter(prefix).await;
        self.expect_here().await?;
        listed
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.expect_here().await?;
        self.inner.copy_opts(from, to, options).await?;
        let target = self.inner.path_to_filesystem(to)?;
        self.blocking(move |store| store.sync_directories(&target)).await
    }

    async fn rename_opts(&self, from: &Path, to: &Path, options: RenameOptions) -> Result<()> {
        self.expect_here().await?;
        self.inner.rename_opts(from, to, options).await?;
        let target = self.inner.path_to_filesystem(to)?;
        self.blocking(move |store| store.sync_directories(&target)).await
    }
}

/// A staging file, which is removed unless it is published.
#[derive(Debug)]
struct Staged {
    file: File,
    path: PathBuf,
    kept: bool,
}

impl Staged {
    fn publish(mut self, target: &FilePath) -> Result<PutResult> {
        let put = self.sync()?;
        fs::rename(&self.path, target).map_err(|error| failed(target, "rename to", error))?;
        self.kept = true;
        Ok(put)
    }

    /// Publishes the file under a new name, by a hard link: unlike a rename, it fails if the name exists.
    fn publish_new(self, target: &FilePath) -> Result<PutResult> {
        let put = self.sync()?;
        fs::hard_link(&self.path, target).map_err(|error| match error.kind() {
            ErrorKind::AlreadyExists => {
                Error::AlreadyExists { path: target.display().to_string(), source: error.into() }
            }
            _ => failed(target, "link to", error),
        })?;
        Ok(put)
    }

    /// Syncs the file. Returns the etag that the object will have. The etag must not be read after the object
    /// is in place: by then another writer may have replaced it, and the caller would take that version for
    /// its own and overwrite it in its next update.
    fn sync(&self) -> Result<PutResult> {
        let synced = self.file.sync_all().and_then(|()| self.file.metadata());
        let found = synced.map_err(|error| failed(&self.path, "fsync", error))?;
        Ok(PutResult { e_tag: Some(e_tag(&found)), version: None })
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        if !self.kept {
            // A leftover file is harmless, and listings ignore it.
            let _ = fs::remove_file(&self.path);
        }
    }
}

fn open_file(path: &FilePath) -> Result<(File, fs::Metadata)> {
    let not_found = |source: io::Error| Error::NotFound {
        path: path.display().to_string(),
        source: source.into(),
    };
    let opened = File::open(path).and_then(|file| Ok((file.metadata()?, file)));
    match opened {
        Ok((found, _)) if found.is_dir() => {
            Err(not_found(io::Error::new(ErrorKind::NotFound, "it is a directory")))
        }
        Ok((found, file)) => Ok((file, found)),
        Err(error) if error.kind() == ErrorKind::NotFound => Err(not_found(error)),
        Err(error) => Err(failed(path, "open", error)),
    }
}

fn open_object(path: PathBuf, location: Path, options: &GetOptions) -> Result<GetResult> {
    let (file, found) = open_file(&path)?;
    let modified = found.modified().map_err(|error| failed(&path, "look at", error))?;
    let meta = ObjectMeta {
        location,
        last_modified: modified.into(),
        size: found.len(),
        e_tag: Some(e_tag(&found)),
        version: None,
    };
    options.check_preconditions(&meta)?;
    let range = match &options.range {
        Some(range) => range.as_range(meta.size).map_err(invalid)?,
        None => 0..meta.size,
    };
    let payload = GetResultPayload::File(file, path);
    Ok(GetResult { payload, meta, range, attributes: Attributes::default() })
}

fn read_ranges(path: &FilePath, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
    let (file, _) = open_file(path)?;
    let read = |range: &Range<u64>| -> Result<Bytes> {
        let length = range.end.saturating_sub(range.start);
        let mut bytes = vec![0; usize::try_from(length).map_err(invalid)?];
        let filled = file.read_exact_at(&mut bytes, range.start);
        filled.map_err(|error| failed(path, "read", error))?;
        Ok(bytes.into())
    };
    ranges.iter().map(read).collect()
}

fn invalid(error: impl std::error::Error + Send + Sync + 'static) -> Error {
    Error::Generic { store: NAME, source: Box::new(error) }
}

/// Returns the etag of `LocalFileSystem`, which listings have: inode, modification time in microseconds and
/// size, in hexadecimal.
fn e_tag(found: &fs::Metadata) -> String {
    let micros = found.mtime() * 1_000_000 + found.mtime_nsec() / 1_000;
    format!("{:x}-{micros:x}-{:x}", found.ino(), found.len())
}

fn expect_version(target: &FilePath, expected: &UpdateVersion) -> Result<()> {
    let precondition = |reason: String| Error::Precondition {
        path: target.display().to_string(),
        source: reason.into(),
    };
    let found = match fs::metadata(target) {
        Ok(found) => found,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return Err(precondition("the object does not exist".to_owned()));
        }
        Err(error) => return Err(failed(target, "read", error)),
    };
    let e_tag = e_tag(&found);
    if expected.e_tag.as_deref() == Some(e_tag.as_str()) {
        return Ok(());
    }
    Err(precondition(format!("its etag is {e_tag}, not {:?}", expected.e_tag)))
}

/// The failed operation on a path.
#[derive(Debug, thiserror::Error)]
#[error("{text}")]
struct Failed {
    text: String,
    /// The error of the system, whose number is more specific than its kind.
    source: io::Error,
}

fn failed(path: &FilePath, what: &str, error: io::Error) -> Error {
    let text = format!("cannot {what} {}: {error}", path.display());
    let error = io::Error::new(error.kind(), Failed { text, source: error });
    Error::Generic { store: NAME, source: Box::new(error) }
}

/// A multipart upload: parts are written in place into one staging file, which is published when complete.
#[derive(Debug)]
struct Upload {
    store: DurableLocal,
    target: PathBuf,
    staged: Option<Arc<Staged>>,
    offset: u64,
}

impl Upload {
    /// Returns the staging file, once all parts are written.
    fn take(&mut self) -> Result<Staged> {
        let staged = self.staged.take().and_then(Arc::into_inner);
        staged.ok_or_else(|| {
            let text = "the upload is over, or parts are still being written";
            Error::Generic { store: NAME, source: text.into() }
        })
    }
}

#[async_trait]
impl MultipartUpload for Upload {
    fn put_part(&mut self, data: PutPayload) -> UploadPart {
        let offset = self.offset;
        self.offset += data.content_length() as u64;
        let staged = self.staged.clone();
        let store = self.store.clone();
        Box::pin(async move {
            let write = move |_: &DurableLocal| match staged {
                Some(staged) => write_part(&staged, &data, offset),
                None => Err(Error::Generic { store: NAME, source: "the upload is over".into() }),
            };
            store.blocking(write).await
        })
    }

    async fn complete(&mut self) -> Result<PutResult> {
        let staged = self.take()?;
        let target = self.target.clone();
        let finish = move |store: &DurableLocal| {
            store.root.expect_here()?;
            let put = staged.publish(&target)?;
            store.sync_directories(&target)?;
            Ok(put)
        };
        self.store.blocking(finish).await
    }

    async fn abort(&mut self) -> Result<()> {
        self.take().map(drop)
    }
}

fn write_part(staged: &Staged, data: &PutPayload, mut offset: u64) -> Result<()> {
    for chunk in data {
        let written = staged.file.write_all_at(chunk, offset);
        written.map_err(|error| failed(&staged.path, "write", error))?;
        offset += chunk.len() as u64;
    }
    Ok(())
}
