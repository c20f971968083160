//! Until when alerts of saved searches are held back. Documents of the catalog.

use std::collections::HashMap;
use std::sync::{PoisonError, RwLock};

use catalog::Catalog;
use serde_json::json;

use crate::Error;

const KIND: &str = "suppressions";

/// All that was said, by the place of the saved search.
#[derive(Debug)]
pub struct Suppressions {
    catalog: Catalog,
    /// Epoch seconds.
    until: RwLock<HashMap<String, i64>>,
}

impl Suppressions {
    /// Reads them from the catalog.
    ///
    /// # Errors
    /// If the catalog holds one that cannot be read.
    pub fn load(catalog: Catalog) -> Result<Self, Error> {
        let mut until = HashMap::new();
        for document in catalog.snapshot().documents(KIND) {
            let time = serde_json::from_value(document.json["until"].clone())
                .map_err(|error| Error::document(KIND, &document.name, &error))?;
            until.insert(document.name, time);
        }
        Ok(Self { catalog, until: RwLock::new(until) })
    }

    /// Seconds that are left of it at `now`; 0 if alerts are not held back.
    #[must_use]
    pub fn left(&self, place: &str, now: i64) -> i64 {
        let until = self.until.read().unwrap_or_else(PoisonError::into_inner);
        until.get(place).map_or(0, |until| (until - now).max(0))
    }

    pub(crate) async fn put(&self, place: &str, until: i64) -> Result<(), Error> {
        self.catalog.put_document(KIND, place, json!({"until": until})).await?;
        let mut all = self.until.write().unwrap_or_else(PoisonError::into_inner);
        all.insert(place.to_owned(), until);
        Ok(())
    }

    pub(crate) async fn remove(&self, place: &str) -> Result<(), Error> {
        let known = {
            let all = self.until.read().unwrap_or_else(PoisonError::into_inner);
            all.contains_key(place)
        };
        if known {
            self.catalog.delete_document(KIND, place).await?;
            self.until.write().unwrap_or_else(PoisonError::into_inner).remove(place);
        }
        Ok(())
    }
}
