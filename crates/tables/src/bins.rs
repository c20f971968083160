//! Bins of values: of time along the calendar of a zone, and of numbers along multiples of a span.
//!
//! Guarantees: a bin is half-open and bins do not overlap; days, weeks and longer begin at local
//! midnight whatever the clocks do that day.

use std::fmt;

use eval::value::{NumberText, parse_number};
use hashbrown::HashMap;
use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};
use spl::ast::{BinSpan, TimeSpan, TimeUnit};

use crate::error::Error;

const SECOND: i64 = 1_000_000;
const HOUR: i64 = 3_600 * SECOND;
/// Greatest common divisor of all clock changes since 1972: zone offsets are multiples of a quarter of an
/// hour.
const CHANGE: i64 = 900 * SECOND;

/// The spans from which `timechart` and `bin` choose, with their lengths in microseconds.
const LADDER: [(u64, TimeUnit, i64); 11] = [
    (1, TimeUnit::Second, SECOND),
    (5, TimeUnit::Second, 5 * SECOND),
    (10, TimeUnit::Second, 10 * SECOND),
    (30, TimeUnit::Second, 30 * SECOND),
    (1, TimeUnit::Minute, 60 * SECOND),
    (5, TimeUnit::Minute, 300 * SECOND),
    (10, TimeUnit::Minute, 600 * SECOND),
    (30, TimeUnit::Minute, 1_800 * SECOND),
    (1, TimeUnit::Hour, HOUR),
    (1, TimeUnit::Day, 24 * HOUR),
    (1, TimeUnit::Month, 30 * 24 * HOUR),
];

/// Returns the shortest span, not shorter than `minspan`, that divides a range into at most `bins` bins.
#[must_use]
pub fn default_span(length: i64, bins: u64, minspan: Option<&TimeSpan>) -> TimeSpan {
    let bins = i128::from(bins.max(1));
    let least = minspan.map_or(0, length_of);
    let found = LADDER
        .iter()
        .find(|(_, _, step)| *step >= least && i128::from(*step) * bins >= i128::from(length));
    let (count, unit) = found.map_or((1, TimeUnit::Month), |(count, unit, _)| (*count, *unit));
    TimeSpan { count, unit, snap: None }
}

/// Returns the length of a span in microseconds; calendar units have their average length.
#[must_use]
pub fn length_of(span: &TimeSpan) -> i64 {
    let unit = match span.unit {
        TimeUnit::Microsecond => 1,
        TimeUnit::Millisecond => 1_000,
        TimeUnit::Centisecond => 10_000,
        TimeUnit::Decisecond => 100_000,
        TimeUnit::Second => SECOND,
        TimeUnit::Minute => 60 * SECOND,
        TimeUnit::Hour => HOUR,
        TimeUnit::Day => 24 * HOUR,
        TimeUnit::Week => 7 * 24 * HOUR,
        TimeUnit::Month => 30 * 24 * HOUR,
        TimeUnit::Quarter => 91 * 24 * HOUR,
        TimeUnit::Year => 365 * 24 * HOUR,
    };
    i64::try_from(span.count).unwrap_or(i64::MAX).saturating_mul(unit)
}

/// The bins of a time span.
#[derive(Clone, PartialEq)]
pub struct TimeBins {
    span: TimeSpan,
    zone: TimeZone,
    /// The origin of bins of clock units; `None` means local midnight.
    align: Option<i64>,
}

impl fmt::Debug for TimeBins {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let zone = self.zone.iana_name().unwrap_or("fixed");
        write!(f, "{:?} {zone} {:?} {:?}", self.span, self.align, self.zone.to_fixed_offset().ok())
    }
}

impl TimeBins {
    /// Creates the bins of a span in a zone's calendar. `align`, in microseconds, is the start of a bin of
    /// clock units.
    #[must_use]
    pub fn new(span: TimeSpan, zone: TimeZone, align: Option<i64>) -> Self {
        Self { span, zone, align }
    }

