//! Decides when a slow request is hedged with a second one.
//!
//! The delay is the 95th percentile of recent request times. A budget limits the second requests even if
//! all requests are slow: that happens when the store is overloaded, and more requests would make it worse.
//! No clock, no I/O.

use std::time::Duration;

/// Number of recent request times that are kept per size class.
const REMEMBERED: usize = 128;
/// With fewer times, the 95th percentile is not meaningful.
const ENOUGH: usize = 20;
/// Number of size classes; each is four times as large as the previous one, starting at 64 KiB.
const SIZES: usize = 6;
/// Maximum number of second requests in the budget.
const SAVED: f64 = 10.0;

/// The recent request times and the budget of second requests.
#[derive(Debug)]
pub(crate) struct Hedging {
    percent: f64,
    least: Duration,
    saved: f64,
    times: [Times; SIZES],
}

/// The recent request times of one size class.
#[derive(Debug, Default)]
struct Times {
    ring: Vec<Duration>,
    next: usize,
    p95: Option<Duration>,
}

impl Hedging {
    /// Allows `percent` second requests per 100 requests, each after a delay of at least `least`.
    pub(crate) fn new(percent: f64, least: Duration) -> Self {
        Self { percent, least, saved: 0.0, times: Default::default() }
    }

    /// Registers a new request of `bytes` bytes. Returns the delay before a second request, or `None` if
    /// there is to be none.
    pub(crate) fn begin(&mut self, bytes: u64) -> Option<Duration> {
        self.saved = (self.saved + self.percent / 100.0).min(SAVED);
        let p95 = self.times[class(bytes)].p95.filter(|_| self.percent > 0.0)?;
        Some(p95.max(self.least))
    }

    /// Takes a second request from the budget; false if the budget is used up.
    pub(crate) fn spend(&mut self) -> bool {
        let enough = self.saved >= 1.0;
        self.saved -= if enough { 1.0 } else { 0.0 };
        enough
    }

    /// Records the time of a request of `bytes` bytes. A request that was overtaken by its second request
    /// counts with the time until then, because longer times would increase the delay without bound.
    pub(crate) fn observe(&mut self, bytes: u64, time: Duration) {
        let times = &mut self.times[class(bytes)];
        if times.ring.len() < REMEMBERED {
            times.ring.push(time);
        } else {
            times.ring[times.next] = time;
        }
        times.next = (times.next + 1) % REMEMBERED;
        let count = times.ring.len();
        if count >= ENOUGH && times.next.is_multiple_of(ENOUGH / 4) {
            let mut sorted = times.ring.clone();
            let (_, p95, _) = sorted.select_nth_unstable(count * 95 / 100);
            times.p95 = Some(*p95);
        }
    }
}

fn class(bytes: u64) -> usize {
    let units = (bytes >> 16).max(1);
    ((units.ilog2() / 2) as usize).min(SIZES - 1)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const SIZE: u64 = 256 << 10;

    fn millis(count: u64) -> Duration {
        Duration::from_millis(count)
    }

    fn after(times: impl Iterator<Item = u64>) -> Hedging {
        let mut hedging = Hedging::new(5.0, millis(20));
        for time in times {
            hedging.begin(SIZE);
            hedging.observe(SIZE, millis(time));
        }
        hedging
    }

    #[test]
    fn the_wait_is_what_nineteen_of_twenty_need() {
        let mut hedging = after((1..=100).cycle().take(1000));
        let wait = hedging.begin(SIZE).unwrap();
        assert!((millis(90)..=millis(100)).contains(&wait), "{wait:?}");
        assert_eq!(after((0..100).map(|_| 1)).begin(SIZE), Some(millis(20)), "the least wait");
    }

    #[test]
    fn nothing_is_sent_twice_while_little_is_known() {
        assert_eq!(after(0..10).begin(SIZE), None);
        assert_eq!(after(0..100).begin(SIZE << 8), None, "larger ones are another matter");
    }

    #[test]
    fn the_budget_is_a_share_of_all_requests() {
        let mut hedging = after((0..1000).map(|_| 50));
        let saved = (0..100).filter(|_| hedging.spend()).count();
        assert_eq!(saved, 10, "no more is saved up");
        let mut sent = 0;
        for _ in 0..1000 {
            hedging.begin(SIZE);
            sent += usize::from(hedging.spend());
        }
        assert!((49..=51).contains(&sent), "{sent}");
    }

    #[test]
    fn no_percent_is_no_second_request() {
        let mut hedging = Hedging::new(0.0, millis(0));
        for _ in 0..100 {
            hedging.begin(SIZE);
            hedging.observe(SIZE, millis(5));
        }
        assert_eq!((hedging.begin(SIZE), hedging.spend()), (None, false));
    }
}
