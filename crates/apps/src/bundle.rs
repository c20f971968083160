//! The configuration bundle: a directory of several apps (`manager-apps`) that is put in force as one change,
//! in all processes, and can be taken back.
//!
//! ```text
//! manager-apps/<app>/...  --pack_changes-->  archive (`transfer.rs`)
//!   --> packages --> objects and manifests --> one commit: installed_app/<app> for all, bundle/manager-apps
//! ```
//!
//! Guarantees: the apps of a bundle are in force all or none, an app that is not in the directory any more is
//! taken out, and apps that were installed one by one stay. The directory is the truth: users' own files of
//! an app (`local`) are those of the directory. What has not changed is not moved again: neither to the
//! server, nor to object storage for hours, nor to the other processes.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::io::BufRead;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use catalog::NamedDocument;
use conf::Warning;
use futures::future::join;
use knowledge::Knowledge;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::blocking::{in_place, on_own_thread};
use crate::installation::{Bundle, Bundles, Installation, KIND};
use crate::installed::{Directories, InstalledApps, described, listed};
use crate::package::{Listed, Parents};
use crate::{Apps, Error, Package, PackedFile};

/// The document that is there while a bundle is applied.
const LOCK: (&str, &str) = ("bundle", "applying");
/// Time-out of applying a bundle: the lock of a process that holds it for longer is ignored.
const LOCKED: Duration = Duration::from_secs(600);
/// The kinds of files whose content rules are made of. Of others, a validation writes the names only.
const READ: [&str; 5] = ["conf", "form", "json", "meta", "xml"];
/// What errors call the apps.
const BUNDLE: &str = "the bundle";
/// Pause before another attempt to release a lock.
const AGAIN: Duration = Duration::from_secs(5);

/// The user and the process that apply a bundle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Applier {
    /// The user.
    pub by: String,
    /// The process, which others can check for being alive; `None` if it is not known.
    pub process: Option<Applying>,
}

/// A process that applies a bundle.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Applying {
    /// The identity of the process.
    pub id: String,
    /// Its start, as the list of processes has it: another start does not apply the bundle.
    pub started: String,
}

impl From<&str> for Applier {
    /// A user, in an unknown process.
    fn from(by: &str) -> Self {
        Self { by: by.to_owned(), process: None }
    }
}

/// The note that a bundle is being applied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BundleLock {
    /// The process that applies it.
    pub process: Applying,
    note: Value,
}

/// The files of an app that another version changes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Change {
    /// The app.
    pub app: String,
    /// Files that it gets.
    pub added: Vec<String>,
    /// Files with another content.
    pub changed: Vec<String>,
    /// Files that it loses.
    pub removed: Vec<String>,
}

/// The result of validating a bundle.
#[derive(Debug)]
pub struct Validated {
    /// The changes by app; apps without changes are not included.
    pub changes: Vec<Change>,
    /// The rules after the bundle is applied.
    pub rules: Arc<Knowledge>,
    /// The settings of apps that would be left out because they are wrong.
    pub ignored: Vec<Warning>,
    /// The directories of the files that the rules name.
    places: Vec<String>,
}

impl Validated {
    /// A text about the rules, with the files below their apps.
    #[must_use]
    pub fn shown(&self, text: &str) -> String {
        self.places.iter().fold(text.to_owned(), |text, place| text.replace(place, ""))
    }
}

/// Reads a directory of apps.
///
/// # Errors
/// [`Error::Invalid`] for something else in it than apps, or a file that cannot be read.
pub fn read_bundle(directory: &Path) -> Result<Vec<Package>, Error> {
    let fail =
        |source| Error::File { action: "read", path: directory.display().to_string(), source };
    let mut packages = Vec::new();
    for entry in fs::read_dir(directory).map_err(fail)? {
        let path = entry.map_err(fail)?.path();
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
        let name = name.unwrap_or_default();
        // Directories of version control systems and the operating system are not apps.
        if name.starts_with('.') {
            continue;
        }
        if !path.is_dir() || matches!(name.as_str(), "default" | "local" | "metadata") {
            return Err(Error::Invalid(format!(
                "{} is not an app: use a directory that contains a directory for each app, such as \
                 manager-apps",
                path.display()
            )));
        }
        packages.push(Package::read(&path)?);
    }
    packages.sort_by(|a, b| a.app.cmp(&b.app));
    let twice = packages.windows(2).find(|two| two[0].app == two[1].app);
    if let Some(two) = twice {
        return Err(Error::Invalid(format!("the app {} occurs twice", two[0].app)));
    }
    if packages.is_empty() {
        let path = directory.display();
        return Err(Error::Invalid(format!("{path} has no apps")));
    }
    Ok(packages)
}

