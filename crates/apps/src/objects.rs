//! Objects: stanzas of `.conf` files that were made at run time, as documents of the catalog.

use std::cell::LazyCell;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use conf::{ConfFile, Entry, Layer, Layers, Place, Stanza};
use serde::{Deserialize, Serialize};

use crate::{Error, NOBODY, Namespace, SYSTEM, Sharing};

/// The kind of the documents.
pub(crate) const KIND: &str = "conf";
/// The file whose settings are exported one by one.
const PROPS: &str = "props";

/// Keys and values in order.
pub type Settings = Vec<(String, String)>;

/// A stanza as one namespace sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfObject {
    /// The file, without `.conf`.
    pub conf: String,
    /// The name of the stanza.
    pub name: String,
    /// The app it belongs to.
    pub app: String,
    /// Its owner.
    pub owner: String,
    /// The users who see it.
    pub sharing: Sharing,
    /// The settings, merged from all layers.
    pub settings: Settings,
    /// Whether it was made at run time and can be removed.
    pub removable: bool,
}

impl ConfObject {
    /// Returns `<owner>/<app>/<conf>/<name>`, with the owner `nobody` for shared objects: a unique key of the
    /// object.
    #[must_use]
    pub fn place(&self) -> String {
        let owner = if self.sharing == Sharing::User { self.owner.as_str() } else { NOBODY };
        document(owner, &self.app, &self.conf, &self.name)
    }

    /// The value of a key.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&str> {
        self.settings.iter().find(|(known, _)| known == key).map(|(_, value)| value.as_str())
    }
}

/// The files (without `.conf`) of the objects that differ, by the names of their documents.
pub(crate) fn changed_confs(
    old: &BTreeMap<String, Stored>,
    new: &BTreeMap<String, Stored>,
) -> BTreeSet<String> {
    let differ = |one: &BTreeMap<String, Stored>, other: &BTreeMap<String, Stored>| {
        let differing = one.iter().filter(|(name, stored)| other.get(*name) != Some(*stored));
        differing.map(|(_, stored)| stored.conf.clone()).collect::<Vec<_>>()
    };
    differ(old, new).into_iter().chain(differ(new, old)).collect()
}

/// The stored content of an object.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Stored {
    pub(crate) conf: String,
    pub(crate) name: String,
    pub(crate) app: String,
    pub(crate) owner: String,
    pub(crate) sharing: Sharing,
    pub(crate) settings: Settings,
    /// Whether a user has set the sharing of the stanza as a whole. If not, the sharing of a stanza of
    /// `props.conf` that is also in files applies only to the settings that the files do not have.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) is_whole: bool,
}

impl Stored {
    /// As read from a document of any version. Documents of earlier versions do not have `is_whole`: without
    /// settings, such a document of `props.conf` can only be the sharing that a user has set for a stanza.
    pub(crate) fn of_any_version(mut self) -> Self {
        self.is_whole |= self.conf == PROPS && self.settings.is_empty();
        self
    }

    /// Returns the name of its document. Shared objects have the same name for all authors.
    pub(crate) fn document(&self) -> String {
        let owner = if self.sharing == Sharing::User { self.owner.as_str() } else { NOBODY };
        document(owner, &self.app, &self.conf, &self.name)
    }

    pub(crate) fn layer(&self) -> Layer {
        match self.sharing {
            Sharing::User => Layer::User(self.owner.clone(), self.app.clone()),
            _ if self.app == SYSTEM => Layer::SystemStored,
            Sharing::App | Sharing::Global => Layer::AppStored(self.app.clone()),
        }
    }

    /// Whether the searches of a namespace see it.
    pub(crate) fn seen_by(&self, namespace: &Namespace) -> bool {
        match self.sharing {
            Sharing::User => self.owner == namespace.owner && self.app == namespace.app,
            Sharing::App => self.app == namespace.app,
            Sharing::Global => true,
        }
    }

