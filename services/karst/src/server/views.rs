//! Cache counters and metrics as the API shows them.

use std::sync::Arc;

use anyhow::{Context, Result};
use api::{CacheView, MetricsView};
use cache::CachedStore;
use runtime::metrics::Recorder;

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
            ("dram_micros", stats.dram_micros),
            ("nvme_micros", stats.nvme_micros),
            ("store_micros", stats.store_micros),
        ]
    }
}

#[derive(Debug)]
pub(crate) struct MetricsText(Recorder);

impl MetricsText {
    pub(crate) fn install() -> Result<Self> {
        Recorder::install().map(Self).context("cannot set up metrics")
    }
}

impl MetricsView for MetricsText {
    fn render(&self) -> String {
        self.0.render()
    }
}