impl InstalledApps {
    /// The files of all installed apps that are in force.
    ///
    /// # Errors
    /// If object storage fails, or something there is damaged.
    pub async fn files(&self) -> Result<BTreeMap<String, Vec<Listed>>, Error> {
        let mut files = BTreeMap::new();
        for (app, one) in self.all()? {
            let manifest = self.manifest(&app, &one.manifest).await?;
            files.insert(app, manifest.files.clone());
        }
        Ok(files)
    }

    /// Returns the changes from the apps in force to other apps; `None` removes an app.
    async fn changes(
        &self,
        apps: &BTreeMap<String, Option<Vec<Listed>>>,
    ) -> Result<Vec<Change>, Error> {
        let mut in_force = self.files().await?;
        let mut changes = Vec::new();
        for (app, files) in apps {
            let before = in_force.remove(app).unwrap_or_default();
            changes.extend(change(app, &before, files.as_deref().unwrap_or_default()));
        }
        Ok(changes)
    }

    /// Applies the apps as one change, in place of those of the bundle before. Returns the lock, which is
    /// still held.
    async fn apply(&self, packages: Vec<Package>, applier: &Applier) -> Result<Value, Error> {
        let lock = self.lock(applier).await?;
        let applied = self.apply_locked(packages, &applier.by, &lock).await;
        self.held_after(applied, lock).await
    }

    async fn apply_locked(
        &self,
        packages: Vec<Package>,
        by: &str,
        lock: &Value,
    ) -> Result<(), Error> {
        let in_force = self.all()?;
        let mut apps = BTreeMap::new();
        for Package { app, files, kept, .. } in packages {
            let files = listed(files).await?;
            let mut installation = self.store_version(&app, files, &kept, by).await?;
            let same = in_force.get(&app).filter(|known| known.manifest == installation.manifest);
            if let Some(same) = same {
                installation = same.clone();
            }
            apps.insert(app, installation);
        }
        self.commit(apps, by, lock).await
    }

    /// Reads the apps of a bundle that was in force.
    async fn packages_of(&self, bundle: &Bundle) -> Result<Vec<Package>, Error> {
        let mut packages = Vec::with_capacity(bundle.apps.len());
        for (app, installation) in &bundle.apps {
            let manifest = self.manifest(app, &installation.manifest).await?;
            let contents = self.contents(app, manifest.files.clone()).await?;
            let file = |(file, bytes): (&Listed, Bytes)| PackedFile {
                path: PathBuf::from(&file.path),
                bytes: bytes.into(),
                executable: file.executable,
            };
            let files = manifest.files.iter().zip(contents).map(file).collect();
            packages.push(Package { app: app.clone(), files, kept: Vec::new(), links: Vec::new() });
        }
        Ok(packages)
    }

    /// Puts the apps of the bundle before the last one in force again. Returns the lock, which is still held.
    async fn roll_back(&self, applier: &Applier) -> Result<Value, Error> {
        let lock = self.lock(applier).await?;
        let rolled = async {
            let bundles = Bundles::read(&self.catalog.snapshot())?;
            let previous = bundles.previous.ok_or_else(no_previous)?;
            for (app, installation) in &previous.apps {
                self.copy_app(app, &installation.manifest).await?;
            }
            self.commit(previous.apps, &applier.by, &lock).await
        };
        let rolled = rolled.await;
        self.held_after(rolled, lock).await
    }

    /// Commits these apps as those of the bundle; apps that are not in the bundle any more are removed.
    async fn commit(
        &self,
        apps: BTreeMap<String, Installation>,
        by: &str,
        lock: &Value,
    ) -> Result<(), Error> {
        let bundles = Bundles::read(&self.catalog.snapshot())?;
        let in_force = self.all()?;
        let mut documents: Vec<(String, String, Option<Value>)> = Vec::new();
        for (app, installation) in &apps {
            if in_force.get(app) != Some(installation) {
                documents.push((KIND.to_owned(), app.clone(), Some(json!(installation))));
            }
        }
        let before = bundles.active.unwrap_or_else(|| Bundle {
            // A rollback of the first bundle restores the apps that were installed before it.
            apps: in_force.iter().filter(|(app, _)| apps.contains_key(*app)).map(owned).collect(),
            ..Bundle::default()
        });
        for app in before.apps.keys().filter(|app| !apps.contains_key(*app)) {
            if in_force.contains_key(app) {
                documents.push((KIND.to_owned(), app.clone(), None));
            }
        }
        let active = Bundle { apps, applied: self.clock.now().0, by: by.to_owned() };
        let bundles = Bundles { active: Some(active), previous: Some(before) };
        documents.push(bundles.document());
        // After the lock has expired, another process may have applied a bundle.
        let locked = vec![lock_document(Some(lock))];
        self.catalog.replace_documents(locked, documents).await.map_err(|error| match error {
            catalog::Error::Changed { .. } => {
                Error::Changed("another bundle has been applied meanwhile".to_owned())
            }
            error => error.into(),
        })
    }

