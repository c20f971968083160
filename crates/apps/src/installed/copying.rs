//! Copies of installed apps on the local disk.
//!
//! ```text
//! copy of the version before ---- link ----+
//! contents in memory (installation) -------+--> .<SHA-256>-<UUID>/apps/<app>/... --rename--> <SHA-256>
//! objects --digest is right----------------+
//! ```
//!
//! Guarantees: a directory with the name of a version has all of its files, whenever the process is killed.
//! A file is linked only if it has the digest that the new version names: this process has written it or
//! compared the digest. A file of a copy is created once, without the right to write, and never opened for
//! writing again, so versions that share it cannot change each other. Where the file system has no links, the
//! file is written again.

use std::collections::{HashMap, HashSet};
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use futures::{StreamExt, TryStreamExt, stream};

use super::{AT_ONCE, InstalledApps, Known, Listed, Manifest, object};
use crate::Error;
use crate::blocking::blocking;
use crate::digest::{Digesting, sha256};
use crate::installation::KIND;
use crate::package::{Parents, is_executable};

/// Contents of files by their digests.
pub(super) type Contents = HashMap<String, Bytes>;

/// Bytes of a file from object storage that are in memory until they are written.
const PART: usize = 256 << 10;
/// Modes of the files of copies: nobody writes to them.
const FILE: u32 = 0o444;
const PROGRAM: u32 = 0o555;
/// The bits of a file's mode that let somebody write to it.
const WRITE: u32 = 0o222;

impl InstalledApps {
    /// Copies a version of an app to the local disk, if it is not there.
    pub(crate) async fn copy_app(&self, app: &str, digest: &str) -> Result<PathBuf, Error> {
        let _copying = self.copying.lock().await;
        self.copy_app_alone(app, digest).await
    }

    /// The same while `copying` is locked: each version is copied once.
    pub(super) async fn copy_app_alone(&self, app: &str, digest: &str) -> Result<PathBuf, Error> {
        if digest.is_empty() || !digest.chars().all(|c| c.is_ascii_hexdigit()) {
            let reason = "the manifest is not a digest".to_owned();
            return Err(Error::Damaged { what: format!("{KIND}/{app}"), reason });
        }
        let target = self.directory.join(digest);
        if self.is_copied(&target) {
            return Ok(target);
        }
        let manifest = self.manifest(app, digest).await?;
        self.copy_version(digest, manifest, Contents::new()).await
    }

    /// Copies a version whose contents are in memory. They are not read from object storage again: it has
    /// taken them, and processes that read them compare the digests.
    pub(super) async fn copy_contents(
        &self,
        digest: &str,
        manifest: Arc<Manifest>,
        contents: Contents,
    ) -> Result<(), Error> {
        let _copying = self.copying.lock().await;
        if self.is_copied(&self.directory.join(digest)) {
            return Ok(());
        }
        self.copy_version(digest, manifest, contents).await.map(drop)
    }

    /// Whether a copy is complete, and still there.
    fn is_copied(&self, directory: &Path) -> bool {
        self.known(directory).is_some() && directory.is_dir()
    }

    async fn copy_version(
        &self,
        digest: &str,
        manifest: Arc<Manifest>,
        contents: Contents,
    ) -> Result<PathBuf, Error> {
        let target = self.directory.join(digest);
        let (directory, files) = (target.clone(), Arc::clone(&manifest));
        if blocking(move || Ok(is_complete(&directory, &files))).await? {
            self.note(&target, manifest, false);
            return Ok(target);
        }
        self.check_version(&manifest)?;
        let copy = Arc::new(NewCopy::new(&self.directory, digest, &manifest.app));
        let (before, new, files) =
            (self.before(&manifest.app), Arc::clone(&copy), Arc::clone(&manifest));
        let begin = move || {
            let before = before.map(Before::of);
            new.begin(&files.files, before.as_ref(), &contents)
        };
        let missing = blocking(begin).await?;
        if !missing.is_empty() {
            self.fetch(&manifest.app, missing, &copy).await?;
        }
        let place = target.clone();
        blocking(move || copy.finish(&place)).await?;
        self.note(&target, manifest, true);
        Ok(target)
    }

    fn note(&self, directory: &Path, manifest: Arc<Manifest>, is_verified: bool) {
        let known = Known { manifest, is_verified };
        self.copies.lock().known.insert(directory.to_owned(), known);
    }

    /// Reads files of a version from object storage into a copy.
    async fn fetch(&self, app: &str, files: Vec<Listed>, copy: &Arc<NewCopy>) -> Result<(), Error> {
        let fetches: Vec<_> =
            files.into_iter().map(|file| self.fetch_file(app, file, copy)).collect();
        stream::iter(fetches).buffer_unordered(AT_ONCE).try_collect().await
    }

