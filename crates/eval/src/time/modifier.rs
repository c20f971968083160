//! Splunk's relative times, such as `-1d@d` or `@w1+2h`, and absolute times in the forms that users type.
//!
//! Seconds, minutes and hours are exact durations; days and longer units follow the calendar of the zone,
//! also across changes to and from daylight saving time.

use jiff::tz::TimeZone;
use jiff::{Span, Timestamp, Zoned};
use model::EventTime;

use super::civil::{DAY, days_from_civil};
use super::error::Error;
use super::format::TimeFormat;
use super::zone::LocalClock;

const UNITS: &str = "units are s, m, h, d, w, mon, q, y, and w0 to w7 after @";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unit {
    Second,
    Minute,
    Hour,
    Day,
    Week,
    Month,
    Quarter,
    Year,
}

const SPELLINGS: &[(Unit, &[&str])] = &[
    (Unit::Second, &["s", "sec", "secs", "second", "seconds"]),
    (Unit::Minute, &["m", "min", "mins", "minute", "minutes"]),
    (Unit::Hour, &["h", "hr", "hrs", "hour", "hours"]),
    (Unit::Day, &["d", "day", "days"]),
    (Unit::Week, &["w", "week", "weeks"]),
    (Unit::Month, &["mon", "month", "months"]),
    (Unit::Quarter, &["q", "qtr", "qtrs", "quarter", "quarters"]),
    (Unit::Year, &["y", "yr", "yrs", "year", "years"]),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Move(i64, Unit),
    Snap(Unit),
    /// Rounds down to a weekday; 0 is Sunday.
    SnapWeekday(i64),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Base {
    Now,
    Epoch(EventTime),
    /// Local seconds and microseconds, in the given offset or in the time zone of the request.
    Civil {
        local: i64,
        micros: i64,
        offset: Option<i64>,
    },
}

/// A parsed time expression, not yet applied to the current time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimeModifier {
    base: Base,
    steps: Vec<Step>,
    text: String,
}

/// Parses a time expression and applies it to the current time.
///
/// # Errors
/// [`Error::Time`] with the position of the invalid part and the valid forms.
pub fn parse_time(text: &str, now: EventTime, zone: &TimeZone) -> Result<EventTime, Error> {
    TimeModifier::parse(text)?.resolve(now, zone)
}

impl TimeModifier {
    /// Parses an expression: `now`, epoch seconds, `%m/%d/%Y:%H:%M:%S`, ISO 8601, or a chain of steps such as
    /// `+2h` and `@d`.
    ///
    /// # Errors
    /// [`Error::Time`] with the position of the invalid part and the valid forms.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let trimmed = text.trim();
        let fail = |at, reason: &str, hint: &str| Error::Time {
            text: text.to_owned(),
            at,
            reason: reason.to_owned(),
            hint: hint.to_owned(),
        };
        if trimmed.is_empty() {
            return Err(fail(0, "it is empty", "write now, -1h@h, an epoch or an ISO 8601 time"));
        }
        let lower = trimmed.to_ascii_lowercase();
        if lower.starts_with("rt") {
            let hint = "use a relative time such as -5m and repeat the search";
            return Err(fail(0, "real-time searches are not supported", hint));
        }
        let make = |base, steps| Self { base, steps, text: text.to_owned() };
        if let Some(time) = epoch(trimmed) {
            return Ok(make(Base::Epoch(time), Vec::new()));
        }
        if lower.as_bytes()[0].is_ascii_digit() {
            let hint = "write mm/dd/yyyy:HH:MM:SS or an ISO 8601 time such as 2026-01-31T08:00:00Z";
            return match absolute(trimmed) {
                Some(base) => Ok(make(base, Vec::new())),
                None => Err(fail(0, "it is not a time that exists", hint)),
            };
        }
        let start = ["now()", "now"].iter().find(|name| lower.starts_with(**name));
        let start = start.map_or(0, |name| name.len());
        let lead = text.len() - text.trim_start().len();
        let steps = steps(&lower, start).map_err(|(at, reason)| fail(lead + at, &reason, UNITS))?;
        Ok(make(Base::Now, steps))
    }

    /// Returns whether the expression depends on the current time.
    #[must_use]
    pub fn is_relative(&self) -> bool {
        self.base == Base::Now
    }

    /// Returns the point in time, given the current time and the zone that days and hours refer to.
    ///
    /// # Errors
    /// [`Error::Time`] if the time is outside of the years -9999 to 9999.
    pub fn resolve(&self, now: EventTime, zone: &TimeZone) -> Result<EventTime, Error> {
        let base = match self.base {
            Base::Now => Some(now),
            Base::Epoch(time) => Some(time),
            Base::Civil { local, micros, offset } => {
                let seconds = match offset {
                    Some(offset) => Some(local - offset),
                    None => LocalClock::new(zone.clone()).epoch_seconds(local),
                };
                seconds.map(|seconds| EventTime(seconds * 1_000_000 + micros))
            }
        };
        let resolved = base.and_then(|base| {
            self.steps.iter().try_fold(base, |time, step| apply(*step, time, zone))
        });
        resolved.ok_or_else(|| Error::Time {
            text: self.text.clone(),
            at: 0,
            reason: "it lies outside of the calendar".to_owned(),
            hint: "use a smaller number".to_owned(),
        })
    }
}

