//! The incarnation of an indexer, with the code of `peers`; the directory is modelled here.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use catalog::{Catalog, Snapshot};
use model::IndexerId;
use peers::Registration;
use peers::incarnation::{self, Cause, Directory, Incarnation, NotBegun, Noted, Place};
use tokio::time::timeout;
use uuid::Uuid;

use crate::Mutant;
use crate::network::{self, Answer, Request};
use crate::process::{Life, Pid};
use crate::world::World;

/// Maximum time for the answer of a process at the address of another one with the same identity.
const ANSWER: Duration = Duration::from_secs(5);

/// Begins an incarnation, once no other process runs with the identity.
pub(super) async fn begin(
    world: &Arc<World>,
    life: &Life,
    catalog: &Catalog,
) -> Result<Incarnation, String> {
    let (pid, id) = (life.pid, world.id_of(life.pid));
    let other = runs_elsewhere(world, life, (catalog, id)).await;
    if let Some(process) = world.state().processes.get_mut(&pid) {
        process.refused_by = other;
    }
    if let Some(other) = other {
        // An operator or a supervisor tries again.
        world.sleep(2_000, 5_000).await;
        return Err(format!("{other} runs with its identity"));
    }
    if world.is(Mutant::IgnoresIncarnations) {
        return Ok(Incarnation { indexer: id, number: Uuid::nil() });
    }
    let directory = Disk { world: Arc::clone(world), life: life.clone(), pid };
    let has_records = {
        let state = world.state();
        let machine = state.machines.get(&pid);
        let mut journals = machine.into_iter().flat_map(|machine| &machine.journals);
        journals.any(|(set, journal)| set.0 == id && journal.records().next().is_some())
    };
    let place = Place {
        host: pid.to_string(),
        data: pid.to_string(),
        address: Some(pid.to_string()),
        started: life.started(),
    };
    let how = (has_records, false);
    let begun = incarnation::begin(catalog, (&directory, id), how, &place).await;
    begun.map_err(|reason| match reason {
        NotBegun::Catalog(error) => error.to_string(),
        // A control plane that was replaced has shown an older state.
        NotBegun::Older(_) => "the catalog is older than its disk".to_owned(),
        NotBegun::Others(_) => "others start with its identity".to_owned(),
        NotBegun::Directory(never) => match never {},
    })
}

/// The process at the address of the identity in the list, if it is another one and has the identity.
async fn runs_elsewhere(
    world: &Arc<World>,
    life: &Life,
    (catalog, id): (&Catalog, IndexerId),
) -> Option<Pid> {
    let listed = Registration::of(&catalog.snapshot(), &id.to_string())?;
    let at = Pid::at(&listed.address).filter(|at| *at != life.pid)?;
    let asked = network::ask(world, life.pid, at, Request::Ping);
    match timeout(ANSWER, asked).await {
        Ok(Ok(Answer::Here(found))) if found == id => Some(at),
        _ => None,
    }
}

/// The disk of a machine, as the directory of a process.
struct Disk {
    world: Arc<World>,
    life: Life,
    pid: Pid,
}

impl Directory for Disk {
    type Error = Infallible;

    fn noted(&self) -> Option<Noted> {
        self.world.state().machines.get(&self.pid)?.noted.clone()
    }

    fn note(&self, noted: &Noted) -> Result<(), Infallible> {
        let is_recorded = noted.begun.is_empty();
        let (world, pid, noted) = (Arc::clone(&self.world), self.pid, noted.clone());
        let write = move |world: &World| {
            world.state().machines.entry(pid).or_default().noted = Some(noted);
        };
        if !self.world.is(Mutant::NotesNumbersLate) {
            write(&world);
        } else if is_recorded {
            self.life.spawn(async move {
                world.sleep(0, 2_000).await;
                write(&world);
            });
        }
        Ok(())
    }

    fn split(&self, from: IndexerId, _: Cause<'_>) -> Result<IndexerId, Infallible> {
        let (to, pid) = (IndexerId(self.world.id()), self.pid);
        let is_expected = {
            let mut guard = self.world.state();
            let state = &mut *guard;
            let machine = state.machines.entry(pid).or_default();
            let sets = machine.journals.keys().filter(|set| set.0 == from);
            let sets: Vec<u16> = sets.map(|set| set.1).collect();
            for set in sets {
                let Some(journal) = machine.journals.remove(&(from, set)) else { continue };
                let last = journal.records().map(|record| record.position).max();
                state.compared.insert((to, set), last.unwrap_or_default().max(journal.mark));
                machine.journals.insert((to, set), journal);
            }
            machine.id = Some(to);
            machine.noted = Some(Noted::new(to, Some(from)));
            // Its former numbers were lost with a disk: a control plane that was replaced may show one of
            // them.
            let is_expected = state.truth.copied.contains(&pid) || machine.losses > 0;
            state.truth.copied.insert(pid);
            is_expected
        };
        self.world.note(format_args!("{pid} gets the identity {to}"));
        if !is_expected {
            self.world.violate(format!("{pid} gets a new identity, but its disk was never copied"));
        }
        Ok(to)
    }

    fn number(&self) -> Uuid {
        self.world.id()
    }

    fn is_rebuilt(&self, _: &Snapshot, _: IndexerId) -> bool {
        false
    }
}
