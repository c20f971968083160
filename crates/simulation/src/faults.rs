//! The script of a run: senders of events, faults, actions of operators; and the end, when all faults are
//! over and the cluster has to come to rest.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use cluster::{Leaving, Wave};
use model::IndexerId;

mod twins;

use crate::process::Pid;
use crate::supervisor;
use crate::truth::Level;
use crate::world::{CONTROL, SEARCH_HEAD, Weather, World};
use crate::{Kinds, Mutant};

/// Maximum time to come to rest after the faults are over.
const REST: Duration = Duration::from_secs(900);
/// How often a leader that packs is stopped, of thousand times that it is looked at.
const STOPPED: u64 = 50;

/// Sends events to an indexer, one by one and concurrently, while it runs.
async fn send_events(world: Arc<World>, to: Pid, until: Duration) {
    let mut number = u64::from(to.0) * 1_000_000;
    let levels: &[Level] = match world.config.local {
        true => &[Level::Local, Level::Remote, Level::Replicated, Level::Replicated],
        false => &[Level::Remote, Level::Replicated, Level::Replicated],
    };
    while world.now() < until {
        world.sleep(100, 1500).await;
        let several = world.state().chance.between(1, 3);
        for _ in 0..several {
            number += 1;
            let level = world.state().chance.one_of(levels).unwrap_or(Level::Replicated);
            let is_open = world.state().processes.get(&to).is_some_and(|process| process.is_open);
            let Some(indexer) = world.indexer(to).filter(|_| is_open) else { continue };
            world.sent(number, to);
            let (own, life) = (Arc::clone(&world), indexer.life.clone());
            life.spawn(async move {
                if let Some(durability) = indexer.submit(number, level).await {
                    own.truth(|truth| truth.acknowledge(number, durability));
                    own.note(format_args!("{to} acknowledges {number} as {durability:?}"));
                }
            });
        }
    }
}

/// Runs the script until all faults are over, and checks the final state.
pub(crate) async fn run(world: &Arc<World>) {
    for pid in world.everybody() {
        supervisor::start(world, pid);
    }
    let length = world.state().chance.between(40, 120);
    let until = Duration::from_secs(length);
    for pid in world.indexers() {
        world.tasks.spawn(send_events(Arc::clone(world), pid, until));
    }
    // What one of two processes with the same identity has of the journals of others is lost.
    let disks = world.config.disk_losses.saturating_sub(world.config.twins);
    let mut faults = Faults { disks, stopped: BTreeSet::new() };
    if world.config.twins > 0 {
        world.tasks.spawn(twins::run(Arc::clone(world), until));
    }
    let kinds = world.config.faults;
    if kinds.pauses || kinds.store {
        world.tasks.spawn(stop_packing(Arc::clone(world), until));
    }
    tokio::time::sleep(Duration::from_secs(3)).await;
    while world.now() < until {
        world.sleep(300, 6000).await;
        faults.one(world).await;
    }
    faults.end(world);
    rest(world).await;
}

/// A fault, or an action of operators.
#[derive(Debug, Clone, Copy)]
enum Fault {
    Kill,
    Power,
    Disk,
    Pause,
    Cut,
    Isolation,
    Store,
    Weather,
    Clock,
    Restart,
    Leaving,
    Maintenance,
}

/// The faults of these kinds, each repeated according to its probability.
fn faults_of(kinds: Kinds) -> Vec<Fault> {
    let all = [
        (Fault::Kill, 5, kinds.kills),
        (Fault::Power, 2, kinds.power),
        (Fault::Disk, 1, kinds.disks),
        (Fault::Pause, 3, kinds.pauses),
        (Fault::Cut, 2, kinds.network),
        (Fault::Isolation, 1, kinds.network),
        (Fault::Store, 1, kinds.store),
        (Fault::Weather, 2, true),
        (Fault::Clock, 1, kinds.clocks),
        (Fault::Restart, 1, kinds.restarts),
        (Fault::Leaving, 1, kinds.leaving),
        (Fault::Maintenance, 1, kinds.maintenance),
    ];
    let there = all.into_iter().filter(|(.., is_there)| *is_there);
    there.flat_map(|(fault, times, _)| std::iter::repeat_n(fault, times)).collect()
}

#[derive(Debug)]
struct Faults {
    /// Number of disks that may still be lost.
    disks: u64,
    /// Indexers that were asked to leave.
    stopped: BTreeSet<Pid>,
}

