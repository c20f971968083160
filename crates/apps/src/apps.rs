//! The apps of an installation: the objects that each namespace sees, and changes of them.

mod disabled;
mod export;
mod files;
mod info;
mod moves;
mod past;
mod reload;
mod system;
mod unset;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use catalog::{Catalog, Followed, Snapshot};
use conf::{Layer, Layers, Warning};
use futures::future::BoxFuture;
use knowledge::Knowledge;
use object_store::ObjectStore;
use parking_lot::RwLock;
use tokio::sync::Notify;

pub use self::disabled::ObjectChange;
pub use self::export::{Export, ExportTurn};
pub use self::files::FileRules;
use self::files::Files;
pub use self::info::AppInfo;
pub use self::reload::Reloaded;
use crate::blocking::blocking_apart;
use crate::collections::Collections;
use crate::installed::{Directories, InstalledApps};
use crate::listing::Listing;
use crate::lookups::Lookups;
use crate::objects::{KIND, Stored, changed_confs, check_name, document, with_objects};
use crate::rules::{Rules, STATE};
use crate::views::{Source, Views};
use crate::{ConfObject, Error, NOBODY, Namespace, Package, SEARCH, SYSTEM, Settings, Sharing};

/// The configuration file with the properties of an app (`app.conf`).
const APP: &str = "app";

/// The components that apps depend on.
#[derive(Debug, Clone)]
pub struct Parts {
    /// Stores the objects that are created at run time.
    pub catalog: Catalog,
    /// Holds lookups and collections.
    pub store: Arc<dyn ObjectStore>,
    /// The configuration files, as read at the start.
    pub knowledge: Arc<Knowledge>,
    /// The settings of apps that were left out of them because they are invalid.
    pub ignored: Vec<Warning>,
    /// The directory they are in, if there is one; lookup files are read from there.
    pub directory: Option<PathBuf>,
    /// Whether other processes change collections, too.
    pub shared: bool,
    /// Apps that are installed at run time; `None`: none can be.
    pub installed: Option<Arc<InstalledApps>>,
    /// Removes invalid settings of apps.
    pub tolerate: Tolerate,
}

/// Removes invalid settings of apps, and returns a warning for each.
pub type Tolerate = fn(&mut Layers) -> Vec<Warning>;

/// A component that is notified when the apps in force change.
pub trait Applied: fmt::Debug + Send + Sync {
    /// Applies these rules from now on, except in a component that has ended. `ignored` are the settings of
    /// apps that were left out of the rules because they are invalid.
    fn apply<'a>(&'a self, rules: &'a Arc<Knowledge>, ignored: &'a [Warning]) -> BoxFuture<'a, ()>;
}

/// All apps. Clones are handles to the same.
#[derive(Debug, Clone)]
pub struct Apps {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    catalog: Catalog,
    directory: Option<PathBuf>,
    /// The configuration files, as read last, without installed apps.
    base: RwLock<FileRules>,
    /// Whether this is one of several processes of a cluster.
    shared: bool,
    state: RwLock<State>,
    /// Changes, one at a time.
    writing: tokio::sync::Mutex<()>,
    installed: Option<Arc<InstalledApps>>,
    tolerate: Tolerate,
    /// Reloads, one at a time.
    reloading: tokio::sync::Mutex<()>,
    /// Exports, one at a time: an app is in memory while it is packed.
    exporting: Arc<tokio::sync::Mutex<()>>,
    /// The rules that [`Applied`] received last. The lock serializes changes.
    in_force: tokio::sync::Mutex<Arc<Knowledge>>,
    /// Other processes have changed objects.
    changed: Notify,
    applied: OnceLock<Arc<dyn Applied>>,
    views: Views,
    lookups: Arc<Lookups>,
    collections: Arc<Collections>,
    /// The bundle that these apps are those of; `None` for the apps in force.
    bundle: Option<String>,
    /// The apps of bundles that were used last.
    past: tokio::sync::Mutex<Vec<Apps>>,
}

/// The files of apps at a moment: where a search that was planned then finds lookups and programs. Clones are
/// cheap.
#[derive(Debug, Clone)]
pub struct AppFiles {
    files: Arc<Files>,
    layers: Arc<Layers>,
}

