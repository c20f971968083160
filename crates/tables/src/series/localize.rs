//! Time ranges that contain events.

use crate::error::Error;
use crate::operation::{Context, Operation};
use crate::rows::Rows;

/// A row per range, the latest first. Lengths are in microseconds.
#[derive(Debug)]
pub struct Localize {
    /// Maximum time between events of a range.
    pub pause: i64,
    /// Time by which a range begins before its first event.
    pub before: i64,
    /// Time by which a range ends after its last event.
    pub after: i64,
}

impl Operation for Localize {
    fn apply(&self, rows: Rows, _: &mut Context) -> Result<Rows, Error> {
        let mut times = Vec::with_capacity(rows.count);
        for seconds in rows.numbers("_time")?.into_iter().flatten() {
            times.push(model::EventTime::from_seconds(seconds).0);
        }
        // Newest first, the usual order of events, which sorts fast.
        times.sort_unstable_by(|one, two| two.cmp(one));
        let mut regions: Vec<(i64, i64)> = Vec::new();
        for time in times {
            match regions.last_mut() {
                Some((start, _)) if start.saturating_sub(time) <= self.pause => *start = time,
                _ => regions.push((time, time)),
            }
        }
        let mut found = Rows::blank(regions.len());
        let time = |micros: i64| Some(model::EventTime(micros).seconds());
        found.set_times("_time", regions.iter().map(|(start, _)| Some(*start)));
        found.set_numbers("starttime", regions.iter().map(|(start, _)| time(start - self.before)));
        found.set_numbers("endtime", regions.iter().map(|(_, end)| time(end + self.after)));
        Ok(found)
    }
}