    async fn fetch_file(&self, app: &str, file: Listed, copy: &Arc<NewCopy>) -> Result<(), Error> {
        let _on_the_way = self.on_the_way.begin(file.bytes).await;
        let mut pieces = self.pieces(app, &file.sha256).await?;
        let mut fetched = Fetched::new(Arc::clone(copy), file);
        loop {
            let (mut part, mut bytes) = (Vec::new(), 0);
            while bytes < PART {
                let Some(piece) = pieces.try_next().await? else { break };
                bytes += piece.len();
                part.push(piece);
            }
            let is_last = bytes < PART;
            let written = blocking(move || {
                fetched.append(&part)?;
                Ok(fetched)
            });
            fetched = written.await?;
            if is_last {
                return fetched.finish();
            }
        }
    }

    /// The contents of files of an app: from the copy in force if they are there.
    pub(crate) async fn contents(
        &self,
        app: &str,
        files: Vec<Listed>,
    ) -> Result<Vec<Bytes>, Error> {
        let before = self.before(app);
        let read = move || {
            let before = before.map(Before::of);
            let content = |file: Listed| (before.as_ref().and_then(|copy| copy.read(&file)), file);
            Ok(files.into_iter().map(content).collect::<Vec<_>>())
        };
        let here = blocking(read).await?;
        let mut reads = Vec::with_capacity(here.len());
        for (content, file) in here {
            reads.push(async move {
                match content {
                    Some(content) => Ok(content),
                    None => self.stored(app, &file).await,
                }
            });
        }
        stream::iter(reads).buffered(AT_ONCE).try_collect().await
    }

    /// The content of a file in object storage.
    async fn stored(&self, app: &str, file: &Listed) -> Result<Bytes, Error> {
        let _on_the_way = self.on_the_way.begin(file.bytes).await;
        self.object(app, &file.sha256).await
    }

    /// Refuses a version that the local disk has no room for.
    pub(super) fn check_version(&self, manifest: &Manifest) -> Result<(), Error> {
        let bytes = self.new_bytes(&manifest.app, &manifest.files);
        self.check_room(&format!("the app {}", manifest.app), bytes)
    }

    /// The bytes of the files of a version that are not links to files of the copy in force.
    pub(crate) fn new_bytes(&self, app: &str, files: &[Listed]) -> u64 {
        let before = self.before(app).and_then(|(_, manifest)| manifest);
        let known = before.iter().flat_map(|manifest| &manifest.files);
        let linked: HashSet<(&str, bool)> =
            known.map(|file| (file.sha256.as_str(), file.executable)).collect();
        let is_new = |file: &&Listed| !linked.contains(&(file.sha256.as_str(), file.executable));
        files.iter().filter(is_new).map(|file| file.bytes).sum()
    }

    /// The copy of an app that is in force, and its manifest if this process has written its files or
    /// compared their digests.
    pub(super) fn before(&self, app: &str) -> Option<(PathBuf, Option<Arc<Manifest>>)> {
        let copies = self.copies.lock();
        let directory = copies.current.get(app)?;
        let known = copies.known.get(directory).filter(|known| known.is_verified);
        let manifest = known.map(|known| Arc::clone(&known.manifest));
        Some((directory.join("apps").join(app), manifest))
    }
}

/// The copy of a version that may have files of another one.
#[derive(Debug)]
pub(super) struct Before {
    folder: PathBuf,
    /// The paths of the files by digest and whether they are programs, if this process has written them or
    /// compared the digests.
    verified: Option<HashMap<(String, bool), PathBuf>>,
}

impl Before {
    pub(super) fn of((folder, manifest): (PathBuf, Option<Arc<Manifest>>)) -> Self {
        let named =
            |file: &Listed| ((file.sha256.clone(), file.executable), PathBuf::from(&file.path));
        let verified = manifest.map(|manifest| manifest.files.iter().map(named).collect());
        Self { folder, verified }
    }

    /// Where a file may be that is the same, and its metadata.
    fn find(&self, file: &Listed) -> Option<(PathBuf, Metadata)> {
        let path = match &self.verified {
            Some(paths) => paths.get(&(file.sha256.clone(), file.executable))?.as_path(),
            None => Path::new(&file.path),
        };
        let path = self.folder.join(path);
        let metadata = fs::symlink_metadata(&path).ok()?;
        let is_alike = metadata.is_file()
            && metadata.len() == file.bytes
            && is_executable(&metadata) == file.executable;
        is_alike.then_some((path, metadata))
    }

    /// The content of a file, if it is the same. What has been changed on the disk is not.
    pub(super) fn read(&self, file: &Listed) -> Option<Bytes> {
        let bytes = fs::read(self.find(file)?.0).ok()?;
        (sha256(&bytes) == file.sha256).then(|| bytes.into())
    }

    /// Gives a file another name, if it is the same and nobody may write to it; false if it is not or cannot
    /// have one.
    fn link(&self, file: &Listed, to: &Path) -> bool {
        let Some((path, metadata)) = self.find(file) else { return false };
        // A copy by an earlier version of Karst may be written to.
        let is_fixed = metadata.permissions().mode() & WRITE == 0;
        let is_same = is_fixed && (self.verified.is_some() || self.read(file).is_some());
        is_same && fs::hard_link(path, to).is_ok()
    }
}

