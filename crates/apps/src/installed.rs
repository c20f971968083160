//! Installed apps: their files in object storage, and on the local disk as copies.
//!
//! ```text
//! installed/<app>/<SHA-256>             an object: a file of the app, or its manifest
//! installed/bundle-<SHA-256>            an object: the apps of a bundle (`installed/kept.rs`)
//! installed_app/<app>                   a document of the catalog: which manifest is in force
//! <directory>/<SHA-256>/apps/<app>/...  the files of a manifest on the local disk
//! ```
//!
//! Guarantees: a process has all files of a version of an app, each with the content that was installed, or
//! none. A version that is replaced stays where it is for a while, for searches that run its programs and for
//! processes that are about to copy it. Leaves to others: what the files mean (`conf`, `knowledge`).

mod kept;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::{self, File};
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use catalog::Catalog;
use futures::{StreamExt, TryStreamExt, stream};
use model::EventTime;
use object_store::path::Path as ObjectPath;
use object_store::{ObjectStore, ObjectStoreExt};
use parking_lot::Mutex;
use runtime::Clock;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::digest::sha256;
use crate::install::is_local;
use crate::installation::{Bundles, Installation, KIND, checksum};
use crate::package::{Package, PackedFile};
use crate::room::{Room, bytes_of};

/// The directory of the objects in object storage.
const ROOT: &str = "installed";
/// Parts of the path of an object: `installed/<app>/<digest>`.
const OF_APP: usize = 3;
/// Files that are read or written at the same time.
pub(crate) const AT_ONCE: usize = 32;
/// Minimum age at which an object that no version in force names is deleted: other processes may be about to
/// read it.
const OBJECT_GRACE: Duration = Duration::from_secs(24 * 3600);
/// Time for which the local copy of a replaced version is kept: searches may run its programs.
const COPY_GRACE: Duration = Duration::from_secs(3600);
/// Time for which a replaced bundle is kept if there is no setting.
const RETENTION: Duration = Duration::from_secs(30 * 24 * 3600);

/// The list of an app's files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Manifest {
    app: String,
    pub(crate) files: Vec<Listed>,
}

/// A file of an app that is in force.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Listed {
    /// Its path below the directory of the app.
    pub path: String,
    /// The digest of its content.
    pub sha256: String,
    /// Its size.
    pub bytes: u64,
    /// Whether it is a program.
    pub executable: bool,
}

/// The directory of each installed app, which has `apps/<app>`.
pub(crate) type Directories = BTreeMap<String, PathBuf>;

/// The copies on the local disk.
#[derive(Debug, Default)]
struct Copies {
    /// The versions in force that are complete: directory by app.
    current: Directories,
    /// When a version was found to be replaced.
    replaced: HashMap<PathBuf, EventTime>,
}

/// See the module.
#[derive(Debug)]
pub struct InstalledApps {
    pub(crate) catalog: Catalog,
    store: Arc<dyn ObjectStore>,
    pub(crate) directory: PathBuf,
    pub(crate) clock: Arc<dyn Clock>,
    room: Room,
    /// How long a bundle is kept after another one has replaced it.
    retention: Duration,
    /// The bundle that this process has noted last.
    noted: Mutex<Option<String>>,
    copies: Mutex<Copies>,
    /// Copying, one at a time.
    copying: tokio::sync::Mutex<()>,
}

impl InstalledApps {
    /// Creates the apps, with a directory of this process for their copies. Reads nothing yet.
    #[must_use]
    pub fn new(
        catalog: Catalog,
        store: Arc<dyn ObjectStore>,
        directory: PathBuf,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let (room, noted, copies, copying) = Default::default();
        let retention = RETENTION;
        Self { catalog, store, directory, clock, room, retention, noted, copies, copying }
    }

    /// Limits the copies to the free space.
    #[must_use]
    pub fn with_room(self, room: Room) -> Self {
        Self { room, ..self }
    }

    /// Keeps bundles for this time after other ones have replaced them.
    #[must_use]
    pub fn with_retention(self, retention: Duration) -> Self {
        Self { retention, ..self }
    }