    /// Returns start and end of the bin of a time, in microseconds. A time outside the calendar is a bin of
    /// its own.
    #[inline]
    #[must_use]
    pub fn around(&self, micros: i64) -> (i64, i64) {
        let found = match self.span.unit {
            TimeUnit::Day | TimeUnit::Week => self.days(micros),
            TimeUnit::Month | TimeUnit::Quarter | TimeUnit::Year => self.months(micros),
            _ => self.clock(micros),
        };
        found.unwrap_or((micros, micros.saturating_add(1)))
    }

    /// Returns the start of the bin of a time.
    #[inline]
    #[must_use]
    pub fn floor(&self, micros: i64) -> i64 {
        self.around(micros).0
    }

    fn count(&self) -> Option<i64> {
        i64::try_from(self.span.count.max(1)).ok()
    }

    /// Returns the bin of seconds, minutes or hours: multiples of the span in local clock time.
    fn clock(&self, micros: i64) -> Option<(i64, i64)> {
        let span = length_of(&self.span).max(1);
        match self.align {
            Some(align) => multiples(micros, align.checked_neg()?, span),
            None if span < SECOND => multiples(micros, 0, span),
            None if span > HOUR && span % HOUR == 0 => self.hours(micros, span / HOUR),
            None => {
                let origin = self.offset(micros)?;
                let (start, end) = multiples(micros, origin, span)?;
                if CHANGE % span == 0 {
                    return Some((start, end));
                }
                let is_steady = self.offset(start)? == origin && self.offset(end)? == origin;
                if is_steady { Some((start, end)) } else { self.minutes(micros, span) }
            }
        }
    }

    /// Returns a bin of minutes near a clock change: it begins when local clocks show a multiple of the span,
    /// and ends when they show the next one, whatever happens in between. Multiples of elapsed time would
    /// overlap there.
    fn minutes(&self, micros: i64, span: i64) -> Option<(i64, i64)> {
        let (mut within, mut start) = (micros, multiples(micros, self.offset(micros)?, span)?.0);
        while let Some(change) = self.change_until(within)
            && start < change
        {
            within = change.checked_sub(1)?;
            start = multiples(within, self.offset(within)?, span)?.0;
        }
        let mut end = multiples(micros, self.offset(micros)?, span)?.1;
        let mut within = micros;
        while let Some(change) = self.change_after(within)
            && end >= change
        {
            within = change;
            let (at, next) = multiples(change, self.offset(change)?, span)?;
            end = if at == change { change } else { next };
        }
        Some((start, end))
    }

    /// Returns the offset of local time from UTC in microseconds.
    fn offset(&self, micros: i64) -> Option<i64> {
        let time = Timestamp::from_microsecond(micros).ok()?;
        Some(i64::from(self.zone.to_offset(time).seconds()) * SECOND)
    }

    /// Returns the last clock change up to a time.
    fn change_until(&self, micros: i64) -> Option<i64> {
        let behind = Timestamp::from_microsecond(micros.checked_add(1)?).ok()?;
        Some(self.zone.preceding(behind).next()?.timestamp().as_microsecond())
    }

    /// Returns the first clock change after a time.
    fn change_after(&self, micros: i64) -> Option<i64> {
        let time = Timestamp::from_microsecond(micros).ok()?;
        Some(self.zone.following(time).next()?.timestamp().as_microsecond())
    }

    /// Returns a bin of several hours, which begins when local clocks show a multiple of them. Around a clock
    /// change, a bin is longer or shorter than others; multiples of elapsed time would overlap there.
    fn hours(&self, micros: i64, span: i64) -> Option<(i64, i64)> {
        let shown = self.local(micros)?;
        let day = i64::from(shown.date().since(Date::constant(1970, 1, 1)).ok()?.get_days());
        let first = (day * 24 + i64::from(shown.hour())).div_euclid(span) * span;
        Some((self.hour(first)?, self.hour(first.checked_add(span)?)?))
    }

