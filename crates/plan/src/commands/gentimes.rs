//! `gentimes`: a row for each step of a time range.
//!
//! Split: runs at the search head.

use frames::Frame;
use futures::future::BoxFuture;
use jiff::civil::{Date, DateTime, Time};
use jiff::{Span as Length, ToSpan, Zoned};
use spl::ast::{GentimesCommand, Spanned, TimeSpan, TimeUnit};
use tables::bins::length_of;

use super::{
    Begin, CommandPlan, Error, First, Input, Origin, OutputFields, Place, RequiredFields, Step,
};
use context::planning::{PlanningContext, SourceRows};
use context::stage::Rows;

impl CommandPlan for GentimesCommand {
    fn place(&self) -> Place {
        Place::Generating(Origin::SearchHead)
    }

    fn required_fields(&self, _: &mut RequiredFields) {}

    fn output_fields(&self) -> OutputFields {
        OutputFields::Replaced
    }

    fn begin<'a>(&'a self, first: First<'a>) -> BoxFuture<'a, Result<Begin, Error>> {
        Box::pin(async move { start(self, first.env).map(Begin::Rows) })
    }

    fn plan(&self, input: Input<'_>) -> Result<Step, Error> {
        input.only_begins()
    }
}

/// The format of the readable times.
const HUMAN: &str = "%a %b %e %H:%M:%S %Y";

pub(super) fn start(
    command: &GentimesCommand,
    env: &PlanningContext<'_>,
) -> Result<SourceRows, Error> {
    let today = today(env)?;
    let from = point(&command.start, &today)?;
    let to = command.end.as_ref().map_or_else(|| Ok(today.clone()), |end| point(end, &today))?;
    let step = match &command.increment {
        Some(span) => length(span).ok_or_else(|| too_far(command.start.span))?,
        None => 1.day(),
    };
    let most = env.context.limits.generated_rows;
    let mut ends: Vec<(Zoned, Zoned)> = Vec::new();
    let mut next = from;
    while next < to {
        if ends.len() == most {
            let message = format!("gentimes makes at most {most} rows");
            return Err(Error::invalid_anywhere(message));
        }
        let after = next.checked_add(step).map_err(|_| too_far(command.start.span))?;
        let last = after.checked_sub(1.second()).map_err(|_| too_far(command.start.span))?;
        ends.push((next, last));
        next = after;
    }
    let seconds = |time: &Zoned| Some(time.timestamp().as_second());
    let human = |time: &Zoned| Some(time.strftime(HUMAN).to_string());
    let mut rows = Rows::blank(ends.len());
    rows.set_integers("starttime", ends.iter().map(|(start, _)| seconds(start)));
    rows.set_texts("starthuman", ends.iter().map(|(start, _)| human(start)));
    rows.set_integers("endtime", ends.iter().map(|(_, end)| seconds(end)));
    rows.set_texts("endhuman", ends.iter().map(|(_, end)| human(end)));
    Ok(SourceRows {
        frame: Frame::of_rows(rows)?,
        range: env.context.range,
        indexes: Vec::new(),
        messages: Vec::new(),
    })
}

fn too_far(span: spl::ast::Span) -> Error {
    Error::at("the times are outside the calendar", span)
}

/// The beginning of today in the zone of the user.
fn today(env: &PlanningContext<'_>) -> Result<Zoned, Error> {
    let now = jiff::Timestamp::from_microsecond(env.context.now.0);
    let now = now.map_err(|error| Error::internal(error.to_string()))?;
    let now = now.to_zoned(env.context.timezone.clone());
    now.start_of_day().map_err(|error| Error::internal(error.to_string()))
}

/// Returns the length of a step. Calendar units keep the time of day across changes to and from daylight
/// saving time.
fn length(span: &TimeSpan) -> Option<Length> {
    let count = i64::try_from(span.count).ok()?;
    let length = match span.unit {
        TimeUnit::Day => Length::new().try_days(count),
        TimeUnit::Week => Length::new().try_weeks(count),
        TimeUnit::Month => Length::new().try_months(count),
        TimeUnit::Quarter => Length::new().try_months(count.checked_mul(3)?),
        TimeUnit::Year => Length::new().try_years(count),
        // Rows start at whole seconds.
        _ => Length::new().try_seconds((length_of(span) / 1_000_000).max(1)),
    };
    length.ok()
}

/// Parses `MM/DD/YYYY[:HH:MM:SS]`, or a number of days from today.
fn point(text: &Spanned<String>, today: &Zoned) -> Result<Zoned, Error> {
    if let Ok(days) = text.node.parse::<i64>() {
        let days = Length::new().try_days(days).map_err(|_| too_far(text.span))?;
        return today.checked_add(days).map_err(|_| too_far(text.span));
    }
    let zoned = civil(&text.node).and_then(|time| time.to_zoned(today.time_zone().clone()).ok());
    zoned.ok_or_else(|| {
        let message =
            "a time must be written MM/DD/YYYY or MM/DD/YYYY:HH:MM:SS, or as days such as -7";
        Error::at(message, text.span)
    })
}

fn civil(text: &str) -> Option<DateTime> {
    let (date, time) = text.split_once(':').unwrap_or((text, "0:0:0"));
    let mut parts = date.splitn(3, '/');
    let (month, day, year) = (parts.next()?, parts.next()?, parts.next()?);
    let full: i16 = year.parse().ok()?;
    // As in `strptime`, two-digit years are those from 1969 to 2068.
    let full = match (year.len(), full) {
        (2, 69..) => full + 1_900,
        (2, _) => full + 2_000,
        _ => full,
    };
    let date = Date::new(full, month.parse().ok()?, day.parse().ok()?).ok()?;
    let mut parts = time.splitn(3, ':');
    let mut part = || parts.next().map_or(Some(0), |part| part.parse().ok());
    let time = Time::new(part()?, part()?, part()?, 0).ok()?;
    Some(date.to_datetime(time))
}
