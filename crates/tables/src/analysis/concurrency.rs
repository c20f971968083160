//! The number of concurrent events.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::error::Error;
use crate::operation::{Context, Operation};
use crate::rows::Rows;

/// The events with the number of events in progress at their start.
#[derive(Debug)]
pub struct Concurrency {
    /// The field with the duration of an event, in the unit of `start`.
    pub duration: String,
    /// The field with the start time of an event.
    pub start: String,
    /// The output field of the count.
    pub output: String,
}

impl Operation for Concurrency {
    fn apply(&self, mut rows: Rows, _: &mut Context) -> Result<Rows, Error> {
        let starts = rows.numbers(&self.start)?;
        let durations = rows.numbers(&self.duration)?;
        let spans = starts.into_iter().zip(durations).enumerate();
        let spans = spans.filter_map(|(row, (start, duration))| Some((start?, duration?, row)));
        let counts = counts(spans.collect(), rows.count);
        rows.set_integers(&self.output, counts);
        Ok(rows)
    }
}

/// The end of a span, with a total order.
struct End(f64);

impl PartialEq for End {
    fn eq(&self, other: &Self) -> bool {
        self.0.total_cmp(&other.0).is_eq()
    }
}

impl Eq for End {}

impl PartialOrd for End {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for End {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}

/// Returns the number of spans (start, length, row) that contain the start of each span. The end of a span is
/// exclusive, but a span always contains its own start.
fn counts(mut spans: Vec<(f64, f64, usize)>, rows: usize) -> Vec<Option<i64>> {
    spans.sort_by(|one, two| one.0.total_cmp(&two.0));
    let mut counts = vec![None; rows];
    let mut open: BinaryHeap<Reverse<End>> = BinaryHeap::new();
    for together in spans.chunk_by(|one, two| one.0 == two.0) {
        let start = together[0].0;
        while open.peek().is_some_and(|Reverse(end)| end.0 <= start) {
            open.pop();
        }
        let lasting = together.iter().filter(|(_, duration, _)| *duration > 0.0);
        open.extend(lasting.map(|(_, duration, _)| Reverse(End(start + duration))));
        for (_, duration, row) in together {
            let own = usize::from(*duration <= 0.0);
            counts[*row] = i64::try_from(open.len() + own).ok();
        }
    }
    counts
}
