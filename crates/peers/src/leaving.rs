//! Indexers that are being decommissioned: documents of the catalog. One document names the indexer that is
//! asked to leave, and is written by the process that the administrator asks; the other one has the progress,
//! and is written by the indexer itself.

use std::collections::BTreeMap;

use catalog::{Catalog, Error, Snapshot};
use cluster::{Handover, Leaving};
use serde::de::DeserializeOwned;

/// The kinds of the documents. Their names are the identities of the indexers.
const ASKED: &str = "leaving";
const PROGRESS: &str = "handover";

fn read<T: DeserializeOwned>(snapshot: &Snapshot, kind: &str, id: &str) -> Option<T> {
    let document = snapshot.document(kind, id)?;
    serde_json::from_value((*document).clone()).ok()
}

/// The indexers that are asked to leave, by identity.
#[must_use]
pub fn leaving(snapshot: &Snapshot) -> BTreeMap<String, Leaving> {
    let documents = snapshot.documents(ASKED).into_iter();
    let read = documents.filter_map(|document| {
        let leaving = serde_json::from_value((*document.json).clone()).ok()?;
        Some((document.name, leaving))
    });
    read.collect()
}

/// Whether an indexer that was started then is asked to leave.
#[must_use]
pub fn asked(snapshot: &Snapshot, id: &str, started: &str) -> Option<Leaving> {
    read(snapshot, ASKED, id).filter(|leaving: &Leaving| leaving.started == started)
}

/// Returns the progress of an indexer that is asked to leave; `None` before it has reported any.
#[must_use]
pub fn handover(snapshot: &Snapshot, id: &str) -> Option<Handover> {
    read(snapshot, PROGRESS, id)
}

/// Asks an indexer to leave.
///
/// # Errors
/// If the catalog does not take the document.
pub async fn ask_to_leave(catalog: &Catalog, id: &str, leaving: &Leaving) -> Result<(), Error> {
    // The progress of an earlier attempt does not apply to this one.
    forget(catalog, PROGRESS, id).await?;
    catalog.put_document(ASKED, id, serde_json::json!(leaving)).await
}

/// Writes how far an indexer is.
///
/// # Errors
/// If the catalog does not take the document.
pub async fn write_handover(catalog: &Catalog, id: &str, handover: &Handover) -> Result<(), Error> {
    catalog.put_document(PROGRESS, id, serde_json::json!(handover)).await
}

/// Asks an indexer no more: it is to stay, or has left.
///
/// # Errors
/// If the catalog does not take the change.
pub async fn forget_leaving(catalog: &Catalog, id: &str) -> Result<(), Error> {
    forget(catalog, ASKED, id).await?;
    forget(catalog, PROGRESS, id).await
}

/// Asks an indexer no more; `false` if it stops already.
///
/// # Errors
/// If the catalog does not take the change.
pub async fn keep(catalog: &Catalog, id: &str) -> Result<bool, Error> {
    forget(catalog, ASKED, id).await?;
    // Progress that the indexer has written before is in the catalog now; progress that it writes later, it
    // reverts.
    let stops = handover(&catalog.snapshot(), id).is_some_and(|handover| handover.stops);
    forget(catalog, PROGRESS, id).await?;
    Ok(!stops)
}

async fn forget(catalog: &Catalog, kind: &str, id: &str) -> Result<(), Error> {
    if catalog.snapshot().document(kind, id).is_none() {
        return Ok(());
    }
    catalog.delete_document(kind, id).await
}
