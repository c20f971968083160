//! The valve between a job and its scans: pause, finalize and cancel act here, between batches.

use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

use datafusion::error::{DataFusionError, Result};
use plan::PlanningTime;
use tokio::sync::watch;

use crate::Error;

/// What a job wants of its scans.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Valve {
    /// They read.
    Open,
    /// They wait.
    Paused,
    /// They end with what they have found.
    Closed,
    /// They fail.
    Cancelled,
}

/// Shared by a job and every scan of its plan.
#[derive(Debug)]
pub(crate) struct ScanControl {
    valve: watch::Sender<Valve>,
    must_count_all: AtomicBool,
    wants_previews: AtomicBool,
    /// Planning ends with the scans.
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
    /// Of a search whose planning may take so long.
    pub(crate) fn planned_within(planning: PlanningTime) -> Self {
        Self { planning, ..Self::default() }
    }

    /// What its planning takes.
    pub(crate) fn planning(&self) -> &PlanningTime {
        &self.planning
    }

    /// Scans read on when the result is complete: somebody wants to know how many events match.
    pub(crate) fn count_all(&self) {
        self.must_count_all.store(true, Relaxed);
    }

    /// Whether scans read on when the result is complete.
    pub(crate) fn must_count_all(&self) -> bool {
        self.must_count_all.load(Relaxed)
    }

    /// Somebody wants to see results before the end, or not any more.
    pub(crate) fn want_previews(&self, wanted: bool) {
        self.wants_previews.store(wanted, Relaxed);
    }

    /// Whether somebody wants to see results before the end.
    pub(crate) fn wants_previews(&self) -> bool {
        self.wants_previews.load(Relaxed)
    }

    /// Scans wait before their next batch. A closed valve stays closed.
    pub(crate) fn pause(&self) {
        self.set(Valve::Paused);
    }

    /// Scans go on.
    pub(crate) fn resume(&self) {
        self.set(Valve::Open);
    }

    /// Scans end as if there were no more data: what was found so far is the result.
    pub(crate) fn close(&self) {
        self.set(Valve::Closed);
    }

    /// Scans fail, so that nobody above them makes a result of what was found so far.
    pub(crate) fn cancel(&self) {
        self.planning.cancel();
        self.set(Valve::Cancelled);
    }

    /// Whether the scans wait.
    #[must_use]
    pub(crate) fn is_paused(&self) -> bool {
        *self.valve.borrow() == Valve::Paused
    }

    /// Whether the scans were told to end.
    #[must_use]
    pub(crate) fn is_closed(&self) -> bool {
        matches!(*self.valve.borrow(), Valve::Closed | Valve::Cancelled)
    }

    /// Waits until it is paused.
    pub(crate) async fn pauses(&self) {
        self.until(|valve| valve == Valve::Paused).await;
    }

    /// Waits while it is paused, whatever comes then.
    pub(crate) async fn goes_on(&self) {
        self.until(|valve| valve != Valve::Paused).await;
    }

    async fn until(&self, is_so: impl Fn(Valve) -> bool) {
        let mut watcher = self.valve.subscribe();
        // The sender lives in self, so waiting cannot fail.
        let _ = watcher.wait_for(|valve| is_so(*valve)).await;
    }

    /// What the job wants, as it changes.
    pub(crate) fn subscribe(&self) -> watch::Receiver<Valve> {
        self.valve.subscribe()
    }

    /// Waits while paused; false means the scan is to end.
    ///
    /// # Errors
    /// [`Error::Cancelled`].
    pub(crate) async fn admit(&self) -> Result<bool> {
        // Most calls find it open, and need no receiver.
        let mut now = *self.valve.borrow();
        if now == Valve::Paused {
            let mut watcher = self.valve.subscribe();
            // The sender lives in self, so waiting cannot fail.
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
