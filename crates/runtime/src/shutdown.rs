//! The stop signal and the list of background tasks that must end after it.
//!
//! Guarantees: the signal is sticky (late subscribers see it); [`Shutdown::finish`] returns when
//! every task has ended, or reports how many have not. Each task listens to [`Shutdown::stopped`]
//! and ends by itself.

use std::future::Future;
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};
use tokio_util::task::TaskTracker;

use crate::Error;

/// A handle to the stop signal and the tasks under it; clones share both.
#[derive(Debug, Clone, Default)]
pub struct Shutdown {
    token: CancellationToken,
    tasks: TaskTracker,
}

impl Shutdown {
    /// Creates a signal without tasks.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates a child that can be stopped separately, and is stopped with its parent. Its tasks belong only
    /// to the child, so finish the child first.
    #[must_use]
    pub fn part(&self) -> Self {
        Self { token: self.token.child_token(), tasks: TaskTracker::new() }
    }

    /// Starts a task that [`finish`](Self::finish) waits for.
    pub fn spawn<F>(&self, task: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        self.tasks.spawn(task)
    }

    /// Runs blocking work on a separate thread; [`finish`](Self::finish) waits for it.
    pub fn spawn_blocking<F, T>(&self, work: F) -> JoinHandle<T>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        self.tasks.spawn_blocking(work)
    }

    /// Gives the signal and returns at once.
    pub fn stop(&self) {
        self.token.cancel();
    }

    /// Whether the signal has been given.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.token.is_cancelled()
    }

    /// Resolves when the signal is given.
    pub fn stopped(&self) -> WaitForCancellationFutureOwned {
        self.token.clone().cancelled_owned()
    }

    /// Returns the signal as a token, for interfaces that need one.
    #[must_use]
    pub fn token(&self) -> CancellationToken {
        self.token.clone()
    }

    /// Waits for the signal or the timeout. Returns true if the signal was not given.
    pub async fn sleep(&self, time: Duration) -> bool {
        tokio::select! {
            () = self.token.cancelled() => false,
            () = tokio::time::sleep(time) => true,
        }
    }

    /// Gives the signal and waits until every task has ended.
    ///
    /// # Errors
    /// [`Error::StillRunning`] if tasks are still running after `grace`; they keep running.
    pub async fn finish(&self, grace: Duration) -> Result<(), Error> {
        self.stop();
        self.tasks.close();
        if tokio::time::timeout(grace, self.tasks.wait()).await.is_ok() {
            return Ok(());
        }
        Err(Error::StillRunning { tasks: self.tasks.len(), waited: grace })
    }
}

/// Starts a task that no shutdown waits for: one that ends soon by itself, or that can be aborted at any
/// point.
#[expect(clippy::disallowed_methods, reason = "this is what others use instead")]
pub fn detached<F>(task: F) -> JoinHandle<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    tokio::spawn(task)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn finish_waits_for_tasks_that_end_on_the_signal() {
        let shutdown = Shutdown::new();
        let signal = shutdown.stopped();
        let task = shutdown.spawn(async move {
            signal.await;
            7
        });
        shutdown.finish(Duration::from_secs(10)).await.unwrap();
        assert_eq!(task.await.unwrap(), 7);
    }

    #[tokio::test]
    async fn finish_counts_the_tasks_that_do_not_end() {
        let shutdown = Shutdown::new();
        shutdown.spawn(std::future::pending::<()>());
        let error = shutdown.finish(Duration::from_millis(1)).await.unwrap_err();
        assert!(matches!(error, Error::StillRunning { tasks: 1, .. }), "{error}");
    }

    #[tokio::test]
    async fn stopping_a_part_leaves_the_whole_running() {
        let whole = Shutdown::new();
        let part = whole.part();
        part.stop();
        assert!(part.is_stopped() && !whole.is_stopped());
        assert!(!part.sleep(Duration::from_secs(60)).await);
        let other = whole.part();
        whole.stop();
        assert!(other.is_stopped());
    }
}