    /// Refuses apps that the local disk has no room for.
    pub(crate) fn check_room(&self, what: &str, packages: &[Package]) -> Result<(), Error> {
        self.room.check(&self.directory, what, bytes_of(packages))
    }

    /// The apps that the catalog has, by name.
    ///
    /// # Errors
    /// [`Error::Damaged`] for a document that cannot be read.
    pub fn all(&self) -> Result<BTreeMap<String, Installation>, Error> {
        let documents = self.catalog.snapshot().documents(KIND).into_iter();
        let read = |document: catalog::Document| {
            let json = document.json.as_ref().clone();
            let read = serde_json::from_value(json);
            let what = format!("the document {KIND}/{}", document.name);
            let read = read.map_err(|error| damaged(what, &error))?;
            Ok((document.name, read))
        };
        documents.map(read).collect()
    }

    /// Returns the directory of each app whose files are on the local disk.
    #[must_use]
    pub fn directories(&self) -> Directories {
        self.copies.lock().current.clone()
    }

    /// Stores an app and makes it the one in force. The users' own files of the version before stay.
    ///
    /// # Errors
    /// [`Error::Exists`] without `update`, or if object storage or the catalog fail.
    pub(crate) async fn put(&self, package: Package, update: bool, by: &str) -> Result<(), Error> {
        let app = package.app;
        let before = self.all()?.remove(&app);
        if before.is_some() && !update {
            return Err(Error::Exists(app));
        }
        let mut kept = Vec::new();
        if let Some(before) = &before {
            let manifest = self.manifest(&app, &before.manifest).await?;
            kept = manifest.files;
            kept.retain(|file| is_local(Path::new(&file.path)));
        }
        let is_kept = |file: &PackedFile| kept.iter().any(|k| Path::new(&k.path) == file.path);
        let new = package.files.into_iter().filter(|file| !is_kept(file));
        let new: Vec<(Listed, Bytes)> = new.map(listed).collect::<Result<_, _>>()?;
        let young = self.young(&app).await?;
        for file in kept.iter().filter(|file| !young.contains(&file.sha256)) {
            let bytes = self.object(&app, &file.sha256).await?;
            self.write(&app, &file.sha256, bytes).await?;
        }
        self.write_all(&app, &new, &young).await?;
        let files = kept.into_iter().chain(new.into_iter().map(|new| new.0)).collect();
        let installation = self.write_manifest(&app, files, by).await?;
        let json =
            serde_json::to_value(&installation).map_err(|error| damaged(app.clone(), &error))?;
        self.catalog.put_document(KIND, &app, json).await?;
        Ok(())
    }

    /// Writes the files of an app that are not [`young`](Self::young). Old objects are written again, as they
    /// may be removed as garbage before the version is in force.
    pub(crate) async fn write_all(
        &self,
        app: &str,
        files: &[(Listed, Bytes)],
        young: &BTreeSet<String>,
    ) -> Result<(), Error> {
        let write = |(file, bytes): &(Listed, Bytes)| {
            let (digest, bytes) = (file.sha256.clone(), bytes.clone());
            async move { self.write(app, &digest, bytes).await }
        };
        let new = files.iter().filter(|(file, _)| !young.contains(&file.sha256));
        let writes: Vec<_> = new.map(write).collect();
        stream::iter(writes).buffer_unordered(AT_ONCE).try_collect::<()>().await
    }

    /// Writes the manifest of a version whose files are written, and copies the version to the local disk.
    pub(crate) async fn write_manifest(
        &self,
        app: &str,
        mut files: Vec<Listed>,
        by: &str,
    ) -> Result<Installation, Error> {
        files.sort_by(|a, b| a.path.cmp(&b.path));
        let (count, bytes) = (files.len(), files.iter().map(|file| file.bytes).sum());
        let manifest = Manifest { app: app.to_owned(), files };
        let text =
            serde_json::to_vec(&manifest).map_err(|error| damaged(app.to_owned(), &error))?;
        let digest = sha256(&text);
        self.write(app, &digest, text.into()).await?;
        // An app that cannot be copied here cannot be copied elsewhere either: the copy is tested before the
        // app is in force.
        self.copy_app(app, &digest).await?;
        Ok(Installation {
            manifest: digest,
            files: count,
            bytes,
            installed: self.clock.now().0,
            by: by.to_owned(),
        })
    }

