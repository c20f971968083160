//! The world of a run: virtual time, randomness, processes, the disks of their machines, and the checks.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use model::{IndexerId, JournalPosition};
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::{oneshot, watch};
use tokio::time::Instant;
use uuid::Uuid;

use crate::chance::Chance;
use crate::control::Leading;
use crate::database::Database;
use crate::disk::{Machine, SetKey};
use crate::indexer::Indexer;
use crate::network::Outcome;
use crate::process::{Life, Pid};
use crate::tasks::Tasks;
use crate::truth::Truth;
use crate::{Config, Mutant};

/// Current error rates of network, store and disks, in per mille.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Weather {
    /// Lost messages.
    pub(crate) lost: u64,
    /// Duplicated messages.
    pub(crate) doubled: u64,
    /// Messages that arrive seconds late, after later ones.
    pub(crate) late: u64,
    /// Requests to the store that fail and are not executed.
    pub(crate) refused: u64,
    /// Requests to the store that fail, but are executed, perhaps seconds later.
    pub(crate) unknown: u64,
    /// Syncs of disks that take up to a second.
    pub(crate) slow: u64,
}

/// A process of the cluster: its current life, and the parts that handle its requests.
#[derive(Debug, Default)]
pub(crate) struct Process {
    pub(crate) life: Option<Life>,
    /// Number of lives so far.
    pub(crate) lives: u64,
    /// Whether it answers other processes.
    pub(crate) is_open: bool,
    /// Whether it serves its copies of journals, which it does before it is open.
    pub(crate) has_copies: bool,
    pub(crate) indexer: Option<Arc<Indexer>>,
    pub(crate) leading: Option<Arc<Leading>>,
    /// Whether it must not be restarted.
    pub(crate) is_gone: bool,
    /// The process that runs with the identity of this one, for which it was not started.
    pub(crate) refused_by: Option<Pid>,
    /// Difference between its clock and the time of the others, in microseconds.
    pub(crate) skew: i64,
}

/// The mutable state of a run.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) chance: Chance,
    pub(crate) weather: Weather,
    pub(crate) processes: BTreeMap<Pid, Process>,
    /// Links that deliver no messages, by sender and receiver.
    pub(crate) cuts: BTreeSet<(Pid, Pid)>,
    /// Processes that cannot reach the object store.
    pub(crate) storeless: BTreeSet<Pid>,
    pub(crate) machines: BTreeMap<Pid, Machine>,
    pub(crate) objects: BTreeMap<String, Bytes>,
    pub(crate) database: Database,
    pub(crate) truth: Truth,
    /// Processes over copies of the disks of others.
    pub(crate) twins: Vec<Pid>,
    /// A process that stays paused until the process over a copy of its disk has started.
    pub(crate) held: Option<Pid>,
    /// Up to which positions the records of sets are compared with buckets, because their indexer has got a
    /// new identity: in the product, documents of the catalog.
    pub(crate) compared: BTreeMap<SetKey, JournalPosition>,
    /// Senders of answers that are never sent; kept so that their receivers wait.
    pub(crate) limbo: Vec<oneshot::Sender<Outcome>>,
    next_id: u128,
    trace: Trace,
}

