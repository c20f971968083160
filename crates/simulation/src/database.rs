//! The catalog in the object store: only the process that opened it last can write, and writes are atomic.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use catalog::Snapshot;

use crate::process::Pid;

/// See the module.
#[derive(Debug, Clone, Default)]
pub(crate) struct Database {
    pub(crate) state: Arc<Snapshot>,
    /// Number of times that it was opened: only the last opener can write.
    pub(crate) opened: u64,
    pub(crate) lease: Lease,
    /// The last seen epoch and owner of each set.
    pub(crate) owners: BTreeMap<(model::IndexerId, u16), (u64, model::IndexerId)>,
}

/// The lease of the leader.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Lease {
    pub(crate) holder: Option<(Pid, u64)>,
    /// Changes with each renewal.
    pub(crate) count: u64,
    pub(crate) renewed: Duration,
}