    /// Returns the digest of all installed apps that are in force and whose files are on the local disk:
    /// processes with the same apps have the same digest.
    #[must_use]
    pub fn checksum(&self) -> String {
        checksum_of(&self.directories())
    }

    /// The digest of all installed apps that the catalog has.
    ///
    /// # Errors
    /// [`Error::Damaged`].
    pub fn latest_checksum(&self) -> Result<String, Error> {
        let all = self.all()?;
        Ok(checksum(all.iter().map(|(app, one)| (app.as_str(), one.manifest.clone()))))
    }

    /// The digests of the files of an app in object storage that no process removes as garbage for hours.
    pub(crate) async fn young(&self, app: &str) -> Result<BTreeSet<String>, Error> {
        let root = ObjectPath::from_iter([ROOT, app]);
        let fail = |source| Error::Store { action: "list", path: root.to_string(), source };
        let now = self.clock.now();
        let mut young = BTreeSet::new();
        let mut listed = self.store.list(Some(&root));
        while let Some(object) = listed.try_next().await.map_err(fail)? {
            let written = EventTime(object.last_modified.timestamp_micros());
            if !is_older(written, now, OBJECT_GRACE / 2) {
                young.extend(object.location.filename().map(str::to_owned));
            }
        }
        Ok(young)
    }

    /// Removes an app from the installed ones; false if it is not one of them.
    ///
    /// # Errors
    /// If the catalog fails.
    pub(crate) async fn remove(&self, app: &str) -> Result<bool, Error> {
        if self.catalog.snapshot().document(KIND, app).is_none() {
            return Ok(false);
        }
        self.catalog.delete_document(KIND, app).await?;
        Ok(true)
    }

    /// Copies the missing files of apps in force to the local disk, and drops copies of apps that are not in
    /// force. Apps that could not be copied keep their state; returns them with the errors.
    pub async fn copy(&self) -> Vec<(String, Error)> {
        let _copying = self.copying.lock().await;
        let all = match self.all() {
            Ok(all) => all,
            Err(error) => return vec![("*".to_owned(), error)],
        };
        let mut failed = Vec::new();
        let mut current = Directories::new();
        for (app, installation) in &all {
            match self.copy_app_alone(app, &installation.manifest).await {
                Ok(directory) => drop(current.insert(app.clone(), directory)),
                Err(error) => {
                    if let Some(before) = self.copies.lock().current.get(app) {
                        current.insert(app.clone(), before.clone());
                    }
                    failed.push((app.clone(), error));
                }
            }
        }
        self.copies.lock().current = current;
        self.remove_copies();
        failed
    }

    /// Removes local copies that have not been in force for a while.
    fn remove_copies(&self) {
        let now = self.clock.now();
        let mut copies = self.copies.lock();
        let current: BTreeSet<PathBuf> = copies.current.values().cloned().collect();
        copies.replaced.retain(|directory, _| !current.contains(directory));
        let Ok(entries) = fs::read_dir(&self.directory) else { return };
        for directory in entries.filter_map(Result::ok).map(|entry| entry.path()) {
            if current.contains(&directory) {
                continue;
            }
            let since = *copies.replaced.entry(directory.clone()).or_insert(now);
            if is_older(since, now, COPY_GRACE) {
                copies.replaced.remove(&directory);
                if let Err(error) = fs::remove_dir_all(&directory) {
                    let directory = directory.display();
                    tracing::warn!(%error, %directory, "cannot remove the copy of an app");
                }
            }
        }
    }

    /// Removes all local copies that are not in force, which an earlier process has left.
    pub fn remove_old_copies(&self) {
        let current: BTreeSet<PathBuf> = self.directories().into_values().collect();
        let Ok(entries) = fs::read_dir(&self.directory) else { return };
        let all = entries.filter_map(Result::ok).map(|entry| entry.path());
        for directory in all.filter(|directory| !current.contains(directory)) {
            let _ = fs::remove_dir_all(directory);
        }
    }

    /// Copies a version of an app to the local disk, if it is not there.
    pub(crate) async fn copy_app(&self, app: &str, digest: &str) -> Result<PathBuf, Error> {
        let _copying = self.copying.lock().await;
        self.copy_app_alone(app, digest).await
    }

