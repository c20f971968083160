//! When a script runs (docs/decisions/0020).

use std::time::Duration;

use jiff::civil::{Date, DateTime, Time};
use jiff::{ToSpan, Zoned};

/// See the module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Schedule {
    /// This time after the start of the last run; zero: as soon as the last run has ended.
    Every(Duration),
    /// A single run, at the start.
    Once,
    /// At the times of a cron expression, in local time.
    Cron(Cron),
}

impl Schedule {
    /// Reads `interval`: seconds, `-1`, or five fields of cron.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        if text == "-1" {
            return Some(Self::Once);
        }
        if let Ok(seconds) = text.parse::<f64>() {
            return Duration::try_from_secs_f64(seconds).ok().map(Self::Every);
        }
        Cron::parse(text).map(Self::Cron)
    }
}

/// A cron expression: sets of minutes, hours, days, months and weekdays as bits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cron {
    minutes: u64,
    hours: u64,
    days: u64,
    months: u64,
    weekdays: u64,
    /// Both kinds of days are restricted: either is enough.
    either_day: bool,
}

const MONTHS: [&str; 12] =
    ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const WEEKDAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

impl Cron {
    fn parse(text: &str) -> Option<Self> {
        let text = match text {
            "@hourly" => "0 * * * *",
            "@daily" | "@midnight" => "0 0 * * *",
            "@weekly" => "0 0 * * 0",
            "@monthly" => "0 0 1 * *",
            "@yearly" | "@annually" => "0 0 1 1 *",
            text => text,
        };
        let fields: Vec<&str> = text.split_whitespace().collect();
        let [minutes, hours, days, months, weekdays] = fields[..] else { return None };
        let weekday_bits = set(weekdays, 0, 7, &WEEKDAYS, 0)?;
        Some(Self {
            minutes: set(minutes, 0, 59, &[], 0)?,
            hours: set(hours, 0, 23, &[], 0)?,
            days: set(days, 1, 31, &[], 0)?,
            months: set(months, 1, 12, &MONTHS, 1)?,
            // Sunday is 0 and 7.
            weekdays: (weekday_bits | weekday_bits >> 7) & 0x7f,
            either_day: !days.starts_with('*') && !weekdays.starts_with('*'),
        })
    }

    /// Returns the next time after the given one; `None` if there is none within nine years (the 30th of
    /// February).
    #[must_use]
    pub fn next(&self, after: &Zoned) -> Option<Zoned> {
        let start = after.datetime();
        let mut date = start.date();
        for _ in 0..9 * 366 {
            if self.has_day(date)
                && let Some(time) = self.next_time(date, start)
            {
                let found = DateTime::from_parts(date, time).to_zoned(after.time_zone().clone());
                // A time that the change to summer time skips is one hour later.
                return found
                    .ok()
                    .filter(|found| found > after)
                    .or_else(|| self.next(&after.checked_add(1.hour()).ok()?));
            }
            date = date.checked_add(1.day()).ok()?;
        }
        None
    }

    fn has_day(&self, date: Date) -> bool {
        let has = |set: u64, number: i8| u32::try_from(number).is_ok_and(|n| set >> n & 1 == 1);
        let day = has(self.days, date.day());
        let weekday = has(self.weekdays, date.weekday().to_sunday_zero_offset());
        let fits = if self.either_day { day || weekday } else { day && weekday };
        fits && has(self.months, date.month())
    }

    fn next_time(&self, date: Date, start: DateTime) -> Option<Time> {
        for hour in (0..24_i8).filter(|hour| self.hours >> *hour & 1 == 1) {
            for minute in (0..60_i8).filter(|minute| self.minutes >> *minute & 1 == 1) {
                let time = Time::constant(hour, minute, 0, 0);
                if DateTime::from_parts(date, time) > start {
                    return Some(time);
                }
            }
        }
        None
    }
}

/// `*`, `*/5`, `1-5`, `1-9/2`, `mon,wed`, as bits.
fn set(text: &str, least: u32, most: u32, names: &[&str], first: u32) -> Option<u64> {
    let number = |text: &str| {
        let lower = text.to_ascii_lowercase();
        let named = names.iter().zip(first..).find(|(name, _)| lower == **name);
        let value = named.map(|(_, value)| value).or_else(|| text.parse().ok())?;
        (least..=most).contains(&value).then_some(value)
    };
    let mut bits = 0;
    for part in text.split(',') {
        let (range, step) = match part.split_once('/') {
            Some((range, step)) => (range, step.parse::<usize>().ok().filter(|step| *step > 0)?),
            None => (part, 1),
        };
        let (from, to) = match range.split_once('-') {
            _ if range == "*" => (least, most),
            Some((from, to)) => (number(from)?, number(to)?),
            None if part.contains('/') => (number(range)?, most),
            None => (number(range)?, number(range)?),
        };
        if from > to {
            return None;
        }
        for value in (from..=to).step_by(step) {
            bits |= 1 << value;
        }
    }
    Some(bits)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn check(cron: &str, after: &str, expected: &str) {
        let Some(Schedule::Cron(parsed)) = Schedule::parse(cron) else { panic!("{cron}") };
        let after: Zoned = format!("{after}[Europe/Berlin]").parse().unwrap();
        let found = parsed.next(&after).unwrap().datetime().to_string();
        assert_eq!(found, expected, "{cron}");
    }

    #[test]
    fn cron_finds_the_next_time() {
        check("*/5 * * * *", "2026-11-20T10:03:20", "2026-11-20T10:05:00");
        check("*/5 * * * *", "2026-11-20T23:55:00", "2026-11-21T00:00:00");
        check("30 2 1 * *", "2026-12-01T02:30:00", "2027-01-01T02:30:00");
        check("0 9-17/4 * * mon-fri", "2026-11-20T17:00:00", "2026-11-23T09:00:00");
        check("0 0 13 * fri", "2026-11-20T10:00:00", "2026-11-27T00:00:00");
        check("0 12 29 feb *", "2026-11-20T10:00:00", "2028-02-29T12:00:00");
        check("0 0 * * 7", "2026-11-20T10:00:00", "2026-11-22T00:00:00");
        check("@daily", "2026-11-20T10:00:00", "2026-11-21T00:00:00");
    }

    #[test]
    fn a_time_that_summer_time_skips_comes_later() {
        check("30 2 * * *", "2026-03-29T00:00:00", "2026-03-29T03:30:00");
    }

    #[test]
    fn intervals_are_seconds_once_or_cron() {
        assert_eq!(Schedule::parse("-1"), Some(Schedule::Once));
        assert_eq!(Schedule::parse("0"), Some(Schedule::Every(Duration::ZERO)));
        assert_eq!(Schedule::parse("1.5"), Some(Schedule::Every(Duration::from_millis(1500))));
        for wrong in
            ["-2", "soon", "* * *", "60 * * * *", "*/0 * * * *", "5-1 * * * *", "x * * * *"]
        {
            assert_eq!(Schedule::parse(wrong), None, "{wrong}");
        }
        let Some(Schedule::Cron(never)) = Schedule::parse("0 0 30 2 *") else { panic!() };
        let now: Zoned = "2026-01-01T00:00:00[UTC]".parse().unwrap();
        assert_eq!(never.next(&now), None);
    }
}
