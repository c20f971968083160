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

/// Writes how far it is, if it is still as in a snapshot: whoever cancels it meanwhile is not overruled.
/// Whether it was.
///
/// # Errors
/// If the catalog does not take the document.
pub async fn replace_wave(
    catalog: &Catalog,
    snapshot: &Snapshot,
    wave: &Wave,
) -> Result<bool, Error> {
    let document = |json| (DOCUMENT.0.to_owned(), DOCUMENT.1.to_owned(), json);
    let before = snapshot.document(DOCUMENT.0, DOCUMENT.1).map(|json| (*json).clone());
    let after = serde_json::json!(wave);
    let replaced =
        catalog.replace_documents(vec![document(before)], vec![document(Some(after))]).await;
    match replaced {
        Ok(()) => Ok(true),
        Err(Error::Changed { .. }) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Whether a process that was started then is told to restart.
#[must_use]
pub fn is_told(snapshot: &Snapshot, id: &str, started: &str) -> bool {
    wave(snapshot).is_some_and(|wave| wave.told.get(id).is_some_and(|before| before == started))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::Arc;

    use object_store::memory::InMemory;

    use super::*;

    #[tokio::test]
    async fn a_step_does_not_overrule_who_cancels_meanwhile() {
        let (store, clock) = (Arc::new(InMemory::new()), Arc::new(runtime::SystemClock));
        let settings = catalog::Settings::default();
        let catalog = Catalog::open(store, "catalog", settings, clock).await.unwrap();
        let begun = Wave::new(vec!["a".to_owned(), "b".to_owned()], None);
        write_wave(&catalog, &begun).await.unwrap();
        let seen = catalog.snapshot();
        let cancelled = Wave { halted: Some("cancelled".to_owned()), ..begun.clone() };
        write_wave(&catalog, &cancelled).await.unwrap();
        let step = Wave { waiting: vec!["b".to_owned()], ..begun };
        assert!(!replace_wave(&catalog, &seen, &step).await.unwrap());
        assert_eq!(wave(&catalog.snapshot()).unwrap(), cancelled);
        assert!(replace_wave(&catalog, &catalog.snapshot(), &step).await.unwrap());
        assert_eq!(wave(&catalog.snapshot()).unwrap(), step);
    }
}
