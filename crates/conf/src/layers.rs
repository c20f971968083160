//! Configuration in layers: which file's value takes effect, and where it was set.
//!
//! Precedence, highest first: `system/local`, `apps/*/local`, `apps/*/default` (apps in lexicographic
//! order, the first wins), then the built-in files as `system/default`. Searches of a user in an app use
//! another order ([`Layers::view`]), in which the last of several other apps wins. This is the only module
//! of the crate that reads files.

mod changes;
mod disabled;
mod models;
mod named;
mod order;
mod outside;
mod server;

use std::borrow::Cow;
use std::collections::hash_map::Entry as MapEntry;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use self::order::in_view;
use crate::error::Error;
use crate::file::{ConfFile, Entry, Place, Stanza, Warning};
use crate::metadata::{Access, Metadata};

/// The layer of a file; the order of the variants is the precedence, highest first.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Layer {
    /// Objects of a user in an app; only searches of that user in that app see them.
    User(String, String),
    /// Objects of the system that are stored beside its files.
    SystemStored,
    /// `system/local`.
    SystemLocal,
    /// Objects of an app that are stored beside its files.
    AppStored(String),
    /// `apps/<app>/local`.
    AppLocal(String),
    /// `apps/<app>/default`.
    AppDefault(String),
    /// Built into Karst.
    SystemDefault,
}

#[derive(Debug, Clone)]
struct LayerFile {
    layer: Layer,
    conf: String,
    file: ConfFile,
}

/// The suffix of the file names of forms.
const FORM_SUFFIX: &str = ".form";
/// The file whose settings are objects of their own, with their own permissions.
const SETTINGS_ARE_OBJECTS: &str = "props";

const BUILTIN: &[(&str, &str)] = &[
    ("indexes", include_str!("defaults/indexes.conf")),
    ("inputs", include_str!("defaults/inputs.conf")),
    ("limits", include_str!("defaults/limits.conf")),
    ("macros", include_str!("defaults/macros.conf")),
    ("props", include_str!("defaults/props.conf")),
    ("savedsearches", include_str!("defaults/savedsearches.conf")),
    ("server", include_str!("defaults/server.conf")),
    ("transforms", include_str!("defaults/transforms.conf")),
];

/// All configuration files, sorted by precedence.
#[derive(Debug, Clone, Default)]
pub struct Layers {
    files: Vec<LayerFile>,
    others: Files,
    metadata: Metadata,
    /// The directories of apps, including those without files.
    directories: BTreeSet<String>,
    /// Data models in files: app, name, JSON. Those of `local` come before those of `default`. In a view, the
    /// stored ones too.
    models: Vec<(String, String, String)>,
    /// The paths of files that are in no layer, by the app in whose directory they are; `None` for those
    /// outside of apps.
    outside: BTreeMap<Option<String>, Vec<String>>,
    /// The apps of which only `app.conf` and `indexes.conf` are left.
    disabled: BTreeSet<String>,
}

impl Layer {
    /// The app the layer belongs to.
    #[must_use]
    pub fn app(&self) -> Option<&str> {
        match self {
            Self::User(_, app)
            | Self::AppStored(app)
            | Self::AppLocal(app)
            | Self::AppDefault(app) => Some(app),
            Self::SystemStored | Self::SystemLocal | Self::SystemDefault => None,
        }
    }

    /// The rank of the layer among those that searches of a user in an app see; `None` if it is not
    /// visible.
    fn rank(&self, user: &str, app: &str) -> Option<u8> {
        let own = self.app() == Some(app);
        Some(match self {
            Self::User(owner, _) if own && owner == user => 0,
            Self::User(..) => return None,
            Self::AppStored(_) if own => 1,
            Self::AppLocal(_) if own => 2,
            Self::AppDefault(_) if own => 3,
            Self::AppStored(_) => 4,
            Self::AppLocal(_) => 5,
            Self::AppDefault(_) => 6,
            Self::SystemStored | Self::SystemLocal => 7,
            Self::SystemDefault => 8,
        })
    }
}

/// Files named by settings, and forms (`.xml` and `.form`), by their path in the directory.
#[derive(Debug, Clone, Default)]
pub struct Files(BTreeMap<String, String>);

impl Files {
    /// The text of a file with a path in Splunk's notation, with `/etc/` in front or without.
    #[must_use]
    pub fn get(&self, path: &str) -> Option<&str> {
        self.0.get(path_in_directory(path)).map(String::as_str)
    }

