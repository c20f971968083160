//! The state of the cache behind its handles: the pools, the store, and the known metadata of objects.

use std::fs::File;
use std::sync::Arc;

use foyer::Cache;
use object_store::path::Path;
use object_store::{ObjectMeta, ObjectStore};
use parking_lot::{Mutex, MutexGuard};
use tokio::runtime::Handle;
use tokio::sync::Semaphore;

use crate::Settings;
use crate::block::{BlockKey, Kind};
use crate::hedge::Hedging;
use crate::pool::Pool;
use crate::room::Room;

/// State shared by all clones of a [`crate::CachedStore`].
pub(crate) struct Blocks {
    pub(crate) inner: Arc<dyn ObjectStore>,
    /// Indexed by [`Kind`].
    pub(crate) pools: [Pool; 2],
    pub(crate) room: Option<Arc<Room>>,
    pub(crate) settings: Settings,
    /// Limits the concurrent requests to the store.
    pub(crate) requests: Semaphore,
    pub(crate) hedging: Mutex<Hedging>,
    /// Metadata of objects, so that the store need not be asked for it.
    pub(crate) metas: Cache<String, ObjectMeta>,
    /// The runtime on which requests to the store run.
    pub(crate) io: Handle,
    /// Size of the blocks that an earlier process left on NVMe, in bytes.
    pub(crate) found_at_start: u64,
    /// The lock on the directory, held while the cache is open.
    pub(crate) _lock: Option<File>,
}

impl Blocks {
    pub(crate) fn remember(&self, meta: &ObjectMeta) {
        self.metas.insert(meta.location.to_string(), meta.clone());
    }

    pub(crate) fn pool(&self, kind: Kind) -> &Pool {
        &self.pools[kind as usize]
    }

    pub(crate) fn hedging(&self) -> MutexGuard<'_, Hedging> {
        // No statement leaves it inconsistent, so a poisoned lock is still usable.
        self.hedging.lock()
    }

    /// Maximum number of blocks per request.
    pub(crate) fn longest_run(&self, kind: Kind) -> u64 {
        (self.settings.fetch_bytes / self.pool(kind).block_bytes) as u64
    }

    /// Maximum number of unwanted blocks between two wanted ones that are read with the same request.
    pub(crate) fn gap(&self, kind: Kind) -> u64 {
        (self.settings.gap_bytes / self.pool(kind).block_bytes) as u64
    }

    pub(crate) fn known(&self, location: &Path) -> Option<ObjectMeta> {
        self.metas.get(location.as_ref()).map(|entry| entry.value().clone())
    }

    /// Drops the cached blocks of a path, up to `size` bytes or the known size of the object.
    pub(crate) fn forget(&self, location: &Path, size: u64) {
        let known = self.known(location).map_or(0, |meta| meta.size);
        self.metas.remove(location.as_ref());
        let path: Arc<str> = Arc::from(location.as_ref());
        for pool in &self.pools {
            for number in 0..pool.blocks_of(size.max(known)) {
                pool.remove(&BlockKey { path: Arc::clone(&path), number });
            }
        }
    }
}