    /// Returns the first time at which local clocks show an hour; hours are counted from 1970.
    fn hour(&self, hour: i64) -> Option<i64> {
        let date = Date::constant(1970, 1, 1).checked_add(hour.div_euclid(24).days()).ok()?;
        let shown = date.at(i8::try_from(hour.rem_euclid(24)).ok()?, 0, 0, 0);
        Some(shown.to_zoned(self.zone.clone()).ok()?.timestamp().as_microsecond())
    }

    fn days(&self, micros: i64) -> Option<(i64, i64)> {
        let weeks = self.span.unit == TimeUnit::Week;
        let span = self.count()?.checked_mul(if weeks { 7 } else { 1 })?;
        // Day 0, 1970-01-01, was a Thursday; weeks begin on Sunday unless the snap says otherwise.
        let shift = if weeks { 4 - self.weekday()? } else { 0 };
        let epoch = Date::constant(1970, 1, 1);
        let date = self.local(micros)?.date();
        let day = i64::from(date.since(epoch).ok()?.get_days());
        let first = (day + shift).div_euclid(span) * span - shift;
        let start = epoch.checked_add(first.days()).ok()?;
        let end = epoch.checked_add((first + span).days()).ok()?;
        Some((self.midnight(start)?, self.midnight(end)?))
    }

    /// Returns the first day of weeks, where Sunday is 0, from a snap such as `w1`.
    fn weekday(&self) -> Option<i64> {
        match self.span.snap.as_deref().and_then(|snap| snap.strip_prefix('w')) {
            None | Some("") => Some(0),
            Some(day) => day.parse::<i64>().ok().map(|day| day % 7),
        }
    }

    fn months(&self, micros: i64) -> Option<(i64, i64)> {
        let unit = match self.span.unit {
            TimeUnit::Quarter => 3,
            TimeUnit::Year => 12,
            _ => 1,
        };
        let span = self.count()?.checked_mul(unit)?;
        let date = self.local(micros)?.date();
        let month = i64::from(date.year()) * 12 + i64::from(date.month()) - 1;
        let first = month.div_euclid(span) * span;
        Some((self.first_of(first)?, self.first_of(first + span)?))
    }

    fn first_of(&self, month: i64) -> Option<i64> {
        let year = i16::try_from(month.div_euclid(12)).ok()?;
        let month = i8::try_from(month.rem_euclid(12) + 1).ok()?;
        self.midnight(Date::new(year, month, 1).ok()?)
    }

    fn local(&self, micros: i64) -> Option<DateTime> {
        Some(self.zone.to_datetime(Timestamp::from_microsecond(micros).ok()?))
    }

    fn midnight(&self, date: Date) -> Option<i64> {
        Some(date.to_zoned(self.zone.clone()).ok()?.timestamp().as_microsecond())
    }
}

/// Returns the multiples of a span around a time, counted from this number of microseconds before 1970.
fn multiples(micros: i64, origin: i64, span: i64) -> Option<(i64, i64)> {
    let start = micros.checked_add(origin)?.div_euclid(span).checked_mul(span)? - origin;
    Some((start, start.checked_add(span)?))
}

/// The bins of numbers: multiples of a step, or powers of a base.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum NumberBins {
    /// `start + k * step`.
    Linear {
        /// Start of a bin.
        start: f64,
        /// Width of the bins.
        step: f64,
    },
    /// `coefficient * base ^ k`.
    Log {
        /// The factor.
        coefficient: f64,
        /// The base, above 1.
        base: f64,
    },
}

impl NumberBins {
    /// Returns the bins of a `span=`; `None` for a time span.
    ///
    /// # Errors
    /// If a number of the span is not above 0.
    pub fn of_span(span: &BinSpan) -> Result<Option<Self>, Error> {
        let number = |text: &str| {
            text.parse::<f64>().ok().filter(|number| *number > 0.0).ok_or_else(|| {
                Error::invalid_anywhere(format!("a span must be a number above 0, not \"{text}\""))
            })
        };
        Ok(Some(match span {
            BinSpan::Time(_) => return Ok(None),
            BinSpan::Number(step) => Self::Linear { start: 0.0, step: number(step)? },
            BinSpan::Log { coefficient, base } => {
                Self::Log { coefficient: number(coefficient)?, base: number(base)? }
            }
        }))
    }