    /// The forms with their names, those of `local` first.
    pub fn forms(&self) -> impl Iterator<Item = (&str, &str)> {
        let form = |local: bool| {
            self.0.iter().filter_map(move |(path, text)| {
                let (folder, file) = path.rsplit_once('/')?;
                let name = file.strip_suffix(FORM_SUFFIX)?;
                (folder.ends_with("local") == local).then_some((name, text.as_str()))
            })
        };
        form(true).chain(form(false))
    }
}

/// Returns the path in the directory of a path in Splunk's notation.
fn path_in_directory(path: &str) -> &str {
    let path = path.trim().trim_start_matches("$SPLUNK_HOME").trim_start_matches('/');
    path.strip_prefix("etc/").unwrap_or(path)
}

impl Layers {
    /// The built-in files only.
    #[must_use]
    pub fn builtin() -> Self {
        let mut layers = Self::default();
        for (conf, text) in BUILTIN {
            let name = format!("system/default/{conf}.conf");
            layers.insert(Layer::SystemDefault, conf, ConfFile::parse(&name, text));
        }
        layers
    }

    /// The built-in files, and over them the files of a directory that has `system/local` and
    /// `apps/*/{default,local}`. A missing directory counts as empty.
    ///
    /// # Errors
    /// [`Error`] names the file that cannot be read.
    pub fn read(directory: &Path) -> Result<Self, Error> {
        let mut layers = Self::builtin();
        layers.read_folder(directory, "system/local", &Layer::SystemLocal)?;
        let apps = directory.join("apps");
        for app in list(&apps)? {
            if apps.join(&app).is_dir() {
                layers.read_app_files(directory, app)?;
            }
        }
        layers.outside.insert(None, outside::files(directory));
        layers.sort();
        Ok(layers)
    }

    /// Replaces files of apps: reads `apps/<app>` of the directory given for each app, as far as `is_read`
    /// allows. The new files replace all files of an app with that name.
    ///
    /// # Errors
    /// [`Error`] names the file that cannot be read.
    pub fn with_apps(
        &self,
        directories: &BTreeMap<String, PathBuf>,
        is_read: impl Fn(&str) -> bool,
    ) -> Result<Self, Error> {
        let mut layers = self.clone();
        for (app, directory) in directories {
            layers.files.retain(|file| file.layer.app() != Some(app));
            let folder = format!("apps/{app}/");
            layers.others.0.retain(|path, _| !path.starts_with(&folder));
            layers.models.retain(|(of, _, _)| of != app);
            layers.metadata.remove(app);
            layers.read_app_files(directory, app.clone())?;
            layers.files.retain(|file| file.layer.app() != Some(app) || is_read(&file.conf));
        }
        layers.sort();
        Ok(layers)
    }

    /// As [`Layers::read`], with one app only.
    ///
    /// # Errors
    /// [`Error`] names the file that cannot be read.
    pub fn read_app(directory: &Path, app: &str) -> Result<Self, Error> {
        let mut layers = Self::builtin();
        layers.read_folder(directory, "system/local", &Layer::SystemLocal)?;
        layers.read_app_files(directory, app.to_owned())?;
        layers.sort();
        Ok(layers)
    }

    /// The names of all stanzas that the apps of a directory have in a file, without reading their
    /// settings.
    ///
    /// # Errors
    /// [`Error`] names the file that cannot be read.
    pub fn stanza_names(directory: &Path, conf: &str) -> Result<HashSet<String>, Error> {
        let mut names = HashSet::new();
        let apps = directory.join("apps");
        for app in list(&apps)? {
            for folder in ["local", "default"] {
                let path = apps.join(&app).join(folder).join(format!("{conf}.conf"));
                let text = match fs::read(&path) {
                    Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
                    Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                    Err(error) if error.kind() == io::ErrorKind::NotADirectory => continue,
                    Err(source) => return Err(Error { path, source }),
                };
                let header = |line: &str| {
                    let (name, _) = line.trim().strip_prefix('[')?.rsplit_once(']')?;
                    Some(name.to_owned())
                };
                names.extend(text.lines().filter_map(header));
            }
        }
        Ok(names)
    }

