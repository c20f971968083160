//! Processes: their tasks end at any await point when the process is killed, and stop while it is paused.

use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll, Waker};

use futures::FutureExt;
use parking_lot::Mutex;

use crate::tasks::TaskId;
use crate::world::World;

/// A process by its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Pid(pub(crate) u8);

impl std::fmt::Display for Pid {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "p{}", self.0)
    }
}

impl Pid {
    /// The process at an address.
    pub(crate) fn at(address: &str) -> Option<Self> {
        address.strip_prefix('p')?.parse().ok().map(Self)
    }
}

#[derive(Debug, Default)]
struct Gate {
    is_paused: bool,
    is_over: bool,
    waiting: Vec<Waker>,
    tasks: Vec<TaskId>,
}

/// One life of a process, from its start until it is killed. Clones share it.
#[derive(Debug, Clone)]
pub(crate) struct Life {
    pub(crate) pid: Pid,
    /// The number of the life among those of the process.
    pub(crate) number: u64,
    gate: Arc<Mutex<Gate>>,
    world: Weak<World>,
}

impl Life {
    pub(crate) fn new(pid: Pid, number: u64, world: &Arc<World>) -> Self {
        Self { pid, number, gate: Arc::default(), world: Arc::downgrade(world) }
    }

    /// When it began, as processes tell each other: later lives at an address have greater texts, and those
    /// at other addresses different ones.
    pub(crate) fn started(&self) -> String {
        format!("{:08}", u64::from(self.pid.0) * 100_000 + self.number)
    }

    /// Starts a task of the process.
    pub(crate) fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        if self.is_over() {
            return;
        }
        let Some(world) = self.world.upgrade() else { return };
        let (pid, own) = (self.pid, Weak::clone(&self.world));
        let work = AssertUnwindSafe(work).catch_unwind().map(move |ended| {
            if let (Err(_), Some(world)) = (ended, own.upgrade()) {
                world.violate(format!("{pid} panics"));
            }
        });
        let gated = Gated { gate: Arc::clone(&self.gate), work: Box::pin(work) };
        let task = world.tasks.spawn(gated);
        let mut gate = self.gate.lock();
        if gate.tasks.len() > 64 {
            gate.tasks.retain(|task| world.tasks.is_alive(*task));
        }
        gate.tasks.push(task);
    }

    pub(crate) fn is_over(&self) -> bool {
        self.gate.lock().is_over
    }

    pub(crate) fn is_paused(&self) -> bool {
        self.gate.lock().is_paused
    }

    /// Ends all of its tasks.
    pub(crate) fn kill(&self) {
        let tasks = {
            let mut gate = self.gate.lock();
            gate.is_over = true;
            gate.waiting.clear();
            std::mem::take(&mut gate.tasks)
        };
        let Some(world) = self.world.upgrade() else { return };
        tasks.into_iter().for_each(|task| world.tasks.end(task));
    }

    pub(crate) fn pause(&self) {
        self.gate.lock().is_paused = true;
    }

    pub(crate) fn resume(&self) {
        let waiting = {
            let mut gate = self.gate.lock();
            gate.is_paused = false;
            std::mem::take(&mut gate.waiting)
        };
        waiting.into_iter().for_each(Waker::wake);
    }
}

/// A task of a process.
struct Gated {
    gate: Arc<Mutex<Gate>>,
    work: Pin<Box<dyn Future<Output = ()> + Send>>,
}

impl Future for Gated {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        {
            let mut gate = self.gate.lock();
            if gate.is_over {
                return Poll::Pending;
            }
            if gate.is_paused {
                gate.waiting.push(context.waker().clone());
                return Poll::Pending;
            }
        }
        self.work.as_mut().poll(context)
    }
}
