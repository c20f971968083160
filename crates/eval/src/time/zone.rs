//! Time zones: their names, and a clock that quickly converts local times into epoch seconds.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::{Offset, TimeZone};

use super::civil::{DAY, civil_from_days};
use super::error::Error;

/// Abbreviations that are unambiguous in logs, and their seconds east of UTC.
const ABBREVIATIONS: &[(&str, i64)] = &[
    ("UTC", 0),
    ("GMT", 0),
    ("Z", 0),
    ("UT", 0),
    ("EST", -5 * 3600),
    ("EDT", -4 * 3600),
    ("CST", -6 * 3600),
    ("CDT", -5 * 3600),
    ("MST", -7 * 3600),
    ("MDT", -6 * 3600),
    ("PST", -8 * 3600),
    ("PDT", -7 * 3600),
    ("AKST", -9 * 3600),
    ("AKDT", -8 * 3600),
    ("HST", -10 * 3600),
    ("WET", 0),
    ("WEST", 3600),
    ("BST", 3600),
    ("CET", 3600),
    ("CEST", 7200),
    ("MET", 3600),
    ("MEST", 7200),
    ("EET", 7200),
    ("EEST", 10_800),
    ("MSK", 10_800),
    ("IST", 19_800),
    ("SGT", 28_800),
    ("HKT", 28_800),
    ("AWST", 28_800),
    ("JST", 32_400),
    ("KST", 32_400),
    ("AEST", 36_000),
    ("AEDT", 39_600),
    ("NZST", 43_200),
    ("NZDT", 46_800),
];

/// Returns the seconds east of UTC of a zone abbreviation, ignoring case.
#[must_use]
pub fn abbreviation_offset(name: &[u8]) -> Option<i64> {
    let found = ABBREVIATIONS.iter().find(|(known, _)| known.as_bytes().eq_ignore_ascii_case(name));
    found.map(|(_, offset)| *offset)
}

/// Parses a zone: an IANA name, abbreviation, offset (`+02:00`, `-0500`) or POSIX rule
/// (`PST8PDT,M3.2.0,M11.1.0`).
///
/// # Errors
/// [`Error::Zone`] for anything else.
pub fn parse_zone(name: &str) -> Result<TimeZone, Error> {
    let name = name.trim();
    if let Some(seconds) = parse_offset(name.as_bytes()).filter(|(_, end)| *end == name.len()) {
        return fixed(seconds.0).ok_or_else(|| Error::Zone { name: name.to_owned() });
    }
    if name.contains(',')
        && let Ok(zone) = TimeZone::posix(name)
    {
        return Ok(zone);
    }
    if let Some(zone) = abbreviation_offset(name.as_bytes()).and_then(fixed) {
        return Ok(zone);
    }
    TimeZone::get(name).map_err(|_| Error::Zone { name: name.to_owned() })
}

fn fixed(seconds: i64) -> Option<TimeZone> {
    Offset::from_seconds(i32::try_from(seconds).ok()?).ok().map(TimeZone::fixed)
}

/// Reads a numeric offset at the start of the text; returns seconds east of UTC and the end of the offset.
#[must_use]
pub fn parse_offset(text: &[u8]) -> Option<(i64, usize)> {
    let sign = match text.first()? {
        b'+' => 1,
        b'-' => -1,
        _ => return None,
    };
    let two = |at: usize| -> Option<i64> {
        let (tens, ones) = (text.get(at)?, text.get(at + 1)?);
        (tens.is_ascii_digit() && ones.is_ascii_digit())
            .then(|| i64::from(tens - b'0') * 10 + i64::from(ones - b'0'))
    };
    let hours = two(1).filter(|hours| *hours <= 15)?;
    let colon = usize::from(text.get(3) == Some(&b':'));
    let (minutes, end) = match two(3 + colon) {
        Some(minutes) if minutes < 60 => (minutes, 5 + colon),
        _ => (0, 3),
    };
    Some((sign * (hours * 3600 + minutes * 60), end))
}

