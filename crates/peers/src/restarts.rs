//! The rolling restart of a cluster: a document of the catalog, which the control plane that leads keeps up
//! to date, and by which processes restart.

use catalog::{Catalog, Error, Snapshot};
use cluster::Wave;

/// The kind and the name of the document.
const DOCUMENT: (&str, &str) = ("rolling_restart", "wave");

/// The newest rolling restart.
#[must_use]
pub fn wave(snapshot: &Snapshot) -> Option<Wave> {
    let document = snapshot.document(DOCUMENT.0, DOCUMENT.1)?;
    serde_json::from_value((*document).clone()).ok()
}

/// Writes how far it is.
///
/// # Errors
/// If the catalog does not take the document.
pub async fn write_wave(catalog: &Catalog, wave: &Wave) -> Result<(), Error> {
    catalog.put_document(DOCUMENT.0, DOCUMENT.1, serde_json::json!(wave)).await
}

/// Whether a process that was started then is told to restart.
#[must_use]
pub fn is_told(snapshot: &Snapshot, id: &str, started: &str) -> bool {
    wave(snapshot).is_some_and(|wave| wave.told.get(id).is_some_and(|before| before == started))
}