impl AppFiles {
    /// Returns the names of all apps, in order, including those that every installation has.
    pub(crate) fn apps(&self) -> BTreeSet<String> {
        let mut names = self.layers.apps();
        names.extend([SEARCH.to_owned()]);
        names
    }

    /// Whether other apps see a lookup file of an app.
    pub(crate) fn shows_lookup(&self, app: &str, name: &str) -> bool {
        self.layers.shows(app, crate::lookups::ROOT, name)
    }
}

#[derive(Debug, Clone)]
struct State {
    files: Arc<Files>,
    /// Stored objects, by the names of their documents.
    objects: Arc<BTreeMap<String, Stored>>,
    layers: Arc<Layers>,
    knowledge: Arc<Knowledge>,
    rules: Rules,
}

impl State {
    fn new(files: Arc<Files>, objects: Arc<BTreeMap<String, Stored>>) -> Self {
        let rules = Rules::new(&files.rules, &objects);
        let layers = with_objects(&files.layers, objects.values()).without_disabled();
        let layers = Arc::new(layers);
        let knowledge = Arc::new(Knowledge::new(layers.shared()));
        Self { files, objects, layers, knowledge, rules }
    }

    /// The same files with other objects.
    fn with(&self, objects: BTreeMap<String, Stored>) -> Self {
        let rules = self.rules.with(&objects);
        let layers = with_objects(&self.files.layers, objects.values()).without_disabled();
        let layers = Arc::new(layers);
        let changed = changed_confs(&self.objects, &objects);
        let knowledge = Arc::new(self.knowledge.changed(layers.shared(), &changed));
        Self {
            files: Arc::clone(&self.files),
            objects: Arc::new(objects),
            layers,
            knowledge,
            rules,
        }
    }

    fn app_files(&self) -> AppFiles {
        AppFiles { files: Arc::clone(&self.files), layers: Arc::clone(&self.layers) }
    }

    fn listing<'s>(&'s self, conf: &'s str) -> Listing<'s> {
        let (objects, pages) = (&self.objects, &self.files.pages);
        Listing { conf, layers: &self.layers, objects, pages }
    }
}

impl Followed for Apps {
    fn kind(&self) -> &'static str {
        KIND
    }

    fn reload(&self) -> Result<(), String> {
        let mut state = self.inner.state.write();
        let objects =
            Self::read(&self.inner.catalog.snapshot()).map_err(|error| error.to_string())?;
        // A change of this process is there already.
        if objects != *state.objects {
            *state = state.with(objects);
            self.inner.changed.notify_one();
        }
        Ok(())
    }
}

impl Apps {
    /// Opens the apps: adds the objects of the catalog to the configuration files.
    ///
    /// # Errors
    /// If a document is damaged.
    pub fn open(parts: Parts) -> Result<Self, Error> {
        let base = FileRules { rules: parts.knowledge, ignored: parts.ignored.into() };
        let objects = Self::read(&parts.catalog.snapshot())?;
        let directories = parts.installed.as_ref().map(|installed| installed.directories());
        let directories = directories.unwrap_or_default();
        let directory = parts.directory.as_deref();
        let files = Files::new(&base, directory, directories, parts.tolerate)?;
        let state = State::new(files, Arc::new(objects));
        let in_force = tokio::sync::Mutex::new(Arc::clone(&state.rules.all));
        let (store, shared) = (parts.store, parts.shared.then(|| parts.catalog.clone()));
        let inner = Inner {
            lookups: Arc::new(Lookups::new(Arc::clone(&store))),
            collections: Arc::new(Collections::new(store, shared)),
            catalog: parts.catalog,
            directory: parts.directory,
            base: RwLock::new(base),
            shared: parts.shared,
            state: RwLock::new(state),
            writing: tokio::sync::Mutex::new(()),
            installed: parts.installed,
            tolerate: parts.tolerate,
            reloading: tokio::sync::Mutex::new(()),
            exporting: Arc::default(),
            in_force,
            changed: Notify::new(),
            applied: OnceLock::new(),
            views: Views::default(),
            bundle: None,
            past: tokio::sync::Mutex::default(),
        };
        Ok(Self { inner: Arc::new(inner) })
    }

