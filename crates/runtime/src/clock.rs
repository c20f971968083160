//! The wall clock, real or manual.
//!
//! Only wall-clock time goes through here. Durations are measured with `std::time::Instant`, which
//! needs no test double because no decision depends on them.

use std::fmt::Debug;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, SystemTime};

use model::EventTime;

/// A wall clock.
pub trait Clock: Send + Sync + Debug + 'static {
    /// Returns the current time in UTC microseconds.
    fn now(&self) -> EventTime;
}

/// The machine's clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "this is what others use instead")]
    fn now(&self) -> EventTime {
        // A time before 1970 is negative rather than an error.
        let micros = match SystemTime::now().duration_since(SystemTime::UNIX_EPOCH) {
            Ok(after) => i64::try_from(after.as_micros()).unwrap_or(i64::MAX),
            Err(before) => -i64::try_from(before.duration().as_micros()).unwrap_or(i64::MAX),
        };
        EventTime(micros)
    }
}

/// A clock that changes only when it is set or advanced, for tests.
#[derive(Debug)]
pub struct ManualClock(AtomicI64);

impl ManualClock {
    /// Creates a clock that shows `now`.
    #[must_use]
    pub fn new(now: EventTime) -> Self {
        Self(AtomicI64::new(now.0))
    }

    /// Sets the time, which may be earlier.
    pub fn set(&self, now: EventTime) {
        self.0.store(now.0, Ordering::SeqCst);
    }

    /// Advances the time.
    pub fn advance(&self, by: Duration) {
        let micros = i64::try_from(by.as_micros()).unwrap_or(i64::MAX);
        let step = |now: i64| Some(now.saturating_add(micros));
        // `fetch_update` with a closure that always returns a value cannot fail.
        let _ = self.0.fetch_update(Ordering::SeqCst, Ordering::SeqCst, step);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> EventTime {
        EventTime(self.0.load(Ordering::SeqCst))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manual_clock_moves_only_by_hand_and_stops_at_the_end_of_time() {
        let clock = ManualClock::new(EventTime(5));
        clock.advance(Duration::from_micros(2));
        assert_eq!(clock.now(), EventTime(7));
        clock.set(EventTime(i64::MAX - 1));
        clock.advance(Duration::from_secs(9));
        assert_eq!(clock.now(), EventTime::MAX);
    }

    #[test]
    fn the_system_clock_is_past_2025() {
        assert!(SystemClock.now() > EventTime::from_seconds(1_735_689_600.0));
    }
}
