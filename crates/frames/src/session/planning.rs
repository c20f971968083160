//! The time limit of planning a search, and its cancellation.
//!
//! Planning is single-threaded and rarely yields: it cannot be aborted from outside between two rules of the
//! engine. So it checks the time limit and the cancellation itself, before each command, each assignment and
//! each rule.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use datafusion::common::config::ConfigOptions;
use exprs::carried::{self, Carried};
use futures::future::BoxFuture;
use parking_lot::Mutex;
use tokio::sync::watch;

use crate::Error;

/// The planning time of one search: for its text, and for the stages that are planned while it runs. Clones
/// share the counter.
#[derive(Debug, Clone, Default)]
pub struct PlanningTime(Arc<Shared>);

impl Carried for PlanningTime {
    const PREFIX: &'static str = "karst_planning";
}

#[derive(Debug, Default)]
struct Shared {
    /// `None` for no limit.
    limit: Option<Duration>,
    is_cancelled: watch::Sender<bool>,
    clock: Mutex<Clock>,
}

/// A clock that runs while there are more planning tasks than pauses, in which planned stages run.
#[derive(Debug, Default)]
struct Clock {
    under_way: i32,
    since: Option<Instant>,
    spent: Duration,
}

impl Clock {
    fn spent(&self) -> Duration {
        self.spent + self.since.map_or(Duration::ZERO, |since| since.elapsed())
    }
}

impl PlanningTime {
    /// Creates a planning time with a limit.
    #[must_use]
    pub fn new(limit: Duration) -> Self {
        Self(Arc::new(Shared { limit: Some(limit), ..Shared::default() }))
    }

    /// Returns the planning time spent so far.
    #[must_use]
    pub fn spent(&self) -> Duration {
        self.0.clock.lock().spent()
    }

    /// Cancels the search.
    pub fn cancel(&self) {
        self.0.is_cancelled.send_replace(true);
    }

    /// Whether the search has been cancelled.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        *self.0.is_cancelled.borrow()
    }

    /// Waits until the search is cancelled.
    pub async fn cancelled(&self) {
        // `self` holds the sender, so waiting cannot fail.
        let _ = self.0.is_cancelled.subscribe().wait_for(|cancelled| *cancelled).await;
    }

    /// Returns a cancellation check for work over tables.
    #[must_use]
    pub fn stop(&self) -> tables::Stop {
        let time = self.clone();
        tables::Stop::when(move || time.is_cancelled())
    }

    /// Returns a guard that cancels the search on drop unless success was reported. It is for callers that
    /// may be dropped while they wait.
    #[must_use]
    pub fn waited_for(&self) -> Waiting {
        Waiting(Some(self.clone()))
    }

    /// Counts work as planning.
    pub fn counted<'f, T: 'f>(&self, work: BoxFuture<'f, T>) -> BoxFuture<'f, T> {
        Box::pin(Counted { time: self.clone(), work, step: 1 })
    }

    /// Excludes work within planning from the count: running what was planned.
    pub fn paused<'f, T: 'f>(&self, work: BoxFuture<'f, T>) -> BoxFuture<'f, T> {
        Box::pin(Counted { time: self.clone(), work, step: -1 })
    }

    /// Returns an error if the time limit is reached or the search is cancelled.
    ///
    /// # Errors
    /// [`Error::Cancelled`], or [`Error::Exhausted`] with the name of the limit.
    pub fn check(&self) -> Result<(), Error> {
        if self.is_cancelled() {
            return Err(Error::Cancelled);
        }
        let Some(limit) = self.0.limit else { return Ok(()) };
        let clock = self.0.clock.lock();
        if clock.spent() < limit {
            return Ok(());
        }
        let message = format!(
            "planning the search takes longer than max_plan_time in limits.conf [search] ({} s): use fewer \
             commands, fields or conditions, or raise it",
            limit.as_secs()
        );
        Err(Error::Exhausted { message })
    }

    /// Returns the planning time in a configuration.
    pub(crate) fn of(config: &ConfigOptions) -> Option<Self> {
        carried::get::<Self>(config).cloned()
    }

    /// Puts the planning time into a configuration, where rules find it.
    pub(crate) fn put(&self, config: &mut ConfigOptions) {
        carried::put(self.clone(), config);
        exprs::stopping::put(self.stop(), config);
    }

    fn shift(&self, step: i32) {
        let mut clock = self.0.clock.lock();
        clock.spent = clock.spent();
        clock.under_way += step;
        clock.since = (clock.under_way > 0).then(Instant::now);
    }
}

/// A caller that waits for a search to be planned.
#[derive(Debug)]
pub struct Waiting(Option<PlanningTime>);

impl Waiting {
    /// Marks success: the search is planned and continues.
    pub fn is_served(mut self) {
        self.0 = None;
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if let Some(time) = self.0.take() {
            time.cancel();
        }
    }
}

/// A future during whose polls the clock runs or is paused.
struct Counted<'f, T> {
    time: PlanningTime,
    work: BoxFuture<'f, T>,
    step: i32,
}

impl<T> Future for Counted<'_, T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        self.time.shift(self.step);
        let polled = self.work.as_mut().poll(context);
        self.time.shift(-self.step);
        polled
    }
}

impl<T> fmt::Debug for Counted<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Counted").field("time", &self.time).finish_non_exhaustive()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_runs_within_planning_does_not_count() {
        let time = PlanningTime::new(Duration::from_secs(3600));
        let is_running = || time.0.clock.lock().since.is_some();
        let inner = time.paused(Box::pin(async { is_running() }));
        let outer = time.counted(Box::pin(async { (is_running(), inner.await, is_running()) }));
        assert_eq!(outer.await, (true, false, true));
        assert!(!is_running());
    }

    #[test]
    fn planning_ends_for_who_does_not_wait_any_more() {
        let time = PlanningTime::default();
        time.waited_for().is_served();
        time.check().unwrap();
        drop(time.waited_for());
        assert!(matches!(time.check(), Err(Error::Cancelled)));
    }

    #[test]
    fn a_limit_is_refused_by_the_name_of_its_setting() {
        let refused = PlanningTime::new(Duration::ZERO).check().unwrap_err().to_string();
        assert!(refused.contains("max_plan_time in limits.conf [search]"), "{refused}");
    }
}