    fn read(snapshot: &Snapshot) -> Result<BTreeMap<String, Stored>, Error> {
        let mut objects = BTreeMap::new();
        for document in snapshot.documents(KIND) {
            let stored: Stored = serde_json::from_value(document.json.as_ref().clone())
                .map_err(|error| damaged(&document.name, &error))?;
            objects.insert(document.name, stored.of_any_version());
        }
        Ok(objects)
    }

    /// The directory of configuration, if there is one.
    #[must_use]
    pub fn directory(&self) -> Option<&Path> {
        self.inner.directory.as_deref()
    }

    /// The directory that has `apps/<app>`, if the app has files.
    #[must_use]
    pub fn directory_of(&self, app: &str) -> Option<PathBuf> {
        let installed = self.inner.state.read().files.installed.get(app).cloned();
        installed.or_else(|| self.inner.directory.clone())
    }

    /// The files in force.
    #[must_use]
    pub fn files(&self) -> AppFiles {
        self.inner.state.read().app_files()
    }

    /// The directory of an app among these files; `None` if it is disabled. The files of a version that was
    /// replaced are kept for an hour; after that, it is the directory in force.
    #[must_use]
    pub fn directory_at(&self, files: &AppFiles, app: &str) -> Option<PathBuf> {
        if files.is_disabled(app) {
            return None;
        }
        match files.files.installed.get(app) {
            Some(directory) if directory.is_dir() => Some(directory.clone()),
            Some(_) => self.directory_of(app),
            None => self.inner.directory.clone(),
        }
    }

    /// Installs an app in all processes, and returns when it is in force in this one.
    ///
    /// # Errors [`Error::Exists`] without `update`, [`Error::Invalid`] if it cannot be installed, or if
    /// object storage or the catalog fail.
    pub async fn install(&self, package: Package, update: bool, by: &str) -> Result<(), Error> {
        self.check_installable(&package.app)?;
        let installed = self.installed()?;
        self.note_bundle().await;
        installed.put(package, update, by).await?;
        self.apply_installed().await?;
        self.note_bundle().await;
        self.collect_garbage_beside()
    }

    /// Refuses an app that is in the directory of configuration.
    pub(crate) fn check_installable(&self, app: &str) -> Result<(), Error> {
        let is_here = self.base().rules.layers().apps().contains(app) || app == SYSTEM;
        if is_here && !self.installed()?.all()?.contains_key(app) {
            let text = format!(
                "the app {app} is in the configuration directory (--conf-dir): update it there with \
                 `karst app install --update --conf-dir`, or remove it there and run `karst reload apps` \
                 (in a cluster, restart the processes)"
            );
            return Err(Error::Invalid(text));
        }
        Ok(())
    }

    /// Deletes unused objects in the background.
    pub(crate) fn collect_garbage_beside(&self) -> Result<(), Error> {
        let cleaning = Arc::clone(self.installed()?);
        runtime::detached(async move {
            if let Err(error) = cleaning.collect_garbage().await {
                tracing::warn!(%error, "cannot delete the files of replaced versions of apps");
            }
        });
        Ok(())
    }

    /// Returns the rules of the files with other installed apps, and the settings that are ignored.
    pub(crate) fn rules_with(
        &self,
        installed: &Directories,
    ) -> Result<(Arc<Knowledge>, Arc<[Warning]>), Error> {
        let all = self.base().with_installed(installed, self.inner.tolerate)?;
        Ok((all.rules, all.ignored))
    }

    fn base(&self) -> FileRules {
        self.inner.base.read().clone()
    }

    pub(crate) fn installed(&self) -> Result<&Arc<InstalledApps>, Error> {
        self.inner.installed.as_ref().ok_or_else(|| {
            Error::Invalid("this process cannot install apps: it has no data directory".to_owned())
        })
    }

    /// Registers a component that is notified when the apps in force change.
    pub fn tell(&self, applied: Arc<dyn Applied>) {
        let _ = self.inner.applied.set(applied);
    }

