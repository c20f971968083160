//! Permissions of shared objects: which roles may read and write them. Permissions set by users are documents
//! in the catalog, separate from the objects; others come from the metadata files of apps.

use std::collections::BTreeMap;
use std::sync::Arc;

use catalog::{Catalog, Followed, Snapshot};
use conf::Access;
use parking_lot::RwLock;
use serde::{Deserialize, Serialize};

use crate::Error;

const KIND: &str = "perms";

/// Roles; `*` is everybody.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Perms {
    /// Roles with read access.
    pub read: Vec<String>,
    /// Roles with write access.
    pub write: Vec<String>,
}

impl Default for Perms {
    /// The permissions of an object without explicit ones.
    fn default() -> Self {
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        Self { read: owned(&["*"]), write: owned(&["admin", "power"]) }
    }
}

/// All explicit permissions.
#[derive(Debug, Clone, Default)]
pub(crate) struct Known {
    /// Permissions set by users, by key of the object.
    pub(crate) set: BTreeMap<String, Perms>,
    /// Permissions from metadata files: of an app (`app`), of all objects of a type in it (`app/type`), of
    /// one object (`app/type/name`).
    pub(crate) apps: Arc<BTreeMap<String, Access>>,
}

impl Known {
    /// Returns the permissions of an object: its own, or else those of its type or its app.
    pub(crate) fn of(&self, key: &str) -> Perms {
        if let Some(perms) = self.set.get(key) {
            return perms.clone();
        }
        let levels = || self.levels(key).map(|(_, access)| access);
        let default = Perms::default();
        Perms {
            read: levels().find_map(|access| access.read.clone()).unwrap_or(default.read),
            write: levels().find_map(|access| access.write.clone()).unwrap_or(default.write),
        }
    }

    /// Whether an object may be read, by its own permissions, those of its type and those of its app.
    pub(crate) fn allows_reading(&self, key: &str, is_named: impl Fn(&[String]) -> bool) -> bool {
        let set = self.set.get(key);
        let own = object_of(key);
        let mut levels = self.levels(key).filter(|(name, _)| set.is_none() || *name != own);
        let open = |access: &Access| access.read.as_ref().is_none_or(|roles| is_named(roles));
        set.is_none_or(|perms| is_named(&perms.read)) && levels.all(|(_, access)| open(access))
    }

    /// The roles that may add shared objects to an app.
    pub(crate) fn writers(&self, app: &str) -> Vec<String> {
        let of_app = self.apps.get(app).and_then(|access| access.write.clone());
        of_app.unwrap_or_else(|| Perms::default().write)
    }

    /// Returns the metadata of an object, its type and its app, in this order.
    fn levels<'k>(&'k self, key: &'k str) -> impl Iterator<Item = (&'k str, &'k Access)> {
        let own = object_of(key);
        let slashes: Vec<usize> = own.match_indices('/').map(|(at, _)| at).collect();
        // A setting of `props.conf` belongs to its stanza, whose name may contain slashes, too.
        let is_setting = slashes.len() > 2 && own.split('/').nth(1) == Some("props");
        let kept = slashes.iter().enumerate().filter(|(at, _)| *at < 2 || is_setting);
        let mut names: Vec<&str> = kept.filter_map(|(_, end)| own.get(..*end)).collect();
        names.push(own);
        names.into_iter().rev().filter_map(|name| Some((name, self.apps.get(name)?)))
    }
}

/// `app/type/name` of the key `owner/app/type/name`.
fn object_of(key: &str) -> &str {
    key.split_once('/').map_or(key, |(_, object)| object)
}

/// The permissions of shared objects.
#[derive(Debug)]
pub struct Permissions {
    catalog: Catalog,
    known: RwLock<Arc<Known>>,
}

impl Followed for Permissions {
    fn kind(&self) -> &'static str {
        KIND
    }

    fn reload(&self) -> Result<(), String> {
        let mut known = self.known.write();
        let set = Self::read(&self.catalog.snapshot()).map_err(|error| error.to_string())?;
        Arc::make_mut(&mut known).set = set;
        Ok(())
    }
}

impl Permissions {
    /// Reads the permissions from the catalog, which replace those of metadata files.
    ///
    /// # Errors
    /// If a document is unreadable.
    pub fn load(catalog: Catalog, apps: BTreeMap<String, Access>) -> Result<Self, Error> {
        let known = Known { apps: Arc::new(apps), set: Self::read(&catalog.snapshot())? };
        Ok(Self { catalog, known: RwLock::new(Arc::new(known)) })
    }

    /// Replaces the metadata files' permissions.
    pub fn set_metadata(&self, apps: BTreeMap<String, Access>) {
        Arc::make_mut(&mut self.known.write()).apps = Arc::new(apps);
    }

    fn read(snapshot: &Snapshot) -> Result<BTreeMap<String, Perms>, Error> {
        let mut set = BTreeMap::new();
        for document in snapshot.documents(KIND) {
            let perms = serde_json::from_value(document.json.as_ref().clone())
                .map_err(|error| Error::document(KIND, &document.name, &error))?;
            set.insert(document.name, perms);
        }
        Ok(set)
    }

    /// The permissions of a shared object.
    #[must_use]
    pub fn of(&self, place: &str) -> Perms {
        self.all().of(place)
    }

    /// Sets the permissions of an object.
    ///
    /// # Errors
    /// If the catalog cannot be written.
    pub async fn put(&self, place: &str, perms: Perms) -> Result<(), Error> {
        let document =
            serde_json::to_value(&perms).map_err(|error| Error::document(KIND, place, &error))?;
        self.catalog.put_document(KIND, place, document).await?;
        self.change(|known| drop(known.insert(place.to_owned(), perms)));
        Ok(())
    }

    /// Removes the permissions of a removed object.
    ///
    /// # Errors
    /// If the catalog cannot be written.
    pub async fn remove(&self, place: &str) -> Result<(), Error> {
        if !self.all().set.contains_key(place) {
            return Ok(());
        }
        self.catalog.delete_document(KIND, place).await?;
        self.change(|known| drop(known.remove(place)));
        Ok(())
    }
    /// All current permissions.
    pub(crate) fn all(&self) -> Arc<Known> {
        Arc::clone(&self.known.read())
    }

    fn change(&self, change: impl FnOnce(&mut BTreeMap<String, Perms>)) {
        let mut known = self.known.write();
        change(&mut Arc::make_mut(&mut known).set);
    }
}