impl Faults {
    async fn one(&mut self, world: &Arc<World>) {
        let all = world.everybody();
        let (victim, other, fault) = {
            let mut state = world.state();
            let victim = state.chance.one_of(&all).unwrap_or(SEARCH_HEAD);
            let other = state.chance.one_of(&all).unwrap_or(SEARCH_HEAD);
            (victim, other, state.chance.one_of(&faults_of(world.config.faults)))
        };
        match fault.unwrap_or(Fault::Weather) {
            Fault::Kill => self.kill(world, victim, false),
            Fault::Power => self.kill(world, victim, true),
            Fault::Disk => self.lose_disk(world, victim),
            Fault::Pause => {
                let is_long = world.permille(400);
                let (least, most) = if is_long { (8_000, 60_000) } else { (100, 6_000) };
                let wait = world.millis(least, most);
                pause(world, victim, wait);
            }
            Fault::Cut => cut(world, (victim, other)),
            Fault::Isolation => isolate(world, victim),
            Fault::Store => {
                let wait = world.millis(500, 30_000);
                lose_store(world, victim, wait);
            }
            Fault::Weather => weather(world),
            Fault::Clock => jump(world, victim),
            Fault::Restart => restart(world).await,
            Fault::Leaving => self.ask_to_leave(world, victim).await,
            Fault::Maintenance => maintain(world),
        }
    }

    fn kill(&mut self, world: &Arc<World>, victim: Pid, loses_power: bool) {
        let was_up = supervisor::kill(world, victim);
        if loses_power && let Some(machine) = world.state().machines.get_mut(&victim) {
            machine.lose_power();
        }
        let is_long = world.permille(300);
        let wait = if is_long { world.millis(5_000, 60_000) } else { world.millis(50, 3_000) };
        world.note(format_args!(
            "{victim} is killed, power {loses_power}, up {was_up}, for {wait:?}"
        ));
        supervisor::start_after(world, victim, wait);
    }

    fn lose_disk(&mut self, world: &Arc<World>, victim: Pid) {
        if self.disks == 0 || !world.indexers().contains(&victim) {
            return;
        }
        self.disks -= 1;
        supervisor::kill(world, victim);
        if let Some(machine) = world.state().machines.get_mut(&victim) {
            machine.lose_disk();
        }
        let is_long = world.permille(500);
        let wait = if is_long { world.millis(10_000, 90_000) } else { world.millis(100, 5_000) };
        world.note(format_args!("{victim} loses its disk, and is away for {wait:?}"));
        supervisor::start_after(world, victim, wait);
    }

    /// Asks an indexer to leave if enough others remain; it may come back later.
    async fn ask_to_leave(&mut self, world: &Arc<World>, victim: Pid) {
        let enough = usize::from(world.config.indexers) > world.config.copies + self.stopped.len();
        let Some(indexer) = world.indexer(victim).filter(|_| enough) else { return };
        // The server refuses it, too.
        let is_copied = world.truth(|truth| truth.copied.contains(&victim));
        if is_copied || is_maintained(world) || !self.stopped.insert(victim) {
            return;
        }
        let leaving =
            Leaving { started: indexer.life.started(), force: false, by: "an operator".to_owned() };
        world.note(format_args!("{victim} is asked to leave"));
        let own = Arc::clone(&indexer);
        indexer.life.spawn(async move {
            let _ = peers::ask_to_leave(&own.catalog, &own.id.to_string(), &leaving).await;
        });
    }

    /// Ends all faults.
    fn end(&mut self, world: &Arc<World>) {
        world.note(format_args!("faults are over"));
        let lives = {
            let mut state = world.state();
            state.weather = Weather::default();
            state.cuts.clear();
            state.storeless.clear();
            let all = state.processes.values_mut();
            let lives: Vec<_> = all.filter_map(|process| process.life.clone()).collect();
            lives
        };
        for life in lives.iter().filter(|life| life.is_paused()) {
            life.resume();
        }
        for pid in world.everybody() {
            supervisor::start(world, pid);
        }
    }
}

fn pause(world: &Arc<World>, victim: Pid, wait: Duration) {
    let life = world.state().processes.get(&victim).and_then(|process| process.life.clone());
    let is_held = world.state().held == Some(victim);
    let Some(life) = life.filter(|_| !is_held) else { return };
    world.note(format_args!("{victim} is paused for {wait:?}"));
    life.pause();
    let (tasks, world) = (world.tasks.clone(), Arc::clone(world));
    tasks.spawn(async move {
        tokio::time::sleep(wait).await;
        // Another pause may have ended before, and the process may be held since.
        let is_held = world.state().held == Some(victim);
        if life.is_paused() && !is_held {
            world.note(format_args!("{victim} goes on"));
            life.resume();
        }
    });
}

