//! The valve between a job and its scans: pause, finalize and cancel act here, between batches.

use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

use tokio::sync::watch;

/// What a job wants of its scans.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Valve {
    Open,
    Paused,
    Closed,
}

/// Shared by a job and every scan of its plan.
#[derive(Debug)]
pub(crate) struct ScanControl {
    valve: watch::Sender<Valve>,
    must_count_all: AtomicBool,
}

impl Default for ScanControl {
    fn default() -> Self {
        Self { valve: watch::Sender::new(Valve::Open), must_count_all: AtomicBool::new(false) }
    }
}

impl ScanControl {
    /// Scans read on when the result is complete: somebody wants to know how many events match.
    pub(crate) fn count_all(&self) {
        self.must_count_all.store(true, Relaxed);
    }

    /// Whether scans read on when the result is complete.
    pub(crate) fn must_count_all(&self) -> bool {
        self.must_count_all.load(Relaxed)
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

    /// Whether the scans wait.
    #[must_use]
    pub(crate) fn is_paused(&self) -> bool {
        *self.valve.borrow() == Valve::Paused
    }

    /// Waits while paused; false means the scan is to end.
    pub(crate) async fn admit(&self) -> bool {
        let mut watcher = self.valve.subscribe();
        match watcher.wait_for(|valve| *valve != Valve::Paused).await {
            Ok(valve) => *valve == Valve::Open,
            Err(_) => false,
        }
    }

    fn set(&self, valve: Valve) {
        self.valve.send_if_modified(|now| {
            let change = *now != Valve::Closed && *now != valve;
            if change {
                *now = valve;
            }
            change
        });
    }
}
