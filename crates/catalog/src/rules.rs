//! The catalog without its database and network, for simulations of a cluster: the rules of changes applied
//! to a state in memory ([`Rules`]), and a [`Catalog`](crate::Catalog) whose changes a simulation makes.

use std::sync::Arc;
use std::time::Duration;

use crate::change::{Change, Writes};
use crate::codec::Shared;
use crate::error::Result;
use crate::summaries::Summaries;
use crate::{Commit, Documents, Error, Snapshot};
use futures::future::BoxFuture;

/// Path of the catalog in errors.
const PATH: &str = "simulated";
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

    /// Applies a commit. Returns whether it changes anything.
    ///
    /// # Errors
    /// The commit contradicts the state or itself; the state is then unchanged.
    pub fn commit(&mut self, commit: Commit) -> Result<bool> {
        if let Some(reason) = commit.contradiction() {
            let (path, what) = (PATH.to_owned(), "a commit".to_owned());
            return Err(Error::Invalid { path, what, reason });
        }
        self.change(|change| change.commit(commit))
    }

    /// Writes and deletes documents. Returns whether that changes anything.
    ///
    /// # Errors
    /// A document cannot be written.
    pub fn documents(&mut self, all: Documents) -> Result<bool> {
        self.change(|change| change.documents(all))
    }

    fn change(&mut self, apply: impl FnOnce(&mut Change<'_>) -> Result<()>) -> Result<bool> {
        let mut writes = Writes::default();
        apply(&mut Change {
            state: &mut self.state,
            writes: &mut writes,
            shared: &mut self.shared,
            summaries: &self.summaries,
            path: PATH,
        })?;
        let is_changed = !writes.entries.is_empty();
        self.state.number += u64::from(is_changed);
        Ok(is_changed)
    }
}
