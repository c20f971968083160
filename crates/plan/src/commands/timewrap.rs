//! `timewrap`: shows the periods of a time chart side by side.
//!
//! Split: runs at the search head, over all rows.

use model::TimeRange;
use spl::ast::{TimewrapAlign, TimewrapCommand};
use tables::series::timewrap::Timewrap;

use super::composed::timed;
use super::{CommandPlan, Error, Input, OutputFields, Place, RequiredFields, Step};
use context::stage::Breaker;

impl CommandPlan for TimewrapCommand {
    fn place(&self) -> Place {
        Place::SearchHead
    }

    fn required_fields(&self, fields: &mut RequiredFields) {
        fields.all();
    }

    fn output_fields(&self) -> OutputFields {
        OutputFields::Unchanged
    }

    fn plan(&self, input: Input<'_>) -> Result<Step, Error> {
        let span = input.span();
        let Input { frame, env, .. } = input;
        let frame = timed(frame, TIME)?;
        if frame.kind(TIME).is_none() {
            let message = "timewrap needs the field _time; use it after timechart";
            return Err(Error::at(message, span));
        }
        let latest = env.context.range.latest;
        let end = match self.align {
            TimewrapAlign::End if latest != TimeRange::ALL.latest => latest,
            _ => env.context.now,
        };
        let op = Timewrap {
            period: self.period.clone(),
            end: end.0,
            series: self.series,
            format: self.time_format.clone().unwrap_or_else(|| TIME_FORMAT.to_owned()),
            zone: env.context.timezone.clone(),
        };
        Ok(Step::Materialize(frame, Breaker::table(op)))
    }
}

const TIME: &str = "_time";
/// Default format of the names of periods.
const TIME_FORMAT: &str = "%Y-%m-%d %H:%M:%S";