/// A copy that is not complete. What is left of it when it is dropped is removed.
#[derive(Debug)]
struct NewCopy {
    temporary: PathBuf,
    app: String,
    /// The directory of the app in it.
    folder: PathBuf,
}

impl Drop for NewCopy {
    fn drop(&mut self) {
        // Nothing is left of one that is complete.
        let _ = fs::remove_dir_all(&self.temporary);
    }
}

impl NewCopy {
    fn new(directory: &Path, digest: &str, app: &str) -> Self {
        // Its own name: a copy that nobody waits for any more may still be written.
        let name = format!(".{digest}-{}", runtime::random::uuid());
        let temporary = directory.join(name);
        let folder = temporary.join("apps").join(app);
        Self { temporary, app: app.to_owned(), folder }
    }

    /// Links and writes the files whose contents are here, and returns the others.
    fn begin(
        &self,
        files: &[Listed],
        before: Option<&Before>,
        contents: &Contents,
    ) -> Result<Vec<Listed>, Error> {
        fs::create_dir_all(&self.folder).map_err(failed("create", &self.folder))?;
        let (mut missing, mut parents) = (Vec::new(), Parents::default());
        for file in files {
            let path = self.folder.join(&file.path);
            parents.create(&path).map_err(failed("write", &path))?;
            if before.is_some_and(|before| before.link(file, &path)) {
                continue;
            }
            let known = contents.get(&file.sha256).cloned();
            match known.or_else(|| before?.read(file)) {
                Some(bytes) => self.write(file, &bytes)?,
                None => missing.push(file.clone()),
            }
        }
        Ok(missing)
    }

    /// Writes a new file.
    fn write(&self, file: &Listed, bytes: &[u8]) -> Result<(), Error> {
        let written = self.create(file).and_then(|mut new| new.write_all(bytes));
        written.map_err(failed("write", &self.folder.join(&file.path)))
    }

    /// Creates a file. It must not exist: it might be a file of another version.
    fn create(&self, file: &Listed) -> io::Result<File> {
        let path = self.folder.join(&file.path);
        let mode = if file.executable { PROGRAM } else { FILE };
        OpenOptions::new().write(true).create_new(true).mode(mode).open(&path)
    }

    /// Gives a complete copy the name of its version.
    fn finish(&self, target: &Path) -> Result<(), Error> {
        match fs::remove_dir_all(target) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(failed("remove", target)(error));
            }
            _ => {}
        }
        fs::rename(&self.temporary, target).map_err(failed("create", target))?;
        // A copy that a crash of the machine leaves incomplete is made again: its sizes are compared.
        let Some(directory) = target.parent() else { return Ok(()) };
        let synced = File::open(directory).and_then(|directory| directory.sync_all());
        synced.map_err(failed("write", directory))
    }
}

/// A file of a copy that is being read from object storage.
struct Fetched {
    copy: Arc<NewCopy>,
    listed: Listed,
    file: Option<File>,
    digest: Digesting,
    /// Bytes that are not read yet.
    left: u64,
}

impl Fetched {
    fn new(copy: Arc<NewCopy>, listed: Listed) -> Self {
        let (digest, left) = (Digesting::begin(), listed.bytes);
        Self { copy, listed, file: None, digest, left }
    }

    /// Writes the next part of the file, which is created with the first one.
    fn append(&mut self, part: &[Bytes]) -> Result<(), Error> {
        let bytes: u64 = part.iter().map(|piece| piece.len() as u64).sum();
        self.left = self.left.checked_sub(bytes).ok_or_else(|| self.damaged())?;
        let path = self.copy.folder.join(&self.listed.path);
        let mut write = || {
            let mut file = match self.file.take() {
                Some(file) => file,
                None => self.copy.create(&self.listed)?,
            };
            for piece in part {
                self.digest.update(piece);
                file.write_all(piece)?;
            }
            self.file = Some(file);
            Ok(())
        };
        write().map_err(failed("write", &path))
    }

    /// Refuses a content that has another digest.
    fn finish(self) -> Result<(), Error> {
        let damaged = self.damaged();
        if self.left == 0 && self.digest.end() == self.listed.sha256 {
            Ok(())
        } else {
            Err(damaged)
        }
    }

    fn damaged(&self) -> Error {
        let (app, reason) = (&self.copy.app, "its content has another digest".to_owned());
        Error::Damaged { what: object(app, &self.listed.sha256).to_string(), reason }
    }
}

fn failed(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Error + use<> {
    let path = path.display().to_string();
    move |source| Error::File { action, path, source }
}

/// Whether a directory has all files of an app, as far as sizes tell.
fn is_complete(directory: &Path, manifest: &Manifest) -> bool {
    let folder = directory.join("apps").join(&manifest.app);
    let is_there = |file: &Listed| {
        let metadata = fs::metadata(folder.join(&file.path));
        metadata.is_ok_and(|metadata| metadata.is_file() && metadata.len() == file.bytes)
    };
    folder.is_dir() && manifest.files.iter().all(is_there)
}
