//! The catalog without its database and network, for simulations of a cluster: the rules of changes applied
//! to a state in memory ([`Rules`]), and a [`Catalog`](crate::Catalog) whose changes a simulation makes.

use std::sync::Arc;
use std::time::Duration;

use crate::change::{Change, Writes};
use crate::codec::{self, Batch, Shared};
use crate::error::Result;
use crate::summaries::Summaries;
use crate::{Commit, Documents, Error, Snapshot};
use futures::future::BoxFuture;

/// Path of the catalog in errors.
pub(crate) const PATH: &str = "simulated";
/// Size of the summary cache in bytes; simulations read no summaries.
const SUMMARIES: usize = 1 << 10;

/// Returns the error of a change that has missed the deadline and is still pending.
pub(crate) fn under_way(deadline: Duration) -> Error {
    let (leader, seconds) = (PATH.to_owned(), deadline.as_secs());
    Error::Unreachable { leader, seconds, reason: "the change is under way".to_owned() }
}

/// Makes the changes of a catalog.
pub trait Changes: Send + Sync {
    /// Makes a commit durable. When it returns, the snapshots of the caller's catalog have it.
    ///
    /// # Errors
    /// As [`Catalog::commit`](crate::Catalog::commit).
    fn commit<'a>(&'a self, commit: Commit) -> BoxFuture<'a, Result<()>>;

    /// Changes documents.
    ///
    /// # Errors
    /// As [`Catalog::change_documents`](crate::Catalog::change_documents).
    fn documents<'a>(&'a self, documents: Documents) -> BoxFuture<'a, Result<()>>;
}

/// A change as a process writes it: one batch, with the number of the write and its entry of the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// The entries.
    pub batch: Batch,
    /// The number of the headers that it changes.
    pub headers: u64,
    number: u64,
}

impl Written {
    /// The same change as the release before packs writes it.
    #[must_use]
    pub fn without_log(mut self) -> Self {
        self.batch.remove(&codec::log_key(self.number));
        self
    }

    /// The same change with an entry of the log that lacks its headers: a deliberate defect of a simulation.
    #[must_use]
    pub fn with_empty_log(mut self) -> Self {
        let (value, _) = codec::log_value(&Batch::new());
        self.batch.insert(codec::log_key(self.number), Some(value));
        self
    }
}

/// The state of a process that has the catalog open, changed by the rules of every catalog.
#[derive(Debug)]
pub struct Rules {
    state: Snapshot,
    shared: Shared,
    summaries: Summaries,
}

impl Rules {
    /// Continues with a state.
    #[must_use]
    pub fn over(state: Snapshot) -> Self {
        Self { state, shared: Shared::default(), summaries: Summaries::new(SUMMARIES) }
    }

    /// Returns the state after the last change.
    #[must_use]
    pub fn snapshot(&self) -> Arc<Snapshot> {
        Arc::new(self.state.clone())
    }

    /// Applies a commit. Returns what it writes; `None` if it changes nothing.
    ///
    /// # Errors
    /// The commit contradicts the state or itself; the state is then unchanged.
    pub fn commit(&mut self, commit: Commit) -> Result<Option<Written>> {
        if let Some(reason) = commit.contradiction() {
            let (path, what) = (PATH.to_owned(), "a commit".to_owned());
            return Err(Error::Invalid { path, what, reason });
        }
        self.change(|change| change.commit(commit))
    }

    /// Writes and deletes documents. Returns what that writes; `None` if it changes nothing.
    ///
    /// # Errors
    /// A document cannot be written.
    pub fn documents(&mut self, all: Documents) -> Result<Option<Written>> {
        self.change(|change| change.documents(all))
    }

    fn change(
        &mut self,
        apply: impl FnOnce(&mut Change<'_>) -> Result<()>,
    ) -> Result<Option<Written>> {
        let mut writes = Writes::default();
        apply(&mut Change {
            state: &mut self.state,
            writes: &mut writes,
            shared: &mut self.shared,
            summaries: &self.summaries,
            path: PATH,
        })?;
        if writes.entries.is_empty() {
            return Ok(None);
        }
        self.state.number += 1;
        let number = self.state.number;
        let headers = writes.number(number);
        Ok(Some(Written { batch: writes.entries, headers, number }))
    }
}