    /// The same while `copying` is locked: all copies of a version begin in the same temporary directory.
    async fn copy_app_alone(&self, app: &str, digest: &str) -> Result<PathBuf, Error> {
        if digest.is_empty() || !digest.chars().all(|c| c.is_ascii_hexdigit()) {
            let reason = "the manifest is not a digest".to_owned();
            return Err(Error::Damaged { what: format!("{KIND}/{app}"), reason });
        }
        let target = self.directory.join(digest);
        if self.directories().get(app) == Some(&target) {
            return Ok(target);
        }
        let manifest = self.manifest(app, digest).await?;
        if is_complete(&target, &manifest) {
            return Ok(target);
        }
        let bytes: u64 = manifest.files.iter().map(|file| file.bytes).sum();
        self.room.check(&self.directory, &format!("the app {app}"), bytes)?;
        let before = self.directories().remove(app);
        let temporary = self.directory.join(format!(".{digest}"));
        let fail = |action: &'static str, path: &Path| {
            let path = path.display().to_string();
            move |source: io::Error| Error::File { action, path, source }
        };
        for old in [&temporary, &target] {
            match fs::remove_dir_all(old) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(fail("remove", old)(error));
                }
                _ => {}
            }
        }
        let folder = temporary.join("apps").join(app);
        fs::create_dir_all(&folder).map_err(fail("create", &folder))?;
        let before = before.map(|directory| directory.join("apps").join(app));
        let copy = |file: Listed| {
            let (before, folder) = (before.as_deref(), &folder);
            async move {
                let bytes = match before.and_then(|before| unchanged(before, &file)) {
                    Some(bytes) => bytes,
                    None => self.object(app, &file.sha256).await?,
                };
                let (path, executable) = (PathBuf::from(&file.path), file.executable);
                PackedFile { path, bytes: bytes.to_vec(), executable }.write_below(folder)
            }
        };
        let copies: Vec<_> = manifest.files.into_iter().map(copy).collect();
        stream::iter(copies).buffer_unordered(AT_ONCE).try_collect::<()>().await?;
        fs::rename(&temporary, &target).map_err(fail("create", &target))?;
        // A copy that a crash of the machine leaves incomplete is made again: its sizes are compared.
        let synced = File::open(&self.directory).and_then(|directory| directory.sync_all());
        synced.map_err(fail("write", &self.directory))?;
        Ok(target)
    }

    pub(crate) async fn manifest(&self, app: &str, digest: &str) -> Result<Manifest, Error> {
        let bytes = self.object(app, digest).await?;
        let what = || format!("the manifest of the app {app}");
        let manifest: Manifest =
            serde_json::from_slice(&bytes).map_err(|error| damaged(what(), &error))?;
        let is_below = |file: &Listed| {
            let mut parts = Path::new(&file.path).components();
            !file.path.is_empty() && parts.all(|part| matches!(part, Component::Normal(_)))
        };
        if manifest.app != app || !manifest.files.iter().all(is_below) {
            let reason = "it names another app, or files outside of the app".to_owned();
            return Err(Error::Damaged { what: what(), reason });
        }
        Ok(manifest)
    }

    /// Reads an object, and checks that its content has the digest in its name.
    pub(crate) async fn object(&self, app: &str, digest: &str) -> Result<Bytes, Error> {
        let path = ObjectPath::from_iter([ROOT, app, digest]);
        let fail = |source| Error::Store { action: "read", path: path.to_string(), source };
        let bytes = self.store.get(&path).await.map_err(fail)?.bytes().await.map_err(fail)?;
        if sha256(&bytes) != digest {
            let reason = "its content has another digest".to_owned();
            return Err(Error::Damaged { what: path.to_string(), reason });
        }
        Ok(bytes)
    }

    async fn write(&self, app: &str, digest: &str, bytes: Bytes) -> Result<(), Error> {
        let path = ObjectPath::from_iter([ROOT, app, digest]);
        let written = self.store.put(&path, bytes.into()).await;
        let fail = |source| Error::Store { action: "write", path: path.to_string(), source };
        written.map(drop).map_err(fail)
    }

    /// Returns the objects of a version of an app: its manifest, and the files.
    async fn objects_of(&self, app: &str, digest: &str) -> Result<Vec<ObjectPath>, Error> {
        let manifest = self.manifest(app, digest).await?;
        let digests = manifest.files.iter().map(|file| file.sha256.as_str()).chain([digest]);
        Ok(digests.map(|digest| ObjectPath::from_iter([ROOT, app, digest])).collect())
    }

    /// Deletes the objects that neither an app in force nor a kept bundle has, and that are too old for a
    /// process to be still reading them.
    ///
    /// # Errors
    /// If object storage fails. What is left is deleted with the next installation.
    pub(crate) async fn collect_garbage(&self) -> Result<(), Error> {
        let mut known: BTreeSet<ObjectPath> = BTreeSet::new();
        // A rollback may need the previous bundle.
        let previous = Bundles::read(&self.catalog.snapshot())?.previous.unwrap_or_default();
        for (app, installation) in self.all()?.into_iter().chain(previous.apps) {
            known.extend(self.objects_of(&app, &installation.manifest).await?);
        }
        known.extend(self.objects_of_kept().await?);
        let root = ObjectPath::from(ROOT);
        let fail = |action| move |source| Error::Store { action, path: ROOT.to_owned(), source };
        let now = self.clock.now();
        let mut listed = self.store.list(Some(&root));
        while let Some(object) = listed.try_next().await.map_err(fail("list"))? {
            // Objects outside the directories of apps are bundles, or belong to others: the identity of the
            // object store (`catalog`).
            if object.location.parts().count() < OF_APP {
                continue;
            }
            let written = EventTime(object.last_modified.timestamp_micros());
            if is_older(written, now, OBJECT_GRACE) && !known.contains(&object.location) {
                self.store.delete(&object.location).await.map_err(fail("delete"))?;
            }
        }
        Ok(())
    }
}

