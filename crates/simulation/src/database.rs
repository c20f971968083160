//! The catalog in the object store: only the process that opened it last can write, and writes are atomic.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use catalog::simulated::{Compared, Entries, compare};
use catalog::{Batch, Snapshot};

use crate::process::Pid;

/// See the module.
#[derive(Debug, Clone, Default)]
pub(crate) struct Database {
    pub(crate) state: Arc<Snapshot>,
    /// What it has: each state as entries, and packs.
    pub(crate) entries: Entries,
    /// The last write of a release that keeps no log.
    pub(crate) unlogged: u64,
    /// Number of times that it was opened: only the last opener can write.
    pub(crate) opened: u64,
    pub(crate) lease: Lease,
    /// The last seen epoch and owner of each set.
    pub(crate) owners: BTreeMap<(model::IndexerId, u16), (u64, model::IndexerId)>,
}

impl Database {
    pub(crate) fn apply(&mut self, batch: Batch) {
        for (key, value) in batch {
            match value {
                Some(value) => self.entries.insert(key, value.into()),
                None => self.entries.remove(&key),
            };
        }
    }

    /// Compares the headers in packs and log with those that have entries of their own: what is wrong.
    /// At any moment a process may end, and the next one reads this.
    pub(crate) fn wrong_packs(&self) -> Option<String> {
        match compare(&self.entries) {
            Ok(Compared::None | Compared::Same) => None,
            // A release without packs has written since.
            Ok(Compared::Unused(number, _)) if number < self.unlogged => None,
            Ok(Compared::Unused(number, reason)) => {
                Some(format!("the packs of write {number} cannot be used: {reason}"))
            }
            Ok(Compared::Different(difference)) => Some(difference),
            Err(error) => Some(error.to_string()),
        }
    }
}

/// The lease of the leader.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Lease {
    pub(crate) holder: Option<(Pid, u64)>,
    /// Changes with each renewal.
    pub(crate) count: u64,
    pub(crate) renewed: Duration,
}