/// Converts local time to epoch seconds in one zone; caches the offset of the last day.
#[derive(Debug, Clone)]
pub struct LocalClock {
    zone: TimeZone,
    fixed: Option<i64>,
    day: i64,
    /// The offset of `day` if it is the same all day.
    offset: Option<i64>,
}

impl LocalClock {
    /// Creates a clock of a zone.
    #[must_use]
    pub fn new(zone: TimeZone) -> Self {
        let fixed = zone.to_fixed_offset().ok().map(|offset| i64::from(offset.seconds()));
        Self { zone, fixed, day: i64::MIN, offset: None }
    }

    /// Creates a clock of UTC.
    #[must_use]
    pub fn utc() -> Self {
        Self::new(TimeZone::UTC)
    }

    /// Returns the zone.
    #[must_use]
    pub fn zone(&self) -> &TimeZone {
        &self.zone
    }

    /// Returns the epoch seconds of local seconds (days since 1970-01-01 times 86,400 plus seconds of the
    /// day). In the gap of a change to daylight saving time the offset before the change is used; of a
    /// repeated hour, the first one is used.
    pub fn epoch_seconds(&mut self, local: i64) -> Option<i64> {
        if let Some(offset) = self.fixed {
            return Some(local - offset);
        }
        let day = local.div_euclid(DAY);
        if day != self.day {
            let start = self.slow(day * DAY)?;
            let end = self.slow((day + 1) * DAY)?;
            self.offset = (end - start == DAY).then_some(day * DAY - start);
            self.day = day;
        }
        match self.offset {
            Some(offset) => Some(local - offset),
            None => self.slow(local),
        }
    }

    fn slow(&self, local: i64) -> Option<i64> {
        let (year, month, day) = civil_from_days(local.div_euclid(DAY));
        let of_day = local.rem_euclid(DAY);
        let (hour, minute, second) = (of_day / 3600, of_day / 60 % 60, of_day % 60);
        let time = DateTime::new(
            i16::try_from(year).ok()?,
            i8::try_from(month).ok()?,
            i8::try_from(day).ok()?,
            i8::try_from(hour).ok()?,
            i8::try_from(minute).ok()?,
            i8::try_from(second).ok()?,
            0,
        );
        self.zone.to_timestamp(time.ok()?).ok().map(Timestamp::as_second)
    }

    /// Returns the seconds east of UTC at a point in time; zero outside of the years -9999 to 9999.
    #[must_use]
    pub fn offset_at(&self, epoch: i64) -> i64 {
        match (self.fixed, Timestamp::from_second(epoch)) {
            (Some(offset), _) => offset,
            (None, Ok(time)) => i64::from(self.zone.to_offset(time).seconds()),
            (None, Err(_)) => 0,
        }
    }

    /// Returns the local seconds of epoch seconds.
    #[must_use]
    pub fn local_seconds(&self, epoch: i64) -> i64 {
        epoch.saturating_add(self.offset_at(epoch))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn zones_have_several_spellings() {
        let offset =
            |name: &str| LocalClock::new(parse_zone(name).unwrap()).offset_at(1_700_000_000);
        assert_eq!(offset("UTC"), 0);
        assert_eq!(offset("+02:00"), 7200);
        assert_eq!(offset("-0530"), -19_800);
        assert_eq!(offset("est"), -18_000);
        assert_eq!(offset("PST8PDT,M3.2.0,M11.1.0"), -28_800);
        assert!(parse_zone("Mars/Base").is_err());
    }

    #[test]
    fn the_clock_agrees_with_the_zone_all_year() {
        let mut clock = LocalClock::new(parse_zone("PST8PDT,M3.2.0,M11.1.0").unwrap());
        for hour in 0..24 * 366 {
            let local = 1_704_067_200 + hour * 3600;
            assert_eq!(clock.epoch_seconds(local), clock.slow(local));
        }
    }
}
