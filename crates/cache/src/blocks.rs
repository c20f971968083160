//! The cache behind its handles: pools, the store, and what is known of objects.

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

/// What all clones share.
pub(crate) struct Blocks {
    pub(crate) inner: Arc<dyn ObjectStore>,
    /// By [`Kind`].
    pub(crate) pools: [Pool; 2],
    pub(crate) room: Option<Arc<Room>>,
    pub(crate) settings: Settings,
    /// Requests to the store that may begin.
    pub(crate) requests: Semaphore,
    pub(crate) hedging: Mutex<Hedging>,
    /// What is known of objects without asking.
    pub(crate) metas: Cache<String, ObjectMeta>,
    /// Where requests to the store are made.
    pub(crate) io: Handle,
    /// Held while the directory is in use.
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
        // It is whole between statements, so a panic elsewhere does not spoil it.
        self.hedging.lock()
    }

    /// Most blocks of one request.
    pub(crate) fn longest_run(&self, kind: Kind) -> u64 {
        (self.settings.fetch_bytes / self.pool(kind).block_bytes) as u64
    }

    /// Unwanted blocks between two wanted ones that are read along.
    pub(crate) fn gap(&self, kind: Kind) -> u64 {
        (self.settings.gap_bytes / self.pool(kind).block_bytes) as u64
    }

    pub(crate) fn known(&self, location: &Path) -> Option<ObjectMeta> {
        self.metas.get(location.as_ref()).map(|entry| entry.value().clone())
    }

    /// Drops what is cached of a path, up to `size` bytes or what is known to be there.
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
