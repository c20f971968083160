//! What the searches of a process were like, for others who watch it.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use model::Durations;
use parking_lot::Mutex;

use crate::cpu;
use crate::report::{Outcome, ScanReport};

/// Counts searches that have ended, since the process was started.
#[derive(Debug, Default)]
pub struct Ended {
    incomplete: AtomicU64,
    times: Mutex<Durations>,
}

impl Ended {
    /// How many results were incomplete.
    #[must_use]
    pub fn incomplete(&self) -> u64 {
        self.incomplete.load(Relaxed)
    }

    /// How long search jobs ran that came to their end.
    #[must_use]
    pub fn times(&self) -> Durations {
        self.times.lock().clone()
    }

    /// Counts a search, in the metrics as well. `ran`: how long it took; none if that depends on its reader.
    pub(crate) fn count(&self, report: &ScanReport, outcome: Outcome, ran: Option<Duration>) {
        // It is called by the last task of the search, whose work counts up to here.
        cpu::settle();
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
