//! The valve between a job and its scans: pause, finalize and cancel act here, between batches.

use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

use datafusion::error::{DataFusionError, Result};
use plan::PlanningTime;
use tokio::sync::watch;

use crate::Error;

/// The state that a job requests from its scans.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Valve {
    /// Scans read.
    Open,
    /// Scans wait.
    Paused,
    /// Scans end, and the rows found so far are the result.
    Closed,
    /// Scans fail.
    Cancelled,
}

/// The control of a job, shared by the job and every scan of its plan.
#[derive(Debug)]
pub(crate) struct ScanControl {
    valve: watch::Sender<Valve>,
    must_count_all: AtomicBool,
    wants_previews: AtomicBool,
    /// The planning time of the search, which ends when the scans end.
    planning: PlanningTime,
}

impl Default for ScanControl {
    fn default() -> Self {
        Self {
            valve: watch::Sender::new(Valve::Open),
            must_count_all: AtomicBool::new(false),
            wants_previews: AtomicBool::new(false),
            planning: PlanningTime::default(),
        }
    }
}

impl ScanControl {
    /// Creates the control of a search with this limit of planning time.
    pub(crate) fn planned_within(planning: PlanningTime) -> Self {
        Self { planning, ..Self::default() }
    }

    /// Returns the planning time of the search.
    pub(crate) fn planning(&self) -> &PlanningTime {
        &self.planning
    }

    /// Lets scans continue after the result is complete, because the number of matching events was requested.
    pub(crate) fn count_all(&self) {
        self.must_count_all.store(true, Relaxed);
    }

    /// Whether scans continue after the result is complete.
    pub(crate) fn must_count_all(&self) -> bool {
        self.must_count_all.load(Relaxed)
    }

    /// Sets whether previews are requested.
    pub(crate) fn want_previews(&self, wanted: bool) {
        self.wants_previews.store(wanted, Relaxed);
    }

    /// Whether previews are requested.
    pub(crate) fn wants_previews(&self) -> bool {
        self.wants_previews.load(Relaxed)
    }

    /// Pauses scans before their next batch. A closed valve stays closed.
    pub(crate) fn pause(&self) {
        self.set(Valve::Paused);
    }

    /// Resumes scans.
    pub(crate) fn resume(&self) {
        self.set(Valve::Open);
    }

    /// Ends scans as if there were no more data: the rows found so far are the result.
    pub(crate) fn close(&self) {
        self.set(Valve::Closed);
    }

    /// Makes scans fail, so that no operator computes a result from partial rows.
    pub(crate) fn cancel(&self) {
        self.planning.cancel();
        self.set(Valve::Cancelled);
    }

    /// Whether the scans are paused.
    #[must_use]
    pub(crate) fn is_paused(&self) -> bool {
        *self.valve.borrow() == Valve::Paused
    }

    /// Whether the scans have been told to end.
    #[must_use]
    pub(crate) fn is_closed(&self) -> bool {
        matches!(*self.valve.borrow(), Valve::Closed | Valve::Cancelled)
    }

    /// Waits until the valve is paused.
    pub(crate) async fn pauses(&self) {
        self.until(|valve| valve == Valve::Paused).await;
    }

    /// Waits until the valve is no longer paused, whatever its next state is.
    pub(crate) async fn goes_on(&self) {
        self.until(|valve| valve != Valve::Paused).await;
    }

    async fn until(&self, is_so: impl Fn(Valve) -> bool) {
        let mut watcher = self.valve.subscribe();
        // `self` holds the sender, so waiting cannot fail.
        let _ = watcher.wait_for(|valve| is_so(*valve)).await;
    }

    /// Subscribes to changes of the requested state.
    pub(crate) fn subscribe(&self) -> watch::Receiver<Valve> {
        self.valve.subscribe()
    }

    /// Waits while the valve is paused. Returns false if the scan must end.
    ///
    /// # Errors
    /// [`Error::Cancelled`].
    pub(crate) async fn admit(&self) -> Result<bool> {
        // The valve is usually open, and then no receiver is needed.
        let mut now = *self.valve.borrow();
        if now == Valve::Paused {
            let mut watcher = self.valve.subscribe();
            // `self` holds the sender, so waiting cannot fail.
            now =
                watcher.wait_for(|valve| *valve != Valve::Paused).await.map_or(now, |valve| *valve);
        }
        match now {
            Valve::Open => Ok(true),
            Valve::Paused | Valve::Closed => Ok(false),
            Valve::Cancelled => Err(DataFusionError::External(Box::new(Error::Cancelled))),
        }
    }

    fn set(&self, valve: Valve) {
        self.valve.send_if_modified(|now| {
            let ends = matches!(valve, Valve::Cancelled);
            let change =
                *now != Valve::Cancelled && (*now != Valve::Closed || ends) && *now != valve;
            if change {
                *now = valve;
            }
            change
        });
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn work_that_is_not_a_scan_ends_with_a_pause_and_waits_until_it_is_over() {
        let control = ScanControl::default();
        control.goes_on().await;
        assert!(futures::poll!(std::pin::pin!(control.pauses())).is_pending());
        control.pause();
        control.pauses().await;
        assert!(futures::poll!(std::pin::pin!(control.goes_on())).is_pending());
        control.close();
        control.goes_on().await;
    }

    #[tokio::test]
    async fn a_closed_valve_can_only_be_cancelled() {
        let control = ScanControl::default();
        assert!(control.admit().await.unwrap());
        control.close();
        control.pause();
        control.resume();
        assert!(!control.admit().await.unwrap());
        control.cancel();
        control.close();
        assert!(control.admit().await.is_err());
    }
}
