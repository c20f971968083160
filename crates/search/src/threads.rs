//! The threads on which searches are planned and run.
//!
//! A search computes for long before it gives its thread back (a sort, a regular expression over a batch of
//! rows), and tokio serves the tasks of a runtime in order of arrival. So that small searches do not wait for
//! large ones, a search gets a pool of threads of its own while there are enough, and the operating system
//! shares the cores among the threads. Pools are used from the first on: searches that run one after the
//! other run on the same threads, which costs less than threads that have slept. More threads than cores in
//! one pool would not do: aggregations took a quarter longer with four times as many.
//!
//! Guarantees: a search stays on one pool from planning to its end.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::{Mutex, MutexGuard};
use tokio::runtime::{Builder, Handle, Runtime};

/// Maximum number of pools. Further searches share the least used pool.
const POOLS: usize = 16;

/// Thread pools, started on first use. Clones share the same pools.
#[derive(Debug, Clone)]
pub struct SearchThreads {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    /// Starts a new pool; `None` if all searches share one pool.
    start: Option<Start>,
    pools: Mutex<Vec<Pool>>,
}

/// Settings of a pool.
#[derive(Debug, Clone, Copy)]
struct Start {
    threads: usize,
    stack_bytes: usize,
}

#[derive(Debug)]
struct Pool {
    handle: Handle,
    /// Taken on drop, because a runtime must not be dropped by one of its own threads.
    runtime: Option<Runtime>,
    searches: usize,
}

/// The threads assigned to one search, until this is dropped.
#[derive(Debug)]
pub(crate) struct Assigned {
    shared: Arc<Shared>,
    number: usize,
    handle: Handle,
}

impl SearchThreads {
    /// Creates pools with this number of threads and this stack size in bytes.
    ///
    /// # Errors
    /// If the first pool cannot be started.
    pub fn new(threads: usize, stack_bytes: usize) -> io::Result<Self> {
        let start = Start { threads, stack_bytes };
        let pools = Mutex::new(vec![start.pool()?]);
        Ok(Self { shared: Arc::new(Shared { start: Some(start), pools }) })
    }

    /// Uses the threads of a runtime as a single pool for all searches.
    #[must_use]
    pub fn of(handle: Handle) -> Self {
        let pools = Mutex::new(vec![Pool { handle, runtime: None, searches: 0 }]);
        Self { shared: Arc::new(Shared { start: None, pools }) }
    }

    /// Ends all threads. Cancelled tasks have this time to end in order; after that, they are abandoned.
    pub fn shut_down(&self, most: Duration) {
        let until = Instant::now() + most;
        let runtimes: Vec<_> =
            self.shared.lock().iter_mut().filter_map(|pool| pool.runtime.take()).collect();
        for runtime in runtimes {
            runtime.shutdown_timeout(until.saturating_duration_since(Instant::now()));
        }
    }

    /// Whether a search is running.
    pub(crate) fn are_used(&self) -> bool {
        self.shared.lock().iter().any(|pool| pool.searches > 0)
    }

    /// Assigns threads to a search: an unused pool if one exists or can be started, otherwise the least used
    /// one.
    pub(crate) fn assign(&self) -> Assigned {
        let shared = &self.shared;
        let mut pools = shared.lock();
        if pools.iter().all(|pool| pool.searches > 0)
            && pools.len() < POOLS
            && let Some(start) = shared.start
        {
            match start.pool() {
                Ok(pool) => pools.push(pool),
                Err(error) => tracing::warn!(%error, "cannot start more threads for searches"),
            }
        }
        let least = pools.iter_mut().enumerate().min_by_key(|(_, pool)| pool.searches);
        #[allow(clippy::expect_used, reason = "both constructors put one in, and none is removed")]
        let (number, pool) = least.expect("there is a pool");
        pool.searches += 1;
        Assigned { shared: Arc::clone(shared), number, handle: pool.handle.clone() }
    }
}

impl Start {
    fn pool(self) -> io::Result<Pool> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(self.threads)
            .thread_name("karst-search")
            .thread_stack_size(self.stack_bytes)
            .enable_all()
            .build()?;
        Ok(Pool { handle: runtime.handle().clone(), runtime: Some(runtime), searches: 0 })
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Vec<Pool>> {
        // The state is consistent between statements, so a panic elsewhere cannot corrupt it.
        self.pools.lock()
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        let pools = self.pools.get_mut();
        pools.drain(..).filter_map(|pool| pool.runtime).for_each(Runtime::shutdown_background);
    }
}

impl Assigned {
    pub(crate) fn handle(&self) -> &Handle {
        &self.handle
    }
}

impl Drop for Assigned {
    fn drop(&mut self) {
        self.shared.lock()[self.number].searches -= 1;
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn searches_at_the_same_time_have_their_own_threads() {
        let threads = SearchThreads::new(1, 1 << 20).unwrap();
        let (first, second) = (threads.assign(), threads.assign());
        // Neither task ends before the other has run.
        let both = Arc::new(std::sync::Barrier::new(2));
        let run = |assigned: &Assigned| {
            let both = Arc::clone(&both);
            assigned.handle().spawn(async move { both.wait().is_leader() })
        };
        let (one, two) = (run(&first), run(&second));
        let runtime = Builder::new_current_thread().build().unwrap();
        let leaders = runtime.block_on(async { (one.await.unwrap(), two.await.unwrap()) });
        assert!(leaders.0 != leaders.1);
    }

    #[test]
    fn the_first_pools_are_used_first_and_the_least_used_one_is_shared() {
        let threads = SearchThreads::new(1, 1 << 20).unwrap();
        let next = || {
            let assigned = threads.assign();
            assigned.number
        };
        let first = threads.assign();
        assert_eq!((first.number, next(), next()), (0, 1, 1));
        drop(first);
        assert_eq!(next(), 0);
        let all: Vec<_> = (0..POOLS).map(|_| threads.assign()).collect();
        assert_eq!((all.last().unwrap().number, next()), (POOLS - 1, 0));
    }

    #[test]
    fn one_pool_for_all_stays_one() {
        let runtime = Builder::new_current_thread().build().unwrap();
        let threads = SearchThreads::of(runtime.handle().clone());
        let _first = threads.assign();
        assert_eq!(threads.assign().number, 0);
    }
}
