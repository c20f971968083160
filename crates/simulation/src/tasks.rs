//! Runs the tasks of a run on one thread: who is next among those that can go on is drawn from the seed. The
//! scheduler of tokio would run them as they are woken, and the order in which `watch` wakes is not one that
//! repeats; its time and its timers serve here, too.

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
    /// Those that have not begun.
    new: Vec<(TaskId, Work)>,
    /// Those that can go on.
    ready: BTreeSet<TaskId>,
    /// Those that are to be dropped.
    ended: Vec<TaskId>,
    /// Those that are not over.
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

/// Where tasks are handed to the [`Executor`].
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

    /// Drops a task before anything else runs.
    pub(crate) fn end(&self, id: TaskId) {
        let mut queue = self.0.lock();
        queue.ended.push(id);
        queue.wake();
    }

    /// Lets go of what has not begun.
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

/// Runs everything that is spawned until one task is over.
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

    /// Takes in what was spawned, drops what has ended; what runs next.
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
        // What it holds may wake others.
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
