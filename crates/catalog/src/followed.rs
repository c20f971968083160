//! Documents that are kept in memory, and follow the changes that other processes make.

use std::sync::Arc;

use runtime::Shutdown;
use serde_json::Value;

use crate::{Catalog, Snapshot};

/// A component that keeps the documents of a kind in memory.
pub trait Followed: Send + Sync {
    /// The kind.
    fn kind(&self) -> &'static str;

    /// Replaces the documents in memory by those of [`Catalog::snapshot`]. The snapshot is taken while the
    /// memory is locked, so that it includes a change that this process has just made.
    ///
    /// # Errors
    /// Which document is invalid. The documents in memory are then unchanged.
    fn reload(&self) -> Result<(), String>;
}

type Version = Vec<(String, Arc<Value>)>;

impl Catalog {
    /// Reloads these components after every change, until shutdown.
    pub async fn keep_up(self, all: Vec<Arc<dyn Followed>>, shutdown: Shutdown) {
        let mut changes = self.subscribe();
        let mut known: Vec<Version> =
            all.iter().map(|one| version(&changes.borrow(), one.kind())).collect();
        // The documents may have changed between their first reading and the subscription.
        all.iter().for_each(reload);
        loop {
            tokio::select! {
                () = shutdown.stopped() => return,
                changed = changes.changed() => if changed.is_err() { return },
            }
            let snapshot = Arc::clone(&changes.borrow_and_update());
            for (one, known) in all.iter().zip(&mut known) {
                let now = version(&snapshot, one.kind());
                if !is_same(known, &now) {
                    *known = now;
                    reload(one);
                }
            }
        }
    }
}

fn reload(one: &Arc<dyn Followed>) {
    if let Err(error) = one.reload() {
        tracing::error!(
            kind = one.kind(),
            error,
            "documents of another process are not understood"
        );
    }
}

fn version(snapshot: &Snapshot, kind: &str) -> Version {
    let documents = snapshot.documents(kind).into_iter();
    documents.map(|document| (document.name, document.json)).collect()
}

/// Whether the versions are equal: snapshots share unchanged documents.
fn is_same(known: &Version, now: &Version) -> bool {
    let pairs = || known.iter().zip(now);
    known.len() == now.len()
        && pairs().all(|((one, json), (other, new))| one == other && Arc::ptr_eq(json, new))
}
