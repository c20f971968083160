//! `addinfo`: adds the time range, the start time and the ID of the search to every row.
//!
//! Split: runs where the rows are.

use exprs::Typed;
use model::{EventTime, TimeRange};
use spl::ast::AddinfoCommand;

use super::{CommandPlan, Error, Input, OutputFields, Place, RequiredFields, Step};
use crate::PlanContext;

impl CommandPlan for AddinfoCommand {
    fn place(&self) -> Place {
        Place::Streaming
    }

    fn required_fields(&self, _: &mut RequiredFields) {}

    fn output_fields(&self) -> OutputFields {
        OutputFields::Unchanged
    }

    fn plan(&self, input: Input<'_>) -> Result<Step, Error> {
        let Input { frame, env, .. } = input;
        let [earliest, latest, started] = times(env.context);
        let values = [earliest, latest, ("info_sid", env.context.sid.clone()), started];
        let values = values.into_iter().map(|(name, text)| (name.to_owned(), Typed::text(&text)));
        frame.with_columns(values.collect()).map(Step::Next)
    }
}

/// The time range and the start time of a search, as field names with values.
pub(super) fn times(context: &PlanContext) -> [(&'static str, String); 3] {
    let range = context.range;
    let earliest = match range.earliest == TimeRange::ALL.earliest {
        true => "0.000".to_owned(),
        false => seconds(range.earliest),
    };
    let latest = match range.latest == TimeRange::ALL.latest {
        true => "+Infinity".to_owned(),
        false => seconds(range.latest),
    };
    [
        ("info_min_time", earliest),
        ("info_max_time", latest),
        ("info_search_time", seconds(context.now)),
    ]
}

/// Formats a time as epoch seconds with milliseconds.
fn seconds(time: EventTime) -> String {
    let millis = time.0.div_euclid(1_000);
    format!("{}.{:03}", millis.div_euclid(1_000), millis.rem_euclid(1_000))
}