    fn read_app_files(&mut self, directory: &Path, app: String) -> Result<(), Error> {
        let (local, default) = (format!("apps/{app}/local"), format!("apps/{app}/default"));
        self.read_folder(directory, &local, &Layer::AppLocal(app.clone()))?;
        self.read_folder(directory, &default, &Layer::AppDefault(app.clone()))?;
        self.read_named_files(directory, &app)?;
        for folder in [local, default] {
            self.read_models(directory, &app, &format!("{folder}/data/models"))?;
        }
        for name in ["local.meta", "default.meta"] {
            let path = directory.join(format!("apps/{app}/metadata/{name}"));
            match fs::read(&path) {
                Ok(bytes) => {
                    let text = String::from_utf8_lossy(&bytes);
                    let file = ConfFile::parse(&path.to_string_lossy(), &text);
                    self.metadata.read(&app, &file);
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(source) => return Err(Error { path, source }),
            }
        }
        // The files of an app that is replaced go with it.
        match outside::files_of_app(directory, &app) {
            files if files.is_empty() => self.outside.remove(&Some(app.clone())),
            files => self.outside.insert(Some(app.clone()), files),
        };
        self.directories.insert(app);
        Ok(())
    }

    /// Adds a file from text, for tests and for settings that do not come from files. `conf` is the name
    /// without `.conf`.
    #[must_use]
    pub fn with(mut self, layer: Layer, conf: &str, text: &str) -> Self {
        let name = match &layer {
            Layer::SystemLocal => format!("system/local/{conf}.conf"),
            Layer::AppLocal(app) => format!("apps/{app}/local/{conf}.conf"),
            Layer::AppDefault(app) => format!("apps/{app}/default/{conf}.conf"),
            Layer::SystemDefault => format!("system/default/{conf}.conf"),
            Layer::SystemStored => format!("system/{conf}"),
            Layer::AppStored(app) => format!("apps/{app}/{conf}"),
            Layer::User(user, app) => format!("users/{user}/{app}/{conf}"),
        };
        self.insert(layer, conf, ConfFile::parse(&name, text));
        self
    }

    /// Adds a parsed file. `conf` is the name without `.conf`.
    #[must_use]
    pub fn with_file(mut self, layer: Layer, conf: &str, file: ConfFile) -> Self {
        self.insert(layer, conf, file);
        self
    }

    /// The layers visible to searches of a user in an app, highest first: the user's own objects there, the
    /// app, exported objects of other apps (in reverse lexicographical order), the system.
    #[must_use]
    pub fn view(&self, user: &str, app: &str) -> Self {
        let mut files = Vec::new();
        for LayerFile { layer, conf, file } in &self.files {
            let Some(rank) = layer.rank(user, app) else { continue };
            let shown =
                |stanza: &Stanza| Some(self.shown_at(rank, layer, conf, stanza)?.into_owned());
            let stanzas = file.stanzas.iter().filter_map(shown).collect();
            let (name, warnings) = (Arc::clone(&file.file), file.warnings.clone());
            let file = ConfFile { file: name, stanzas, warnings };
            files.push((rank, LayerFile { layer: layer.clone(), conf: conf.clone(), file }));
        }
        files.sort_by(|a, b| in_view((a.0, &a.1.layer), (b.0, &b.1.layer)));
        let models = self.models_in_view(app, &files);
        Self {
            files: files.into_iter().map(|(_, file)| file).collect(),
            others: self.others.clone(),
            metadata: self.metadata.clone(),
            directories: self.directories.clone(),
            models,
            outside: self.outside.clone(),
            disabled: self.disabled.clone(),
        }
    }

    /// The size in bytes of the names and values of all settings and of the data models.
    #[must_use]
    pub fn text_bytes(&self) -> usize {
        let of = |stanza: &Stanza| {
            let entries = stanza.entries.iter().map(|entry| entry.key.len() + entry.value.len());
            stanza.name.len() + entries.sum::<usize>()
        };
        let settings = self.files.iter().flat_map(|file| &file.file.stanzas).map(of).sum::<usize>();
        let models = self.models().map(|(app, name, json)| app.len() + name.len() + json.len());
        settings + models.sum::<usize>()
    }

    /// The stanzas of a file by name, with their layers, highest first.
    #[must_use]
    pub fn stanzas_by_name<'l>(
        &'l self,
        conf: &str,
    ) -> BTreeMap<&'l str, Vec<(&'l Layer, &'l Stanza)>> {
        let mut named: BTreeMap<&str, Vec<_>> = BTreeMap::new();
        for file in self.files.iter().filter(|file| file.conf == conf) {
            for stanza in &file.file.stanzas {
                named.entry(&stanza.name).or_default().push((&file.layer, stanza));
            }
        }
        named
    }

    /// The stanzas of one name that are visible to searches of a user in an app, with the settings and in
    /// the order of [`Layers::view`].
    #[must_use]
    pub fn seen<'l>(
        &self,
        conf: &str,
        stanzas: &[(&'l Layer, &'l Stanza)],
        user: &str,
        app: &str,
    ) -> Vec<(&'l Layer, Cow<'l, Stanza>)> {
        let mut seen = Vec::new();
        for (layer, stanza) in stanzas.iter().copied() {
            let Some(rank) = layer.rank(user, app) else { continue };
            if let Some(stanza) = self.shown_at(rank, layer, conf, stanza) {
                seen.push((rank, layer, stanza));
            }
        }
        seen.sort_by(|a, b| in_view((a.0, a.1), (b.0, b.1)));
        seen.into_iter().map(|(_, layer, stanza)| (layer, stanza)).collect()
    }

    /// The visible part of a stanza in a view, given the rank of its layer: all of it, or what its app
    /// exports.
    fn shown_at<'l>(
        &self,
        rank: u8,
        layer: &Layer,
        conf: &str,
        stanza: &'l Stanza,
    ) -> Option<Cow<'l, Stanza>> {
        let (4..=6, Some(other)) = (rank, layer.app()) else { return Some(Cow::Borrowed(stanza)) };
        let Stanza { name, place, entries } = stanza;
        if conf != SETTINGS_ARE_OBJECTS {
            return self.metadata.shows(other, conf, name).then_some(Cow::Borrowed(stanza));
        }
        let shown = |entry: &&Entry| self.metadata.shows_setting(other, conf, name, &entry.key);
        let entries: Vec<Entry> = entries.iter().filter(shown).cloned().collect();
        if entries.is_empty() && !self.metadata.shows(other, conf, name) {
            return None;
        }
        Some(Cow::Owned(Stanza { name: name.clone(), place: place.clone(), entries }))
    }

    /// Whether an object of an app is visible to other apps.
    #[must_use]
    pub fn shows(&self, app: &str, conf: &str, name: &str) -> bool {
        self.metadata.shows(app, conf, name)
    }

    /// Whether an app explicitly exports an object to other apps.
    #[must_use]
    pub fn exports(&self, app: &str, conf: &str, name: &str) -> bool {
        self.metadata.exports(app, conf, name)
    }

    /// The read and write permissions of the objects of apps, from their metadata: by `app`, `app/file` and
    /// `app/file/object`.
    #[must_use]
    pub fn access(&self) -> BTreeMap<String, Access> {
        self.metadata.access()
    }

    /// Adds the text of an app's `metadata/default.meta`, for tests.
    #[must_use]
    pub fn with_metadata(mut self, app: &str, text: &str) -> Self {
        let name = format!("apps/{app}/metadata/default.meta");
        self.metadata.read(app, &ConfFile::parse(&name, text));
        self
    }

    /// Removes the shared stanzas (app, file, name), settings of props (the name is `stanza/KEY`) and data
    /// models that `hidden` names.
    #[must_use]
    pub fn without(mut self, hidden: impl Fn(&str, &str, &str) -> bool) -> Self {
        for file in &mut self.files {
            if matches!(file.layer, Layer::User(..)) {
                continue;
            }
            let app = file.layer.app().unwrap_or("system");
            file.file.stanzas.retain(|stanza| !hidden(app, &file.conf, &stanza.name));
            if file.conf == SETTINGS_ARE_OBJECTS {
                for Stanza { name, entries, .. } in &mut file.file.stanzas {
                    entries.retain(|e| !hidden(app, &file.conf, &format!("{name}/{}", e.key)));
                }
            }
        }
        let private = models::private(&self.files);
        self.models.retain(|(app, name, json)| {
            private.contains(&(app.as_str(), name.as_str(), json.as_str()))
                || !hidden(app, "datamodels", name)
        });
        self
    }

    /// Removes the objects of users: the rest applies to every user.
    #[must_use]
    pub fn shared(&self) -> Self {
        let mut shared = self.clone();
        shared.files.retain(|file| !matches!(file.layer, Layer::User(..)));
        shared
    }

    /// Sets whether other apps see a stanza of an app.
    #[must_use]
    pub fn exporting(mut self, app: &str, conf: &str, stanza: &str, shown: bool) -> Self {
        self.metadata.export(app, conf, stanza, shown);
        self
    }

    /// The names of the apps that have a directory or objects.
    #[must_use]
    pub fn apps(&self) -> BTreeSet<String> {
        let named = self.files.iter().filter_map(|file| file.layer.app().map(str::to_owned));
        named.chain(self.directories.iter().cloned()).collect()
    }

    /// Whether a place is in a file or an object of an app or a user. Errors there must not keep a program
    /// from starting.
    #[must_use]
    pub fn is_of_app(&self, place: &Place) -> bool {
        self.app_of(place).is_some()
    }

    /// The app that owns the file or object of a place.
    #[must_use]
    pub fn app_of(&self, place: &Place) -> Option<&str> {
        // A place mostly shares the name with its file: comparing pointers is much faster than comparing
        // texts.
        let same = self.files.iter().find(|file| Arc::ptr_eq(&file.file.file, &place.file));
        let found = same.or_else(|| self.files.iter().find(|file| file.file.file == place.file));
        found?.layer.app()
    }

    /// The files of apps, each with its app.
    pub fn files_of_apps(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files.iter().filter_map(|file| Some((&*file.file.file, file.layer.app()?)))
    }

    /// Removes the files of apps.
    #[must_use]
    pub fn without_apps(&self) -> Self {
        let mut system = self.clone();
        system.files.retain(|file| file.layer.app().is_none());
        system
    }

    /// Changes the stanzas of apps.
    pub(crate) fn change_apps(&mut self, mut change: impl FnMut(&str, &mut Stanza)) {
        for file in self.files.iter_mut().filter(|file| file.layer.app().is_some()) {
            for stanza in &mut file.file.stanzas {
                change(&file.conf, stanza);
            }
        }
    }

    /// The stanzas of a file with their layers, highest first.
    pub fn stanzas(&self, conf: &str) -> impl Iterator<Item = (&Layer, &Stanza)> {
        let files = self.files.iter().filter(move |file| file.conf == conf);
        files.flat_map(|file| file.file.stanzas.iter().map(|stanza| (&file.layer, stanza)))
    }

    /// A fingerprint of all files that pass a test, and of all files that are not settings: two processes
    /// with the same fingerprint read the same configuration.
    #[must_use]
    pub fn fingerprint(&self, is_read: impl Fn(&str) -> bool) -> u64 {
        let mut hasher = DefaultHasher::new();
        for LayerFile { layer, conf, file } in self.files.iter().filter(|file| is_read(&file.conf))
        {
            (layer, conf).hash(&mut hasher);
            for stanza in &file.stanzas {
                stanza.name.hash(&mut hasher);
                for entry in &stanza.entries {
                    (&entry.key, &entry.value).hash(&mut hasher);
                }
            }
        }
        (&self.others.0, &self.models).hash(&mut hasher);
        hasher.finish()
    }

    fn insert(&mut self, layer: Layer, conf: &str, file: ConfFile) {
        self.push(layer, conf, file);
        self.sort();
    }

    fn push(&mut self, layer: Layer, conf: &str, file: ConfFile) {
        self.files.push(LayerFile { layer, conf: conf.to_owned(), file });
    }

    fn sort(&mut self) {
        self.files.sort_by(|a, b| a.layer.cmp(&b.layer));
    }

    /// The files other than `.conf` files.
    #[must_use]
    pub fn files(&self) -> &Files {
        &self.others
    }

    /// Adds the files of a directory, not sorted yet.
    fn read_folder(&mut self, root: &Path, folder: &str, layer: &Layer) -> Result<(), Error> {
        for name in list(&root.join(folder))? {
            if ![".conf", ".xml", FORM_SUFFIX].iter().any(|suffix| name.ends_with(suffix)) {
                continue;
            }
            let path = root.join(folder).join(&name);
            let bytes = fs::read(&path).map_err(|source| Error { path: path.clone(), source })?;
            let text = String::from_utf8_lossy(&bytes);
            let Some(conf) = name.strip_suffix(".conf") else {
                self.others.0.insert(format!("{folder}/{name}"), text.into_owned());
                continue;
            };
            let mut file = ConfFile::parse(&path.to_string_lossy(), &text);
            if matches!(text, Cow::Owned(_)) {
                let place = Place { file: file.file.clone(), line: 1 };
                let text = "the file is not UTF-8; bad bytes were replaced".to_owned();
                file.warnings.push(Warning { place, text });
            }
            self.push(layer.clone(), conf, file);
        }
        Ok(())
    }

    fn read_models(&mut self, root: &Path, app: &str, folder: &str) -> Result<(), Error> {
        for name in list(&root.join(folder))? {
            let Some(model) = name.strip_suffix(".json") else { continue };
            let path = root.join(folder).join(&name);
            let bytes = fs::read(&path).map_err(|source| Error { path: path.clone(), source })?;
            let json = String::from_utf8_lossy(&bytes).into_owned();
            self.add_model(app, model, json);
        }
        Ok(())
    }

    fn add_model(&mut self, app: &str, name: &str, json: String) {
        let known = self.models.iter().any(|(a, n, _)| a == app && n == name);
        if !known {
            self.models.push((app.to_owned(), name.to_owned(), json));
        }
    }

    /// Adds a data model from text, for tests and for models that do not come from files.
    #[must_use]
    pub fn with_model(mut self, app: &str, name: &str, json: &str) -> Self {
        self.add_model(app, name, json.to_owned());
        self
    }

    /// Adds a form from text, by its path in the directory, for tests.
    #[must_use]
    pub fn with_form(mut self, path: &str, text: &str) -> Self {
        self.others.0.insert(path.to_owned(), text.to_owned());
        self
    }

    /// The data models: app, name and JSON of each.
    pub fn models(&self) -> impl Iterator<Item = (&str, &str, &str)> {
        self.models.iter().map(|(app, name, json)| (app.as_str(), name.as_str(), json.as_str()))
    }

    /// The names of all files, without `.conf`.
    #[must_use]
    pub fn confs(&self) -> Vec<&str> {
        let names: BTreeSet<&str> = self.files.iter().map(|file| file.conf.as_str()).collect();
        names.into_iter().collect()
    }

    /// The effective settings of a file (named without `.conf`) over all layers.
    #[must_use]
    pub fn effective(&self, conf: &str) -> Effective {
        Self::merged(conf, self.files.iter().filter(|file| file.conf == conf))
    }

    /// Merges files of one name, those with the highest precedence first.
    fn merged<'l>(conf: &str, files: impl Iterator<Item = &'l LayerFile>) -> Effective {
        let mut effective = Effective { conf: conf.to_owned(), stanzas: Vec::new() };
        let mut places: HashMap<&str, usize> = HashMap::new();
        for file in files {
            for stanza in &file.file.stanzas {
                match places.entry(&stanza.name) {
                    MapEntry::Occupied(known) => effective.stanzas[*known.get()].complete(stanza),
                    MapEntry::Vacant(new) => {
                        new.insert(effective.stanzas.len());
                        effective.stanzas.push(stanza.clone());
                    }
                }
            }
        }
        effective.stanzas.sort_by(|a, b| a.name.cmp(&b.name));
        effective
    }

    /// The syntax warnings of the files. [`crate::Registry::warnings`] checks the settings.
    #[must_use]
    pub fn warnings(&self) -> Vec<Warning> {
        let files = self.files.iter().flat_map(|file| &file.file.warnings);
        self.metadata.warnings().iter().chain(files).cloned().collect()
    }
}

