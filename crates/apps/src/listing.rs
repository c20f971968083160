//! The objects of one file as namespaces see them, without a view of all files.
//!
//! Guarantees: an object has the owner, the sharing and the settings that the view of its namespace
//! (`Layers::view`) gives it. The time depends on the number of stanzas of the file, not on the number of
//! apps. Leaves to others: who may read an object (`access`).

use std::collections::{BTreeMap, BTreeSet, HashSet};

use conf::{Layer, Layers, Stanza};

use crate::models::{self, MODELS};
use crate::objects::Stored;
use crate::pages::{Pages, TEXT};
use crate::{ConfObject, NOBODY, Namespace, SEARCH, SYSTEM, Sharing};

/// A stanza with its layer.
type Layered<'s> = (&'s Layer, &'s Stanza);

/// A configuration file, and all sources of its objects.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Listing<'s> {
    /// The file, without `.conf`.
    pub(crate) conf: &'s str,
    /// The layers including stored objects.
    pub(crate) layers: &'s Layers,
    /// Stored objects, by the names of their documents.
    pub(crate) objects: &'s BTreeMap<String, Stored>,
    pub(crate) pages: &'s Pages,
}

impl Listing<'_> {
    /// Returns all objects that a namespace sees, by name and app. An app of `-` stands for all.
    pub(crate) fn all(&self, namespace: &Namespace) -> Vec<ConfObject> {
        let apps = self.apps(namespace);
        let stanzas = self.layers.stanzas_by_name(self.conf).into_values();
        stanzas.flat_map(|stanzas| self.of_name(&stanzas, &namespace.owner, &apps)).collect()
    }

    /// The objects of a name that a namespace sees, by app: several only if its app is `-`.
    pub(crate) fn named(&self, name: &str, namespace: &Namespace) -> Vec<ConfObject> {
        let stanzas = self.layers.stanzas(self.conf);
        let stanzas: Vec<Layered<'_>> = stanzas.filter(|(_, stanza)| stanza.name == name).collect();
        self.of_name(&stanzas, &namespace.owner, &self.apps(namespace))
    }

    /// The objects that only their owners see: of all users, in all apps.
    pub(crate) fn private(&self) -> Vec<ConfObject> {
        let of_users =
            |stored: &&Stored| stored.conf == self.conf && stored.sharing == Sharing::User;
        let own = self.objects.values().filter(of_users);
        let places: BTreeSet<(Namespace, &str)> = own
            .map(|stored| (Namespace::new(&stored.owner, &stored.app), stored.name.as_str()))
            .collect();
        let stanzas = self.layers.stanzas_by_name(self.conf);
        let seen = places.iter().filter_map(|(owner, name)| self.object(stanzas.get(name)?, owner));
        seen.filter(|object| object.sharing == Sharing::User).collect()
    }

    /// The apps that a namespace looks from.
    fn apps(&self, namespace: &Namespace) -> BTreeSet<String> {
        if namespace.app != "-" {
            return BTreeSet::from([namespace.app.clone()]);
        }
        let mut apps = self.layers.apps();
        apps.insert(SEARCH.to_owned());
        apps
    }

    /// The objects of one name that the apps see, by app. If several apps see the object of an app, the view
    /// of the first counts.
    fn of_name(
        &self,
        stanzas: &[Layered<'_>],
        owner: &str,
        apps: &BTreeSet<String>,
    ) -> Vec<ConfObject> {
        // Apps without a stanza of the name all see the same: one of them represents the others. Without this
        // shortcut, each of 142 apps searched the stanzas of all others.
        let own = stanzas.iter().filter_map(|(layer, _)| layer.app());
        let own: BTreeSet<&str> = own.chain([SYSTEM]).collect();
        let other = apps.iter().map(String::as_str).find(|app| !own.contains(app));
        let views = own.iter().copied().filter(|app| apps.contains(*app));
        let views: BTreeSet<&str> = views.chain(other).collect();
        let mut found: BTreeMap<String, ConfObject> = BTreeMap::new();
        for app in views {
            if let Some(object) = self.object(stanzas, &Namespace::new(owner, app)) {
                found.entry(object.app.clone()).or_insert(object);
            }
        }
        found.into_values().collect()
    }

    /// The object that a namespace sees of the stanzas of one name.
    fn object(&self, stanzas: &[Layered<'_>], namespace: &Namespace) -> Option<ConfObject> {
        let seen = self.layers.seen(self.conf, stanzas, &namespace.owner, &namespace.app);
        let (layer, highest) = seen.first()?;
        let mut object = self.without_settings(layer, &highest.name);
        let mut keys = HashSet::new();
        for entry in seen.iter().flat_map(|(_, stanza)| &stanza.entries) {
            if keys.insert(entry.key.as_str()) {
                object.settings.push((entry.key.clone(), entry.value.clone()));
            }
        }
        if let Some(stored) = self.objects.get(&object.place())
            && (stored.conf == self.conf && stored.name == object.name && stored.app == object.app)
            // A private object hides the shared one of its name, and is not that one.
            && (object.sharing == Sharing::User) == (stored.sharing == Sharing::User)
            && stored.seen_by(namespace)
        {
            object.owner.clone_from(&stored.owner);
            object.sharing = stored.sharing;
            object.removable = true;
        }
        if object.get(TEXT).is_none()
            && let Some(text) = self.text_of_file(&object)
        {
            object.settings.push((TEXT.to_owned(), text.to_owned()));
        }
        Some(object)
    }

    /// The text of a page or a data model that is a file.
    fn text_of_file(&self, object: &ConfObject) -> Option<&str> {
        if self.conf == MODELS {
            return models::text(self.layers, &object.app, &object.name);
        }
        self.pages.text(self.conf, &object.app, &object.name).map(AsRef::as_ref)
    }

    /// An object as its highest layer makes it.
    fn without_settings(&self, layer: &Layer, name: &str) -> ConfObject {
        let exports = |app: &str| self.layers.exports(app, self.conf, name);
        let (owner, sharing) = match layer {
            Layer::User(owner, _) => (owner.as_str(), Sharing::User),
            _ if layer.app().is_some_and(exports) => (NOBODY, Sharing::Global),
            _ => (NOBODY, Sharing::App),
        };
        ConfObject {
            conf: self.conf.to_owned(),
            name: name.to_owned(),
            app: layer.app().unwrap_or(SYSTEM).to_owned(),
            owner: owner.to_owned(),
            sharing,
            settings: Vec::new(),
            removable: false,
        }
    }
}
