//! Writing times by a format.

use jiff::Timestamp;
use model::EventTime;

use super::civil::{DAY, civil_from_days, days_from_civil};
use super::format::{Item, MONTHS, TimeFormat, WEEKDAYS};
use super::zone::LocalClock;

/// A time split into its parts in a zone.
struct Parts<'a> {
    epoch: i64,
    micros: i64,
    offset: i64,
    days: i64,
    of_day: i64,
    year: i64,
    month: i64,
    day: i64,
    clock: &'a LocalClock,
}

impl<'a> Parts<'a> {
    fn new(time: EventTime, offset: i64, clock: &'a LocalClock) -> Self {
        let epoch = epoch_of(time);
        let local = epoch.saturating_add(offset);
        let days = local.div_euclid(DAY);
        let (year, month, day) = civil_from_days(days);
        let micros = time.0.rem_euclid(1_000_000);
        Self { epoch, micros, offset, days, of_day: local.rem_euclid(DAY), year, month, day, clock }
    }

    fn hour(&self) -> i64 {
        self.of_day / 3600
    }

    /// Returns the weekday; 0 is Sunday.
    fn weekday(&self) -> i64 {
        (self.days + 4).rem_euclid(7)
    }

    fn day_of_year(&self) -> i64 {
        self.days - days_from_civil(self.year, 1, 1) + 1
    }

    /// Returns the ISO year and week: weeks start on Monday, the first week has the first Thursday of the
    /// year.
    fn iso_week(&self) -> (i64, i64) {
        let thursday = self.days - (self.weekday() + 6) % 7 + 3;
        let (year, _, _) = civil_from_days(thursday);
        (year, (thursday - days_from_civil(year, 1, 1)) / 7 + 1)
    }
}

impl TimeFormat {
    /// Appends the formatted time, in the zone of the clock.
    pub fn strftime(&self, time: EventTime, clock: &LocalClock, out: &mut String) {
        self.strftime_at(time, clock.offset_at(epoch_of(time)), clock, out);
    }

    /// Appends the formatted time, given the offset of the clock at this time.
    pub(crate) fn strftime_at(
        &self,
        time: EventTime,
        offset: i64,
        clock: &LocalClock,
        out: &mut String,
    ) {
        let parts = Parts::new(time, offset, clock);
        for item in &self.items {
            write_item(item, &parts, out);
        }
    }
}

/// What the text of a time depends on, besides the format and the zone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct TextKey {
    pub(crate) offset: i64,
    granule: i64,
}

impl TextKey {
    /// Returns the key of a time: times with the same key have the same text in this format. `None` if the
    /// format writes more of a time than its key has.
    pub(crate) fn of(time: EventTime, format: &TimeFormat, clock: &LocalClock) -> Option<Self> {
        let granule = format.granule()?;
        let epoch = epoch_of(time);
        let offset = clock.offset_at(epoch);
        Some(Self { offset, granule: epoch.saturating_add(offset).div_euclid(granule) })
    }
}

fn epoch_of(time: EventTime) -> i64 {
    time.0.div_euclid(1_000_000)
}