fn epoch(text: &str) -> Option<EventTime> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let plain = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || whole.len() > 12 || !plain(whole) || !plain(fraction) {
        return None;
    }
    let mut micros = whole.parse::<i64>().ok()? * 1_000_000;
    let mut scale = 100_000;
    for digit in fraction.bytes().take(6) {
        micros += i64::from(digit - b'0') * scale;
        scale /= 10;
    }
    Some(EventTime(micros))
}

/// The absolute forms, most complete first; each must match the whole text.
const ABSOLUTE: &[&str] = &[
    "%m/%d/%Y:%H:%M:%S.%N",
    "%m/%d/%Y:%H:%M:%S",
    "%m/%d/%Y:%H:%M",
    "%m/%d/%Y",
    "%Y-%m-%dT%H:%M:%S.%N%z",
    "%Y-%m-%dT%H:%M:%S%z",
    "%Y-%m-%dT%H:%M:%S.%N",
    "%Y-%m-%dT%H:%M:%S",
    "%Y-%m-%dT%H:%M%z",
    "%Y-%m-%dT%H:%M",
    "%Y-%m-%d %H:%M:%S.%N",
    "%Y-%m-%d %H:%M:%S",
    "%Y-%m-%d %H:%M",
    "%Y-%m-%d",
];

fn absolute(text: &str) -> Option<Base> {
    for format in ABSOLUTE {
        let Some(parsed) = TimeFormat::parse(format).read(text.as_bytes()) else { continue };
        if parsed.end != text.len() {
            continue;
        }
        let fields = super::Fields { offset: None, micros: 0, ..parsed.fields };
        let midnight = fields.resolve(&mut LocalClock::utc(), EventTime(0))?;
        let local = midnight.0.div_euclid(1_000_000);
        return Some(Base::Civil {
            local,
            micros: parsed.fields.micros,
            offset: parsed.fields.offset,
        });
    }
    None
}

type StepError = (usize, String);