    /// Notes that a bundle is being applied; the note, which is unique.
    async fn lock(&self, Applier { by, process }: &Applier) -> Result<Value, Error> {
        let now = self.clock.now().0;
        let held = self.catalog.snapshot().document(LOCK.0, LOCK.1);
        if let Some(held) = &held {
            let since = held["since"].as_i64().unwrap_or_default();
            let age = now.saturating_sub(since) / 1_000_000;
            let left = i64::try_from(LOCKED.as_secs()).unwrap_or(i64::MAX).saturating_sub(age);
            if left > 0 {
                let who = held["by"].as_str().unwrap_or_default();
                return Err(Error::Changed(format!(
                    "a bundle is being applied by {who}, who began {age} s ago; try again when it is in \
                     effect; if the process that applies it was stopped, its lock expires in {left} s"
                )));
            }
        }
        let token = runtime::random::uuid().to_string();
        let lock = json!({ "token": token, "by": by, "since": now, "process": process });
        let before = vec![lock_document(held.as_deref())];
        let note = vec![lock_document(Some(&lock))];
        match self.catalog.replace_documents_in_time(before, note).await {
            Ok(()) => Ok(lock),
            Err(catalog::Error::Changed { .. }) => Err(Error::Changed(
                "another bundle is being applied; try again when it is in effect".to_owned(),
            )),
            Err(error) => {
                self.unlock_late(lock);
                Err(error.into())
            }
        }
    }

    /// Releases a lock that the catalog has not taken in time, and may take later: nobody applies a bundle
    /// under it.
    fn unlock_late(&self, lock: Value) {
        let catalog = self.catalog.clone();
        runtime::detached(released(move || {
            let (catalog, locked) = (catalog.clone(), vec![lock_document(Some(&lock))]);
            async move { catalog.replace_documents(locked, vec![lock_document(None)]).await }
        }));
    }

    /// Returns the lock of the bundle that is being applied; `None` if there is none, or it does not name the
    /// process.
    fn held(&self) -> Option<BundleLock> {
        let note = self.catalog.snapshot().document(LOCK.0, LOCK.1)?;
        let process = serde_json::from_value(note["process"].clone()).ok()?;
        Some(BundleLock { process, note: note.as_ref().clone() })
    }

    /// Returns the lock after a change; releases it if the change has failed.
    async fn held_after(&self, changed: Result<(), Error>, lock: Value) -> Result<Value, Error> {
        if changed.is_err() {
            self.unlock(&lock).await;
        }
        changed.map(|()| lock)
    }

    async fn unlock(&self, lock: &Value) {
        let locked = vec![lock_document(Some(lock))];
        match self.catalog.replace_documents(locked, vec![lock_document(None)]).await {
            // The lock has expired, and another process has taken it.
            Ok(()) | Err(catalog::Error::Changed { .. }) => {}
            Err(error) => {
                tracing::warn!(%error, "no other bundle can be applied for ten minutes");
            }
        }
    }
}

/// Releases a lock: tries again for as long as the lock could be in force.
pub(crate) async fn released<F>(release: impl Fn() -> F)
where
    F: Future<Output = Result<(), catalog::Error>>,
{
    let start = Instant::now();
    loop {
        let error = match release().await {
            Ok(()) => return,
            // Another process holds the lock, so the catalog has not taken this one; or this process ends.
            Err(catalog::Error::Changed { .. } | catalog::Error::Closed { .. }) => return,
            Err(error) => error,
        };
        if start.elapsed() >= LOCKED {
            tracing::warn!(%error, "the lock of a bundle that was refused could not be released");
            return;
        }
        tracing::debug!(%error, "the lock of a bundle that was refused is not released yet");
        tokio::time::sleep(AGAIN).await;
    }
}

