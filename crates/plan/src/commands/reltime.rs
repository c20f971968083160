//! `reltime`: relative times in words.
//!
//! Split: runs where the rows are.

use exprs::column::Value;
use exprs::kernel::text;
use exprs::required_fields::field_or;
use model::EventTime;
use spl::ast::ReltimeCommand;

use super::{CommandPlan, Error, Input, OutputFields, Place, RequiredFields, Step};

impl CommandPlan for ReltimeCommand {
    fn place(&self) -> Place {
        Place::Streaming
    }

    fn required_fields(&self, fields: &mut RequiredFields) {
        fields.name(field_or(&self.timefield, "_time"));
    }

    fn output_fields(&self) -> OutputFields {
        OutputFields::Unchanged
    }

    fn plan(&self, input: Input<'_>) -> Result<Step, Error> {
        let Input { frame, env, .. } = input;
        let field = self.timefield.as_ref().map_or("_time", |field| field.node.as_str());
        let target = match &self.prefix {
            Some(prefix) => format!("{prefix}{field}"),
            None => TARGET.to_owned(),
        };
        let now = env.context.now;
        let words = text("reltime", move |row, out| {
            let time = match row.value(0) {
                Value::Time(micros) => EventTime(micros),
                other => EventTime::from_seconds(other.number()?),
            };
            out.push_str(&relative(now.0.saturating_sub(time.0).div_euclid(1_000_000)));
            Some(())
        });
        let value = words.with(now.0.to_string()).call(vec![frame.field(field)]);
        frame.with_columns(vec![(target, value)]).map(Step::Next)
    }
}

/// Default output field, without a prefix.
const TARGET: &str = "reltime";

/// Units in seconds; a month has 30 days and a year 365.
const UNITS: [(i64, &str); 6] = [
    (365 * 86_400, "year"),
    (30 * 86_400, "month"),
    (86_400, "day"),
    (3_600, "hour"),
    (60, "minute"),
    (1, "second"),
];

/// Formats an age in seconds in the largest unit that fits.
fn relative(seconds: i64) -> String {
    let size = seconds.saturating_abs();
    let Some((length, unit)) = UNITS.iter().find(|(length, _)| size >= *length) else {
        return "now".to_owned();
    };
    let count = size / length;
    let plural = if count == 1 { "" } else { "s" };
    if seconds < 0 {
        return format!("in {count} {unit}{plural}");
    }
    format!("{count} {unit}{plural} ago")
}

#[cfg(test)]
mod tests {
    use super::relative;

    #[test]
    fn times_are_told_in_the_largest_unit() {
        let cases = [
            (0, "now"),
            (1, "1 second ago"),
            (119, "1 minute ago"),
            (7_200, "2 hours ago"),
            (5 * 86_400, "5 days ago"),
            (70 * 86_400, "2 months ago"),
            (800 * 86_400, "2 years ago"),
            (-90, "in 1 minute"),
        ];
        for (seconds, expected) in cases {
            assert_eq!(relative(seconds), expected);
        }
    }
}
