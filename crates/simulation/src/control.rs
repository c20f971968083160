//! The control planes: the leader has the catalog open and changes it by the rules of `catalog`; the
//! standby follows it and takes over.

use std::sync::Arc;
use std::time::Duration;

use catalog::simulated::{Opened, Packs};
use catalog::{Catalog, Changes, Commit, Documents, Rules, Snapshot, Written};
use futures::future::BoxFuture;
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::time::timeout;

mod packing;

use crate::failover::Failover;
use crate::network::{self, Answer, Request};
use crate::process::{Life, Pid};
use crate::world::{CONTROL, World, process};
use crate::{Mutant, supervisor};

/// Interval between renewals of the lease; a leader is considered lost after two missed renewals.
const RENEWAL: Duration = Duration::from_secs(1);
/// After this time without a renewal, a leader has no followers.
pub(crate) const UNRENEWED: Duration = Duration::from_secs(10);
/// How long a follower waits for the next state.
const FEED: Duration = Duration::from_secs(4);
/// Interval of heartbeats of a leader without changes.
const HEARTBEAT: Duration = Duration::from_secs(1);
/// Timeouts of a change: with its retries, and of one attempt.
const DEADLINE: Duration = Duration::from_secs(60);
const ATTEMPT: Duration = Duration::from_secs(20);

/// The catalog of the process that has it open.
#[derive(Debug)]
pub(crate) struct Leading {
    /// The number of this opening of the database.
    opened: u64,
    rules: tokio::sync::Mutex<Rules>,
    view: Arc<watch::Sender<Arc<Snapshot>>>,
    /// Time of the last renewal of the lease: later, the process may no longer be the leader, and after
    /// [`UNRENEWED`] it gives no feed.
    renewed: Mutex<Duration>,
    packs: Arc<tokio::sync::Mutex<Packs>>,
    /// Number of writes, and of headers that they have changed, since the headers were last packed.
    logged: Mutex<u64>,
    /// Whether it runs the release before packs.
    is_previous: bool,
}

impl Leading {
    /// Whether it is writing packs.
    pub(crate) fn is_packing(&self) -> bool {
        self.packs.try_lock().is_err()
    }
}

fn leading(world: &World, own: Pid) -> Option<Arc<Leading>> {
    world.state().processes.get(&own)?.leading.clone()
}

/// Makes a commit, if this process is the leader.
pub(crate) async fn commit(world: &Arc<World>, own: Pid, commit: Commit) -> Answer {
    let Some(leading) = leading(world, own) else { return Answer::NotLeading };
    let ignores_epochs = world.is(Mutant::CommitsOfOldEpochs);
    let apply = move |rules: &mut Rules| {
        let mut commit = commit;
        let earlier = of_earlier_epoch(&rules.snapshot(), &commit);
        if ignores_epochs {
            let known = rules.snapshot();
            for range in &mut commit.ranges {
                range.epoch = known.owner(range.stream.indexer, range.stream.set).0;
            }
        }
        let written = rules.commit(commit)?;
        earlier.into_iter().for_each(|wrong| world.violate(wrong));
        Ok(written)
    };
    Answer::Changed(change(world, own, &leading, apply).await)
}

/// What is wrong with a commit if the catalog takes it, because it is of an owner of an earlier epoch.
fn of_earlier_epoch(state: &Snapshot, commit: &Commit) -> Option<String> {
    commit.ranges.iter().find_map(|range| {
        let (known, owner) = state.owner(range.stream.indexer, range.stream.set);
        let (epoch, stream, by) = (range.epoch, &range.stream, process(owner));
        let wrong =
            || format!("{by} owns {stream} in epoch {known}, and a commit of {epoch} is taken");
        (epoch < known).then(wrong)
    })
}

/// Changes documents, if this process is the leader.
pub(crate) async fn documents(world: &Arc<World>, own: Pid, all: Documents) -> Answer {
    let Some(leading) = leading(world, own) else { return Answer::NotLeading };
    Answer::Changed(change(world, own, &leading, |rules| rules.documents(all)).await)
}

