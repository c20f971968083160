//! Two processes with one identity: the disk of an indexer is copied while it is stopped or hangs, and a
//! process is started over the copy. The original is started again, or goes on.

use std::sync::Arc;
use std::time::Duration;

use model::IndexerId;

use crate::Mutant;
use crate::faults::send_events;
use crate::process::{Life, Pid};
use crate::supervisor;
use crate::world::{TWIN, World, identity};

/// How long before the end of the faults a process that hangs goes on.
const MARGIN: Duration = Duration::from_secs(2);

/// Copies the disk of an indexer, once, and starts a process over the copy.
pub(super) async fn run(world: Arc<World>, until: Duration) {
    world.sleep(4_000, 25_000).await;
    let original = loop {
        if let Some(original) = pick(&world) {
            break original;
        }
        if world.now() + MARGIN >= until {
            return;
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
    };
    let life = world.state().processes.get(&original).and_then(|process| process.life.clone());
    let Some(life) = life else { return };
    // Without incarnations, nothing tells that the process over the copy has begun.
    let hangs = world.permille(500) && !world.is(Mutant::IgnoresIncarnations);
    if hangs {
        world.state().held = Some(original);
        life.pause();
    } else {
        supervisor::kill(&world, original);
    }
    let loses_power = world.permille(500);
    copy(&world, original, loses_power);
    world.note(format_args!("the disk of {original} is copied for {TWIN}, and hangs: {hangs}"));
    let wait = world.millis(50, 5_000);
    supervisor::start_after(&world, TWIN, wait);
    world.tasks.spawn(send_events(Arc::clone(&world), TWIN, until));
    if hangs {
        hold(&world, (original, life), until).await;
    } else {
        let wait = world.millis(50, 20_000);
        supervisor::start_after(&world, original, wait);
    }
}

/// An indexer that runs and that nobody has asked to leave.
fn pick(world: &World) -> Option<Pid> {
    let all = world.indexers().into_iter().map(|pid| (pid, world.id_of(pid)));
    let all: Vec<(Pid, IndexerId)> = all.collect();
    let mut state = world.state();
    let leaving = peers::leaving(&state.database.state);
    let fit: Vec<Pid> = all
        .into_iter()
        .filter(|(_, id)| !leaving.contains_key(&id.to_string()))
        .map(|(pid, _)| pid)
        .filter(|pid| {
            let process = state.processes.get(pid).filter(|own| own.is_open && !own.is_gone);
            let life = process.and_then(|process| process.life.as_ref());
            life.is_some_and(|life| !life.is_paused())
        })
        .collect();
    state.chance.one_of(&fit)
}

fn copy(world: &World, original: Pid, loses_power: bool) {
    let mut state = world.state();
    let mut machine = state.machines.get(&original).cloned().unwrap_or_default();
    if loses_power {
        machine.lose_power();
    }
    machine.id = machine.id.or(Some(identity(original)));
    state.machines.insert(TWIN, machine);
    state.twins.push(TWIN);
    state.truth.copied.extend([original, TWIN]);
}

/// Lets a process that hangs go on after the one over the copy has begun. Not simulated: an original that
/// goes on first, so that a copy with its last number lacks what it acknowledges.
async fn hold(world: &Arc<World>, (original, life): (Pid, Life), until: Duration) {
    let id = world.id_of(original).to_string();
    let recorded = || world.state().database.state.document("incarnation", &id);
    let before = recorded();
    let is_due = || world.now() + MARGIN >= until || life.is_over();
    while recorded() == before && !is_due() {
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    let is_begun = recorded() != before;
    if is_begun && !is_due() {
        world.sleep(0, 15_000).await;
    } else if !is_begun && !life.is_over() {
        give_up(world);
    }
    world.state().held = None;
    if life.is_paused() {
        world.note(format_args!("{original} goes on"));
        life.resume();
    }
}

/// Removes the process over the copy, which has not begun.
fn give_up(world: &World) {
    supervisor::kill(world, TWIN);
    let mut state = world.state();
    state.processes.entry(TWIN).or_default().is_gone = true;
    state.twins.clear();
    drop(state);
    world.note(format_args!("{TWIN} is given up"));
}

/// Stops processes for whose identity another one was refused, until that one has started: the operator does
/// what the message asks for.
pub(super) fn separate(world: &Arc<World>) {
    for pid in world.indexers() {
        let other = {
            let state = world.state();
            let other = state.processes.get(&pid).and_then(|process| process.refused_by);
            let runs = |other: &Pid| state.processes.get(other).is_some_and(|own| own.is_open);
            other.filter(runs)
        };
        let Some(other) = other else { continue };
        world.note(format_args!("{other} is stopped so that {pid} starts"));
        supervisor::kill(world, other);
        let wait = world.millis(15_000, 25_000);
        supervisor::start_after(world, other, wait);
    }
}
