//! Typing: applies the index-time rules and decides where events go. Events with times far from now go to the
//! quarantine bucket of their index, so that they do not extend the time range of other buckets.

use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::Duration;

use inputs::EventLimits;
use model::{EventBatch, EventTime, IndexName};
use runtime::{Clock, metrics as names};

use super::cut::cut_to_limits;
use super::messages::{Merged, Order, Typed};
use super::queue::Queue;
use super::rules::RuleBook;
use super::transform::{Outcome, Transforms};
use crate::ack::AckShare;
use crate::hot::limits::HotLimits;
use crate::hot::rows::select;

/// Returns the range of event times of an index that are not far from now.
pub(super) fn ordinary_times(
    limits: &HotLimits,
    index: &IndexName,
    now: EventTime,
) -> RangeInclusive<EventTime> {
    let micros = |time: Duration| i64::try_from(time.as_micros()).unwrap_or(i64::MAX);
    let (past, future) = limits.quarantine(index);
    EventTime(now.0.saturating_sub(micros(past)))..=EventTime(now.0.saturating_add(micros(future)))
}

/// See the module.
pub(crate) struct Typing {
    pub(crate) from: Arc<Queue<Merged>>,
    pub(crate) to: Arc<Queue<Typed>>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) limits: Arc<HotLimits>,
    pub(crate) rules: RuleBook,
    pub(crate) events: EventLimits,
}

impl Typing {
    /// Runs until the queue is closed and empty.
    pub(crate) fn run(self) {
        let mut transforms = Transforms::new(self.rules.clone());
        while let Some(merged) = self.from.pop() {
            match merged {
                Merged::Batch(batch, share) => match transforms.run(batch, self.clock.now()) {
                    Outcome::Untouched(batch) => self.take(batch, share),
                    Outcome::Changed(batches) => {
                        for batch in batches {
                            self.take(batch, share.another());
                        }
                        share.complete(0, 0);
                    }
                },
                Merged::Order(order, share) => {
                    if let Order::Rules(rules) = &order {
                        transforms = Transforms::new(rules.clone());
                    }
                    self.send(Typed::Order(order, share), 64);
                }
            }
        }
        self.to.close();
    }

    fn send(&self, typed: Typed, size: u64) {
        if self.to.push(typed, size).is_err() {
            tracing::debug!("indexing has ended before typing");
        }
    }

    fn send_batch(&self, batch: EventBatch, quarantine: bool, share: AckShare) {
        let size = batch.raw.len() as u64 + batch.rows() as u64 * 12 + 64;
        self.send(Typed::Batch { batch, quarantine, share }, size);
    }

    fn take(&self, batch: EventBatch, share: AckShare) {
        let batch = cut_to_limits(batch, &self.events);
        let ordinary = ordinary_times(&self.limits, &batch.index, self.clock.now());
        let near = |time: &EventTime| ordinary.contains(time);
        let near_count = batch.time.iter().filter(|time| near(time)).count();
        let far_count = batch.rows() - near_count;
        if far_count > 0 {
            metrics::counter!(names::INGEST_QUARANTINED).increment(far_count as u64);
        }
        if far_count == 0 || near_count == 0 {
            self.send_batch(batch, far_count > 0, share);
            return;
        }
        let wanted = |row: usize| near(&batch.time[row]);
        self.send_batch(select(&batch, wanted), false, share.another());
        self.send_batch(select(&batch, |row| !wanted(row)), true, share);
    }
}