    /// Copies the installed apps that the catalog has now, which takes seconds if they are large.
    /// [`Self::apply_installed`] puts them in force, and reports what could not be copied.
    pub async fn copy_installed(&self) {
        if let Ok(installed) = self.installed() {
            installed.copy_ahead().await;
        }
    }

    /// Applies the installed apps that the catalog has now, and returns when they are in force.
    ///
    /// # Errors
    /// The first app that could not be copied; it stays as it was. The others are in force.
    pub async fn apply_installed(&self) -> Result<(), Error> {
        let installed = self.installed()?;
        let mut in_force = self.inner.in_force.lock().await;
        let failed = installed.copy().await;
        let directories = installed.directories();
        if directories != self.inner.state.read().files.installed {
            let (base, tolerate) = (self.base(), self.inner.tolerate);
            let directory = self.inner.directory.clone();
            let objects = Arc::clone(&self.inner.state.read().objects);
            let read = move || {
                let files = Files::new(&base, directory.as_deref(), directories, tolerate)?;
                Ok(State::new(files, objects))
            };
            let new = blocking_apart(read).await?;
            {
                let mut state = self.inner.state.write();
                // Objects may have been changed meanwhile.
                *state = match Arc::ptr_eq(&new.objects, &state.objects) {
                    true => new,
                    false => State::new(new.files, Arc::clone(&state.objects)),
                };
            }
            self.inner.views.forget();
        }
        self.put_in_force(&mut in_force).await;
        failed.into_iter().next().map_or(Ok(()), |(_, error)| Err(error))
    }

    /// Waits until another process has changed objects: [`Self::apply_installed`] puts them in force.
    pub async fn changed(&self) {
        self.inner.changed.notified().await;
    }

    /// Sends the rules to the components if they have changed since the last time, and returns when they are
    /// in force.
    async fn put_in_force(&self, in_force: &mut Arc<Knowledge>) {
        let (rules, ignored) = (self.rules(), self.ignored());
        if !Arc::ptr_eq(&rules, in_force)
            && let Some(applied) = self.inner.applied.get()
        {
            applied.apply(&rules, &ignored).await;
            *in_force = rules;
        }
    }

    /// Returns the index-time rules: those of files, including installed apps, and of shared objects.
    #[must_use]
    pub fn rules(&self) -> Arc<Knowledge> {
        Arc::clone(&self.inner.state.read().rules.all)
    }

    /// Returns the settings of apps that were left out of the rules because they are invalid.
    #[must_use]
    pub fn ignored(&self) -> Arc<[Warning]> {
        Arc::clone(&self.inner.state.read().files.ignored)
    }

    /// Returns the current knowledge that all users share.
    #[must_use]
    pub fn knowledge(&self) -> Arc<Knowledge> {
        Arc::clone(&self.inner.state.read().knowledge)
    }

    /// Returns the current knowledge for searches of a namespace.
    #[must_use]
    pub fn view(&self, namespace: &Namespace) -> Arc<Knowledge> {
        self.view_without(namespace, &[])
    }

    /// The same without the shared objects of these places ([`ConfObject::place`]), types (`nobody/app/type`)
    /// and apps (`nobody/app`), which somebody may not read: to that user's searches they do not exist.
    #[must_use]
    pub fn view_without(&self, namespace: &Namespace, hidden: &[String]) -> Arc<Knowledge> {
        self.view_with_files(namespace, hidden).0
    }

    /// The same, and the files that it is of: another version of an app may be in force a moment later.
    #[must_use]
    pub fn view_with_files(
        &self,
        namespace: &Namespace,
        hidden: &[String],
    ) -> (Arc<Knowledge>, AppFiles) {
        let (source, of) = {
            let state = self.inner.state.read();
            let (files, objects) = (Arc::clone(&state.files.rules), Arc::clone(&state.objects));
            (Source { files, objects }, state.app_files())
        };
        let view = self.inner.views.get((namespace.clone(), hidden.to_vec()), source, || {
            let layers = of.layers.view(&namespace.owner, &namespace.app);
            layers.without(|app, conf, name| {
                let whole = [format!("{NOBODY}/{app}"), format!("{NOBODY}/{app}/{conf}")];
                let place = document(NOBODY, app, conf, name);
                hidden.iter().any(|known| *known == place || whole.contains(known))
            })
        });
        (view, of)
    }