fn steps(text: &str, start: usize) -> Result<Vec<Step>, StepError> {
    let bytes = text.as_bytes();
    let mut steps = Vec::new();
    let mut at = start;
    while at < bytes.len() {
        let sign = match bytes[at] {
            b'@' => {
                let (step, end) = snap(text, at + 1)?;
                steps.push(step);
                at = end;
                continue;
            }
            b'+' => 1,
            b'-' => -1,
            _ => {
                let shown: String = text[at..].chars().take(20).collect();
                return Err((at, format!("expected +, - or @ instead of \"{shown}\"")));
            }
        };
        let digits = bytes[at + 1..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        let count = match digits {
            0 => 1,
            _ => text[at + 1..at + 1 + digits]
                .parse::<i64>()
                .map_err(|_| (at + 1, "the number is too large".to_owned()))?,
        };
        let (unit, end) = unit(text, at + 1 + digits)?;
        steps.push(Step::Move(sign * count, unit));
        at = end;
    }
    Ok(steps)
}

fn word(text: &str, at: usize) -> &str {
    let length = text.as_bytes()[at..].iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
    &text[at..at + length]
}

fn unit(text: &str, at: usize) -> Result<(Unit, usize), StepError> {
    let name = word(text, at);
    let known = SPELLINGS.iter().find(|(_, names)| names.contains(&name));
    match known {
        Some((unit, _)) => Ok((*unit, at + name.len())),
        None if name.is_empty() => Err((at, "a unit is missing".to_owned())),
        None => Err((at, format!("unknown unit \"{name}\""))),
    }
}

fn snap(text: &str, at: usize) -> Result<(Step, usize), StepError> {
    let bytes = text.as_bytes();
    if bytes.get(at) == Some(&b'w') && bytes.get(at + 1).is_some_and(u8::is_ascii_digit) {
        let day = i64::from(bytes[at + 1] - b'0');
        let over = day > 7 || bytes.get(at + 2).is_some_and(u8::is_ascii_digit);
        return match over {
            true => Err((at + 1, "weekdays are w0 (Sunday) to w7".to_owned())),
            false => Ok((Step::SnapWeekday(day % 7), at + 2)),
        };
    }
    let (unit, end) = unit(text, at)?;
    Ok((Step::Snap(unit), end))
}

fn apply(step: Step, time: EventTime, zone: &TimeZone) -> Option<EventTime> {
    match step {
        Step::Move(count, Unit::Second) => moved(time, count, 1),
        Step::Move(count, Unit::Minute) => moved(time, count, 60),
        Step::Move(count, Unit::Hour) => moved(time, count, 3600),
        Step::Move(count, unit) => {
            let span = Span::new();
            let span = match unit {
                Unit::Day => span.try_days(count),
                Unit::Week => span.try_weeks(count),
                Unit::Month => span.try_months(count),
                Unit::Quarter => span.try_months(count.checked_mul(3)?),
                _ => span.try_years(count),
            };
            let zoned = Zoned::new(Timestamp::from_microsecond(time.0).ok()?, zone.clone());
            let moved = zoned.checked_add(span.ok()?).ok()?;
            Some(EventTime(moved.timestamp().as_microsecond()))
        }
        Step::Snap(Unit::Second) => Some(EventTime(time.0.div_euclid(1_000_000) * 1_000_000)),
        Step::Snap(Unit::Minute) => snapped_within_day(time, 60, zone),
        Step::Snap(Unit::Hour) => snapped_within_day(time, 3600, zone),
        Step::Snap(unit) => snapped_to_date(time, zone, |today, year, month| match unit {
            Unit::Week => today - weekday(today),
            Unit::Month => days_from_civil(year, month, 1),
            Unit::Quarter => days_from_civil(year, (month - 1) / 3 * 3 + 1, 1),
            Unit::Year => days_from_civil(year, 1, 1),
            _ => today,
        }),
        Step::SnapWeekday(day) => {
            snapped_to_date(time, zone, |today, _, _| today - (weekday(today) - day).rem_euclid(7))
        }
    }
}

fn weekday(days: i64) -> i64 {
    (days + 4).rem_euclid(7)
}

fn moved(time: EventTime, count: i64, seconds: i64) -> Option<EventTime> {
    let micros = count.checked_mul(seconds)?.checked_mul(1_000_000)?;
    let moved = time.0.checked_add(micros)?;
    Timestamp::from_microsecond(moved).ok().map(|_| EventTime(moved))
}

/// Rounds local time down to whole units without changing its UTC offset, so that a repeated hour is not
/// changed to the other one.
fn snapped_within_day(time: EventTime, unit: i64, zone: &TimeZone) -> Option<EventTime> {
    let clock = LocalClock::new(zone.clone());
    let seconds = time.0.div_euclid(1_000_000);
    let into = clock.local_seconds(seconds).rem_euclid(unit);
    (seconds - into).checked_mul(1_000_000).map(EventTime)
}

/// Returns midnight of the local date that `pick` derives from (day number, year, month).
fn snapped_to_date(
    time: EventTime,
    zone: &TimeZone,
    pick: impl Fn(i64, i64, i64) -> i64,
) -> Option<EventTime> {
    let mut clock = LocalClock::new(zone.clone());
    let today = clock.local_seconds(time.0.div_euclid(1_000_000)).div_euclid(DAY);
    let (year, month, _) = super::civil::civil_from_days(today);
    let epoch = clock.epoch_seconds(pick(today, year, month) * DAY)?;
    epoch.checked_mul(1_000_000).map(EventTime)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::super::parse_zone;
    use super::*;
    use proptest::prelude::*;

    const NEW_YORK: &str = "EST5EDT,M3.2.0,M11.1.0";

    fn show(text: &str, now: &str, zone: &str) -> String {
        let zone = parse_zone(zone).unwrap();
        let now = EventTime(now.parse::<Timestamp>().unwrap().as_microsecond());
        let time = parse_time(text, now, &zone).unwrap();
        Timestamp::from_microsecond(time.0).unwrap().to_string()
    }

    #[test]
    fn relative_times_move_and_snap_in_order() {
        // A Friday.
        let now = "2026-11-20T21:15:26.5Z";
        for (text, expected) in [
            ("now", "2026-11-20T21:15:26.5Z"),
            ("now()", "2026-11-20T21:15:26.5Z"),
            ("-1d@d", "2026-11-19T00:00:00Z"),
            ("-1d@d-2h@h", "2026-11-18T22:00:00Z"),
            ("+2h", "2026-11-20T23:15:26.5Z"),
            ("-30m@m+10s", "2026-11-20T20:45:10Z"),
            ("-s@s", "2026-11-20T21:15:25Z"),
            ("now-1hour@hour", "2026-11-20T20:00:00Z"),
            ("@w0", "2026-11-15T00:00:00Z"),
            ("@w", "2026-11-15T00:00:00Z"),
            ("@w7", "2026-11-15T00:00:00Z"),
            ("@w1", "2026-11-16T00:00:00Z"),
            ("@w5", "2026-11-20T00:00:00Z"),
            ("@w6", "2026-11-14T00:00:00Z"),
            ("-1mon@mon", "2026-10-01T00:00:00Z"),
            ("@q", "2026-10-01T00:00:00Z"),
            ("-2q", "2026-05-20T21:15:26.5Z"),
            ("-1Y@Y", "2025-01-01T00:00:00Z"),
            ("+0d", "2026-11-20T21:15:26.5Z"),
        ] {
            assert_eq!(show(text, now, "UTC"), expected, "{text}");
        }
    }

    #[test]
    fn months_end_where_the_calendar_says() {
        assert_eq!(show("-1mon", "2026-03-31T00:00:00Z", "UTC"), "2026-02-28T00:00:00Z");
        assert_eq!(show("-1y", "2024-02-29T00:00:00Z", "UTC"), "2023-02-28T00:00:00Z");
    }

    #[test]
    fn days_follow_the_calendar_across_summer_time_and_hours_do_not() {
        // 2026-03-08 has 23 hours in New York.
        let now = "2026-03-08T16:00:00Z"; // noon, EDT
        assert_eq!(show("-1d", now, NEW_YORK), "2026-03-07T17:00:00Z");
        assert_eq!(show("-24h", now, NEW_YORK), "2026-03-07T16:00:00Z");
        assert_eq!(show("@d", now, NEW_YORK), "2026-03-08T05:00:00Z");
        assert_eq!(show("+1d@d", now, NEW_YORK), "2026-03-09T04:00:00Z");
        // The second 01:30 of 2026-11-01 stays in its own hour.
        assert_eq!(show("@h", "2026-11-01T06:30:00Z", NEW_YORK), "2026-11-01T06:00:00Z");
    }

    #[test]
    fn absolute_times_and_epochs_are_read() {
        for (text, expected) in [
            ("0", "1970-01-01T00:00:00Z"),
            ("1521911724.699488", "2018-03-24T17:15:24.699488Z"),
            ("05/17/2015:10:05:03", "2015-05-17T14:05:03Z"),
            ("2015-05-17T10:05:03", "2015-05-17T14:05:03Z"),
            ("2015-05-17T10:05:03.25Z", "2015-05-17T10:05:03.25Z"),
            ("2015-05-17T10:05:03+02:00", "2015-05-17T08:05:03Z"),
            ("2015-05-17", "2015-05-17T04:00:00Z"),
        ] {
            assert_eq!(show(text, "2026-01-01T00:00:00Z", NEW_YORK), expected, "{text}");
        }
    }

    #[test]
    fn what_cannot_be_read_is_named_with_its_position() {
        for (text, at, reason) in [
            ("", 0, "it is empty"),
            ("-1x", 2, "unknown unit \"x\""),
            ("-5", 2, "a unit is missing"),
            ("@", 1, "a unit is missing"),
            ("@w9", 2, "weekdays are w0 (Sunday) to w7"),
            ("-1d d", 3, "expected +, - or @ instead of \" d\""),
            ("yesterday", 0, "expected +, - or @ instead of \"yesterday\""),
            ("2015-13-17", 0, "it is not a time that exists"),
            ("rt-5m", 0, "real-time searches are not supported"),
        ] {
            let Error::Time { at: found, reason: said, .. } =
                TimeModifier::parse(text).unwrap_err()
            else {
                panic!("{text}");
            };
            assert_eq!((found, said.as_str()), (at, reason), "{text}");
        }
    }

    #[test]
    fn times_beyond_the_calendar_are_refused() {
        let now = EventTime(0);
        for text in ["-999999999y", "+99999999999999999d", "-9223372036854775807h", "+99999999w"] {
            assert!(parse_time(text, now, &TimeZone::UTC).is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn reading_never_panics(text in "\\PC{0,20}|([-+@]?[0-9]{0,4}(s|m|h|d|w|mon|q|y)?){0,5}") {
            let _ = parse_time(&text, EventTime(1_700_000_000_000_000), &TimeZone::UTC);
        }

        #[test]
        fn snapping_goes_back_by_less_than_the_unit(seconds in 0i64..4_000_000_000) {
            let zone = parse_zone(NEW_YORK).unwrap();
            let now = EventTime(seconds * 1_000_000);
            for (text, most) in [("@m", 60), ("@h", 3600), ("@d", 25 * 3600), ("@w", 7 * 86_400 + 3600), ("@y", 366 * 86_400 + 3600)] {
                let snapped = parse_time(text, now, &zone).unwrap();
                prop_assert!(snapped <= now && now.0 - snapped.0 < most * 1_000_000, "{} {}", text, seconds);
                prop_assert_eq!(parse_time(text, snapped, &zone).unwrap(), snapped);
            }
        }
    }
}
