//! The locations of lookup files: object storage, and the directories of apps.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::SeqCst;
use std::time::{Duration, Instant};

use futures::TryStreamExt;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt, PutPayload};
use tokio::sync::Mutex;

/// The directory of lookups in object storage.
pub(crate) const ROOT: &str = "lookups";

/// Maximum time until new or removed files of other processes are noticed.
const LISTED: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(crate) struct Lookups {
    pub(crate) store: Arc<dyn ObjectStore>,
    /// The files in object storage, with the time and the change at which they were listed. A name may refer
    /// to a file of each of a hundred apps, and checking each of them would need a request.
    listed: Mutex<Option<Listed>>,
    /// Changes made by this process, which sees them at once.
    changes: AtomicU64,
}

#[derive(Debug)]
struct Listed {
    paths: Arc<HashSet<Path>>,
    at: Instant,
    changes: u64,
}

impl Lookups {
    pub(crate) fn new(store: Arc<dyn ObjectStore>) -> Self {
        Self { store, listed: Mutex::default(), changes: AtomicU64::new(0) }
    }

    pub(crate) fn object(owner: &str, app: &str, name: &str) -> Path {
        Path::from_iter([ROOT, owner, app, name])
    }

    /// The files in object storage, a second ago at most.
    pub(crate) async fn stored(&self) -> Result<Arc<HashSet<Path>>, object_store::Error> {
        let mut listed = self.listed.lock().await;
        let changes = self.changes.load(SeqCst);
        if let Some(known) = &*listed
            && known.changes == changes
            && known.at.elapsed() < LISTED
        {
            return Ok(Arc::clone(&known.paths));
        }
        let at = Instant::now();
        let found = self.store.list(Some(&Path::from(ROOT))).map_ok(|object| object.location);
        let paths = Arc::new(found.try_collect::<HashSet<_>>().await?);
        *listed = Some(Listed { paths: Arc::clone(&paths), at, changes });
        Ok(paths)
    }

    pub(crate) async fn put(
        &self,
        path: &Path,
        bytes: PutPayload,
    ) -> Result<(), object_store::Error> {
        let put = self.store.put(path, bytes).await;
        self.changes.fetch_add(1, SeqCst);
        put.map(drop)
    }

    pub(crate) async fn delete(&self, path: &Path) -> Result<(), object_store::Error> {
        let deleted = self.store.delete(path).await;
        self.changes.fetch_add(1, SeqCst);
        deleted
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use object_store::memory::InMemory;

    use super::*;

    #[tokio::test]
    async fn own_changes_are_seen_at_once() {
        let lookups = Lookups::new(Arc::new(InMemory::new()));
        let path = Lookups::object("nobody", "search", "a.csv");
        assert!(lookups.stored().await.unwrap().is_empty());
        lookups.put(&path, "x\n1\n".into()).await.unwrap();
        assert!(lookups.stored().await.unwrap().contains(&path));
        lookups.delete(&path).await.unwrap();
        assert!(lookups.stored().await.unwrap().is_empty());
    }
}