    /// Returns the objects of a file that a namespace sees, by name. An owner or app of `-` stands for all.
    #[must_use]
    pub fn list(&self, conf: &str, namespace: &Namespace) -> Vec<ConfObject> {
        self.inner.state.read().listing(conf).all(namespace)
    }

    /// The objects of a file that only their owners see: of all users, in all apps.
    #[must_use]
    pub fn private(&self, conf: &str) -> Vec<ConfObject> {
        self.inner.state.read().listing(conf).private()
    }

    /// Returns one object as a namespace sees it.
    ///
    /// # Errors
    /// [`Error::NotFound`].
    pub fn get(&self, conf: &str, name: &str, namespace: &Namespace) -> Result<ConfObject, Error> {
        let objects = self.inner.state.read().listing(conf).named(name, namespace);
        objects.into_iter().next().ok_or_else(|| Error::NotFound(name.to_owned()))
    }

    /// Makes an object. Its owner is the namespace's, or everybody in the app if that is [`NOBODY`].
    ///
    /// # Errors
    /// [`Error::Exists`], [`Error::Invalid`] for a name or for settings that the configuration does not
    /// hold with, or if the catalog cannot be written.
    pub async fn create(
        &self,
        conf: &str,
        name: &str,
        namespace: &Namespace,
        settings: Settings,
    ) -> Result<ConfObject, Error> {
        check_name("an object", name)?;
        check_name("a file", conf)?;
        if namespace.app == "-" || namespace.owner == "-" {
            let message = "an object must be created in one app and for one owner, not for -";
            return Err(Error::Invalid(message.to_owned()));
        }
        self.check_enabled(&namespace.app)?;
        let _writing = self.inner.writing.lock().await;
        let sharing = if namespace.owner == NOBODY { Sharing::App } else { Sharing::User };
        let existing = self.get(conf, name, namespace);
        let is_same = |e: &ConfObject| {
            let is_private = e.sharing == Sharing::User;
            e.app == namespace.app && is_private == (sharing == Sharing::User)
        };
        if existing.is_ok_and(|e| is_same(&e)) {
            return Err(Error::Exists(name.to_owned()));
        }
        let stored = Stored {
            conf: conf.to_owned(),
            name: name.to_owned(),
            app: namespace.app.clone(),
            owner: namespace.owner.clone(),
            sharing,
            settings,
            is_whole: false,
        };
        self.put(None, stored).await?;
        self.get(conf, name, namespace)
    }

    /// Changes settings of an object; its other settings are kept.
    ///
    /// # Errors
    /// As [`Self::create`], and [`Error::NotFound`].
    pub async fn update(
        &self,
        conf: &str,
        name: &str,
        namespace: &Namespace,
        settings: &[(String, String)],
    ) -> Result<ConfObject, Error> {
        let _writing = self.inner.writing.lock().await;
        let object = self.get(conf, name, namespace)?;
        let (old, mut stored) = self.stored_of(&object);
        stored.set(settings);
        self.put(old, stored).await?;
        self.get(conf, name, namespace)
    }

    /// Removes an object that was made at run time.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::Builtin`], or if the catalog cannot be written.
    pub async fn remove(&self, conf: &str, name: &str, namespace: &Namespace) -> Result<(), Error> {
        let _writing = self.inner.writing.lock().await;
        let object = self.get(conf, name, namespace)?;
        let (Some(document), _) = self.stored_of(&object) else {
            return Err(Error::Builtin(name.to_owned()));
        };
        self.inner.catalog.delete_document(KIND, &document).await?;
        self.change(|objects| drop(objects.remove(&document))).await;
        Ok(())
    }

