//! Objects that no bucket has.

use std::sync::Arc;
use std::time::Duration;

use object_store::{ObjectStore, ObjectStoreExt};
use runtime::Shutdown;

/// Deletes objects that a crash left between upload and commit.
pub(crate) async fn delete_orphans(
    store: Arc<dyn ObjectStore>,
    paths: Vec<String>,
    (mut pause, longest): (Duration, Duration),
    shutdown: Shutdown,
) {
    for path in paths {
        let location = object_store::path::Path::from(path.as_str());
        loop {
            match store.delete(&location).await {
                Ok(()) | Err(object_store::Error::NotFound { .. }) => break,
                Err(error) => {
                    tracing::warn!(%path, %error, "cannot delete an object that was not committed");
                }
            }
            if !shutdown.sleep(pause).await {
                return;
            }
            pause = (pause * 2).min(longest);
        }
    }
}
