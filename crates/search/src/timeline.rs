//! Matching events over time, in bins that widen as the time grows.

use std::collections::BTreeMap;

use model::EventTime;
use serde::{Deserialize, Serialize};

/// Possible bin widths of a timeline in seconds. It starts with the first and widens as it grows.
const SPANS: [i64; 8] = [1, 10, 60, 600, 3_600, 21_600, 86_400, 2_592_000];
/// Number of bins above which a timeline changes to the next width.
const MAX_BINS: usize = 1_200;

/// Counts of matching events per time bin.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Timeline {
    level: usize,
    bins: BTreeMap<i64, u64>,
}

impl Timeline {
    /// Returns the width of a bin in seconds.
    #[must_use]
    pub fn span_seconds(&self) -> i64 {
        SPANS[self.level]
    }

    /// Returns the start of each non-empty bin in epoch seconds, with its count, in time order.
    pub fn bins(&self) -> impl Iterator<Item = (i64, u64)> + '_ {
        self.bins.iter().map(|(start, count)| (*start, *count))
    }

    /// Returns the total number of events.
    #[must_use]
    pub(crate) fn events(&self) -> u64 {
        self.bins.values().sum()
    }

    /// Returns an empty timeline with the same bin width.
    #[must_use]
    pub(crate) fn emptied(&self) -> Self {
        Self { level: self.level, bins: BTreeMap::new() }
    }

    /// Whether two times are in the same bin.
    #[must_use]
    pub(crate) fn is_one_bin(&self, first: EventTime, last: EventTime) -> bool {
        self.start_of(first.0) == self.start_of(last.0)
    }

    fn start_of(&self, micros: i64) -> i64 {
        let seconds = micros.div_euclid(1_000_000);
        seconds - seconds.rem_euclid(self.span_seconds())
    }

    /// Adds the events of another timeline.
    pub(crate) fn merge(&mut self, other: &Self) {
        while self.level < other.level.min(SPANS.len() - 1) {
            self.widen();
        }
        for (start, events) in &other.bins {
            self.add_many(EventTime(start.saturating_mul(1_000_000)), *events);
        }
    }

    pub(crate) fn add_many(&mut self, time: EventTime, events: u64) {
        *self.bins.entry(self.start_of(time.0)).or_default() += events;
        self.widen_if_full();
    }

    pub(crate) fn widen_for(&mut self, first: EventTime, last: EventTime) {
        let seconds = last.0.saturating_sub(first.0) / 1_000_000;
        while self.level + 1 < SPANS.len() && seconds / self.span_seconds() >= MAX_BINS as i64 {
            self.widen();
        }
    }

    fn widen_if_full(&mut self) {
        if self.bins.len() > MAX_BINS && self.level + 1 < SPANS.len() {
            self.widen();
        }
    }

    pub(crate) fn add(&mut self, times: impl Iterator<Item = i64>) {
        // Consecutive events usually share a bin: one map access per run of equal bins.
        let mut run: Option<(i64, u64)> = None;
        for micros in times {
            let start = self.start_of(micros);
            match &mut run {
                Some((bin, count)) if *bin == start => *count += 1,
                _ => {
                    if let Some((bin, count)) = run.take() {
                        *self.bins.entry(bin).or_default() += count;
                    }
                    run = Some((start, 1));
                }
            }
            if self.bins.len() > MAX_BINS && self.level + 1 < SPANS.len() {
                if let Some((bin, count)) = run.take() {
                    *self.bins.entry(bin).or_default() += count;
                }
                self.widen();
            }
        }
        if let Some((bin, count)) = run {
            *self.bins.entry(bin).or_default() += count;
        }
    }

    /// Returns the timeline with bins widened so that at most this number is needed, as far as wider bins
    /// exist.
    #[must_use]
    pub(crate) fn at_most(mut self, bins: usize) -> Self {
        while self.bins.len() > bins && self.level + 1 < SPANS.len() {
            self.widen();
        }
        self
    }

    fn widen(&mut self) {
        self.level += 1;
        let span = self.span_seconds();
        let mut wider = BTreeMap::new();
        for (start, count) in &self.bins {
            *wider.entry(start - start.rem_euclid(span)).or_default() += count;
        }
        self.bins = wider;
    }
}
