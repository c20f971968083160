//! The rolling restart of a cluster: a document of the catalog, which the control plane that leads keeps up
//! to date, and by which processes restart.

use std::time::Duration;

use catalog::{Catalog, Error, Snapshot};
use cluster::Wave;

/// The kind and the name of the document.
const DOCUMENT: (&str, &str) = ("rolling_restart", "wave");

/// Maximum time that a cancellation waits for the change that it has missed before it is retried.
const ARRIVAL: Duration = Duration::from_secs(1);

/// The newest rolling restart.
#[must_use]
pub fn wave(snapshot: &Snapshot) -> Option<Wave> {
    let document = snapshot.document(DOCUMENT.0, DOCUMENT.1)?;
    serde_json::from_value((*document).clone()).ok()
}

/// Writes the start or the progress of a rolling restart if it is unchanged since the snapshot, so that
/// concurrent starts and cancellations are not overwritten. Returns whether it was unchanged.
///
/// # Errors
/// If the catalog does not take the document in time.
pub async fn replace_wave(
    catalog: &Catalog,
    snapshot: &Snapshot,
    wave: &Wave,
) -> Result<bool, Error> {
    let document = |json| (DOCUMENT.0.to_owned(), DOCUMENT.1.to_owned(), json);
    let before = snapshot.document(DOCUMENT.0, DOCUMENT.1).map(|json| (*json).clone());
    let after = serde_json::json!(wave);
    let (before, after) = (vec![document(before)], vec![document(Some(after))]);
    let replaced = catalog.replace_documents_in_time(before, after).await;
    match replaced {
        Ok(()) => Ok(true),
        Err(Error::Changed { .. }) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Cancels the current rolling restart, even if it progresses in the meantime; `false` if there is none.
///
/// # Errors
/// If the catalog does not take the document.
pub async fn cancel_wave(catalog: &Catalog, reason: &str) -> Result<bool, Error> {
    let mut changes = catalog.subscribe();
    loop {
        let snapshot = changes.borrow_and_update().clone();
        let Some(mut wave) = wave(&snapshot).filter(|wave| !wave.is_over()) else {
            return Ok(false);
        };
        wave.halted = Some(reason.to_owned());
        if replace_wave(catalog, &snapshot, &wave).await? {
            return Ok(true);
        }
        // The restart has progressed, and the change has not arrived in this process yet.
        let _ = tokio::time::timeout(ARRIVAL, changes.changed()).await;
    }
}

/// Whether the process with this start time is to restart.
#[must_use]
pub fn is_told(snapshot: &Snapshot, id: &str, started: &str) -> bool {
    wave(snapshot).is_some_and(|wave| wave.told.get(id).is_some_and(|before| before == started))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::disallowed_methods)]
mod tests {
    use std::sync::Arc;

    use object_store::memory::InMemory;

    use super::*;

    async fn open() -> Catalog {
        let (store, clock) = (Arc::new(InMemory::new()), Arc::new(runtime::SystemClock));
        Catalog::open(store, "catalog", catalog::Settings::default(), clock).await.unwrap()
    }

    fn halted(wave: &Wave) -> Wave {
        Wave { halted: Some("cancelled".to_owned()), ..wave.clone() }
    }

    #[tokio::test]
    async fn a_step_does_not_overrule_who_cancels_meanwhile() {
        let catalog = open().await;
        let begun = Wave::new(vec!["a".to_owned(), "b".to_owned()], None);
        assert!(replace_wave(&catalog, &catalog.snapshot(), &begun).await.unwrap());
        let seen = catalog.snapshot();
        assert!(cancel_wave(&catalog, "cancelled").await.unwrap());
        let step = Wave { waiting: vec!["b".to_owned()], ..begun.clone() };
        assert!(!replace_wave(&catalog, &seen, &step).await.unwrap());
        assert_eq!(wave(&catalog.snapshot()).unwrap(), halted(&begun));
        // Neither does who begins another one.
        assert!(!replace_wave(&catalog, &seen, &begun).await.unwrap());
        assert!(replace_wave(&catalog, &catalog.snapshot(), &step).await.unwrap());
        assert_eq!(wave(&catalog.snapshot()).unwrap(), step);
    }

    #[tokio::test]
    async fn a_cancel_does_not_undo_steps_that_are_made_meanwhile() {
        let catalog = open().await;
        assert!(!cancel_wave(&catalog, "cancelled").await.unwrap());
        let mut last = Wave::new(vec!["a".to_owned()], None);
        assert!(replace_wave(&catalog, &catalog.snapshot(), &last).await.unwrap());
        let canceller = catalog.clone();
        let cancelling = tokio::spawn(async move { cancel_wave(&canceller, "cancelled").await });
        for step in 1.. {
            let next = Wave { percent: Some(step), ..last.clone() };
            let seen = catalog.snapshot();
            let is_halted = wave(&seen).unwrap().halted.is_some();
            if is_halted || !replace_wave(&catalog, &seen, &next).await.unwrap() {
                break;
            }
            last = next;
        }
        assert!(cancelling.await.unwrap().unwrap());
        assert_eq!(wave(&catalog.snapshot()).unwrap(), halted(&last));
    }
}