#[derive(Debug, Default)]
struct Trace {
    hash: u64,
    lines: u64,
    shown: VecDeque<String>,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct World {
    pub(crate) config: Config,
    pub(crate) tasks: Tasks,
    began: Instant,
    state: Mutex<State>,
    violated: watch::Sender<Option<String>>,
}

impl World {
    pub(crate) fn new(config: Config) -> Arc<Self> {
        let state = State {
            chance: Chance::new(config.seed),
            weather: Weather::default(),
            processes: BTreeMap::new(),
            cuts: BTreeSet::new(),
            storeless: BTreeSet::new(),
            machines: BTreeMap::new(),
            objects: BTreeMap::new(),
            database: Database::default(),
            truth: Truth::default(),
            twins: Vec::new(),
            held: None,
            compared: BTreeMap::new(),
            limbo: Vec::new(),
            next_id: 1 << 64,
            trace: Trace::default(),
        };
        let violated = watch::Sender::new(None);
        let (began, state) = (Instant::now(), Mutex::new(state));
        Arc::new(Self { config, tasks: Tasks::default(), began, state, violated })
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    pub(crate) fn now(&self) -> Duration {
        self.began.elapsed()
    }

    pub(crate) fn is(&self, mutant: Mutant) -> bool {
        self.config.mutant == Some(mutant)
    }

    /// Adds a line to the trace; runs of the same seed have the same lines at the same times.
    pub(crate) fn note(&self, what: fmt::Arguments<'_>) {
        let line = format!("{:>9} {what}", self.now().as_millis());
        let mut state = self.state.lock();
        let trace = &mut state.trace;
        for byte in line.bytes().chain([b'\n']) {
            trace.hash = (trace.hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        trace.lines += 1;
        trace.shown.push_back(line);
        if trace.shown.len() > self.config.lines {
            trace.shown.pop_front();
        }
    }

    /// The hash and the number of all lines so far.
    pub(crate) fn hash(&self) -> (u64, u64) {
        let state = self.state.lock();
        (state.trace.hash, state.trace.lines)
    }

    /// The last lines of the trace.
    pub(crate) fn trace(&self) -> Vec<String> {
        self.state.lock().trace.shown.iter().cloned().collect()
    }

    /// Reports a violated invariant; the first violation ends the run.
    pub(crate) fn violate(&self, what: String) {
        self.note(format_args!("VIOLATION {what}"));
        self.violated.send_if_modified(|known| match known {
            Some(_) => false,
            None => {
                *known = Some(what);
                true
            }
        });
    }

    pub(crate) fn violation(&self) -> Option<String> {
        self.violated.borrow().clone()
    }

    /// Waits for a violation.
    pub(crate) async fn is_violated(&self) -> String {
        let mut violated = self.violated.subscribe();
        let known = violated.wait_for(Option::is_some).await;
        match known.map(|violation| violation.clone().unwrap_or_default()) {
            Ok(violation) => violation,
            // Cannot fail: `self` has the sender.
            Err(_) => std::future::pending().await,
        }
    }

    /// A new identity.
    pub(crate) fn id(&self) -> Uuid {
        let mut state = self.state.lock();
        state.next_id += 1;
        Uuid::from_u128(state.next_id)
    }

    pub(crate) fn millis(&self, least: u64, most: u64) -> Duration {
        self.state.lock().chance.millis(least, most)
    }

    pub(crate) fn permille(&self, of_thousand: u64) -> bool {
        self.state.lock().chance.permille(of_thousand)
    }

    pub(crate) async fn sleep(&self, least: u64, most: u64) {
        let time = self.millis(least, most);
        tokio::time::sleep(time).await;
    }

    /// Waits for the time that a sync of a disk takes.
    pub(crate) async fn sync(&self) {
        let time = {
            let mut state = self.state.lock();
            let slow = state.weather.slow;
            match state.chance.permille(slow) {
                true => state.chance.millis(50, 1000),
                false => state.chance.millis(1, 6),
            }
        };
        tokio::time::sleep(time).await;
    }

    /// The indexer that runs as a process; `None` if it does not run.
    pub(crate) fn indexer(&self, pid: Pid) -> Option<Arc<Indexer>> {
        self.state.lock().processes.get(&pid)?.indexer.clone()
    }

    /// Drops the processes: they own the world, so that it would never be freed.
    pub(crate) fn end(&self) {
        let (processes, limbo) = {
            let mut state = self.state.lock();
            (std::mem::take(&mut state.processes), std::mem::take(&mut state.limbo))
        };
        drop((processes, limbo));
        self.tasks.clear();
    }

    /// The processes that are indexers.
    pub(crate) fn indexers(&self) -> Vec<Pid> {
        let first = (0..self.config.indexers).map(|number| Pid(FIRST_INDEXER + number));
        first.chain(self.state().twins.iter().copied()).collect()
    }

    /// The identity of the process of a machine.
    pub(crate) fn id_of(&self, pid: Pid) -> IndexerId {
        let known = self.state().machines.get(&pid).and_then(|machine| machine.id);
        known.unwrap_or_else(|| identity(pid))
    }

    /// All processes.
    pub(crate) fn everybody(&self) -> Vec<Pid> {
        let mut all: Vec<Pid> = CONTROL.to_vec();
        all.extend(self.indexers());
        all.push(SEARCH_HEAD);
        all
    }
}

/// The control planes.
pub(crate) const CONTROL: [Pid; 2] = [Pid(0), Pid(1)];
pub(crate) const FIRST_INDEXER: u8 = 10;
/// A process over a copy of the disk of another one.
pub(crate) const TWIN: Pid = Pid(60);
/// The search head.
pub(crate) const SEARCH_HEAD: Pid = Pid(100);

/// The identity of a process at its first start.
pub(crate) fn identity(pid: Pid) -> IndexerId {
    IndexerId(Uuid::from_u128(u128::from(pid.0) + 1))
}

/// The process that had an identity first, for the trace; `p255` for an identity that was new later.
pub(crate) fn process(id: IndexerId) -> Pid {
    Pid(u8::try_from(id.0.as_u128().saturating_sub(1)).unwrap_or(u8::MAX))
}