fn lock_document(lock: Option<&Value>) -> NamedDocument {
    (LOCK.0.to_owned(), LOCK.1.to_owned(), lock.cloned())
}

fn no_previous() -> Error {
    Error::Changed("there is no previous bundle".to_owned())
}

fn owned((app, one): (&String, &Installation)) -> (String, Installation) {
    (app.clone(), one.clone())
}

/// Compares the files of an app; `None` if they are equal.
fn change(app: &str, before: &[Listed], after: &[Listed]) -> Option<Change> {
    let old: HashMap<&str, &Listed> =
        before.iter().map(|file| (file.path.as_str(), file)).collect();
    let new: BTreeSet<&str> = after.iter().map(|file| file.path.as_str()).collect();
    let mut change = Change { app: app.to_owned(), ..Change::default() };
    for file in after {
        match old.get(file.path.as_str()) {
            None => change.added.push(file.path.clone()),
            Some(known) if *known != file => change.changed.push(file.path.clone()),
            Some(_) => {}
        }
    }
    let gone = before.iter().filter(|file| !new.contains(file.path.as_str()));
    change.removed.extend(gone.map(|file| file.path.clone()));
    let is_none = change.added.is_empty() && change.changed.is_empty() && change.removed.is_empty();
    (!is_none).then_some(change)
}

impl Apps {
    /// Returns the bundles in the catalog.
    ///
    /// # Errors
    /// [`Error::Damaged`].
    pub fn bundles(&self) -> Result<Bundles, Error> {
        Bundles::read(&self.installed()?.catalog.snapshot())
    }

    /// The files of all installed apps that are in force.
    ///
    /// # Errors
    /// As [`InstalledApps::files`].
    pub async fn bundle_files(&self) -> Result<BTreeMap<String, Vec<Listed>>, Error> {
        self.installed()?.files().await
    }

    /// Returns the apps of a packed bundle ([`crate::pack_changes`], or any archive of a directory of apps).
    ///
    /// # Errors [`Error::Invalid`] for what is none or cannot be installed, [`Error::Changed`] for a file
    /// that is not in the archive and not in force any more.
    pub async fn unpack_bundle(&self, archive: impl BufRead + Send) -> Result<Vec<Package>, Error> {
        let packages = self.installed()?.unpack(archive).await?;
        for package in &packages {
            self.check_installable(&package.app)?;
        }
        Ok(packages)
    }

    /// Returns the changes and the warnings of a bundle, before it is in force.
    ///
    /// # Errors
    /// If files of apps cannot be read or written.
    pub async fn validate_bundle(&self, packages: &[Package]) -> Result<Validated, Error> {
        let installed = self.installed()?;
        let bundles = self.bundles()?;
        let mut after: BTreeMap<String, Option<Vec<Listed>>> = BTreeMap::new();
        for app in bundles.active.iter().flat_map(|bundle| bundle.apps.keys()) {
            after.insert(app.clone(), None);
        }
        let mut bytes = 0;
        for package in packages {
            let list = || package.files.iter().map(described).collect::<Result<Vec<_>, Error>>();
            let mut files = in_place(list)?;
            files.extend_from_slice(&package.kept);
            files.sort_by(|a, b| a.path.cmp(&b.path));
            bytes += installed.new_bytes(&package.app, &files);
            after.insert(package.app.clone(), Some(files));
        }
        installed.check_room(BUNDLE, bytes)?;
        let changes = installed.changes(&after).await?;
        let mut directories = installed.directories();
        directories.retain(|app, _| !after.contains_key(app));
        let trial = in_place(|| Trial::of(installed, packages, &mut directories))?;
        let (rules, ignored) = in_place(|| on_own_thread(|| self.rules_with(&directories)))?;
        let places = directories.values().map(|directory| format!("{}/", directory.display()));
        let mut places: Vec<String> = places.collect();
        places.extend(installed.directories().values().map(|old| format!("{}/", old.display())));
        places.sort();
        places.dedup();
        in_place(|| drop(trial));
        Ok(Validated { changes, rules, ignored: ignored.to_vec(), places })
    }

    /// Puts a bundle in force in all processes, and returns when it is in this one.
    ///
    /// # Errors
    /// [`Error::Changed`] while another one is being applied, or if object storage or the catalog fail.
    pub async fn apply_bundle(
        &self,
        packages: Vec<Package>,
        applier: impl Into<Applier>,
    ) -> Result<(), Error> {
        let applier = applier.into();
        self.note_bundle().await;
        let lock = self.installed()?.apply(packages, &applier).await?;
        self.apply_and_unlock(&lock).await?;
        self.note_bundle().await;
        self.collect_garbage_beside()
    }

