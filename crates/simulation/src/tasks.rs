//! Runs the tasks of a run on one thread: the next of the ready tasks is drawn from the seed. Tokio's
//! scheduler would run them in the order in which they are woken, and `watch` does not wake in a repeatable
//! order. Tokio's clock and timers are used here, too.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

use parking_lot::Mutex;

use crate::chance::Chance;

type Work = Pin<Box<dyn Future<Output = ()> + Send>>;

/// A task by its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct TaskId(u64);

#[derive(Default)]
struct Queue {
    next: u64,
    /// Tasks that have not started.
    new: Vec<(TaskId, Work)>,
    /// Tasks that are ready.
    ready: BTreeSet<TaskId>,
    /// Tasks to be dropped.
    ended: Vec<TaskId>,
    /// Tasks that have not ended.
    alive: BTreeSet<TaskId>,
    waker: Option<Waker>,
}

impl Queue {
    fn wake(&mut self) {
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }
}

/// A handle to give tasks to the [`Executor`].
#[derive(Clone, Default)]
pub(crate) struct Tasks(Arc<Mutex<Queue>>);

impl fmt::Debug for Tasks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tasks").finish_non_exhaustive()
    }
}

impl Tasks {
    pub(crate) fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) -> TaskId {
        let mut queue = self.0.lock();
        let id = TaskId(queue.next);
        queue.next += 1;
        queue.new.push((id, Box::pin(work)));
        queue.ready.insert(id);
        queue.alive.insert(id);
        queue.wake();
        id
    }

    /// Drops a task before another one runs.
    pub(crate) fn end(&self, id: TaskId) {
        let mut queue = self.0.lock();
        queue.ended.push(id);
        queue.wake();
    }

    /// Drops tasks that have not started.
    pub(crate) fn clear(&self) {
        let new = std::mem::take(&mut self.0.lock().new);
        drop(new);
    }

    pub(crate) fn is_alive(&self, id: TaskId) -> bool {
        self.0.lock().alive.contains(&id)
    }
}

struct Woken {
    id: TaskId,
    queue: Arc<Mutex<Queue>>,
}

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        let mut queue = self.queue.lock();
        if queue.alive.contains(&self.id) {
            queue.ready.insert(self.id);
            queue.wake();
        }
    }
}

/// Runs all spawned tasks until one given task ends.
pub(crate) struct Executor {
    queue: Arc<Mutex<Queue>>,
    tasks: BTreeMap<TaskId, (Work, Waker)>,
    chance: Chance,
    main: TaskId,
}

impl Executor {
    pub(crate) fn new(tasks: &Tasks, seed: u64, main: TaskId) -> Self {
        let chance = Chance::new(seed ^ 0x7a5c);
        Self { queue: Arc::clone(&tasks.0), tasks: BTreeMap::new(), chance, main }
    }

    /// Adds spawned tasks, drops ended ones, and returns the task to run next.
    fn next(&mut self, context: &Context<'_>) -> Option<TaskId> {
        let (new, ended) = {
            let mut queue = self.queue.lock();
            (std::mem::take(&mut queue.new), std::mem::take(&mut queue.ended))
        };
        for (id, work) in new {
            let waker = Waker::from(Arc::new(Woken { id, queue: Arc::clone(&self.queue) }));
            self.tasks.insert(id, (work, waker));
        }
        ended.into_iter().for_each(|id| self.forget(id));
        let mut queue = self.queue.lock();
        let ready: Vec<TaskId> = queue.ready.iter().copied().collect();
        let next = self.chance.one_of(&ready);
        match next {
            Some(id) => {
                queue.ready.remove(&id);
            }
            None => queue.waker = Some(context.waker().clone()),
        }
        next
    }

    fn forget(&mut self, id: TaskId) {
        {
            let mut queue = self.queue.lock();
            queue.alive.remove(&id);
            queue.ready.remove(&id);
        }
        // Dropping the task may wake others.
        drop(self.tasks.remove(&id));
    }
}

impl Future for Executor {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        while let Some(id) = self.next(context) {
            let Some((work, waker)) = self.tasks.get_mut(&id) else { continue };
            let waker = waker.clone();
            if work.as_mut().poll(&mut Context::from_waker(&waker)).is_ready() {
                self.forget(id);
                if id == self.main {
                    return Poll::Ready(());
                }
            }
        }
        Poll::Pending
    }
}