fn write_item(item: &Item, parts: &Parts<'_>, out: &mut String) {
    let hour12 = (parts.hour() + 11) % 12 + 1;
    match item {
        Item::Literal(text) | Item::Space(text) | Item::Unknown(text) => out.push_str(text),
        Item::Year4 | Item::YearAny => push(out, parts.year, 4, '0'),
        Item::IsoYear => push(out, parts.iso_week().0, 4, '0'),
        Item::IsoYear2 => push(out, parts.iso_week().0.rem_euclid(100), 2, '0'),
        Item::Year2 => push(out, parts.year.rem_euclid(100), 2, '0'),
        Item::Century => push(out, parts.year.div_euclid(100), 2, '0'),
        Item::Month => push(out, parts.month, 2, '0'),
        Item::MonthShort => out.push_str(&name(&MONTHS, parts.month - 1)[..3]),
        Item::MonthLong => out.push_str(name(&MONTHS, parts.month - 1)),
        Item::Day => push(out, parts.day, 2, '0'),
        Item::DayPadded => push(out, parts.day, 2, ' '),
        Item::DayOfYear => push(out, parts.day_of_year(), 3, '0'),
        Item::Hour24 => push(out, parts.hour(), 2, '0'),
        Item::Hour24Padded => push(out, parts.hour(), 2, ' '),
        Item::Hour12 => push(out, hour12, 2, '0'),
        Item::Hour12Padded => push(out, hour12, 2, ' '),
        Item::Minute => push(out, parts.of_day / 60 % 60, 2, '0'),
        Item::Second => push(out, parts.of_day % 60, 2, '0'),
        Item::AmPm => out.push_str(if parts.hour() < 12 { "AM" } else { "PM" }),
        Item::AmPmLower => out.push_str(if parts.hour() < 12 { "am" } else { "pm" }),
        Item::WeekdayShort => out.push_str(&name(&WEEKDAYS, parts.weekday())[..3]),
        Item::WeekdayLong => out.push_str(name(&WEEKDAYS, parts.weekday())),
        Item::WeekdayNumber => push(out, parts.weekday(), 1, '0'),
        Item::WeekdayIso => push(out, (parts.weekday() + 6) % 7 + 1, 1, '0'),
        Item::WeekIso => push(out, parts.iso_week().1, 2, '0'),
        Item::WeekSunday => push(out, (parts.day_of_year() + 6 - parts.weekday()) / 7, 2, '0'),
        Item::WeekMonday => {
            push(out, (parts.day_of_year() + 6 - (parts.weekday() + 6) % 7) / 7, 2, '0');
        }
        Item::Epoch => push(out, parts.epoch, 1, '0'),
        Item::ZoneName => zone_name(parts, out),
        Item::Offset => offset(parts.offset, "", false, out),
        Item::OffsetColon => offset(parts.offset, ":", false, out),
        Item::OffsetSeconds => offset(parts.offset, ":", true, out),
        Item::OffsetHours => {
            out.push(if parts.offset < 0 { '-' } else { '+' });
            push(out, parts.offset.abs() / 3600, 2, '0');
        }
        Item::OffsetMinutes => {
            out.push(if parts.offset < 0 { '-' } else { '+' });
            push(out, parts.offset.abs() / 60, 1, '0');
        }
        Item::Fraction { digits, .. } => fraction(parts.micros, *digits, out),
    }
}

fn name<'n>(names: &[&'n str], index: i64) -> &'n str {
    usize::try_from(index).ok().and_then(|index| names.get(index).copied()).unwrap_or("???")
}