    /// Returns the document and the stored content of an object; for an object from files, a new content.
    fn stored_of(&self, object: &ConfObject) -> (Option<String>, Stored) {
        let owner = if object.sharing == Sharing::User { object.owner.as_str() } else { NOBODY };
        let name = document(owner, &object.app, &object.conf, &object.name);
        let state = self.inner.state.read();
        match state.objects.get(&name).cloned() {
            Some(stored) => (Some(name), stored),
            None => {
                // What other apps see of a stanza of files, they see after its change, also if the app has
                // no metadata: the sharing of a stored object takes precedence over the metadata.
                let is_shown = !object.removable
                    && object.app != SYSTEM
                    && object.sharing == Sharing::App
                    && state.layers.shows(&object.app, &object.conf, &object.name);
                let stored = Stored {
                    conf: object.conf.clone(),
                    name: object.name.clone(),
                    app: object.app.clone(),
                    owner: object.owner.clone(),
                    sharing: if is_shown { Sharing::Global } else { object.sharing },
                    settings: Vec::new(),
                    is_whole: false,
                };
                (None, stored)
            }
        }
    }

    /// Writes an object, in place of an old document if its name changes.
    async fn put(&self, old: Option<String>, stored: Stored) -> Result<(), Error> {
        let name = stored.document();
        self.check(&name, &stored)?;
        let json = serde_json::to_value(&stored).map_err(|error| damaged(&name, &error))?;
        self.inner.catalog.put_document(KIND, &name, json).await?;
        let old = old.filter(|old| *old != name);
        if let Some(old) = &old {
            self.inner.catalog.delete_document(KIND, old).await?;
        }
        self.change(|objects| {
            old.and_then(|old| objects.remove(&old));
            objects.insert(name, stored);
        })
        .await;
        Ok(())
    }

    /// Refuses a change that makes a valid configuration invalid.
    fn check(&self, name: &str, stored: &Stored) -> Result<(), Error> {
        // An app may be enabled in spite of mistakes in it, which are ignored.
        if (stored.conf.as_str(), stored.name.as_str()) == STATE {
            return Ok(());
        }
        let before = self.inner.state.read().clone();
        let (mut objects, known) = ((*before.objects).clone(), before.knowledge.errors().len());
        let mut shared = stored.clone();
        // Errors of a user's objects are found in the shared view of all.
        shared.sharing = Sharing::App;
        objects.insert(name.to_owned(), shared);
        let after = before.with(objects);
        if let Some(error) = after.knowledge.errors().last()
            && after.knowledge.errors().len() > known
        {
            return Err(Error::Invalid(error.to_string()));
        }
        if stored.conf != "transforms" || before.knowledge.regex_fault(&stored.name).is_some() {
            return Ok(());
        }
        // Knowledge only warns of an invalid stanza that no rule names.
        after.knowledge.regex_fault(&stored.name).map_or(Ok(()), |text| Err(Error::Invalid(text)))
    }

    async fn change(&self, change: impl FnOnce(&mut BTreeMap<String, Stored>) + Send) {
        {
            let mut state = self.inner.state.write();
            let mut objects = (*state.objects).clone();
            change(&mut objects);
            *state = state.with(objects);
        }
        let mut in_force = self.inner.in_force.lock().await;
        self.put_in_force(&mut in_force).await;
    }

    /// Returns all apps, by name, including those that every installation has.
    #[must_use]
    pub fn apps(&self) -> Vec<AppInfo> {
        let names = self.files().apps();
        let state = self.inner.state.read();
        let in_files = state.files.layers.apps();
        names.into_iter().map(|name| Self::app_info(&state, &in_files, name)).collect()
    }

    fn app_info(state: &State, in_files: &BTreeSet<String>, name: String) -> AppInfo {
        let disabled = state.layers.disabled().contains(&name);
        let (settings, removable, installed) = (Vec::new(), false, false);
        let mut info = AppInfo { name, settings, removable, installed, disabled };
        for (layer, stanza) in state.layers.stanzas(APP) {
            if layer.app() != Some(&info.name) || matches!(layer, Layer::User(..)) {
                continue;
            }
            info.removable |= matches!(layer, Layer::AppStored(_));
            for entry in &stanza.entries {
                let key = format!("{}.{}", stanza.name, entry.key);
                if info.get(&key).is_none() {
                    info.settings.push((key, entry.value.clone()));
                }
            }
        }
        info.removable &= !in_files.contains(&info.name) && info.name != SEARCH;
        info.installed = state.files.installed.contains_key(&info.name);
        info.removable |= info.installed;
        info
    }

