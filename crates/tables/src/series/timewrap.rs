//! Compares the periods of a series side by side.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use arrow::array::{AsArray, UInt32Array};
use arrow::compute::take;
use arrow::datatypes::TimestampMicrosecondType;
use eval::time::{LocalClock, TimeFormat};
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{Span, Timestamp};
use model::EventTime;
use spl::ast::{TimeSpan, TimeUnit, TimewrapSeries};

use crate::bins::length_of;
use crate::error::Error;
use crate::operation::{Context, Operation};
use crate::rows::{Column, FreeNames, Rows, check_cells};

const TIME: &str = "_time";

/// A column per period of each input column.
#[derive(Debug)]
pub struct Timewrap {
    /// The length of a period.
    pub period: TimeSpan,
    /// End of the last period, in microseconds.
    pub end: i64,
    /// The naming of columns.
    pub series: TimewrapSeries,
    /// The time format of the names of [`TimewrapSeries::Exact`].
    pub format: String,
    /// The time zone of days and months.
    pub zone: TimeZone,
}

/// The target of a row: the time within the last period, and the number of earlier rows of its own period
/// with that time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    time: i64,
    again: usize,
}

impl Operation for Timewrap {
    fn apply(&self, rows: Rows, context: &mut Context) -> Result<Rows, Error> {
        let Some(times) = rows.column(TIME) else { return Err(Error::internal("no _time")) };
        let times = times.array.as_primitive::<TimestampMicrosecondType>();
        let mut starts = vec![self.bound(1)?];
        let mut cells: BTreeMap<(Place, usize), u32> = BTreeMap::new();
        let mut wrapped = BTreeSet::new();
        let mut before = HashMap::new();
        for (row, time) in times.iter().enumerate() {
            let Some(time) = time else { continue };
            let period = self.period_of(time, &mut starts, context.limits.bins)?;
            let shown = self.within_last(time, starts[period], starts[0])?;
            // After clocks are set back, two rows of a period have the same local time.
            let again = before.entry((shown, period)).or_insert(0_usize);
            let place = Place { time: shown, again: *again };
            *again += 1;
            wrapped.insert(place);
            cells.insert((place, period), u32::try_from(row).unwrap_or(u32::MAX));
        }
        let periods: BTreeSet<usize> = cells.keys().map(|(_, period)| *period).collect();
        let sources = rows.columns.iter().filter(|column| !column.name.starts_with('_'));
        let sources: Vec<&Column> = sources.collect();
        let limit = context.limits.columns;
        if sources.len() * periods.len() > limit {
            let message = format!("timewrap makes more than {limit} series (a fixed limit)");
            return Err(Error::invalid_anywhere(message));
        }
        check_cells(wrapped.len(), sources.len() * periods.len(), context.limits.bytes)?;
        let mut made = Rows::blank(wrapped.len());
        made.set_times(TIME, wrapped.iter().map(|place| Some(place.time)));
        let mut free = FreeNames::beside(&made);
        for column in sources {
            for period in periods.iter().rev() {
                let places = wrapped.iter().map(|place| cells.get(&(*place, *period)).copied());
                let places: UInt32Array = places.collect();
                let array = take(&column.array, &places, None)?;
                let name = format!("{}_{}", column.name, self.name(*period, starts[*period]));
                made.push(free.take(&name), column.kind, array);
            }
        }
        Ok(made)
    }
}

impl Timewrap {
    /// Returns the start of the period that is this number of periods before the end.
    fn bound(&self, back: usize) -> Result<i64, Error> {
        let found = self.shifted(back);
        found.ok_or_else(|| {
            Error::invalid_anywhere("timewrap: the periods are outside of the calendar")
        })
    }

    fn shifted(&self, back: usize) -> Option<i64> {
        let count = i64::try_from(self.period.count).ok()?;
        let count = count.checked_mul(i64::try_from(back).ok()?)?;
        let span = match self.period.unit {
            TimeUnit::Day => Span::new().try_days(count).ok()?,
            TimeUnit::Week => Span::new().try_weeks(count).ok()?,
            TimeUnit::Month => Span::new().try_months(count).ok()?,
            TimeUnit::Quarter => Span::new().try_months(count.checked_mul(3)?).ok()?,
            TimeUnit::Year => Span::new().try_years(count).ok()?,
            _ => {
                let one = TimeSpan { count: 1, unit: self.period.unit, snap: None };
                let length = length_of(&one).checked_mul(count)?;
                return self.end.checked_sub(length);
            }
        };
        self.micros(self.local(self.end)?.checked_sub(span).ok()?)
    }

    /// Returns the period of a time, counted back from the end; `starts` is extended as needed.
    fn period_of(&self, time: i64, starts: &mut Vec<i64>, most: usize) -> Result<usize, Error> {
        while starts.last().is_some_and(|start| time < *start) {
            if starts.len() >= most {
                let message = "timewrap: there are too many periods (maxbins in limits.conf [discretize]); use a longer period";
                return Err(Error::invalid_anywhere(message));
            }
            let start = self.bound(starts.len() + 1)?;
            starts.push(start);
        }
        // Periods are sorted from the last to the first.
        Ok(starts.partition_point(|start| time < *start))
    }

    /// Maps a time to the last period, at the same distance from the start.
    fn within_last(&self, time: i64, start: i64, last: i64) -> Result<i64, Error> {
        if start == last {
            return Ok(time);
        }
        let shown = || {
            let offset = self.local(time)?.duration_since(self.local(start)?);
            self.micros(self.local(last)?.checked_add(offset).ok()?)
        };
        Ok(shown().unwrap_or(time))
    }

    fn local(&self, micros: i64) -> Option<DateTime> {
        Some(self.zone.to_datetime(Timestamp::from_microsecond(micros).ok()?))
    }

    fn micros(&self, time: DateTime) -> Option<i64> {
        Some(time.to_zoned(self.zone.clone()).ok()?.timestamp().as_microsecond())
    }

    fn name(&self, period: usize, start: i64) -> String {
        match self.series {
            TimewrapSeries::Short => format!("s{period}"),
            TimewrapSeries::Exact => {
                let mut name = String::new();
                let clock = LocalClock::new(self.zone.clone());
                TimeFormat::parse(&self.format).strftime(EventTime(start), &clock, &mut name);
                name
            }
            TimewrapSeries::Relative => {
                let unit = unit_name(self.period.unit);
                let several = |count: u64| if count == 1 { "" } else { "s" };
                let count = self.period.count;
                match period {
                    0 if count == 1 => format!("latest_{unit}"),
                    0 => format!("latest_{count}{unit}s"),
                    _ => {
                        let back = count.saturating_mul(period as u64);
                        format!("{back}{unit}{}_before", several(back))
                    }
                }
            }
        }
    }
}

fn unit_name(unit: TimeUnit) -> &'static str {
    match unit {
        TimeUnit::Microsecond => "microsecond",
        TimeUnit::Millisecond => "millisecond",
        TimeUnit::Centisecond => "centisecond",
        TimeUnit::Decisecond => "decisecond",
        TimeUnit::Second => "second",
        TimeUnit::Minute => "minute",
        TimeUnit::Hour => "hour",
        TimeUnit::Day => "day",
        TimeUnit::Week => "week",
        TimeUnit::Month => "month",
        TimeUnit::Quarter => "quarter",
        TimeUnit::Year => "year",
    }
}