/// The names in a directory in lexicographic order; empty if the directory does not exist.
fn list(folder: &Path) -> Result<Vec<String>, Error> {
    let fail = |source| Error { path: folder.to_owned(), source };
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(fail(error)),
    };
    let mut names = Vec::new();
    for entry in entries {
        names.push(entry.map_err(fail)?.file_name().to_string_lossy().into_owned());
    }
    names.sort_unstable();
    Ok(names)
}

/// The effective settings of a file: stanzas by name, each value with its origin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Effective {
    /// Name of the file without `.conf`.
    pub conf: String,
    /// Stanzas sorted by name.
    pub stanzas: Vec<Stanza>,
}

impl Effective {
    /// A stanza by name.
    #[must_use]
    pub fn stanza(&self, name: &str) -> Option<&Stanza> {
        let found = self.stanzas.binary_search_by(|stanza| stanza.name.as_str().cmp(name));
        found.ok().map(|at| &self.stanzas[at])
    }

    /// The value of a key in a stanza, or in `[default]`.
    #[must_use]
    pub fn get(&self, stanza: &str, key: &str) -> Option<&Entry> {
        let own = self.stanza(stanza).and_then(|stanza| stanza.get(key));
        own.or_else(|| self.stanza("default").and_then(|stanza| stanza.get(key)))
    }

