//! The events that the server writes of itself.

use std::sync::Arc;

use api::ApiState;
use cache::CachedStore;

use super::host_name;
use crate::server::access_log::AccessLog;
use crate::server::log_file::LogFile;
use crate::server::own_events::{self, Collector, Observed, OwnEvents};
use crate::server::views::MetricsText;

/// The parts of own events that exist before the server is assembled.
#[derive(Debug)]
pub(super) struct OwnEventsParts {
    pub(super) settings: introspection::Settings,
    /// Memory and disk of the cache.
    pub(super) cache_bytes: (usize, usize),
    pub(super) metrics: MetricsText,
    pub(super) log: LogFile,
    pub(super) access: AccessLog,
    pub(super) observed: Arc<Observed>,
}

impl OwnEventsParts {
    pub(super) fn start(
        self,
        state: &ApiState,
        cache: &Arc<CachedStore>,
        roles: Vec<&'static str>,
    ) -> OwnEvents {
        let (dram_bytes, nvme_bytes) = self.cache_bytes;
        let instance = introspection::Instance {
            name: state.info.server_name.clone(),
            guid: state.info.guid.clone(),
            roles,
            version: env!("CARGO_PKG_VERSION"),
            started: state.clock.now(),
            cpus: state.info.cores,
            dram_bytes: dram_bytes as u64,
            nvme_bytes: nvme_bytes as u64,
        };
        let sources = own_events::Sources {
            ingest: Arc::clone(&state.ingest),
            search: state.search.clone(),
            cache: Arc::clone(cache),
            catalog: state.catalog.clone(),
            metrics: self.metrics,
            log: self.log,
            access: self.access,
            clock: Arc::clone(&state.clock),
            data: state.info.home.clone(),
            observed: self.observed,
        };
        let collector = Collector::new(&self.settings, instance, sources);
        let to = own_events::To {
            ingest: Arc::clone(&state.ingest),
            indexes: Arc::clone(&state.indexes),
            host: host_name(),
        };
        OwnEvents::start(&self.settings, collector, to)
    }
}
