//! Maintenance mode: a document of the catalog. While it is on, copies that are lost are not replaced.

use catalog::{Catalog, Error, Snapshot};

/// The kind and the name of the document.
const DOCUMENT: (&str, &str) = ("maintenance", "cluster");

/// Returns who has turned maintenance mode on; `None` while it is off.
#[must_use]
pub fn maintenance(snapshot: &Snapshot) -> Option<String> {
    let document = snapshot.document(DOCUMENT.0, DOCUMENT.1)?;
    Some(document["by"].as_str().unwrap_or_default().to_owned())
}

/// Turns it on or off.
///
/// # Errors
/// If the catalog does not take the change.
pub async fn set_maintenance(catalog: &Catalog, by: Option<&str>) -> Result<(), Error> {
    match by {
        Some(by) => {
            catalog.put_document(DOCUMENT.0, DOCUMENT.1, serde_json::json!({ "by": by })).await
        }
        None if maintenance(&catalog.snapshot()).is_none() => Ok(()),
        None => catalog.delete_document(DOCUMENT.0, DOCUMENT.1).await,
    }
}
