//! What searching needs of the rest of Karst.

use std::sync::Arc;

use apps::Apps;
use bucket::{HotDirectory, OpenViews};
use cache::{Residency, SearchReads};
use catalog::{Catalog, IndexNames};
use object_store::ObjectStore;
use runtime::Clock;
use runtime::trace::Tracer;

use crate::threads::SearchThreads;
use crate::workers::Workers;

/// Where the objects of buckets are.
pub trait Objects: Send + Sync + std::fmt::Debug {
    /// Reads through the cache, which it counts for one search too.
    fn counted(&self, reads: &Arc<SearchReads>) -> Arc<dyn ObjectStore>;

    /// Where the bytes of an object of this path and size are, without reading it; `None` if that is not
    /// known.
    fn residency(&self, path: &str, size: u64) -> Option<Residency> {
        let _ = (path, size);
        None
    }

    /// Drops what the cache has of an object, so that the next read of it comes from object storage.
    fn forget(&self, path: &str, size: u64) {
        let _ = (path, size);
    }

    /// Reads past the cache, to tell a damaged object from a damaged copy; without it no bucket is
    /// ever left out by itself.
    fn direct(&self) -> Option<Arc<dyn ObjectStore>> {
        None
    }
}

/// What searching needs of the rest of Karst.
#[derive(Debug, Clone)]
pub struct Dependencies {
    /// Which buckets exist.
    pub catalog: Catalog,
    /// Buckets that are still being filled, of all indexers.
    pub hot: Arc<dyn HotDirectory>,
    /// The hot buckets of this process that searches of others read.
    pub views: OpenViews,
    /// Objects, read through the cache.
    pub objects: Arc<dyn Objects>,
    /// Configuration, lookups, collections.
    pub apps: Apps,
    /// What searches ask of the rest of the server: REST, events to collect, where addresses are.
    pub surroundings: Arc<dyn plan::Host>,
    /// Index names.
    pub indexes: Arc<dyn IndexNames>,
    /// Who reads buckets for searches of this process, if there are others.
    pub workers: Option<Arc<dyn Workers>>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Where searches run: apart from the threads that answer requests, so that a heavy search
    /// does not make the API slow.
    pub threads: SearchThreads,
    /// Makes the spans of searches.
    pub tracer: Tracer,
}