fn cut(world: &Arc<World>, (from, to): (Pid, Pid)) {
    let wait = world.millis(500, 30_000);
    let is_both = world.permille(300);
    world.note(format_args!("nothing arrives from {from} at {to} for {wait:?}, both {is_both}"));
    let mut links = vec![(from, to)];
    links.extend(is_both.then_some((to, from)));
    world.state().cuts.extend(links.iter().copied());
    mend(world, wait, links);
}

fn isolate(world: &Arc<World>, victim: Pid) {
    let wait = world.millis(500, 40_000);
    let is_deaf = world.permille(500);
    world.note(format_args!("{victim} is cut off for {wait:?}, deaf {is_deaf}"));
    let others = world.everybody().into_iter().filter(|other| *other != victim);
    let link = |other| if is_deaf { (other, victim) } else { (victim, other) };
    let links: Vec<_> = others.map(link).collect();
    world.state().cuts.extend(links.iter().copied());
    mend(world, wait, links);
}

fn mend(world: &Arc<World>, wait: Duration, links: Vec<(Pid, Pid)>) {
    let (tasks, world) = (world.tasks.clone(), Arc::clone(world));
    tasks.spawn(async move {
        tokio::time::sleep(wait).await;
        let mut state = world.state();
        links.iter().for_each(|link| {
            state.cuts.remove(link);
        });
    });
}

fn lose_store(world: &Arc<World>, victim: Pid, wait: Duration) {
    world.note(format_args!("{victim} does not reach the store for {wait:?}"));
    world.state().storeless.insert(victim);
    let (tasks, world) = (world.tasks.clone(), Arc::clone(world));
    tasks.spawn(async move {
        tokio::time::sleep(wait).await;
        world.state().storeless.remove(&victim);
    });
}

/// Pauses leaders of the catalog between two batches of packing, or lets them lose the object store. Another
/// one leads meanwhile and packs, too. Packing is short, so that other faults rarely meet it.
async fn stop_packing(world: Arc<World>, until: Duration) {
    let kinds = world.config.faults;
    while world.now() < until {
        world.sleep(50, 500).await;
        let packing = CONTROL.into_iter().find(|pid| {
            let state = world.state();
            let process = state.processes.get(pid);
            let leading = process.and_then(|process| process.leading.as_ref());
            leading.is_some_and(|leading| leading.is_packing()) && !state.storeless.contains(pid)
        });
        let Some(leader) = packing.filter(|_| world.permille(STOPPED)) else { continue };
        // Another one leads after two or three seconds, and packs after some changes.
        let wait = world.millis(8_000, 40_000);
        match kinds.pauses && (!kinds.store || world.permille(500)) {
            true => pause(&world, leader, wait),
            false => lose_store(&world, leader, wait),
        }
    }
}

/// Changes the error rates of network, store and disks.
fn weather(world: &World) {
    let kinds = world.config.faults;
    let mut state = world.state();
    let mut some = |is_on: bool, most: u64| {
        let is_on = is_on && state.chance.permille(500);
        if is_on { state.chance.between(1, most) } else { 0 }
    };
    let weather = Weather {
        lost: some(kinds.network, 60),
        doubled: some(kinds.network, 60),
        late: some(kinds.network, 15),
        refused: some(kinds.store, 200),
        unknown: some(kinds.store, 100),
        slow: some(kinds.power, 100),
    };
    state.weather = weather;
    drop(state);
    world.note(format_args!("{weather:?}"));
}

fn jump(world: &World, victim: Pid) {
    let mut state = world.state();
    let by = i64::try_from(state.chance.below(7_200_000_000)).unwrap_or(0) - 3_600_000_000;
    if let Some(process) = state.processes.get_mut(&victim) {
        process.skew += by;
    }
}

/// Starts a rolling restart of all indexers, if none is running.
async fn restart(world: &Arc<World>) {
    let all = world.indexers().into_iter().filter_map(|pid| world.indexer(pid));
    let Some(any) = all.into_iter().next() else { return };
    let snapshot = any.catalog.snapshot();
    let is_under_way = peers::wave(&snapshot).is_some_and(|wave| !wave.is_over());
    if is_under_way {
        return;
    }
    let ids: BTreeSet<String> =
        world.indexers().into_iter().map(|pid| world.id_of(pid).to_string()).collect();
    // Running searches are not counted here, so that they cannot guard the restart.
    let percent = if world.is(Mutant::RestartsAllAtOnce) { 100 } else { 10 };
    let wave = Wave::new(ids.into_iter().collect(), Some(percent)).unguarded();
    world.note(format_args!("a rolling restart begins"));
    let own = Arc::clone(&any);
    any.life.spawn(async move {
        let _ = peers::replace_wave(&own.catalog, &snapshot, &wave).await;
    });
}