async fn change(
    world: &Arc<World>,
    own: Pid,
    leading: &Arc<Leading>,
    apply: impl FnOnce(&mut Rules) -> Result<Option<Written>, catalog::Error>,
) -> Result<u64, catalog::Error> {
    let mut rules = leading.rules.lock().await;
    let Some(written) = apply(&mut rules)? else { return Ok(rules.snapshot().number()) };
    world.sleep(3, 20).await;
    while world.state().storeless.contains(&own) {
        world.sleep(50, 500).await;
    }
    let snapshot = rules.snapshot();
    let is_fenced = world.state().database.opened != leading.opened;
    if is_fenced && !world.is(Mutant::LeadersAreNotFenced) {
        supervisor::begin_again(world, own, "another process has opened the catalog");
        return Err(catalog::Error::Fenced { path: "simulated".to_owned() });
    }
    let headers = written.headers;
    let written = packing::as_its_release(world, leading, written);
    world.written(Arc::clone(&snapshot), written.batch, !leading.is_previous);
    world.sleep(2, 10).await;
    let number = snapshot.number();
    leading.view.send_replace(snapshot);
    packing::pack_if_due(world, own, leading, headers);
    Ok(number)
}

/// Waits for the newest state after a write, if this process is the leader.
pub(crate) async fn follow(world: &Arc<World>, own: Pid, number: Option<u64>) -> Answer {
    let Some(leading) = leading(world, own) else { return Answer::NotLeading };
    let mut view = leading.view.subscribe();
    let is_newer = |state: &Arc<Snapshot>| number.is_none_or(|known| state.number() > known);
    let _ = timeout(HEARTBEAT, view.wait_for(is_newer)).await;
    let age = world.now().saturating_sub(*leading.renewed.lock());
    if age >= UNRENEWED {
        return Answer::NotLeading;
    }
    Answer::State(leading.view.borrow().clone())
}

/// The catalog of a process that follows, or is the leader itself.
#[derive(Debug)]
pub(crate) struct Followed {
    world: Arc<World>,
    pid: Pid,
    view: Arc<watch::Sender<Arc<Snapshot>>>,
    /// The process that gives the feed.
    leader: watch::Sender<Option<Pid>>,
    /// See [`heard`](Self::heard).
    heard: Mutex<Duration>,
}

impl Followed {
    /// Starts following as a task of the process.
    pub(crate) fn begin(world: &Arc<World>, life: &Life) -> (Arc<Self>, Catalog) {
        let view = Arc::new(watch::Sender::new(Arc::<Snapshot>::default()));
        let followed = Arc::new(Self {
            world: Arc::clone(world),
            pid: life.pid,
            view: Arc::clone(&view),
            leader: watch::Sender::new(None),
            heard: Mutex::new(world.now()),
        });
        life.spawn(Arc::clone(&followed).run());
        let changes = Arc::clone(&followed) as Arc<dyn Changes>;
        (followed, Catalog::simulated(view, changes))
    }

    /// Waits for the first state.
    pub(crate) async fn ready(&self) {
        let mut view = self.view.subscribe();
        // Cannot fail: `self` has the sender.
        let _ = view.wait_for(|state| state.number() > 0).await;
    }

    /// The time at which its state was current, or earlier.
    pub(crate) fn heard(&self) -> Duration {
        *self.heard.lock()
    }

    fn leads(&self) -> bool {
        leading(&self.world, self.pid).is_some()
    }

    async fn run(self: Arc<Self>) {
        loop {
            for candidate in CONTROL.into_iter().filter(|candidate| *candidate != self.pid) {
                while !self.leads() && self.next_of(candidate).await {}
            }
            self.leader.send_replace(None);
            self.world.sleep(50, 500).await;
        }
    }

    /// Waits for the next state of a candidate; `false` if it gives none.
    async fn next_of(&self, candidate: Pid) -> bool {
        let known = self.view.borrow().number();
        let known = (known > 0).then_some(known);
        let now = self.world.now();
        let asked = network::ask(&self.world, self.pid, candidate, Request::Follow(known));
        let Ok(Ok(Answer::State(state))) = timeout(FEED, asked).await else {
            return false;
        };
        // A former leader that has not noticed that it was replaced.
        if Some(state.number()) < known || state.number() == 0 || self.leads() {
            return false;
        }
        *self.heard.lock() = now;
        self.leader.send_if_modified(|leader| leader.replace(candidate) != Some(candidate));
        if Some(state.number()) > known {
            self.view.send_replace(state);
        }
        true
    }

    fn unreachable(reason: &str) -> catalog::Error {
        catalog::Error::Unreachable {
            leader: "the leader".to_owned(),
            seconds: DEADLINE.as_secs(),
            reason: reason.to_owned(),
        }
    }

    /// Sends a change to the leader until it is answered. Returns the number of a state that includes the
    /// change.
    async fn send(&self, request: Request) -> Result<u64, catalog::Error> {
        let asking = async {
            loop {
                let leader = match self.leads() {
                    true => Some(self.pid),
                    false => *self.leader.borrow(),
                };
                if let Some(leader) = leader {
                    let asked = network::ask(&self.world, self.pid, leader, request.clone());
                    match timeout(ATTEMPT, asked).await {
                        Ok(Ok(Answer::Changed(Err(catalog::Error::Fenced { .. })))) => {}
                        Ok(Ok(Answer::Changed(outcome))) => return outcome,
                        _ => {}
                    }
                }
                self.world.sleep(50, 500).await;
            }
        };
        match timeout(DEADLINE, asking).await {
            Ok(outcome) => outcome,
            Err(_) => Err(Self::unreachable("no answer")),
        }
    }

