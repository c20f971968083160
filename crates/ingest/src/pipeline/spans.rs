//! Splits batches whose events are too far apart in time for one bucket.

use model::EventBatch;

use crate::hot::rows::select;

/// Maximum number of parts of one batch; further events go to the nearest part.
const MAX_PARTS: usize = 16;

/// Splits the batch into parts that each span at most `max_span` microseconds.
pub(super) fn divide(batch: EventBatch, max_span: i64) -> Vec<EventBatch> {
    let times = || batch.time.iter().map(|time| time.0);
    let (Some(first), Some(last)) = (times().min(), times().max()) else { return vec![batch] };
    if last.saturating_sub(first) <= max_span {
        return vec![batch];
    }
    let mut windows: Vec<(i64, i64)> = Vec::new();
    let mut part_of = Vec::with_capacity(batch.rows());
    let mut recent = 0;
    for time in times() {
        recent = place(&mut windows, recent, time, max_span);
        part_of.push(recent);
    }
    (0..windows.len()).map(|part| select(&batch, |row| part_of[row] == part)).collect()
}

/// Returns the window of a time: the recent one if it fits, another one, or a new one.
fn place(windows: &mut Vec<(i64, i64)>, recent: usize, time: i64, max_span: i64) -> usize {
    let span = |(first, last): &(i64, i64)| (*last).max(time).saturating_sub((*first).min(time));
    let fits = |window: &(i64, i64)| span(window) <= max_span;
    let known = match windows.get(recent) {
        Some(window) if fits(window) => Some(recent),
        _ => windows.iter().position(fits),
    };
    let full = windows.len() >= MAX_PARTS;
    let nearest = || windows.iter().enumerate().min_by_key(|(_, w)| span(w)).map(|(at, _)| at);
    let at = known.or_else(|| if full { nearest() } else { None });
    let Some(at) = at else {
        windows.push((time, time));
        return windows.len() - 1;
    };
    let (first, last) = windows[at];
    windows[at] = (first.min(time), last.max(time));
    at
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::Arc;

    use model::{EventBatchBuilder, EventTime, IndexName, Origin};

    use super::*;

    #[test]
    fn a_batch_that_fits_stays_as_it_is() {
        assert_eq!(divided(&[5, 1, 9], 10), [vec![5, 1, 9]]);
    }

    #[test]
    fn events_of_distant_times_are_parted_and_keep_their_order() {
        assert_eq!(
            divided(&[1, 100, 2, 101, 3, 50], 10),
            [vec![1, 2, 3], vec![100, 101], vec![50]]
        );
        assert_eq!(divided(&[i64::MIN, 0, i64::MAX], 10).len(), 3);
    }

    #[test]
    fn there_are_never_too_many_parts() {
        let times: Vec<i64> = (0..100).map(|at| at * 1000).collect();
        let parts = divided(&times, 10);
        assert_eq!((parts.len(), parts.concat().len()), (MAX_PARTS, 100));
    }

    fn divided(times: &[i64], max_span: i64) -> Vec<Vec<i64>> {
        let index = IndexName::new("main").unwrap();
        let (host, source, sourcetype) = ("h".into(), "s".into(), "t".into());
        let origin = Arc::new(Origin { index: index.clone(), host, source, sourcetype });
        let mut builder = EventBatchBuilder::new(index, 0);
        for time in times {
            builder.push(&origin, EventTime(*time), "x");
        }
        let parts = divide(builder.finish(), max_span);
        parts.iter().map(|part| part.time.iter().map(|time| time.0).collect()).collect()
    }
}
