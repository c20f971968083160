//! An indexer that is taken out of the cluster (`karst cluster offline`): it hands over what only it has,
//! then stops as on a signal, and leaves the list.
//!
//! ```text
//! asked --> not ready; hot buckets into object storage, copies of others' journals to other indexers
//!             |  cancelled: it is ready again
//!             v
//!           stops: what came meanwhile goes into object storage, it leaves the list
//! ```
//!
//! Until it stops, everything that it is sent is taken and everything that it has is searched. Who is asked,
//! and how far it is, are documents of the catalog (`peers`).

use std::sync::Arc;
use std::time::Duration;

use api::Control;
use catalog::{Catalog, Snapshot};
use cluster::{Handover, Leaving};
use ingest::Ingest;
use model::IndexerId;
use peers::Registration;
use replication::Replicas;
use runtime::Shutdown;
use tokio::time::Instant;

/// Interval between checks of the progress.
const LOOK: Duration = Duration::from_secs(1);
/// Time that others have for copies of journals before an indexer that is forced to leave stops.
const FORCED: Duration = Duration::from_secs(30);
/// Interval at which others retry moving copies away from an indexer that leaves.
const AGAIN: Duration = Duration::from_secs(2);

/// An indexer that may be asked to leave.
#[derive(Debug)]
pub(crate) struct Leaver {
    pub(crate) catalog: Catalog,
    pub(crate) ingest: Arc<Ingest>,
    pub(crate) control: Control,
    pub(crate) own: IndexerId,
    /// The indexer's ID in the list of the cluster.
    pub(crate) id: String,
    pub(crate) started: String,
}

impl Leaver {
    /// Waits until this indexer is asked to leave, and stops it once all its data is stored.
    pub(crate) async fn run(self) {
        let mut changes = self.catalog.subscribe();
        loop {
            let asked = peers::asked(&changes.borrow_and_update(), &self.id, &self.started);
            if let Some(leaving) = asked {
                tracing::info!(by = leaving.by, "this indexer is taken out of the cluster");
                self.control.leave();
                match self.hand_over().await {
                    Outcome::Done => return self.control.retire(),
                    Outcome::Closed => return,
                    Outcome::Cancelled => {
                        tracing::info!("this indexer stays in the cluster");
                        self.control.stay();
                    }
                }
            }
            if changes.changed().await.is_err() {
                return;
            }
        }
    }

    async fn hand_over(&self) -> Outcome {
        let began = Instant::now();
        let mut said: Option<Handover> = None;
        let rolling = self.ingest.roll_all(None);
        let mut rolling = std::pin::pin!(rolling);
        let mut is_rolled = false;
        loop {
            tokio::select! {
                rolled = &mut rolling, if !is_rolled => match rolled {
                    Ok(()) => is_rolled = true,
                    // The process stops for another reason.
                    Err(_) => return Outcome::Closed,
                },
                () = tokio::time::sleep(LOOK) => {}
            }
            let snapshot = self.catalog.snapshot();
            let Some(Leaving { force, .. }) = peers::asked(&snapshot, &self.id, &self.started)
            else {
                return Outcome::Cancelled;
            };
            let waits_for_others = !(force && began.elapsed() >= FORCED);
            let mut handover = self.look(&snapshot, is_rolled);
            handover.stops = is_rolled && !(waits_for_others && handover.has_for_others());
            if said.as_ref() != Some(&handover) {
                match peers::write_handover(&self.catalog, &self.id, &handover).await {
                    Ok(()) => said = Some(handover.clone()),
                    Err(error) => {
                        tracing::warn!(%error, "cannot say how far this indexer is with leaving");
                        continue;
                    }
                }
            }
            if handover.stops {
                // If the request was withdrawn before this write, the administrator was told that the indexer
                // stays.
                if peers::asked(&self.catalog.snapshot(), &self.id, &self.started).is_none() {
                    return Outcome::Cancelled;
                }
                let copies = handover.copies_of.len();
                if copies > 0 {
                    tracing::warn!(copies, "copies of journals go with this indexer (force)");
                }
                return Outcome::Done;
            }
        }
    }

    /// Returns the data that is still here. Events that arrive after all were stored do not count: the stop
    /// stores them.
    fn look(&self, snapshot: &Snapshot, is_rolled: bool) -> Handover {
        let all = Registration::all(snapshot);
        let name_of = |indexer: IndexerId| {
            let id = indexer.to_string();
            all.iter().find(|(known, _)| *known == id).map_or(id, |(_, known)| known.name.clone())
        };
        let status = self.ingest.status();
        let (events, uploads) = match is_rolled {
            true => (0, 0),
            false => {
                let rows = status.hot.iter().map(|bucket| bucket.rows).sum::<u64>();
                (rows, status.uploads.waiting)
            }
        };
        let copies = replication::held_at(snapshot, self.own);
        let taken = snapshot.taken_over();
        let taken = taken.filter(|taken| taken.owner == self.own && taken.indexer != self.own);
        let mut recovering: Vec<String> = taken.map(|taken| name_of(taken.indexer)).collect();
        recovering.dedup();
        let copies_of = copies.into_iter().map(name_of).collect();
        Handover { events, uploads, copies_of, recovering, stops: false }
    }
}

/// The outcome of a hand-over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Done,
    /// This process stops anyway.
    Closed,
    Cancelled,
}

/// Gets copies of the journal of this process away from indexers that leave or were removed, until shutdown.
pub(crate) async fn move_copies(replicas: Arc<Replicas>, catalog: Catalog, shutdown: Shutdown) {
    let mut changes = catalog.subscribe();
    let mut said: Option<String> = None;
    loop {
        changes.mark_unchanged();
        let waits = replicas.move_copies().await.err();
        if let Some(reason) = waits.as_ref().filter(|reason| said.as_ref() != Some(*reason)) {
            tracing::warn!(
                reason,
                "a copy of the journal stays at an indexer that is to leave or was removed"
            );
        }
        said = waits;
        tokio::select! {
            () = shutdown.stopped() => return,
            // After a failed move of a copy, retries after some time, not at each change of the catalog.
            () = tokio::time::sleep(AGAIN), if said.is_some() => {}
            changed = changes.changed(), if said.is_none() => if changed.is_err() { return },
        }
    }
}
