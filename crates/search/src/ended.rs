//! Statistics of the ended searches of a process, for monitoring.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use model::Durations;
use parking_lot::Mutex;

use crate::cpu;
use crate::report::{Outcome, ScanReport};

/// Counters of searches that have ended since the process started.
#[derive(Debug, Default)]
pub struct Ended {
    incomplete: AtomicU64,
    times: Mutex<Durations>,
}

impl Ended {
    /// Returns the number of incomplete results.
    #[must_use]
    pub fn incomplete(&self) -> u64 {
        self.incomplete.load(Relaxed)
    }

    /// Returns the run times of completed search jobs.
    #[must_use]
    pub fn times(&self) -> Durations {
        self.times.lock().clone()
    }

    /// Counts a search, also in the metrics. `ran` is its duration; `None` if that depends on the speed of
    /// its reader.
    pub(crate) fn count(&self, report: &ScanReport, outcome: Outcome, ran: Option<Duration>) {
        // This runs in the last task of the search, so its CPU time up to here must be counted.
        cpu::count_thread();
        report.record(outcome);
        if outcome != Outcome::Done {
            return;
        }
        if report.is_incomplete() {
            self.incomplete.fetch_add(1, Relaxed);
        }
        if let Some(ran) = ran {
            self.times.lock().add(ran);
        }
    }
}
