//! Metrics of a queue: its fill as gauges, its throughput and the waiting time of writers as counters.

use std::time::Duration;

use parking_lot::Mutex;
use runtime::metrics as names;

use super::queue::QueueStatus;

/// Reads the status of one queue.
pub(crate) type StatusOf = std::sync::Arc<dyn Fn() -> QueueStatus + Send + Sync>;

/// Reports one queue. It keeps the values of the last report, because the counters take increments.
pub(crate) struct Meter {
    status: StatusOf,
    bytes: metrics::Gauge,
    capacity: metrics::Gauge,
    passed_bytes: metrics::Counter,
    passed_items: metrics::Counter,
    blocked: metrics::Counter,
    last: Mutex<Last>,
}

#[derive(Debug, Default)]
struct Last {
    bytes: u64,
    items: u64,
    blocked: Duration,
}

impl Meter {
    pub(crate) fn new(status: StatusOf) -> Self {
        let QueueStatus { set, stage, .. } = status();
        let set = set.to_string();
        let labels = [("queue", stage.to_owned()), ("set", set)];
        Self {
            status,
            bytes: metrics::gauge!(names::QUEUE_BYTES, &labels),
            capacity: metrics::gauge!(names::QUEUE_CAPACITY, &labels),
            passed_bytes: metrics::counter!(names::QUEUE_PASSED_BYTES, &labels),
            passed_items: metrics::counter!(names::QUEUE_PASSED_ITEMS, &labels),
            blocked: metrics::counter!(names::QUEUE_BLOCKED, &labels),
            last: Mutex::default(),
        }
    }

    pub(crate) fn report(&self) {
        let status = (self.status)();
        let mut last = self.last.lock();
        #[allow(clippy::cast_precision_loss)]
        {
            self.bytes.set(status.bytes as f64);
            self.capacity.set(status.capacity as f64);
        }
        self.passed_bytes.increment(status.passed_bytes.saturating_sub(last.bytes));
        self.passed_items.increment(status.passed_items.saturating_sub(last.items));
        let waited = status.blocked.saturating_sub(last.blocked);
        // The remainder below a second is reported the next time.
        self.blocked.increment(waited.as_secs());
        last.blocked += Duration::from_secs(waited.as_secs());
        (last.bytes, last.items) = (status.passed_bytes, status.passed_items);
    }
}
