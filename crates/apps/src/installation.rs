//! The catalog's documents of installed apps and of the configuration bundle: the apps that were applied as
//! one change, and those before.

use std::collections::BTreeMap;

use catalog::Snapshot;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::Error;
use crate::digest::sha256;

/// The documents of installed apps.
pub(crate) const KIND: &str = "installed_app";
/// The document of the bundles.
const BUNDLE: (&str, &str) = ("bundle", "manager-apps");

/// The catalog's data of an installed app.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Installation {
    /// The digest of the manifest.
    pub manifest: String,
    /// Number of files of the app.
    pub files: usize,
    /// Bytes of all files.
    pub bytes: u64,
    /// When it was installed, in microseconds since 1970.
    pub installed: i64,
    /// The user who installed it.
    pub by: String,
}

/// Apps that were put in force as one change.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bundle {
    /// The apps by name.
    pub apps: BTreeMap<String, Installation>,
    /// When, in microseconds since 1970.
    pub applied: i64,
    /// The user who did it.
    pub by: String,
}

impl Bundle {
    /// The digest of its apps.
    #[must_use]
    pub fn checksum(&self) -> String {
        checksum(self.apps.iter().map(|(app, one)| (app.as_str(), one.manifest.clone())))
    }
}

/// The bundle in force and the one before.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bundles {
    /// The one in force.
    pub active: Option<Bundle>,
    /// The bundle that was in force before, for a rollback.
    pub previous: Option<Bundle>,
}

impl Bundles {
    /// Reads the bundles of the catalog.
    ///
    /// # Errors
    /// [`Error::Damaged`].
    pub fn read(snapshot: &Snapshot) -> Result<Self, Error> {
        let Some(document) = snapshot.document(BUNDLE.0, BUNDLE.1) else {
            return Ok(Self::default());
        };
        serde_json::from_value((*document).clone()).map_err(|error| Error::Damaged {
            what: format!("the document {}/{}", BUNDLE.0, BUNDLE.1),
            reason: error.to_string(),
        })
    }

    /// The document, for the catalog.
    pub(crate) fn document(&self) -> (String, String, Option<Value>) {
        (BUNDLE.0.to_owned(), BUNDLE.1.to_owned(), Some(json!(self)))
    }
}

/// The digest of apps and their manifests, by name.
pub(crate) fn checksum<'a>(apps: impl Iterator<Item = (&'a str, String)>) -> String {
    sha256(listing(apps).as_bytes())
}

/// The text of apps and their manifests that [`checksum`] is the digest of.
pub(crate) fn listing<'a>(apps: impl Iterator<Item = (&'a str, String)>) -> String {
    let mut text = String::new();
    for (app, manifest) in apps {
        text.push_str(app);
        text.push('\n');
        text.push_str(&manifest);
        text.push('\n');
    }
    text
}

/// The apps of a [`listing`], with their manifests; `None` for another text.
pub(crate) fn apps_of(listing: &str) -> Option<BTreeMap<String, String>> {
    let mut lines = listing.lines();
    let mut apps = BTreeMap::new();
    while let Some(app) = lines.next() {
        apps.insert(app.to_owned(), lines.next()?.to_owned());
    }
    Some(apps)
}
