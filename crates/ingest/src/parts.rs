//! What ingest works with.

use std::path::PathBuf;
use std::sync::Arc;

use catalog::Catalog;
use knowledge::Knowledge;
use model::IndexerId;
use object_store::ObjectStore;
use replication::Replicas;
use runtime::Clock;

use crate::Settings;

/// Where marks of journals are kept, apart from the journals.
pub(crate) const STATES: &str = "journal-state";

/// What ingest works with.
#[derive(Debug, Clone)]
pub struct Parts {
    /// The indexer's data directory; the journal lives in `journal/` below it.
    pub data: PathBuf,
    /// The indexer, the same at every start with this directory.
    pub indexer: IndexerId,
    /// Where buckets go.
    pub store: Arc<dyn ObjectStore>,
    /// Copies of the journal at other indexers, in a cluster.
    pub replicas: Option<Arc<Replicas>>,
    /// Which buckets exist.
    pub catalog: Arc<Catalog>,
    /// The rules for cutting and dating events.
    pub knowledge: Arc<Knowledge>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// How to work.
    pub settings: Settings,
}
