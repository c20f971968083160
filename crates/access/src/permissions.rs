//! Which roles read and which change an object that is shared. Documents of the catalog, beside the
//! objects themselves.

use std::collections::HashMap;
use std::sync::{PoisonError, RwLock};

use catalog::Catalog;
use serde::{Deserialize, Serialize};

use crate::Error;

const KIND: &str = "perms";

/// Roles; `*` is everybody.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Perms {
    /// Who reads it.
    pub read: Vec<String>,
    /// Who changes it.
    pub write: Vec<String>,
}

impl Default for Perms {
    /// Of an object that nobody said anything of.
    fn default() -> Self {
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        Self { read: owned(&["*"]), write: owned(&["admin", "power"]) }
    }
}

impl Perms {
    /// Whether a user with these roles reads it.
    #[must_use]
    pub fn may_read(&self, roles: &[String]) -> bool {
        allows(&self.read, roles)
    }

    /// Whether a user with these roles changes it.
    #[must_use]
    pub fn may_write(&self, roles: &[String]) -> bool {
        allows(&self.write, roles)
    }
}

fn allows(names: &[String], roles: &[String]) -> bool {
    // `nobody` stands for everybody where nobody in particular is meant.
    names.iter().any(|name| name == "*" || name == "nobody" || roles.contains(name))
}

/// All that was said, by the place of the object.
#[derive(Debug)]
pub struct Permissions {
    catalog: Catalog,
    known: RwLock<HashMap<String, Perms>>,
}

impl Permissions {
    /// Reads them from the catalog.
    ///
    /// # Errors
    /// If the catalog holds some that cannot be read.
    pub fn load(catalog: Catalog) -> Result<Self, Error> {
        let mut known = HashMap::new();
        for document in catalog.snapshot().documents(KIND) {
            let perms = serde_json::from_value(document.json.as_ref().clone())
                .map_err(|error| Error::document(KIND, &document.name, &error))?;
            known.insert(document.name, perms);
        }
        Ok(Self { catalog, known: RwLock::new(known) })
    }

    /// What was said of the object at that place.
    #[must_use]
    pub fn get(&self, place: &str) -> Option<Perms> {
        self.known.read().unwrap_or_else(PoisonError::into_inner).get(place).cloned()
    }

    /// Says who reads and changes an object.
    ///
    /// # Errors
    /// If the catalog cannot be written.
    pub async fn put(&self, place: &str, perms: Perms) -> Result<(), Error> {
        let document =
            serde_json::to_value(&perms).map_err(|error| Error::document(KIND, place, &error))?;
        self.catalog.put_document(KIND, place, document).await?;
        self.known.write().unwrap_or_else(PoisonError::into_inner).insert(place.to_owned(), perms);
        Ok(())
    }

    /// Forgets what was said of an object that is gone.
    ///
    /// # Errors
    /// If the catalog cannot be written.
    pub async fn remove(&self, place: &str) -> Result<(), Error> {
        if self.get(place).is_none() {
            return Ok(());
        }
        self.catalog.delete_document(KIND, place).await?;
        self.known.write().unwrap_or_else(PoisonError::into_inner).remove(place);
        Ok(())
    }
}
