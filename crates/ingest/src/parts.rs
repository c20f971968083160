//! The components from which ingest is built.

use std::path::PathBuf;
use std::sync::Arc;

use catalog::Catalog;
use knowledge::Knowledge;
use model::IndexerId;
use object_store::ObjectStore;
use replication::Replicas;
use runtime::Clock;

use crate::Settings;

/// The directory of the marks of journals, separate from the journals.
pub(crate) const STATES: &str = "journal-state";

/// The components from which ingest is built.
#[derive(Debug, Clone)]
pub struct Parts {
    /// The indexer's data directory; the journal lives in `journal/` below it.
    pub data: PathBuf,
    /// The identity of the indexer, the same at every start with this directory.
    pub indexer: IndexerId,
    /// The object store of the buckets.
    pub store: Arc<dyn ObjectStore>,
    /// Copies of the journal at other indexers, in a cluster.
    pub replicas: Option<Arc<Replicas>>,
    /// The catalog of the buckets.
    pub catalog: Arc<Catalog>,
    /// The rules for cutting and dating events.
    pub knowledge: Arc<Knowledge>,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// The settings.
    pub settings: Settings,
}
