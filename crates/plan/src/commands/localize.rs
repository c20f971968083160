//! `localize`: time ranges that contain events, for `map`.
//!
//! Split: runs at the search head, over the times of all rows.

use spl::ast::{LocalizeCommand, TimeSpan};
use tables::bins::length_of;
use tables::series::localize::Localize;

use super::{CommandPlan, Error, Input, OutputFields, Place, RequiredFields, Step};
use context::stage::Breaker;

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