/// Whether the catalog says that maintenance mode is on.
fn is_maintained(world: &World) -> bool {
    let snapshot = Arc::clone(&world.state().database.state);
    peers::maintenance(&snapshot).is_some()
}

/// Turns maintenance mode on for some time, if it is off.
fn maintain(world: &Arc<World>) {
    if is_maintained(world) {
        return;
    }
    let wait = world.millis(5_000, 60_000);
    let (tasks, world) = (world.tasks.clone(), Arc::clone(world));
    tasks.spawn(async move {
        set_maintenance(&world, Some("an operator")).await;
        tokio::time::sleep(wait).await;
        set_maintenance(&world, None).await;
    });
}

/// Asks an indexer to turn maintenance mode on or off. The request may be lost.
async fn set_maintenance(world: &Arc<World>, by: Option<&str>) {
    let all = world.indexers().into_iter().find_map(|pid| world.indexer(pid));
    let Some(any) = all else { return };
    let request = peers::set_maintenance(&any.catalog, by);
    let _ = tokio::time::timeout(Duration::from_secs(5), request).await;
    let is_on = if is_maintained(world) { "on" } else { "off" };
    world.note(format_args!("maintenance mode is {is_on}"));
}

/// Waits until all acknowledged events are committed, each set is owned by its own indexer, and all
/// processes run.
async fn rest(world: &Arc<World>) {
    let began = world.now();
    let mut lacking = String::new();
    let mut quiet = 0;
    while world.now().saturating_sub(began) < REST {
        tokio::time::sleep(Duration::from_secs(2)).await;
        if is_maintained(world) {
            set_maintenance(world, None).await;
        }
        for pid in world.indexers() {
            start_who_left(world, pid);
            let is_open = world.state().processes.get(&pid).is_some_and(|process| process.is_open);
            let Some(indexer) = world.indexer(pid).filter(|_| is_open) else { continue };
            if indexer.fence.is_closed() {
                // It reports that it accepts no events, and an operator restarts it.
                supervisor::begin_again(world, pid, "it takes nothing in");
            } else {
                indexer.roll_all();
            }
        }
        twins::separate(world);
        lacking = lacks(world);
        quiet = if lacking.is_empty() { quiet + 1 } else { 0 };
        if quiet == 8 {
            return check(world);
        }
    }
    world.violate(format!("no rest after {} s: {lacking}", REST.as_secs()));
}

/// Restarts an indexer that has left the cluster, so that the data on its disk is available.
fn start_who_left(world: &Arc<World>, pid: Pid) {
    if let Some(process) = world.state().processes.get_mut(&pid).filter(|process| process.is_gone) {
        process.is_gone = false;
    } else {
        return;
    }
    supervisor::start(world, pid);
}

/// Describes what is not at rest yet.
fn lacks(world: &World) -> String {
    for pid in CONTROL.into_iter().chain(world.indexers()) {
        let is_open = world.state().processes.get(&pid).is_some_and(|process| process.is_open);
        if !is_open {
            return format!("{pid} does not run");
        }
    }
    let snapshot = Arc::clone(&world.state().database.state);
    if peers::maintenance(&snapshot).is_some() {
        return "maintenance mode is on".to_owned();
    }
    if let Some(taken) = snapshot.taken_over().find(|taken| taken.owner != taken.indexer) {
        return format!("a set of {} is not given back", crate::world::process(taken.indexer));
    }
    for pid in world.indexers() {
        let Some(indexer) = world.indexer(pid) else { return format!("{pid} does not run") };
        if !indexer.memory.lock().hot.is_empty() {
            return format!("{pid} has hot buckets");
        }
        if !indexer.knows(indexer.id) {
            return format!("{pid} is not in the list of the cluster");
        }
        if indexer.fence.is_closed() {
            return format!("{pid} takes nothing in");
        }
    }
    String::new()
}

fn check(world: &World) {
    let wrong = world.state().database.wrong_packs();
    if let Some(wrong) = wrong {
        world.violate(wrong);
    }
    let mut open = world.indexers().into_iter().filter_map(|pid| world.indexer(pid));
    let mut served: BTreeSet<IndexerId> = BTreeSet::new();
    if let Some(twice) = open.find(|indexer| !served.insert(indexer.id)) {
        world.violate(format!("two processes run with the identity of {}", twice.pid()));
    }
    let losses = world.losses();
    let lost = world.truth(|truth| {
        let mut safe = truth.safe(&losses).into_iter();
        safe.find(|number| !truth.is_stored(*number))
            .map(|number| (number, truth.sent.get(&number).copied()))
    });
    if let Some((number, sent)) = lost {
        world.violate(format!("event {number} is lost: {sent:?}"));
    }
}
