//! When this process received the last writes of the catalog: the lag of another process in time is the time
//! since this one has had a write that the other one lacks. Only the clock of this process counts.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use catalog::Catalog;
use parking_lot::Mutex;
use runtime::Shutdown;
use tokio::time::Instant;

/// Writes within this time count as one.
const STEP: Duration = Duration::from_millis(100);
/// Maximum number of remembered times: ten minutes of continuous writes. A longer lag is shown as one of the
/// oldest remembered time.
const KEPT: usize = 6_000;

/// See the module. Clones share the times.
#[derive(Clone, Default)]
pub struct WriteTimes {
    /// Numbers of writes in ascending order, with the time from which this process has had writes up to each.
    seen: Arc<Mutex<VecDeque<(u64, Instant)>>>,
}

impl fmt::Debug for WriteTimes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WriteTimes").field("seen", &self.seen.lock().len()).finish()
    }
}

impl WriteTimes {
    /// Notes the writes of a catalog until the signal to stop.
    pub async fn keep(self, catalog: Catalog, shutdown: Shutdown) {
        let mut changes = catalog.subscribe();
        loop {
            let number = changes.borrow_and_update().number();
            self.note(number, Instant::now());
            tokio::select! {
                () = shutdown.stopped() => return,
                changed = changes.changed() => if changed.is_err() { return },
            }
        }
    }

    fn note(&self, number: u64, now: Instant) {
        let mut seen = self.seen.lock();
        if let Some((last, at)) = seen.back_mut()
            && now.saturating_duration_since(*at) < STEP
        {
            *last = number;
            return;
        }
        if seen.len() == KEPT {
            seen.pop_front();
        }
        seen.push_back((number, now));
    }

    /// Returns for how long this process has had a write after the one with this number; zero if it has none.
    pub(crate) fn lag_of(&self, write: u64, now: Instant) -> Duration {
        let seen = self.seen.lock();
        let lacked = seen.partition_point(|(number, _)| *number <= write);
        seen.get(lacked).map_or(Duration::ZERO, |(_, at)| now.saturating_duration_since(*at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn the_lag_is_the_time_since_the_first_write_that_is_lacking() {
        let (times, began) = (WriteTimes::default(), Instant::now());
        for (number, second) in [(7, 0), (8, 10), (12, 20)] {
            times.note(number, began + SECOND * second);
        }
        let lag = |write| times.lag_of(write, began + SECOND * 30);
        assert_eq!([lag(6), lag(7), lag(8), lag(11)], [30, 20, 10, 10].map(|n| SECOND * n));
        // A process may have writes that this one does not have yet.
        assert_eq!([lag(12), lag(13)], [Duration::ZERO; 2]);
    }

    #[test]
    fn many_writes_take_limited_memory_and_the_last_one_counts() {
        let (times, began) = (WriteTimes::default(), Instant::now());
        times.note(1, began);
        times.note(2, began + STEP / 2);
        assert_eq!(times.lag_of(1, began + SECOND), SECOND);
        let mut now = began;
        for number in 3..20_000 {
            now += STEP;
            times.note(number, now);
        }
        assert_eq!(times.seen.lock().len(), KEPT);
        assert_eq!(times.lag_of(19_998, now + SECOND), SECOND);
    }
}
