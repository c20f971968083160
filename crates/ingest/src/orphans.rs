//! Objects that belong to no bucket.

use std::sync::Arc;
use std::time::Duration;

use catalog::{Catalog, Commit, Discarded};
use object_store::{ObjectStore, ObjectStoreExt};
use runtime::{Clock, Shutdown};

/// Deletes objects that a crash left between upload and commit. In a cluster the leading control plane
/// deletes them, because an indexer need not have the permission.
#[derive(Debug)]
pub(crate) struct Orphans {
    pub(crate) store: Arc<dyn ObjectStore>,
    pub(crate) catalog: Arc<Catalog>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) retry: (Duration, Duration),
    pub(crate) shutdown: Shutdown,
}

impl Orphans {
    pub(crate) async fn delete(self, paths: Vec<String>) {
        if paths.is_empty() {
            return;
        }
        if self.catalog.follows() {
            return self.hand_over(paths).await;
        }
        let (mut pause, longest) = self.retry;
        for path in paths {
            let location = object_store::path::Path::from(path.as_str());
            loop {
                match self.store.delete(&location).await {
                    Ok(()) | Err(object_store::Error::NotFound { .. }) => break,
                    Err(error) => {
                        tracing::warn!(%path, %error, "cannot delete an object that was not committed");
                    }
                }
                if !self.shutdown.sleep(pause).await {
                    return;
                }
                pause = (pause * 2).min(longest);
            }
        }
    }

    /// Adds the objects to the catalog's list of discarded objects.
    async fn hand_over(&self, paths: Vec<String>) {
        let now = self.clock.now();
        let discarded = |path| Discarded { path, delete_after: now };
        let discard: Vec<Discarded> = paths.into_iter().map(discarded).collect();
        let (mut pause, longest) = self.retry;
        loop {
            let commit = Commit { discard: discard.clone(), ..Commit::default() };
            let Err(error) = self.catalog.commit(commit).await else { return };
            tracing::warn!(%error, "objects that were not committed are not listed for deletion yet");
            if !self.shutdown.sleep(pause).await {
                return;
            }
            pause = (pause * 2).min(longest);
        }
    }
}
