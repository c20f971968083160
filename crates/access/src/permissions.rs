//! Permissions of shared objects: which roles may read and write them. Stored as documents in the
//! catalog, separately from the objects.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

use catalog::Catalog;
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

/// All explicit permissions, by key of the object.
#[derive(Debug)]
pub struct Permissions {
    catalog: Catalog,
    known: RwLock<Arc<BTreeMap<String, Perms>>>,
}

impl Permissions {
    /// Reads the permissions from the catalog.
    ///
    /// # Errors
    /// If a document is unreadable.
    pub fn load(catalog: Catalog) -> Result<Self, Error> {
        let mut known = BTreeMap::new();
        for document in catalog.snapshot().documents(KIND) {
            let perms = serde_json::from_value(document.json.as_ref().clone())
                .map_err(|error| Error::document(KIND, &document.name, &error))?;
            known.insert(document.name, perms);
        }
        Ok(Self { catalog, known: RwLock::new(Arc::new(known)) })
    }

    /// The explicit permissions of an object.
    #[must_use]
    pub fn get(&self, place: &str) -> Option<Perms> {
        self.known.read().unwrap_or_else(PoisonError::into_inner).get(place).cloned()
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
        if self.get(place).is_none() {
            return Ok(());
        }
        self.catalog.delete_document(KIND, place).await?;
        self.change(|known| drop(known.remove(place)));
        Ok(())
    }
    /// All current permissions, by key.
    pub(crate) fn all(&self) -> Arc<BTreeMap<String, Perms>> {
        Arc::clone(&self.known.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn change(&self, change: impl FnOnce(&mut BTreeMap<String, Perms>)) {
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        change(Arc::make_mut(&mut known));
    }
}
