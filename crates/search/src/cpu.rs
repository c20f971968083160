//! The CPU time of searches: what threads use while they work on one, be it planning, reading, operators or
//! previews.
//!
//! The tasks of a search are polled inside [`Measured`], which adds up the CPU clock of the thread; tasks
//! that the query engine starts from these count for the same search. Leaves out what works for several
//! searches (the cache, connections), and programs of custom commands, which are processes.

use std::any::Any;
use std::cell::RefCell;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::task::{Context, Poll};
use std::time::Duration;

use datafusion::common::runtime::{JoinSetTracer, set_join_set_tracer};
use futures::future::BoxFuture;
use runtime::process::thread_cpu;

/// The CPU time of one search. Clones share the counter.
#[derive(Debug, Clone, Default)]
pub(crate) struct CpuTime(Arc<AtomicU64>);

/// The search that a thread works on, and the reading of the thread's CPU clock up to which its time has been
/// counted.
#[derive(Debug)]
struct Current {
    cpu: CpuTime,
    counted: Duration,
}

thread_local! {
    static CURRENT: RefCell<Option<Current>> = const { RefCell::new(None) };
}

impl CpuTime {
    /// Returns the CPU time counted so far. Work in progress is included only up to its last call of
    /// [`count_thread`].
    pub(crate) fn total(&self) -> Duration {
        Duration::from_nanos(self.0.load(Relaxed))
    }

    /// Wraps a task so that its CPU time is counted.
    pub(crate) fn of<T>(&self, task: BoxFuture<'static, T>) -> Measured<T> {
        Measured { task, cpu: self.clone() }
    }

    /// Runs a closure and counts its CPU time. The clock of the thread is read by a system call, so it is not
    /// read where a task of a search polls another one of the same search.
    fn during<T>(&self, work: impl FnOnce() -> T) -> T {
        let is_counted = |current: &Current| Arc::ptr_eq(&current.cpu.0, &self.0);
        if CURRENT.with_borrow(|current| current.as_ref().is_some_and(is_counted)) {
            return work();
        }
        let now = thread_cpu();
        let outer = CURRENT.replace(Some(Current { cpu: self.clone(), counted: now }));
        if let Some(outer) = &outer {
            outer.count_until(now);
        }
        let _within = CpuScope { outer };
        work()
    }

    fn add(&self, time: Duration) {
        self.0.fetch_add(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX), Relaxed);
    }
}

impl Current {
    fn count_until(&self, now: Duration) {
        self.cpu.add(now.saturating_sub(self.counted));
    }
}

/// Counts the CPU time that this thread has spent on its search up to now.
pub(crate) fn count_thread() {
    CURRENT.with_borrow_mut(|current| {
        if let Some(current) = current {
            let now = thread_cpu();
            current.count_until(now);
            current.counted = now;
        }
    });
}

/// Makes the tasks that the query engine spawns count for the search that spawned them, in the whole process.
pub(crate) fn follow_tasks() {
    // An error means that the tracer has been set before.
    let _ = set_join_set_tracer(&Follow);
}

/// A guard that ends the counted work when it is dropped.
struct CpuScope {
    outer: Option<Current>,
}

impl Drop for CpuScope {
    fn drop(&mut self) {
        let now = thread_cpu();
        let mut outer = self.outer.take();
        if let Some(outer) = &mut outer {
            outer.counted = now;
        }
        if let Some(ended) = CURRENT.replace(outer) {
            ended.count_until(now);
        }
    }
}

/// See [`CpuTime::of`].
pub(crate) struct Measured<T> {
    task: BoxFuture<'static, T>,
    cpu: CpuTime,
}

impl<T> Future for Measured<T> {
    type Output = T;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        let Self { task, cpu } = self.get_mut();
        cpu.during(|| task.as_mut().poll(context))
    }
}

fn current() -> Option<CpuTime> {
    CURRENT.with_borrow(|current| current.as_ref().map(|current| current.cpu.clone()))
}

/// The type-erased result of a task of the engine.
type Erased = Box<dyn Any + Send>;

struct Follow;

impl JoinSetTracer for Follow {
    fn trace_future(&self, task: BoxFuture<'static, Erased>) -> BoxFuture<'static, Erased> {
        match current() {
            Some(cpu) => Box::pin(cpu.of(task)),
            None => task,
        }
    }

    fn trace_block(
        &self,
        work: Box<dyn FnOnce() -> Erased + Send>,
    ) -> Box<dyn FnOnce() -> Erased + Send> {
        match current() {
            Some(cpu) => Box::new(move || cpu.during(work)),
            None => work,
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use datafusion::common::runtime::SpawnedTask;

    use super::*;

    /// Uses this amount of CPU time.
    fn work(time: Duration) {
        let start = thread_cpu();
        let mut number = 1_u64;
        while thread_cpu() - start < time {
            number = std::hint::black_box(number.wrapping_mul(31));
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn the_work_of_a_search_and_of_its_tasks_counts_and_waiting_does_not() {
        follow_tasks();
        let (ours, theirs) = (CpuTime::default(), CpuTime::default());
        let some = Duration::from_millis(20);
        let inner = theirs.of(Box::pin(async move { work(some) }));
        let search = ours.of(Box::pin(async move {
            work(some);
            tokio::time::sleep(10 * some).await;
            SpawnedTask::spawn(async move { work(some) }).await.unwrap();
            inner.await;
            work(some);
            count_thread();
        }));
        search.await;
        for (time, expected) in [(ours.total(), 3 * some), (theirs.total(), some)] {
            assert!(time >= expected && time < 2 * expected, "{time:?} of {expected:?}");
        }
        assert!(current().is_none());
    }
}
