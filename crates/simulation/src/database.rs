//! The catalog as the object store has it: whole writes of the process that has opened it last.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use catalog::Snapshot;

use crate::process::Pid;

/// See the module.
#[derive(Debug, Clone, Default)]
pub(crate) struct Database {
    pub(crate) state: Arc<Snapshot>,
    /// Counts how often it was opened: only the last opener writes.
    pub(crate) opened: u64,
    pub(crate) lease: Lease,
    /// Epochs and owners of sets as they were seen last.
    pub(crate) owners: BTreeMap<(model::IndexerId, u16), (u64, model::IndexerId)>,
}

/// The lease of the process that leads.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Lease {
    pub(crate) holder: Option<(Pid, u64)>,
    /// Changes with each renewal.
    pub(crate) count: u64,
    pub(crate) renewed: Duration,
}
