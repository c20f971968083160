//! The components of Karst that the search service depends on.

use std::sync::Arc;

use apps::Apps;
use bucket::{HotDirectory, OpenViews};
use cache::{CachedStore, Residency, SearchReads};
use catalog::{Catalog, IndexNames};
use object_store::ObjectStore;
use runtime::Clock;
use runtime::trace::Tracer;

use crate::threads::SearchThreads;
use crate::workers::Workers;

/// Access to the objects of buckets.
pub trait Objects: Send + Sync + std::fmt::Debug {
    /// Returns a store that reads through the cache and counts the reads of one search.
    fn counted(&self, reads: &Arc<SearchReads>) -> Arc<dyn ObjectStore>;

    /// Returns the cache tiers that hold the bytes of an object with this path and size, without reading it;
    /// `None` if that is unknown.
    fn residency(&self, path: &str, size: u64) -> Option<Residency> {
        let _ = (path, size);
        None
    }

    /// Returns the cache, to read index data ahead of searches; `None` if there is none.
    fn cache(&self) -> Option<CachedStore> {
        None
    }

    /// Drops the cached blocks of an object, so that the next read comes from object storage.
    fn forget(&self, path: &str, size: u64) {
        let _ = (path, size);
    }

    /// Returns a store that bypasses the cache, to distinguish a damaged object from a damaged cached copy.
    /// Without it, buckets are never quarantined automatically.
    fn direct(&self) -> Option<Arc<dyn ObjectStore>> {
        None
    }
}

/// The components of Karst that the search service depends on.
#[derive(Debug, Clone)]
pub struct Dependencies {
    /// The catalog of buckets.
    pub catalog: Catalog,
    /// Hot buckets of all indexers.
    pub hot: Arc<dyn HotDirectory>,
    /// Views of the hot buckets of this process, which searches of other processes read.
    pub views: OpenViews,
    /// Objects, read through the cache.
    pub objects: Arc<dyn Objects>,
    /// Apps with their configuration, lookups and collections.
    pub apps: Apps,
    /// Services of the server that searches call: REST, event collection, geolocation.
    pub host: Arc<dyn plan::Host>,
    /// Index names.
    pub indexes: Arc<dyn IndexNames>,
    /// The processes that read buckets for searches of this process; `None` if there are no others.
    pub workers: Option<Arc<dyn Workers>>,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// The threads on which searches run, separate from those that answer requests, so that a heavy search
    /// does not slow the API.
    pub threads: SearchThreads,
    /// Creates the spans of searches.
    pub tracer: Tracer,
}
