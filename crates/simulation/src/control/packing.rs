//! The packs of the catalog, written and read with the code of `catalog`: when the leader packs, and how its
//! batches become durable.

use std::ops::Range;
use std::sync::Arc;

use catalog::simulated::{self, Batches, Opened, Packs};
use catalog::{Batch, Snapshot, Written};
use futures::future::BoxFuture;
use tokio::sync::{OwnedMutexGuard, watch};

use super::Leading;
use crate::process::Pid;
use crate::world::World;
use crate::{Mutant, supervisor};

/// Number of writes and changed headers after which the headers are packed.
const CHANGES: usize = 24;
/// One pack at a time, so that processes end between any two of them.
const TOGETHER: usize = 1;

/// Reads the database, or goes on with the state that the process has followed.
pub(super) fn read(
    world: &World,
    view: &watch::Sender<Arc<Snapshot>>,
    is_previous: bool,
) -> Opened {
    let followed = Arc::clone(&view.borrow());
    let how = (!is_previous, TOGETHER);
    let (read, expected, wrong) = {
        let state = world.state();
        let database = &state.database;
        let read = simulated::open(&database.entries, &followed, how);
        (read, Arc::clone(&database.state), database.wrong_packs())
    };
    if let Some(wrong) = wrong {
        world.violate(wrong);
    }
    match read {
        Ok(opened) => {
            let found = (opened.snapshot.number(), opened.snapshot.len());
            if found != (expected.number(), expected.len()) {
                let expected = (expected.number(), expected.len());
                world.violate(format!("the opened catalog is {found:?} instead of {expected:?}"));
            }
            opened
        }
        Err(error) => {
            world.violate(format!("the catalog cannot be opened: {error}"));
            // The run ends here.
            let (entries, none) = (simulated::Entries::new(), Snapshot::default());
            simulated::open(&entries, &none, how).expect("there are no entries")
        }
    }
}

/// A change as the release of the leader writes it.
pub(super) fn as_its_release(world: &World, leading: &Leading, written: Written) -> Written {
    match leading.is_previous {
        true if world.is(Mutant::GapsOfTheLogAreNotSeen) => written.with_empty_log(),
        true => written.without_log(),
        false => written,
    }
}

/// Starts to pack the headers, unless that is under way, or little has changed since the last time.
pub(super) fn pack_if_due(world: &Arc<World>, own: Pid, leading: &Arc<Leading>, headers: u64) {
    if leading.is_previous {
        return;
    }
    let buckets = leading.view.borrow().len();
    let is_due = {
        let mut logged = leading.logged.lock();
        *logged += headers + 1;
        simulated::is_due(*logged, buckets, CHANGES)
    };
    let life = world.state().processes.get(&own).and_then(|process| process.life.clone());
    let Some(life) = life.filter(|_| is_due) else { return };
    if let Ok(packs) = Arc::clone(&leading.packs).try_lock_owned() {
        *leading.logged.lock() = 0;
        life.spawn(pack(Arc::clone(world), own, Arc::clone(leading), packs));
    }
}

async fn pack(
    world: Arc<World>,
    own: Pid,
    leading: Arc<Leading>,
    mut packs: OwnedMutexGuard<Packs>,
) {
    let state = Arc::clone(&leading.view.borrow());
    let number = state.number();
    let database = Database { world: Arc::clone(&world), pid: own, opened: leading.opened };
    match packs.write(&database, state).await {
        Ok(()) => world.note(format_args!("{own} has packed write {number}")),
        Err(catalog::Error::Fenced { .. }) => {
            supervisor::begin_again(&world, own, "another process has opened the catalog");
        }
        Err(error) => world.violate(format!("{own} cannot pack write {number}: {error}")),
    }
}

/// The database as the process sees it that has it open.
struct Database {
    world: Arc<World>,
    pid: Pid,
    /// The number of its opening.
    opened: u64,
}

impl Database {
    async fn write(&self, batch: Batch) -> Result<(), catalog::Error> {
        // Packs are large. Leaders are lost between two of them.
        self.world.sleep(50, 600).await;
        while self.world.state().storeless.contains(&self.pid) {
            self.world.sleep(50, 500).await;
        }
        let is_fenced = self.world.state().database.opened != self.opened;
        if is_fenced && !self.world.is(Mutant::PacksAreNotFenced) {
            return Err(catalog::Error::Fenced { path: "simulated".to_owned() });
        }
        packed(&self.world, batch);
        self.world.sleep(2, 10).await;
        Ok(())
    }
}

/// Notes a batch of packing, which is durable.
fn packed(world: &World, batch: Batch) {
    let is_checked = simulated::replaces_packs(&batch);
    let wrong = {
        let mut state = world.state();
        state.database.apply(batch);
        if is_checked { state.database.wrong_packs() } else { None }
    };
    if let Some(wrong) = wrong {
        world.violate(wrong);
    }
}

impl Batches for Database {
    fn put(&self, batch: Batch) -> BoxFuture<'_, Result<(), catalog::Error>> {
        Box::pin(async move {
            let is_early = self.world.is(Mutant::DeletesPacksBeforeTheList);
            if !is_early || !simulated::replaces_packs(&batch) {
                return self.write(batch).await;
            }
            let (deleted, rest) = simulated::split_deleted_packs(batch);
            self.write(deleted).await?;
            self.write(rest).await
        })
    }

    fn keys(&self, range: Range<Vec<u8>>) -> Vec<Vec<u8>> {
        let state = self.world.state();
        state.database.entries.range(range).map(|(key, _)| key.clone()).collect()
    }
}
