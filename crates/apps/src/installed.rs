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
//! none. Files of copies are never changed: what two versions have is one file with two names
//! (`installed/copying.rs`). A version that is replaced stays where it is for a while, for searches that run
//! its programs and for processes that are about to copy it. Leaves to others: what the files mean (`conf`,
//! `knowledge`).

mod copying;
mod kept;
mod transfers;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use catalog::Catalog;
use futures::TryStreamExt;
use futures::future::try_join;
use model::EventTime;
use object_store::path::Path as ObjectPath;
use object_store::{ObjectMeta, ObjectStore, ObjectStoreExt};
use parking_lot::Mutex;
use runtime::Clock;
use serde::{Deserialize, Serialize};

use self::copying::Contents;
use self::transfers::OnTheWay;
use crate::Error;
use crate::blocking::blocking;
use crate::digest::sha256;
use crate::install::is_local;
use crate::installation::{Bundles, Installation, KIND, checksum};
use crate::package::{Listed, Package, PackedFile};
use crate::room::Room;

/// The directory of the objects in object storage.
const ROOT: &str = "installed";
/// Parts of the path of an object: `installed/<app>/<digest>`.
const OF_APP: usize = 3;
/// Maximum number of files that are read or written at the same time.
const AT_ONCE: usize = 32;
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

/// The directory of each installed app, which has `apps/<app>`.
pub(crate) type Directories = BTreeMap<String, PathBuf>;

/// The copies on the local disk.
#[derive(Debug, Default)]
struct Copies {
    /// The versions in force that are complete: directory by app.
    current: Directories,
    /// When a version was found to be replaced.
    replaced: HashMap<PathBuf, EventTime>,
    /// The manifests of complete copies, by directory.
    known: HashMap<PathBuf, Known>,
}

/// A complete copy.
#[derive(Debug)]
struct Known {
    manifest: Arc<Manifest>,
    /// Whether this process has written it or compared the digests. If not, only sizes are known to be right.
    is_verified: bool,
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
    on_the_way: OnTheWay,
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
        let (room, noted, copies, on_the_way, copying) = Default::default();
        let retention = RETENTION;
        Self {
            catalog,
            store,
            directory,
            clock,
            room,
            retention,
            noted,
            copies,
            on_the_way,
            copying,
        }
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

    /// Refuses what the local disk has no room for.
    pub(crate) fn check_room(&self, what: &str, bytes: u64) -> Result<(), Error> {
        self.room.check(&self.directory, what, bytes)
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
        let Package { app, files, mut kept, .. } = package;
        let before = self.all()?.remove(&app);
        if before.is_some() && !update {
            return Err(Error::Exists(app));
        }
        let mut own: Vec<Listed> = Vec::new();
        if let Some(before) = &before {
            let manifest = self.manifest(&app, &before.manifest).await?;
            let local = manifest.files.iter().filter(|file| is_local(Path::new(&file.path)));
            own.extend(local.cloned());
        }
        let is_own = |path: &Path| own.iter().any(|own| Path::new(&own.path) == path);
        let new: Vec<PackedFile> = files.into_iter().filter(|file| !is_own(&file.path)).collect();
        kept.retain(|file| !is_own(Path::new(&file.path)));
        kept.extend(own);
        let new = listed(new).await?;
        let installation = self.store_version(&app, new, &kept, by).await?;
        let json =
            serde_json::to_value(&installation).map_err(|error| damaged(app.clone(), &error))?;
        self.catalog.put_document(KIND, &app, json).await?;
        Ok(())
    }

