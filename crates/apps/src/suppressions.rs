//! Until when the alerts of saved searches are suppressed. Documents of the catalog.

use std::collections::HashMap;

use catalog::{Catalog, Followed, Snapshot};
use parking_lot::RwLock;
use serde_json::json;

use crate::{ConfObject, Error, NOBODY, Sharing};

const KIND: &str = "suppressions";

/// All suppressions, by the place of the saved search.
#[derive(Debug)]
pub struct Suppressions {
    catalog: Catalog,
    /// Epoch seconds.
    until: RwLock<HashMap<String, i64>>,
}

impl Followed for Suppressions {
    fn kind(&self) -> &'static str {
        KIND
    }

    fn reload(&self) -> Result<(), String> {
        let mut until = self.until.write();
        *until = Self::read(&self.catalog.snapshot()).map_err(|error| error.to_string())?;
        Ok(())
    }
}

impl Suppressions {
    /// Reads them from the catalog.
    ///
    /// # Errors
    /// [`Error::Damaged`] for a document that cannot be read.
    pub fn load(catalog: Catalog) -> Result<Self, Error> {
        let until = Self::read(&catalog.snapshot())?;
        Ok(Self { catalog, until: RwLock::new(until) })
    }

    fn read(snapshot: &Snapshot) -> Result<HashMap<String, i64>, Error> {
        let mut until = HashMap::new();
        for document in snapshot.documents(KIND) {
            let time = serde_json::from_value(document.json["until"].clone())
                .map_err(|error| damaged(&document.name, &error))?;
            until.insert(document.name, time);
        }
        Ok(until)
    }

    /// `<owner>/<app>/<name>`: identifies a saved search among all.
    #[must_use]
    pub fn place(search: &ConfObject) -> String {
        let owner = if search.sharing == Sharing::User { search.owner.as_str() } else { NOBODY };
        format!("{owner}/{}/{}", search.app, search.name)
    }

    /// Seconds at `now` (epoch seconds) until alerts of the saved search are sent again; 0 if they are sent.
    #[must_use]
    pub fn left(&self, search: &ConfObject, now: i64) -> i64 {
        let until = self.until.read();
        until.get(&Self::place(search)).map_or(0, |until| (until - now).max(0))
    }

    /// Suppresses alerts of the saved search until epoch second `until`.
    ///
    /// # Errors
    /// If the catalog cannot be written.
    pub async fn put(&self, search: &ConfObject, until: i64) -> Result<(), Error> {
        let place = Self::place(search);
        self.catalog.put_document(KIND, &place, json!({"until": until})).await?;
        let mut all = self.until.write();
        all.insert(place, until);
        Ok(())
    }

    /// Ends the suppression, if there is one.
    ///
    /// # Errors
    /// If the catalog cannot be written.
    pub async fn remove(&self, search: &ConfObject) -> Result<(), Error> {
        let place = &Self::place(search);
        let known = {
            let all = self.until.read();
            all.contains_key(place)
        };
        if known {
            self.catalog.delete_document(KIND, place).await?;
            self.until.write().remove(place);
        }
        Ok(())
    }
}

fn damaged(name: &str, error: &serde_json::Error) -> Error {
    Error::Damaged { what: format!("the document {KIND}/{name}"), reason: error.to_string() }
}
