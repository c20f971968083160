//! The group `cache_curve`: what the pools of the cache would have read from the store with other sizes.
//!
//! The lines cover the time since the previous lines of the pool, which is at least [`INTERVAL`]: estimates
//! from few samples would mostly be noise, and a pool has up to 18 lines. Counts of lines can be added up.

use std::collections::BTreeMap;

use cache::CacheCurve;
use model::EventTime;

use crate::OwnEvent;
use crate::line::Line;

/// Minimum time between lines of a pool, in seconds.
const INTERVAL: f64 = 300.0;

/// The estimates of the previous lines, by pool, and the time of these lines.
#[derive(Debug, Default)]
pub(super) struct Curves(BTreeMap<&'static str, (EventTime, CacheCurve)>);

impl Curves {
    /// Adds the lines that are due: those of pools with sampled lookups since their previous lines.
    #[allow(clippy::cast_precision_loss)]
    pub(super) fn lines(
        &mut self,
        time: EventTime,
        curves: &[CacheCurve],
        events: &mut Vec<OwnEvent>,
    ) {
        for now in curves {
            let before = self.0.get(now.pool);
            let waits =
                |(at, _): &(EventTime, CacheCurve)| time.seconds() - at.seconds() < INTERVAL;
            let since = |count: u64, of: fn(&CacheCurve) -> u64| {
                count.saturating_sub(before.map_or(0, |(_, before)| of(before)))
            };
            let reads = since(now.reads, |curve| curve.reads);
            let samples = since(now.samples, |curve| curve.samples);
            if samples == 0 || before.is_some_and(waits) {
                continue;
            }
            for (at, point) in now.points.iter().enumerate() {
                let known = before.and_then(|(_, before)| before.points.get(at));
                let known = known.copied().unwrap_or_default();
                let misses = (point.misses - known.misses).max(0.0);
                let bytes = (point.missed_bytes - known.missed_bytes).max(0.0);
                let line = Line::metrics(time, "cache_curve")
                    .word("pool", now.pool)
                    .count("size_mb", point.size_mb)
                    .count("capacity_mb", now.capacity_mb)
                    .count("reads", reads)
                    .count("samples", samples)
                    .number("hit_ratio", (1.0 - misses / reads.max(1) as f64).max(0.0))
                    .number("store_requests", misses * now.requests_per_block)
                    .number("kb", bytes / 1024.0);
                events.push(line.end());
            }
            self.0.insert(now.pool, (time, now.clone()));
        }
    }
}
