//! The list of the processes of a cluster: documents of the catalog.

use catalog::{Catalog, Error, Snapshot};
use serde::{Deserialize, Serialize};

use crate::Indexer;

/// The kind of the documents. Their names are the identities of the processes.
const KIND: &str = "peer";
/// The kind of the documents that say by which apps processes work.
const APPS: &str = "bundle_of";
/// The kind and the name of the document that says who leads.
const LEADER: (&str, &str) = ("leader", "catalog");

/// What a process tells the others of itself, from its start until it has stopped in an orderly way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Registration {
    /// Its server name.
    pub name: String,
    /// Its cluster address.
    pub address: String,
    /// Its roles, as `--role` takes them.
    pub roles: Vec<String>,
    /// The URL of its management port.
    pub management: String,
    /// The version of its program.
    pub version: String,
    /// When it was started, RFC 3339.
    pub started: String,
    /// Whether it may acknowledge events that are on its disk only.
    #[serde(default = "unknown")]
    pub local_acks: bool,
    /// Its site.
    #[serde(default = "no_site")]
    pub site: String,
}

/// A process of an older version has none.
fn no_site() -> String {
    cluster::NO_SITE.to_owned()
}

/// A process of an older version does.
const fn unknown() -> bool {
    true
}

impl Registration {
    /// Adds this process to the list, or replaces what the list says of it.
    ///
    /// # Errors
    /// If the catalog does not take the document.
    pub async fn write(&self, catalog: &Catalog, id: &str) -> Result<(), Error> {
        let document = serde_json::json!(self);
        catalog.put_document(KIND, id, document).await
    }

    /// The processes in the list, by identity.
    #[must_use]
    pub fn all(snapshot: &Snapshot) -> Vec<(String, Self)> {
        let documents = snapshot.documents(KIND).into_iter();
        let read = documents.filter_map(|document| {
            let registration = serde_json::from_value((*document.json).clone()).ok()?;
            Some((document.name, registration))
        });
        read.collect()
    }

    /// The processes in the list but one: each of them may have hot buckets.
    #[must_use]
    pub fn others(snapshot: &Snapshot, own: &str) -> Vec<Indexer> {
        let others = Self::all(snapshot).into_iter().filter(|(id, _)| id != own);
        let indexer = |(id, registration): (String, Self)| {
            let Self { name, address, roles, local_acks, .. } = registration;
            // Nothing else is taken in without one of these roles.
            let takes = |role: &String| role == "indexer" || role == "search-head";
            let is_internal = !roles.iter().any(takes);
            let is_recoverable = roles.iter().any(|role| role == "indexer") && !local_acks;
            Indexer { id, name, address, is_internal, is_recoverable }
        };
        others.map(indexer).collect()
    }
}

/// Takes a process out of the list.
///
/// # Errors
/// If the catalog does not take the change.
pub async fn leave(catalog: &Catalog, id: &str) -> Result<(), Error> {
    for kind in [KIND, APPS] {
        if catalog.snapshot().document(kind, id).is_some() {
            catalog.delete_document(kind, id).await?;
        }
    }
    Ok(())
}

/// Notes by which installed apps a process works: their digest.
///
/// # Errors
/// If the catalog does not take the document.
pub async fn note_bundle(catalog: &Catalog, id: &str, checksum: &str) -> Result<(), Error> {
    catalog.put_document(APPS, id, serde_json::json!({ "checksum": checksum })).await
}

/// The digest of the installed apps by which a process works, as it has said last.
#[must_use]
pub fn bundle_of(snapshot: &Snapshot, id: &str) -> Option<String> {
    snapshot.document(APPS, id)?["checksum"].as_str().map(str::to_owned)
}

/// Notes that a process leads, and since when.
///
/// # Errors
/// If the catalog does not take the document.
pub async fn note_leader(catalog: &Catalog, id: &str, since: &str) -> Result<(), Error> {
    let document = serde_json::json!({ "id": id, "since": since });
    catalog.put_document(LEADER.0, LEADER.1, document).await
}

/// The identity of the process that leads, and since when.
#[must_use]
pub fn leader(snapshot: &Snapshot) -> Option<(String, String)> {
    let document = snapshot.document(LEADER.0, LEADER.1)?;
    let text = |field: &str| document[field].as_str().map(str::to_owned);
    Some((text("id")?, text("since")?))
}