    /// Returns the narrowest bins of width 1, 10, 100, ..., not below `least`, of which at most `bins` cover
    /// a range. Between integers, the width is an integer.
    #[must_use]
    pub fn of_range(low: f64, high: f64, bins: u64, least: Option<f64>) -> Self {
        let width = (high - low).max(0.0);
        let mut step = if low.fract() == 0.0 && high.fract() == 0.0 { 1.0 } else { 1e-9 };
        #[allow(clippy::cast_precision_loss)]
        let wanted = bins.max(1) as f64;
        while ((low + width) / step).floor() - (low / step).floor() + 1.0 > wanted && step < 1e300 {
            step *= 10.0;
        }
        let mut step = if width == 0.0 { 1.0 } else { step };
        while least.is_some_and(|least| step < least) && step < 1e300 {
            step *= 10.0;
        }
        Self::Linear { start: 0.0, step }
    }

    /// Returns bins of equal width, given start and end of one of them.
    #[must_use]
    pub fn of_bin((start, end): (f64, f64)) -> Self {
        // Subtraction may add digits that neither operand has: the difference of 123456.8 and 123456.7 is not
        // exactly 0.1.
        let decimals = decimals_of(start).max(decimals_of(end));
        let exact = |number: f64| format!("{number:.decimals$}").parse().unwrap_or(number);
        let step = exact(end - start);
        Self::Linear { start: exact(start.rem_euclid(step)), step }
    }

    /// Returns the number of decimals of bin edges: the maximum of those of the width and of the origin.
    #[must_use]
    pub fn decimals(&self) -> usize {
        match self {
            Self::Linear { start, step } => {
                decimals_of(clean(*step)).max(decimals_of(clean(*start)))
            }
            Self::Log { .. } => 0,
        }
    }

    /// Returns start and end of the bin of a number; `None` if it has none.
    #[inline]
    #[must_use]
    pub fn around(&self, number: f64) -> Option<(f64, f64)> {
        self.place(number).map(|at| self.edges(at))
    }

    /// Returns the number of a text if it has no bin: logarithmic bins begin above 0.
    #[must_use]
    pub fn number_without_bin(&self, text: &str) -> Option<f64> {
        parse_number(text).filter(|number| self.around(*number).is_none())
    }

    /// Returns the place of the bin of a number in the sequence of bins, a whole number; `None` if the number
    /// has no bin.
    fn place(&self, number: f64) -> Option<f64> {
        match *self {
            Self::Linear { start, step } => Some(((number - start) / step + 1e-9).floor()),
            Self::Log { .. } if number <= 0.0 => None,
            Self::Log { coefficient, base } => {
                Some(((number / coefficient).log(base) + 1e-9).floor())
            }
        }
    }

    /// Returns start and end of the bin at a place.
    fn edges(&self, at: f64) -> (f64, f64) {
        match *self {
            Self::Linear { start, step } => {
                (clean(start + at * step), clean(start + (at + 1.0) * step))
            }
            Self::Log { coefficient, base } => {
                (clean(coefficient * base.powf(at)), clean(coefficient * base.powf(at + 1.0)))
            }
        }
    }
}

/// Maximum number of bins whose texts are kept.
const KEPT: usize = 1_024;

/// The texts of bins of numbers. The last ones are kept, because rounding and writing the edges of a bin
/// takes almost a microsecond, and most values of a field are in few bins.
#[derive(Debug)]
pub struct RangeTexts {
    bins: NumberBins,
    decimals: usize,
    /// The text of each bin, by the bits of its place.
    texts: HashMap<u64, String>,
}

