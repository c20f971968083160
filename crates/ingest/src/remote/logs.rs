//! The journals of this indexer in other places.

use std::sync::Arc;

use model::JournalPlace;
use object_store::ObjectStore;
use replication::{ReplicaStore, Replicas};

use super::{RemoteLog, Shipment};
use crate::fence::Fence;
use crate::{Parts, Settings};

/// See the module. Clones share them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Logs(Vec<Arc<RemoteLog>>);

impl Logs {
    pub(crate) fn new(parts: &Parts, fence: &Arc<Fence>, settings: &Settings) -> Self {
        let log = |store: Arc<dyn ObjectStore>, replicas: Option<&Arc<Replicas>>| {
            let fence = Arc::clone(fence);
            Arc::new(RemoteLog::new((store, replicas.cloned()), parts.indexer, fence, settings))
        };
        let mut logs = vec![log(Arc::clone(&parts.store), None)];
        if let Some(replicas) = &parts.replicas {
            logs.push(log(Arc::new(ReplicaStore(Arc::clone(replicas))), Some(replicas)));
        }
        Self(logs)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Arc<RemoteLog>> {
        self.0.iter()
    }

    /// Returns the log at a place, if this process has one.
    pub(crate) fn at(&self, place: JournalPlace) -> Option<&Arc<RemoteLog>> {
        self.iter().find(|log| log.place() == place)
    }
}

/// Records of one set that are to be put into logs in other places.
#[derive(Debug, Default)]
pub(crate) struct Shipments {
    remote: Shipment,
    replicated: Shipment,
}

impl Shipments {
    /// Returns the shipment for a place; `None` for the disk of this indexer.
    pub(crate) fn to(&mut self, place: JournalPlace) -> Option<&mut Shipment> {
        match place {
            JournalPlace::Disk => None,
            JournalPlace::Remote => Some(&mut self.remote),
            JournalPlace::Replicated => Some(&mut self.replicated),
        }
    }

    pub(crate) fn by_place(self) -> [(JournalPlace, Shipment); 2] {
        [(JournalPlace::Remote, self.remote), (JournalPlace::Replicated, self.replicated)]
    }
}