/// The digest of apps whose files are in these directories.
pub(crate) fn checksum_of(directories: &Directories) -> String {
    checksum(digests_of(directories))
}

/// Returns the digests of the manifests of apps with these directories, by app.
fn digests_of(directories: &Directories) -> impl Iterator<Item = (&str, String)> {
    directories.iter().map(|(app, directory)| {
        let name = directory.file_name().map(|name| name.to_string_lossy().into_owned());
        (app.as_str(), name.unwrap_or_default())
    })
}

fn damaged(what: String, error: &serde_json::Error) -> Error {
    Error::Damaged { what, reason: error.to_string() }
}

fn is_older(time: EventTime, now: EventTime, than: Duration) -> bool {
    let than = i64::try_from(than.as_micros()).unwrap_or(i64::MAX);
    now.0.saturating_sub(time.0) > than
}

pub(crate) fn listed(file: PackedFile) -> Result<(Listed, Bytes), Error> {
    let bytes = Bytes::from(file.bytes);
    let path = file.path.to_str().ok_or_else(|| {
        Error::Invalid(format!("{}: names of files are UTF-8", file.path.display()))
    })?;
    let listed = Listed {
        path: path.to_owned(),
        sha256: sha256(&bytes),
        bytes: bytes.len() as u64,
        executable: file.executable,
    };
    Ok((listed, bytes))
}

/// The content of a file of the version before, if the file has not changed.
pub(crate) fn unchanged(before: &Path, file: &Listed) -> Option<Bytes> {
    let path = before.join(&file.path);
    let is_same_size = fs::metadata(&path).ok()?.len() == file.bytes;
    let bytes = is_same_size.then(|| fs::read(&path).ok())??;
    (sha256(&bytes) == file.sha256).then(|| bytes.into())
}

/// Whether a directory has all files of an app.
fn is_complete(directory: &Path, manifest: &Manifest) -> bool {
    let folder = directory.join("apps").join(&manifest.app);
    let is_there = |file: &Listed| {
        let metadata = fs::metadata(folder.join(&file.path));
        metadata.is_ok_and(|metadata| metadata.is_file() && metadata.len() == file.bytes)
    };
    folder.is_dir() && manifest.files.iter().all(is_there)
}
