//! How long things took: every value is kept, so quantiles are exact.

use std::time::Duration;

use parking_lot::Mutex;

/// Times of a run, from any number of threads.
#[derive(Debug, Default)]
pub struct Latencies(Mutex<Vec<u32>>);

/// The quantiles that are reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quantiles {
    /// How many values there were.
    pub count: usize,
    /// Half took no longer.
    pub p50: Duration,
    /// 90 % took no longer.
    pub p90: Duration,
    /// 99 % took no longer.
    pub p99: Duration,
    /// The longest.
    pub max: Duration,
}

impl Latencies {
    /// Adds one.
    pub fn add(&self, took: Duration) {
        let micros = u32::try_from(took.as_micros()).unwrap_or(u32::MAX);
        self.0.lock().push(micros);
    }

    /// The quantiles so far; `None` without a value.
    #[must_use]
    pub fn quantiles(&self) -> Option<Quantiles> {
        let mut values = self.0.lock().clone();
        values.sort_unstable();
        let last = values.len().checked_sub(1)?;
        // The smallest value that so many percent do not exceed.
        let at = |percent: usize| {
            let rank = (values.len() * percent).div_ceil(100).saturating_sub(1);
            Duration::from_micros(u64::from(values[rank]))
        };
        let max = Duration::from_micros(u64::from(values[last]));
        Some(Quantiles { count: values.len(), p50: at(50), p90: at(90), p99: at(99), max })
    }
}
