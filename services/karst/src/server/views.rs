//! Views for the API (cache, metrics), and the object store for searches.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use api::{CacheView, MetricsView};
use cache::{CachedStore, Residency, SearchReads};
use ingest::Ingest;
use object_store::ObjectStore;
use object_store::path::Path;
use peers::Directory;
use runtime::Shutdown;
use runtime::metrics::{Program, Recorder};

/// Reads pending uploads from the spool, and all other objects through the cache.
#[derive(Debug)]
pub(crate) struct Objects {
    pub(crate) ingest: Arc<Ingest>,
    /// The directory of other processes' hot buckets.
    pub(crate) directory: Option<Directory>,
    pub(crate) cache: Arc<CachedStore>,
    pub(crate) store: Arc<dyn ObjectStore>,
}

impl search::Objects for Objects {
    fn counted(&self, reads: &Arc<SearchReads>) -> Arc<dyn ObjectStore> {
        self.readable(Arc::new(self.cache.counted(reads)))
    }

    fn residency(&self, path: &str, size: u64) -> Option<Residency> {
        Some(self.cache.residency(path, size))
    }

    fn cache(&self) -> Option<CachedStore> {
        Some(CachedStore::clone(&self.cache))
    }

    fn forget(&self, path: &str, size: u64) {
        self.cache.forget(&Path::from(path), size);
    }

    fn direct(&self) -> Option<Arc<dyn ObjectStore>> {
        Some(self.readable(Arc::clone(&self.store)))
    }
}

impl Objects {
    fn readable(&self, inner: Arc<dyn ObjectStore>) -> Arc<dyn ObjectStore> {
        let others = match &self.directory {
            Some(directory) => directory.readable(inner),
            None => inner,
        };
        self.ingest.readable(others)
    }
}

#[derive(Debug)]
pub(crate) struct CacheCounters(pub(crate) Arc<CachedStore>);

impl CacheView for CacheCounters {
    fn counters(&self) -> Vec<(&'static str, u64)> {
        let stats = self.0.stats();
        vec![
            ("dram_bytes", stats.dram_bytes),
            ("nvme_bytes", stats.nvme_bytes),
            ("store_bytes", stats.store_bytes),
            ("dram_hits", stats.dram_hits),
            ("nvme_hits", stats.nvme_hits),
            ("store_reads", stats.store_reads),
            ("store_requests", stats.store_requests),
            ("store_retries", stats.store_retries),
            ("store_hedges", stats.store_hedges),
            ("dram_micros", stats.dram_micros),
            ("nvme_micros", stats.nvme_micros),
            ("store_micros", stats.store_micros),
        ]
    }
}

#[derive(Debug, Clone)]
pub(crate) struct MetricsText(Recorder);

/// Interval in which samples of histograms are aggregated where nobody scrapes.
const UPKEEP: Duration = Duration::from_secs(5);

impl MetricsText {
    pub(crate) fn install() -> Result<Self> {
        Recorder::install(Program::Server, env!("CARGO_PKG_VERSION"))
            .map(Self)
            .context("cannot set up metrics")
    }
}

impl MetricsText {
    /// All metrics in the Prometheus text format.
    pub(crate) fn text(&self) -> String {
        self.0.render()
    }

    /// Bounds the memory of samples until the server stops.
    pub(crate) async fn keep_up(self, shutdown: Shutdown) {
        while shutdown.sleep(UPKEEP).await {
            self.0.upkeep();
        }
    }
}

impl MetricsView for MetricsText {
    fn render(&self) -> String {
        self.0.render()
    }
}