impl RangeTexts {
    /// Creates the texts of these bins.
    #[must_use]
    pub fn new(bins: NumberBins) -> Self {
        Self { bins, decimals: bins.decimals(), texts: HashMap::new() }
    }

    /// Returns the text of the bin of a number, such as `10-20`; `None` if the number has no bin.
    pub fn around(&mut self, number: f64) -> Option<&str> {
        let (bins, decimals) = (self.bins, self.decimals);
        let at = bins.place(number)?;
        let key = at.to_bits();
        if self.texts.len() >= KEPT && !self.texts.contains_key(&key) {
            self.texts.clear();
        }
        let text = self.texts.entry(key).or_insert_with(|| {
            let mut text = String::new();
            write_range(bins.edges(at), decimals, &mut text);
            text
        });
        Some(text.as_str())
    }
}

/// Writes a bin of numbers in the form of fields: `10-20`, with this number of decimals.
pub fn write_range((start, end): (f64, f64), decimals: usize, out: &mut String) {
    write_edge(start, decimals, out);
    out.push('-');
    write_edge(end, decimals, out);
}

fn write_edge(number: f64, decimals: usize, out: &mut String) {
    match decimals {
        0 => out.push_str(&NumberText::float(number)),
        _ => out.push_str(&format!("{number:.decimals$}")),
    }
}

/// Parses a bin such as `10-20`; `None` for other texts.
#[must_use]
pub fn range_of(text: &str) -> Option<(f64, f64)> {
    // Edges may have signs, and exponents with signs.
    text.match_indices('-').find_map(|(at, _)| {
        let start = parse_number(text.get(..at)?)?;
        let end = parse_number(text.get(at + 1..)?)?;
        (start < end).then_some((start, end))
    })
}

/// Returns the number of decimals in the shortest text of a number.
fn decimals_of(number: f64) -> usize {
    number.to_string().split_once('.').map_or(0, |(_, decimals)| decimals.len())
}