    /// Puts in force here what is committed, while the catalog releases the lock.
    async fn apply_and_unlock(&self, lock: &Value) -> Result<(), Error> {
        let unlocked = self.installed()?.unlock(lock);
        let (applied, ()) = join(self.apply_installed(), unlocked).await;
        applied
    }

    /// Returns the apps of the bundle before the last one, to validate a rollback to it.
    ///
    /// # Errors
    /// [`Error::Changed`] if there is none, or if object storage fails.
    pub async fn previous_bundle(&self) -> Result<Vec<Package>, Error> {
        let previous = self.bundles()?.previous.ok_or_else(no_previous)?;
        self.installed()?.packages_of(&previous).await
    }

    /// Rolls back to the bundle before the last one.
    ///
    /// # Errors
    /// [`Error::Changed`] if there is none, or another one is being applied.
    pub async fn roll_back_bundle(&self, applier: impl Into<Applier>) -> Result<(), Error> {
        let applier = applier.into();
        self.note_bundle().await;
        let lock = self.installed()?.roll_back(&applier).await?;
        self.apply_and_unlock(&lock).await?;
        self.note_bundle().await;
        Ok(())
    }

    /// Returns the process that is applying a bundle, or that was stopped while it did; `None` if there is
    /// none, or its name is not known.
    ///
    /// # Errors
    /// If no apps can be installed here.
    pub fn bundle_lock(&self) -> Result<Option<BundleLock>, Error> {
        Ok(self.installed()?.held())
    }

    /// Releases the lock of a process that does not run any more. If it does run nevertheless, its commit is
    /// refused: a bundle can be committed only under its own lock.
    ///
    /// # Errors
    /// If the catalog does not take the change.
    pub async fn release_bundle_lock(&self, lock: &BundleLock) -> Result<(), Error> {
        let held = vec![lock_document(Some(&lock.note))];
        let catalog = &self.installed()?.catalog;
        match catalog.replace_documents(held, vec![lock_document(None)]).await {
            // The process has finished in the meantime.
            Ok(()) | Err(catalog::Error::Changed { .. }) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// The digest of the installed apps that the catalog has; none where none can be installed.
    #[must_use]
    pub fn latest_checksum(&self) -> Option<String> {
        self.installed().and_then(|installed| installed.latest_checksum()).ok()
    }

    /// The digest of the installed apps by which this process works; none where none can be installed. Of the
    /// apps of a bundle ([`Self::at`]), its version.
    #[must_use]
    pub fn checksum(&self) -> Option<String> {
        if let Some(bundle) = self.earlier_bundle() {
            return Some(bundle.to_owned());
        }
        self.installed().ok().map(|installed| installed.checksum())
    }
}

/// Whether rules are made of the content of a file.
fn is_read(file: &&PackedFile) -> bool {
    file.path.extension().is_some_and(|kind| READ.iter().any(|known| kind == *known))
}

/// A bundle on the local disk that is not in force; removed in the end.
struct Trial(PathBuf);

impl Trial {
    fn of(
        installed: &InstalledApps,
        packages: &[Package],
        directories: &mut Directories,
    ) -> Result<Self, Error> {
        let name = format!(".validate-{}", runtime::random::uuid());
        let written = packages.iter().flat_map(|package| &package.files).filter(is_read);
        installed.check_room(BUNDLE, written.map(|file| file.bytes.len() as u64).sum())?;
        let trial = Self(installed.directory.join(name));
        for package in packages {
            let folder = trial.0.join("apps").join(&package.app);
            let fail = |source| Error::File {
                action: "create",
                path: folder.display().to_string(),
                source,
            };
            fs::create_dir_all(&folder).map_err(fail)?;
            let mut parents = Parents::default();
            let read = package.files.iter().filter(is_read);
            let contents: HashMap<&Path, &[u8]> =
                read.map(|file| (file.path.as_path(), file.bytes.as_slice())).collect();
            for path in package.paths() {
                let content = contents.get(path).copied().unwrap_or_default();
                let path = folder.join(path);
                let written = parents.create(&path).and_then(|()| fs::write(&path, content));
                written.map_err(|source| Error::File {
                    action: "write",
                    path: path.display().to_string(),
                    source,
                })?;
            }
            directories.insert(package.app.clone(), trial.0.clone());
        }
        Ok(trial)
    }
}

impl Drop for Trial {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