    pub(crate) fn set(&mut self, settings: &[(String, String)]) {
        for (key, value) in settings {
            match self.settings.iter_mut().find(|(known, _)| known == key) {
                Some((_, old)) => old.clone_from(value),
                None => self.settings.push((key.clone(), value.clone())),
            }
        }
    }
}

/// The name of the document of an object.
pub(crate) fn document(owner: &str, app: &str, conf: &str, name: &str) -> String {
    format!("{owner}/{app}/{conf}/{name}")
}

/// Merges the layers of files with those of objects.
pub(crate) fn with_objects<'o>(
    files: &Layers,
    objects: impl Iterator<Item = &'o Stored>,
) -> Layers {
    let mut layers = files.clone();
    let in_files = LazyCell::new(|| settings_of_props(files));
    // One file per layer and conf, so that a thousand objects do not become a thousand files.
    let mut stored: Vec<(Layer, ConfFile)> = Vec::new();
    for object in objects {
        let layer = object.layer();
        let file = match &layer {
            Layer::User(user, app) => format!("users/{user}/{app}/{}", object.conf),
            Layer::SystemStored => format!("system/{}", object.conf),
            _ => format!("apps/{}/{}", object.app, object.conf),
        };
        let place = Place { file: file.as_str().into(), line: 1 };
        let entry = |(key, value): &(String, String)| Entry {
            key: key.clone(),
            value: value.clone(),
            place: place.clone(),
        };
        let entries = object.settings.iter().map(entry).collect();
        let stanza = Stanza { name: object.name.clone(), place: place.clone(), entries };
        match stored.iter_mut().find(|(known, kept)| *known == layer && *kept.file == *file) {
            Some((_, kept)) => kept.stanzas.push(stanza),
            None => {
                let kept =
                    ConfFile { file: place.file, stanzas: vec![stanza], warnings: Vec::new() };
                stored.push((layer, kept));
            }
        }
        if object.sharing != Sharing::User {
            let shown = object.sharing == Sharing::Global;
            let is_part = object.conf == PROPS && !object.is_whole && !shown;
            let place = (object.app.as_str(), object.name.as_str());
            let known = if is_part { in_files.get(&place) } else { None };
            let names: Vec<String> = match known {
                Some(known) => {
                    let keys = object.settings.iter().map(|(key, _)| key.as_str());
                    let own = keys.filter(|key| !known.contains(key));
                    own.map(|key| format!("{}/{key}", object.name)).collect()
                }
                None => vec![object.name.clone()],
            };
            for name in names {
                layers = layers.exporting(&object.app, &object.conf, &name, shown);
            }
        }
    }
    for (layer, file) in stored {
        let conf = file.file.rsplit('/').next().unwrap_or_default().to_owned();
        layers = layers.with_file(layer, &conf, file);
    }
    layers
}

/// The keys in the stanzas of `props.conf` of apps, by app and stanza.
fn settings_of_props(files: &Layers) -> HashMap<(&str, &str), HashSet<&str>> {
    let mut found: HashMap<(&str, &str), HashSet<&str>> = HashMap::new();
    for (layer, stanza) in files.stanzas(PROPS) {
        if let Some(app) = layer.app() {
            let keys = stanza.entries.iter().map(|entry| entry.key.as_str());
            found.entry((app, stanza.name.as_str())).or_default().extend(keys);
        }
    }
    found
}

/// Checks that a name fits in a path and a file.
pub(crate) fn check_name(what: &str, name: &str) -> Result<(), Error> {
    let bad = name.is_empty()
        || name.len() > 256
        || name.chars().any(|c| c.is_control())
        || name.trim() != name;
    if bad {
        let message = format!(
            "\"{name}\" cannot be the name of {what}: 1 to 256 bytes, no blanks at the ends"
        );
        return Err(Error::Invalid(message));
    }
    Ok(())
}