/// Rounds a number to twelve significant digits, which removes the noise of binary fractions.
fn clean(number: f64) -> f64 {
    format!("{number:.11e}").parse().unwrap_or(number)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn start(span: (u64, TimeUnit, Option<&str>), zone: &str, time: &str) -> String {
        let zone = TimeZone::get(zone).unwrap();
        let span = TimeSpan { count: span.0, unit: span.1, snap: span.2.map(str::to_owned) };
        let time: Timestamp = time.parse().unwrap();
        let bins = TimeBins::new(span, zone, None);
        let (start, end) = bins.around(time.as_microsecond());
        assert!(start <= time.as_microsecond() && time.as_microsecond() < end);
        assert_eq!(bins.floor(end - 1), start);
        Timestamp::from_microsecond(start).unwrap().to_string()
    }

    #[test]
    fn bins_begin_where_the_calendar_of_the_zone_says() {
        let time = "2026-03-29T10:34:56Z";
        let hour = (1, TimeUnit::Hour, None);
        assert_eq!(start(hour, "UTC", time), "2026-03-29T10:00:00Z");
        assert_eq!(start(hour, "Asia/Kolkata", time), "2026-03-29T10:30:00Z");
        assert_eq!(start((1, TimeUnit::Day, None), "Europe/Berlin", time), "2026-03-28T23:00:00Z");
        assert_eq!(start((1, TimeUnit::Month, None), "UTC", time), "2026-03-01T00:00:00Z");
        assert_eq!(start((1, TimeUnit::Week, None), "UTC", time), "2026-03-29T00:00:00Z");
        assert_eq!(start((1, TimeUnit::Week, Some("w1")), "UTC", time), "2026-03-23T00:00:00Z");
    }

    #[test]
    fn bins_of_several_hours_do_not_overlap_where_clocks_change() {
        let (four, zone) = ((4, TimeUnit::Hour, None), "America/New_York");
        // Clocks are set back at 06:00Z: midnight to 04:00 are five hours.
        for time in ["2023-11-05T05:30:00Z", "2023-11-05T06:30:00Z", "2023-11-05T08:30:00Z"] {
            assert_eq!(start(four, zone, time), "2023-11-05T04:00:00Z");
        }
        assert_eq!(start(four, zone, "2023-11-05T09:30:00Z"), "2023-11-05T09:00:00Z");
        // They are set forward at 07:00Z: three hours.
        assert_eq!(start(four, zone, "2024-03-10T07:30:00Z"), "2024-03-10T05:00:00Z");
        assert_eq!(start(four, zone, "2024-03-10T08:30:00Z"), "2024-03-10T08:00:00Z");
        let two = (2, TimeUnit::Hour, None);
        assert_eq!(start(two, "Europe/Berlin", "2023-10-29T01:30:00Z"), "2023-10-29T00:00:00Z");
    }

    /// Starts of the bins between two times, each of which must begin where the one before ends.
    fn starts(span: (u64, TimeUnit), zone: &str, from: &str, to: &str) -> Vec<String> {
        let zone = TimeZone::get(zone).unwrap();
        let span = TimeSpan { count: span.0, unit: span.1, snap: None };
        let bins = TimeBins::new(span, zone.clone(), None);
        let micros = |time: &str| time.parse::<Timestamp>().unwrap().as_microsecond();
        let (mut at, to) = (bins.floor(micros(from)), micros(to));
        let mut found = Vec::new();
        while at < to {
            let (start, end) = bins.around(at);
            assert!(start == at && end > at, "{start} {at} {end}");
            for within in (start..end).step_by(600_000_000).chain([end - 1]) {
                assert_eq!(bins.around(within), (start, end), "{within}");
            }
            let shown = Timestamp::from_microsecond(start).unwrap().to_zoned(zone.clone());
            found.push(shown.strftime("%H:%M%:z").to_string());
            at = end;
        }
        found
    }

    #[test]
    fn bins_of_minutes_do_not_overlap_where_clocks_change() {
        let ninety = (90, TimeUnit::Minute);
        let zone = "America/New_York";
        let back = starts(ninety, zone, "2023-11-05T04:00:00Z", "2023-11-05T09:00:00Z");
        assert_eq!(back, ["00:00-04:00", "01:30-04:00", "01:30-05:00", "03:00-05:00"]);
        let forward = starts(ninety, zone, "2024-03-10T05:00:00Z", "2024-03-10T09:00:00Z");
        assert_eq!(forward, ["00:00-05:00", "01:30-05:00", "03:00-04:00", "04:30-04:00"]);
        // 02:15 is not shown that day.
        let forward =
            starts((45, TimeUnit::Minute), zone, "2024-03-10T06:30:00Z", "2024-03-10T08:00:00Z");
        assert_eq!(forward, ["01:30-05:00", "03:00-04:00", "03:45-04:00"]);
        // Hours that are shown twice are two bins.
        let hours =
            starts((1, TimeUnit::Hour), zone, "2023-11-05T05:00:00Z", "2023-11-05T08:00:00Z");
        assert_eq!(hours, ["01:00-04:00", "01:00-05:00", "02:00-05:00"]);
        // Clocks of Lord Howe Island are set back by half an hour.
        let half = starts(
            (1, TimeUnit::Hour),
            "Australia/Lord_Howe",
            "2024-04-06T14:00:00Z",
            "2024-04-06T16:00:00Z",
        );
        assert_eq!(half, ["01:00+11:00", "02:00+10:30"]);
        for minutes in [7, 23, 40, 50, 90, 100, 150] {
            for (zone, from) in [
                (zone, "2023-11-04T00:00:00Z"),
                (zone, "2024-03-09T00:00:00Z"),
                ("Europe/Berlin", "2023-10-28T00:00:00Z"),
                ("Australia/Lord_Howe", "2024-04-05T00:00:00Z"),
            ] {
                let to = from.parse::<Timestamp>().unwrap() + 72.hours();
                starts((minutes, TimeUnit::Minute), zone, from, &to.to_string());
            }
        }
    }

    #[test]
    fn default_spans_are_the_documented_ones() {
        let cases = [(900, 10), (3_600, 60), (14_400, 300), (86_400, 1_800), (604_800, 86_400)];
        for (range, expected) in cases {
            let span = default_span(range * SECOND, 100, None);
            assert_eq!(length_of(&span), expected * SECOND, "{range}");
        }
        assert_eq!(default_span(365 * 24 * HOUR, 100, None).unit, TimeUnit::Month);
    }

    #[test]
    fn number_bins_hold_their_start_but_not_their_end() {
        let bins = NumberBins::Linear { start: 0.0, step: 0.1 };
        assert_eq!(bins.around(0.3), Some((0.3, 0.4)));
        assert_eq!(bins.around(-0.05), Some((-0.1, 0.0)));
        let bins = NumberBins::Log { coefficient: 1.0, base: 10.0 };
        assert_eq!(bins.around(1000.0), Some((1000.0, 10000.0)));
        assert_eq!(bins.around(-1.0), None);
    }

    #[test]
    fn bins_around_a_range_have_its_decimals() {
        for (bin, text) in [
            ((0.05, 0.15), "0.15-0.25"),
            ((0.3, 0.4), "0.4-0.5"),
            ((123_456.7, 123_456.8), "123456.8-123456.9"),
            ((-0.25, 0.75), "0.75-1.75"),
            ((10.0, 20.0), "20-30"),
        ] {
            let bins = NumberBins::of_bin(bin);
            assert_eq!(bins.around(bin.0), Some(bin));
            let mut written = String::new();
            write_range(bins.around(bin.1).unwrap(), bins.decimals(), &mut written);
            assert_eq!(written, text);
        }
    }

    #[test]
    fn bins_of_numbers_are_read_as_they_are_written() {
        for (bin, decimals, text) in
            [((10.0, 20.0), 0, "10-20"), ((-0.2, -0.1), 1, "-0.2--0.1"), ((-1.0, 1.0), 0, "-1-1")]
        {
            let mut written = String::new();
            write_range(bin, decimals, &mut written);
            assert_eq!(written, text);
            assert_eq!(range_of(text), Some(bin), "{text}");
        }
        assert_eq!(range_of("1e-7-1e-6"), Some((1e-7, 1e-6)));
        for text in ["a-b", "20-10", "2024-01-05", "-5", "10-", ""] {
            assert_eq!(range_of(text), None, "{text}");
        }
    }

    #[test]
    fn texts_of_bins_are_the_same_whether_they_are_kept_or_written() {
        let bins = [
            NumberBins::Linear { start: 0.0, step: 100.0 },
            NumberBins::Linear { start: 0.25, step: 0.5 },
            NumberBins::Linear { start: 0.0, step: 1e-9 },
            NumberBins::Log { coefficient: 1.0, base: 2.0 },
            NumberBins::Log { coefficient: 3.0, base: 10.0 },
        ];
        let odd = [0.0, -0.0, -1e-12, 99.999_999_999_999, 1e300, -1e300, f64::NAN, f64::INFINITY];
        for bins in bins {
            let mut texts = RangeTexts::new(bins);
            // A linear congruential generator: more bins than are kept, and the same ones again.
            let mut seed = 17_u32;
            let random = std::iter::repeat_with(|| {
                seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                f64::from(seed >> 8) / 37.0 - 100_000.0
            });
            let numbers: Vec<f64> = odd.into_iter().chain(random.take(3_000)).collect();
            for number in numbers.iter().chain(&numbers) {
                let written = bins.around(*number).map(|bin| {
                    let mut text = String::new();
                    write_range(bin, bins.decimals(), &mut text);
                    text
                });
                assert_eq!(texts.around(*number), written.as_deref(), "{bins:?} {number}");
                assert!(texts.texts.len() <= KEPT);
            }
        }
    }
}
