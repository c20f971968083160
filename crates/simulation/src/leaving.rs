//! Indexers that restart in turn, and that are removed from the cluster, as the server does it.

use std::sync::Arc;
use std::time::Duration;

use cluster::{Handover, Leaving};
use peers::Registration;
use tokio::time::Instant;

use crate::failover::registration;
use crate::indexer::Indexer;
use crate::supervisor;

const LOOK: Duration = Duration::from_secs(1);
/// Time that the other indexers get to copy journals before an indexer leaves by force.
const FORCED: Duration = Duration::from_secs(30);
const AGAIN: Duration = Duration::from_secs(2);
/// Maximum duration of a stop.
const STOP: Duration = Duration::from_secs(20);
const RETIREMENT: Duration = Duration::from_secs(600);

/// Stops in an orderly way, and removes itself from the list if all events are stored.
async fn stop(indexer: &Arc<Indexer>, most: Duration) {
    let pid = indexer.pid();
    let is_drained = indexer.drain(most).await;
    let (id, started) = (indexer.id.to_string(), indexer.life.started());
    // The entry in the list is that of the process which has the identity now.
    if is_drained && !indexer.is_superseded(&indexer.catalog.snapshot()) {
        let leaving = peers::leave(&indexer.catalog, &id, &started);
        let _ = tokio::time::timeout(Duration::from_secs(2), leaving).await;
    }
    indexer.world.note(format_args!("{pid} stops, drained: {is_drained}"));
}

/// Restarts when it is its turn in a rolling restart.
pub(crate) async fn restart_when_told(indexer: Arc<Indexer>) {
    let (id, started) = (indexer.id.to_string(), indexer.life.started());
    let mut changes = indexer.catalog.subscribe();
    loop {
        if peers::is_told(&changes.borrow_and_update(), &id, &started) {
            stop(&indexer, STOP).await;
            return supervisor::begin_again(&indexer.world, indexer.pid(), "its turn has come");
        }
        if changes.changed().await.is_err() {
            return;
        }
    }
}

/// Adds the indexer to the list again if a process that considered it lost has removed it.
pub(crate) async fn stay(indexer: Arc<Indexer>) {
    let own = registration(&indexer.life, "indexer", indexer.world.config.local);
    let id = indexer.id.to_string();
    let mut changes = indexer.catalog.subscribe();
    loop {
        let snapshot = changes.borrow_and_update().clone();
        let is_out = Registration::of(&snapshot, &id).is_none();
        let is_current = indexer.owns_sets(&snapshot) && !indexer.is_superseded(&snapshot);
        if is_out && !indexer.is_closed() && is_current {
            let is_in = own.write(&indexer.catalog, &id).await.is_ok();
            indexer.world.note(format_args!("{} joins again: {is_in}", indexer.pid()));
        }
        if changes.changed().await.is_err() {
            return;
        }
    }
}

/// Waits until the indexer is asked to leave, and ends it once it has no data left.
pub(crate) async fn run(indexer: Arc<Indexer>) {
    let (id, started) = (indexer.id.to_string(), indexer.life.started());
    let mut changes = indexer.catalog.subscribe();
    loop {
        let asked = peers::asked(&changes.borrow_and_update(), &id, &started);
        if asked.is_some() && hand_over(&indexer, (&id, &started)).await {
            stop(&indexer, RETIREMENT).await;
            let mut state = indexer.world.state();
            if let Some(process) = state.processes.get_mut(&indexer.pid()) {
                process.is_gone = true;
            }
            drop(state);
            supervisor::kill(&indexer.world, indexer.pid());
            return;
        }
        if changes.changed().await.is_err() {
            return;
        }
    }
}

async fn hand_over(indexer: &Arc<Indexer>, (id, started): (&str, &str)) -> bool {
    let began = Instant::now();
    indexer.roll_all();
    let mut said: Option<Handover> = None;
    let mut is_rolled = false;
    loop {
        is_rolled |= tokio::time::timeout(LOOK, indexer.idle()).await.is_ok();
        if is_rolled {
            tokio::time::sleep(LOOK).await;
        }
        let snapshot = indexer.catalog.snapshot();
        let Some(Leaving { force, .. }) = peers::asked(&snapshot, id, started) else {
            return false;
        };
        let waits_for_others = !(force && began.elapsed() >= FORCED);
        let taken = snapshot.taken_over();
        let taken = taken.filter(|taken| taken.owner == indexer.id && taken.indexer != indexer.id);
        let copies_of = replication::held_at(&snapshot, indexer.id);
        let mut handover = Handover {
            events: 0,
            uploads: u64::from(!is_rolled),
            copies_of: copies_of.iter().map(ToString::to_string).collect(),
            recovering: taken.map(|taken| taken.indexer.to_string()).collect(),
            stops: false,
        };
        handover.stops = is_rolled && !(waits_for_others && handover.has_for_others());
        if said.as_ref() != Some(&handover) {
            if peers::write_handover(&indexer.catalog, id, &handover).await.is_err() {
                continue;
            }
            said = Some(handover.clone());
        }
        if handover.stops {
            return peers::asked(&indexer.catalog.snapshot(), id, started).is_some();
        }
    }
}

/// Moves copies of this process's journal away from indexers that leave.
pub(crate) async fn move_copies(indexer: Arc<Indexer>) {
    let mut changes = indexer.catalog.subscribe();
    loop {
        let somebody_leaves = !peers::leaving(&changes.borrow_and_update()).is_empty();
        let waits = somebody_leaves && indexer.replicas.move_copies().await.is_err();
        tokio::select! {
            biased;
            changed = changes.changed() => if changed.is_err() { return },
            () = tokio::time::sleep(AGAIN), if waits => {}
        }
    }
}