    /// Creates an app without files. Settings are `stanza.key`, such as `ui.label`.
    ///
    /// # Errors
    /// [`Error::Exists`], [`Error::Invalid`], or if the catalog cannot be written.
    pub async fn create_app(&self, name: &str, settings: &[(String, String)]) -> Result<(), Error> {
        let plain = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
        if name.is_empty() || name.len() > 100 || !name.chars().all(plain) || name.starts_with('.')
        {
            let message =
                format!("\"{name}\" cannot be the name of an app: letters, digits, _ - .");
            return Err(Error::Invalid(message));
        }
        if self.apps().iter().any(|app| app.name == name) {
            return Err(Error::Exists(name.to_owned()));
        }
        let _writing = self.inner.writing.lock().await;
        self.put_app(name, settings, true).await
    }

    /// Changes settings of an app.
    ///
    /// # Errors
    /// [`Error::NotFound`], or if the catalog cannot be written.
    pub async fn update_app(&self, name: &str, settings: &[(String, String)]) -> Result<(), Error> {
        if !self.apps().iter().any(|app| app.name == name) {
            return Err(Error::NotFound(name.to_owned()));
        }
        disabled::check_change(name, settings)?;
        let _writing = self.inner.writing.lock().await;
        self.put_app(name, settings, false).await
    }

    async fn put_app(
        &self,
        name: &str,
        settings: &[(String, String)],
        new: bool,
    ) -> Result<(), Error> {
        let mut stanzas: BTreeMap<&str, Settings> = BTreeMap::new();
        if new {
            stanzas.insert("ui", Vec::new());
        }
        for (key, value) in settings {
            let (stanza, key) = key.split_once('.').unwrap_or(("ui", key));
            stanzas.entry(stanza).or_default().push((key.to_owned(), value.clone()));
        }
        for (stanza, settings) in stanzas {
            let namespace = Namespace::new(NOBODY, name);
            let object = ConfObject {
                conf: APP.to_owned(),
                name: stanza.to_owned(),
                app: name.to_owned(),
                owner: NOBODY.to_owned(),
                sharing: Sharing::App,
                settings: Vec::new(),
                removable: true,
            };
            let (old, mut stored) = self.stored_of(&object);
            stored.set(&settings);
            stored.owner.clone_from(&namespace.owner);
            self.put(old, stored).await?;
        }
        Ok(())
    }

    /// Removes an app that was made or installed at run time, with all its objects.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::Builtin`], or if the catalog cannot be written.
    pub async fn remove_app(&self, name: &str) -> Result<(), Error> {
        let info = self.apps().into_iter().find(|app| app.name == name);
        let info = info.ok_or_else(|| Error::NotFound(name.to_owned()))?;
        if !info.removable {
            return Err(Error::Builtin(name.to_owned()));
        }
        let _writing = self.inner.writing.lock().await;
        let own: Vec<String> = {
            let state = self.inner.state.read();
            let own = state.objects.iter().filter(|(_, stored)| stored.app == name);
            // Inputs first: other processes end them before the index-time rules of the app.
            let (inputs, others): (Vec<_>, Vec<_>) =
                own.partition(|(_, stored)| stored.conf == "inputs");
            inputs.into_iter().chain(others).map(|(document, _)| document.clone()).collect()
        };
        for document in &own {
            self.inner.catalog.delete_document(KIND, document).await?;
        }
        self.change(|objects| objects.retain(|document, _| !own.contains(document))).await;
        if info.installed {
            self.note_bundle().await;
            self.installed()?.remove(name).await?;
            self.apply_installed().await?;
            self.note_bundle().await;
        }
        Ok(())
    }

    /// Lookup files.
    pub(crate) fn lookup_files(&self) -> &Lookups {
        &self.inner.lookups
    }

    pub(crate) fn kept_collections(&self) -> &Collections {
        &self.inner.collections
    }
}

fn damaged(name: &str, error: &serde_json::Error) -> Error {
    Error::Damaged { what: format!("the document {KIND}/{name}"), reason: error.to_string() }
}
