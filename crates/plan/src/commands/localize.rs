//! `localize`: stretches of time with events, for `map`.
//!
//! Split: runs at the search head, over the times of all rows.

use async_trait::async_trait;
use spl::ast::{LocalizeCommand, TimeSpan};

use super::{CommandPlan, Error, Input, OutputFields, Place, RequiredFields, Step};
use crate::pipeline::PlanningContext;
use crate::stage::{Breaker, Rows, TableOp};
use tables::bins::length_of;

impl CommandPlan for LocalizeCommand {
    fn place(&self) -> Place {
        Place::SearchHead
    }

    fn required_fields(&self, _: &mut RequiredFields) {}

    fn output_fields(&self) -> OutputFields {
        OutputFields::Replaced
    }

    fn plan(&self, input: Input<'_>) -> Result<Step, Error> {
        let frame = input.frame;
        let length = |span: &Option<TimeSpan>, default: i64| {
            span.as_ref().map_or(default * SECOND, length_of)
        };
        let op = Localize {
            pause: length(&self.maxpause, 60),
            before: length(&self.timebefore, 30),
            after: length(&self.timeafter, 30),
        };
        Ok(Step::Materialize(frame, Breaker::table(op)))
    }
}

/// Microseconds in a second.
const SECOND: i64 = 1_000_000;

/// Lengths in microseconds.
#[derive(Debug)]
struct Localize {
    pause: i64,
    before: i64,
    after: i64,
}

#[async_trait]
impl TableOp for Localize {
    async fn apply(&self, rows: Rows, _: &PlanningContext<'_>) -> Result<Rows, Error> {
        let mut times = Vec::with_capacity(rows.count);
        for seconds in rows.numbers("_time")?.into_iter().flatten() {
            times.push(model::EventTime::from_seconds(seconds).0);
        }
        // Newest first, as events come.
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