    /// Stores a version of an app, and copies it to the local disk. Files that are `kept` are those of an
    /// earlier version: in the copy in force, or in object storage.
    pub(crate) async fn store_version(
        &self,
        app: &str,
        files: Vec<(Listed, Bytes)>,
        kept: &[Listed],
        by: &str,
    ) -> Result<Installation, Error> {
        let new = files.iter().map(|(file, _)| file);
        let mut listed: Vec<Listed> = new.chain(kept).cloned().collect();
        listed.sort_by(|a, b| a.path.cmp(&b.path));
        let (count, bytes) = (listed.len(), listed.iter().map(|file| file.bytes).sum());
        let manifest = Manifest { app: app.to_owned(), files: listed };
        let text =
            serde_json::to_vec(&manifest).map_err(|error| damaged(app.to_owned(), &error))?;
        let digest = sha256(&text);
        self.check_version(&manifest)?;
        let content = |(file, bytes): &(Listed, Bytes)| (file.sha256.clone(), bytes.clone());
        let contents: Contents = files.iter().map(content).collect();
        // Nothing reads the manifest before the catalog names it.
        let written = self.write(app, &digest, text.into());
        let stored = try_join(self.write_files(app, &files, kept), written);
        // An app that cannot be copied here cannot be copied elsewhere either: the copy is tested before the
        // app is in force.
        let copied = self.copy_contents(&digest, Arc::new(manifest), contents);
        try_join(stored, copied).await?;
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

    /// Copies the missing files of the versions that the catalog has, while others are in force here. What
    /// fails is tried again by [`Self::copy`].
    pub(crate) async fn copy_ahead(&self) {
        let _copying = self.copying.lock().await;
        for (app, installation) in self.all().unwrap_or_default() {
            if let Err(error) = self.copy_app_alone(&app, &installation.manifest).await {
                tracing::debug!(%error, %app, "cannot copy an app yet");
            }
        }
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
                // If it cannot be removed whole, it is not complete any more.
                copies.known.remove(&directory);
                if let Err(error) = fs::remove_dir_all(&directory) {
                    let directory = directory.display();
                    tracing::warn!(%error, %directory, "cannot remove the copy of an app");
                }
            }
        }
        copies.known.retain(|directory, _| directory.is_dir());
    }

    /// Removes all local copies that are not in force, which an earlier process has left.
    pub fn remove_old_copies(&self) {
        let current: BTreeSet<PathBuf> = self.directories().into_values().collect();
        let Ok(entries) = fs::read_dir(&self.directory) else { return };
        let all = entries.filter_map(Result::ok).map(|entry| entry.path());
        for left in all.filter(|directory| !current.contains(directory)) {
            // A file is what a process has left that was killed while it created one without a name.
            let _ = fs::remove_dir_all(&left).or_else(|_| fs::remove_file(&left));
        }
    }

    /// The manifest of a version.
    ///
    /// # Errors
    /// If object storage fails, or the manifest is damaged.
    pub(crate) async fn manifest(&self, app: &str, digest: &str) -> Result<Arc<Manifest>, Error> {
        if let Some(known) = self.known(&self.directory.join(digest)) {
            return Ok(known);
        }
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
        Ok(Arc::new(manifest))
    }

    /// The manifest of a complete copy.
    fn known(&self, directory: &Path) -> Option<Arc<Manifest>> {
        self.copies.lock().known.get(directory).map(|known| Arc::clone(&known.manifest))
    }

    /// Reads an object, and checks that its content has the digest in its name.
    async fn object(&self, app: &str, digest: &str) -> Result<Bytes, Error> {
        let path = object(app, digest);
        let found = self.store.get(&path).await.map_err(failed("read", &path))?;
        let bytes = found.bytes().await.map_err(failed("read", &path))?;
        let (what, digest) = (object(app, digest).to_string(), digest.to_owned());
        blocking(move || check(&bytes, &digest, what).map(|()| bytes)).await
    }

    /// Returns the objects of a version of an app: its manifest, and the files.
    async fn objects_of(&self, app: &str, digest: &str) -> Result<Vec<ObjectPath>, Error> {
        let manifest = self.manifest(app, digest).await?;
        let digests = manifest.files.iter().map(|file| file.sha256.as_str()).chain([digest]);
        Ok(digests.map(|digest| object(app, digest)).collect())
    }

    /// Deletes the objects that neither an app in force nor a kept bundle has, and that are too old for a
    /// process to be still reading them.
    ///
    /// # Errors
    /// If object storage fails. What is left is deleted with the next installation.
    pub(crate) async fn collect_garbage(&self) -> Result<(), Error> {
        let mut known: BTreeSet<ObjectPath> = BTreeSet::new();
        for (app, installation) in self.all()? {
            known.extend(self.objects_of(&app, &installation.manifest).await?);
        }
        // A rollback needs the previous bundle, which the active one is after the next change. Its apps may
        // have been replaced or removed one by one.
        let Bundles { active, previous } = Bundles::read(&self.catalog.snapshot())?;
        for (app, installation) in [active, previous].into_iter().flatten().flat_map(|one| one.apps)
        {
            known.extend(self.objects_if_any(&app, &installation.manifest).await?);
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
            if !is_past_grace(&object, now) || known.contains(&object.location) {
                continue;
            }
            // An installation may have written it again since it was listed.
            match self.store.head(&object.location).await {
                Ok(found) if !is_past_grace(&found, now) => continue,
                Ok(_) => {}
                Err(object_store::Error::NotFound { .. }) => continue,
                Err(source) => return Err(fail("read")(source)),
            }
            self.store.delete(&object.location).await.map_err(fail("delete"))?;
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

/// Whether no process can be about to read an object any more, unless a version names it.
fn is_past_grace(object: &ObjectMeta, now: EventTime) -> bool {
    is_older(EventTime(object.last_modified.timestamp_micros()), now, OBJECT_GRACE)
}

/// The place of a file or a manifest in object storage.
fn object(app: &str, digest: &str) -> ObjectPath {
    ObjectPath::from_iter([ROOT, app, digest])
}

fn failed(
    action: &'static str,
    path: &ObjectPath,
) -> impl FnOnce(object_store::Error) -> Error + use<> {
    let path = path.to_string();
    move |source| Error::Store { action, path, source }
}

/// Refuses a content that has another digest.
fn check(bytes: &[u8], digest: &str, what: String) -> Result<(), Error> {
    if sha256(bytes) == digest {
        return Ok(());
    }
    Err(Error::Damaged { what, reason: "its content has another digest".to_owned() })
}

/// Lists files, with their contents.
pub(crate) async fn listed(files: Vec<PackedFile>) -> Result<Vec<(Listed, Bytes)>, Error> {
    let one = |file: PackedFile| described(&file).map(|listed| (listed, Bytes::from(file.bytes)));
    blocking(move || files.into_iter().map(one).collect()).await
}

/// A file as manifests list it.
pub(crate) fn described(file: &PackedFile) -> Result<Listed, Error> {
    let path = file.path.to_str().ok_or_else(|| {
        Error::Invalid(format!("{}: names of files are UTF-8", file.path.display()))
    })?;
    Ok(Listed {
        path: path.to_owned(),
        sha256: sha256(&file.bytes),
        bytes: file.bytes.len() as u64,
        executable: file.executable,
    })
}