    async fn change(&self, request: Request) -> Result<(), catalog::Error> {
        let number = self.send(request).await?;
        let mut view = self.view.subscribe();
        let seen = view.wait_for(|state| state.number() >= number);
        match timeout(DEADLINE, seen).await {
            Ok(_) => Ok(()),
            Err(_) => Err(Self::unreachable("the change is made and has not arrived here")),
        }
    }
}

impl Changes for Followed {
    fn commit<'a>(&'a self, commit: Commit) -> BoxFuture<'a, Result<(), catalog::Error>> {
        Box::pin(async move { self.change(Request::Commit(Box::new(commit))).await })
    }

    fn documents<'a>(&'a self, documents: Documents) -> BoxFuture<'a, Result<(), catalog::Error>> {
        Box::pin(async move { self.change(Request::Documents(documents)).await })
    }
}

/// Runs a process that may become the leader.
pub(crate) async fn run(world: Arc<World>, life: Life) {
    let (followed, catalog) = Followed::begin(&world, &life);
    world.open(life.pid);
    let failover = Failover::new(&world, &life, catalog.clone());
    loop {
        world.sleep(150, 250).await;
        let lease = world.state().database.lease;
        let age = world.now().saturating_sub(lease.renewed);
        let is_free = lease.holder.is_none() || age >= RENEWAL * 2;
        if followed.leader.borrow().is_some() || !is_free {
            continue;
        }
        if take(&world, &life, lease.count).await {
            break;
        }
    }
    let opened = open(&world, &life, &followed.view).await;
    world.note(format_args!("{} leads, opening {opened}", life.pid));
    life.spawn(renew(Arc::clone(&world), life.clone()));
    life.spawn(failover.lead());
}

/// Takes the lease, if it was not renewed or taken meanwhile.
async fn take(world: &World, life: &Life, count: u64) -> bool {
    world.sleep(5, 30).await;
    let now = world.now();
    let mut state = world.state();
    if state.storeless.contains(&life.pid) || state.database.lease.count != count {
        return false;
    }
    let lease = &mut state.database.lease;
    lease.holder = Some((life.pid, life.number));
    lease.count += 1;
    lease.renewed = now;
    true
}

/// Opens the database, which fences the process that had it open.
async fn open(world: &World, life: &Life, view: &Arc<watch::Sender<Arc<Snapshot>>>) -> u64 {
    world.sleep(10, 60).await;
    let (opened, is_previous) = {
        let mut state = world.state();
        state.database.opened += 1;
        (state.database.opened, world.config.previous && state.chance.permille(300))
    };
    world.sleep(10, 60).await;
    let Opened { snapshot, packs, logged, is_from_packs } = packing::read(world, view, is_previous);
    let pid = life.pid;
    world.note(format_args!("{pid} reads packs: {is_from_packs}, previous release: {is_previous}"));
    view.send_replace(Arc::new(snapshot.clone()));
    let mut state = world.state();
    let leading = Arc::new(Leading {
        opened,
        rules: tokio::sync::Mutex::new(Rules::over(snapshot)),
        view: Arc::clone(view),
        renewed: Mutex::new(state.database.lease.renewed),
        packs: Arc::new(tokio::sync::Mutex::new(packs)),
        logged: Mutex::new(logged),
        is_previous,
    });
    if let Some(process) = state.processes.get_mut(&life.pid) {
        process.leading = Some(leading);
    }
    opened
}

async fn renew(world: Arc<World>, life: Life) {
    loop {
        tokio::time::sleep(RENEWAL).await;
        world.sleep(2, 20).await;
        let now = world.now();
        let (is_renewed, is_own) = {
            let mut state = world.state();
            let is_reached = !state.storeless.contains(&life.pid);
            let lease = &mut state.database.lease;
            let is_own = lease.holder == Some((life.pid, life.number));
            if is_own && is_reached {
                lease.count += 1;
                lease.renewed = now;
            }
            (is_own && is_reached, is_own || !is_reached)
        };
        if let Some(leading) = leading(&world, life.pid).filter(|_| is_renewed) {
            *leading.renewed.lock() = now;
        }
        if !is_own {
            return supervisor::begin_again(&world, life.pid, "another process has the lease");
        }
    }
}