fn push(out: &mut String, value: i64, width: usize, pad: char) {
    let mut digits = [0u8; 20];
    let mut at = digits.len();
    let mut rest = value.unsigned_abs();
    loop {
        at -= 1;
        digits[at] = b'0' + u8::try_from(rest % 10).unwrap_or(0);
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    if value < 0 {
        out.push('-');
    }
    for _ in digits.len() - at..width {
        out.push(pad);
    }
    out.push_str(std::str::from_utf8(&digits[at..]).unwrap_or_default());
}

fn fraction(micros: i64, digits: u8, out: &mut String) {
    let keep = u32::from(digits.min(6));
    push(out, micros / 10i64.pow(6 - keep), usize::from(digits.min(6)), '0');
    for _ in 6..digits {
        out.push('0');
    }
}

fn offset(seconds: i64, colon: &str, with_seconds: bool, out: &mut String) {
    out.push(if seconds < 0 { '-' } else { '+' });
    let seconds = seconds.abs();
    push(out, seconds / 3600, 2, '0');
    out.push_str(colon);
    push(out, seconds / 60 % 60, 2, '0');
    if with_seconds {
        out.push_str(colon);
        push(out, seconds % 60, 2, '0');
    }
}

fn zone_name(parts: &Parts<'_>, out: &mut String) {
    match Timestamp::from_second(parts.epoch) {
        Ok(_) if parts.offset == 0 && parts.clock.zone().iana_name().is_none() => {
            out.push_str("UTC")
        }
        Ok(time) => out.push_str(parts.clock.zone().to_offset_info(time).abbreviation()),
        Err(_) => offset(parts.offset, "", false, out),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::super::parse_zone;
    use super::*;

    fn check(format: &str, seconds: f64, zone: &str, expected: &str) {
        let clock = LocalClock::new(parse_zone(zone).unwrap());
        let mut out = String::new();
        TimeFormat::parse(format).strftime(EventTime::from_seconds(seconds), &clock, &mut out);
        assert_eq!(out, expected, "{format}");
    }

    #[test]
    fn dates_and_times_are_written() {
        let t = 1_431_857_103.678_912; // 2015-05-17T10:05:03.678912Z, a Sunday
        check("%Y-%m-%dT%H:%M:%S.%3N%:z", t, "UTC", "2015-05-17T10:05:03.678+00:00");
        check(
            "%F %T.%6N %9N %N %Q %f",
            t,
            "UTC",
            "2015-05-17 10:05:03.678912 678912000 678912000 678 678912",
        );
        check(
            "%y %b %B %a %A %j %e %k %I %l %p %w %u",
            t,
            "UTC",
            "15 May May Sun Sunday 137 17 10 10 10 AM 0 7",
        );
        check("%s %Z %z %c", t, "UTC", "1431857103 UTC +0000 Sun May 17 10:05:03 2015");
        check(
            "%x %X %D %+ %v",
            t,
            "UTC",
            "05/17/2015 10:05:03 05/17/15 Sun May 17 10:05:03 UTC 2015 17-May-2015",
        );
        check("%V %U %W %G %n%t%% %i", t, "UTC", "20 20 19 2015 \n\t% %i");
        // 1 January 2027 is in the last week of 2026.
        check("%G %g %y", 1_798_761_600.0, "UTC", "2026 26 27");
    }

    #[test]
    fn zones_shift_what_is_written() {
        check("%H:%M %z", 0.0, "-0530", "18:30 -0530");
        check("%:::z", 0.0, "-0500", "-05");
        check("%H:%M %Z %:z", 1_435_708_800.0, "PST8PDT,M3.2.0,M11.1.0", "17:00 PDT -07:00");
    }

    #[test]
    fn times_with_the_same_text_have_the_same_key() {
        let clock = LocalClock::new(parse_zone("PST8PDT,M3.2.0,M11.1.0").unwrap());
        let key = |format: &str, seconds: f64| {
            TextKey::of(EventTime::from_seconds(seconds), &TimeFormat::parse(format), &clock)
        };
        // 2015-05-17T10:05:03.5Z
        let time = 1_431_857_103.5;
        for (format, same, other) in [
            ("%T", 0.4, 0.5),
            ("%H:%M", 56.4, 56.5),
            ("%F %I %p %z", 3_296.4, 3_296.5),
            ("%A %V", 75_296.4, 75_296.5),
        ] {
            assert!(key(format, time).is_some(), "{format}");
            assert_eq!(key(format, time), key(format, time + same), "{format}");
            assert_ne!(key(format, time), key(format, time + other), "{format}");
        }
        for format in ["%3N", "%s", "%H %Z", "%+", "%f"] {
            assert_eq!(key(format, time), None, "{format}");
        }
        // The hour that is repeated when daylight saving time ends has another offset.
        let end = 1_446_368_400.0;
        assert_ne!(key("%H", end - 1.0), key("%H", end));
    }

    #[test]
    fn times_before_the_epoch_are_written() {
        check("%F %T.%3N", -0.5, "UTC", "1969-12-31 23:59:59.500");
    }
}
