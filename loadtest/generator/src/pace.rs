//! When the next batch is due: at a rate, or at once, and until when.
//!
//! The schedule is fixed when the run starts. A sender that falls behind sends without pause until
//! it has caught up, so a slow server meets the same load as a fast one; how far behind it ever was
//! is part of the report.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// A schedule that all connections share.
#[derive(Debug)]
pub struct Pace {
    start: Instant,
    /// Bytes per second.
    rate: Option<f64>,
    end: Option<Instant>,
    sent: AtomicU64,
    /// Microseconds.
    behind: AtomicU64,
}

impl Pace {
    /// A schedule from now on, of `rate` bytes per second, for `length`.
    #[must_use]
    pub fn new(rate: Option<f64>, length: Option<Duration>) -> Self {
        let start = Instant::now();
        let end = length.map(|length| start + length);
        Self { start, rate, end, sent: AtomicU64::new(0), behind: AtomicU64::new(0) }
    }

    /// No rate and no end.
    #[must_use]
    pub fn unlimited() -> Self {
        Self::new(None, None)
    }

    /// Takes a place in the schedule for so many bytes: how long to wait before they are sent, or
    /// `None` if the run is over by then.
    pub fn place(&self, bytes: u64) -> Option<Duration> {
        let before = self.sent.fetch_add(bytes, Ordering::Relaxed);
        let now = Instant::now();
        let due = match self.rate {
            #[allow(clippy::cast_precision_loss)]
            Some(rate) => self.start + Duration::from_secs_f64(before as f64 / rate.max(1.0)),
            None => now,
        };
        if self.end.is_some_and(|end| due.max(now) >= end) {
            return None;
        }
        let behind = now.saturating_duration_since(due).as_micros();
        self.behind.fetch_max(u64::try_from(behind).unwrap_or(u64::MAX), Ordering::Relaxed);
        Some(due.saturating_duration_since(now))
    }

    /// How far behind the schedule a batch was at most.
    #[must_use]
    pub fn behind(&self) -> Duration {
        Duration::from_micros(self.behind.load(Ordering::Relaxed))
    }
}

/// Batches of at most `bytes`, small enough that a slow schedule still has twenty in a second.
#[must_use]
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
pub fn batch_size(bytes: u64, rate: Option<f64>) -> u64 {
    rate.map_or(bytes, |rate| bytes.min((rate / 20.0) as u64)).max(1)
}