    /// The entries of a stanza, completed by those of `[default]`, in key order, for `btool`.
    #[must_use]
    pub fn complete(&self, stanza: &str) -> Vec<&Entry> {
        let mut entries: Vec<&Entry> = Vec::new();
        for name in [stanza, "default"] {
            for entry in self.stanza(name).map_or(&[][..], |stanza| &stanza.entries) {
                if !entries.iter().any(|known| known.key == entry.key) {
                    entries.push(entry);
                }
            }
        }
        entries.sort_by(|a, b| a.key.cmp(&b.key));
        entries
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn write(root: &Path, path: &str, text: &str) {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    #[test]
    fn an_app_is_read_without_the_others() {
        let root = tempfile::tempdir().unwrap();
        write(root.path(), "apps/a/default/transforms.conf", "[x]\nk = a\n");
        write(root.path(), "apps/a/default/data/models/M.json", "{}");
        write(root.path(), "apps/b/local/transforms.conf", " [y] \nk = b\n# [z]\n[x]\nk = b\n");
        write(root.path(), "apps/note.txt", "no app");
        write(root.path(), "system/local/transforms.conf", "[s]\nk = s\n");
        let layers = Layers::read_app(root.path(), "b").unwrap();
        let effective = layers.effective("transforms");
        let entry = effective.stanza("x").unwrap().get("k").unwrap();
        assert_eq!((entry.value.as_str(), layers.app_of(&entry.place)), ("b", Some("b")));
        assert!(effective.stanza("s").is_some() && layers.models().next().is_none());
        assert_eq!(layers.apps().into_iter().collect::<Vec<_>>(), ["b"]);
        let names = Layers::stanza_names(root.path(), "transforms").unwrap();
        let mut names: Vec<String> = names.into_iter().collect();
        names.sort();
        assert_eq!(names, ["x", "y"]);
        assert!(Layers::stanza_names(root.path(), "tags").unwrap().is_empty());
    }

    #[test]
    fn data_models_count_as_text() {
        let layers = Layers::default().with(Layer::SystemLocal, "props", "[st]\nk = ab\n");
        assert_eq!(layers.text_bytes(), 5);
        assert_eq!(layers.with_model("a", "M", "{\"x\": 1}").text_bytes(), 5 + 10);
    }

    #[test]
    fn layers_win_in_splunks_order() {
        let root = tempfile::tempdir().unwrap();
        write(root.path(), "apps/b/local/x.conf", "[s]\na = b-local\nb = b-local");
        write(root.path(), "apps/a/default/x.conf", "[s]\na = a-default\nc = a-default");
        write(root.path(), "apps/b/default/x.conf", "[s]\nc = b-default\nd = b-default");
        write(root.path(), "system/local/x.conf", "[s]\na = system");
        let effective = Layers::read(root.path()).unwrap().effective("x");
        let value = |key| effective.get("s", key).unwrap().value.clone();
        assert_eq!(
            [value("a"), value("b"), value("c"), value("d")],
            ["system", "b-local", "a-default", "b-default"]
        );
        assert!(effective.get("s", "d").unwrap().place.to_string().ends_with("default/x.conf:3"));
    }

    #[test]
    fn local_settings_override_what_is_built_in() {
        let layers = Layers::builtin().with(Layer::SystemLocal, "props", "[default]\nTRUNCATE = 5");
        assert_eq!(layers.effective("props").get("anything", "TRUNCATE").unwrap().value, "5");
    }

    #[test]
    fn a_missing_directory_leaves_the_built_in_settings() {
        let layers = Layers::read(Path::new("/nonexistent/karst")).unwrap();
        assert!(layers.effective("indexes").stanza("main").is_some());
    }

    #[test]
    fn built_in_files_have_no_warnings() {
        assert_eq!(Layers::builtin().warnings(), []);
    }
}
