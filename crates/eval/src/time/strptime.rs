//! Reading times by a format.

use model::EventTime;

use super::civil::{Fields, civil_from_days, days_from_civil};
use super::format::{Item, MONTHS, TimeFormat, WEEKDAYS};
use super::zone::{LocalClock, abbreviation_offset, parse_offset};

/// The result of reading a time at the start of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parsed {
    /// The parts that were read.
    pub fields: Fields,
    /// The end of the text that was read.
    pub end: usize,
    /// The end of the whole seconds.
    pub second_end: usize,
    /// Start and end of the fractional digits; equal if there are none.
    pub fraction: (usize, usize),
}

impl TimeFormat {
    /// Reads the time at the start of a text. Text after it is ignored. Missing parts are completed as
    /// described for [`Fields::resolve`]. A fraction of the second may be missing with its `.` or `,`:
    /// many programs write it only if it is not zero.
    #[must_use]
    pub fn strptime(
        &self,
        text: &str,
        clock: &mut LocalClock,
        reference: EventTime,
    ) -> Option<EventTime> {
        self.read_parts(text.as_bytes(), true)?.fields.resolve(clock, reference)
    }

    /// Reads the parts of the time at the start of a text, which has all parts of the format.
    #[must_use]
    pub fn read(&self, text: &[u8]) -> Option<Parsed> {
        self.read_parts(text, false)
    }

    fn read_parts(&self, text: &[u8], fraction_may_miss: bool) -> Option<Parsed> {
        let mut reader = Reader::new(text);
        let mut at = 0;
        while let Some(item) = self.items.get(at) {
            if fraction_may_miss && self.has_fraction(at) && reader.is_after_second() {
                at += 2;
                continue;
            }
            reader.item(item, self.items.get(at + 1))?;
            at += 1;
        }
        (!self.items.is_empty()).then_some(reader.out())
    }

    /// Whether `.` or `,` and the fraction of the second that is before them begin at an item.
    fn has_fraction(&self, at: usize) -> bool {
        let Some(first) = at.checked_sub(1) else { return false };
        match self.items.get(first..first + 3) {
            Some([Item::Second | Item::Epoch, Item::Literal(mark), Item::Fraction { .. }]) => {
                matches!(&**mark, "." | ",")
            }
            _ => false,
        }
    }
}

struct Reader<'a> {
    text: &'a [u8],
    at: usize,
    fields: Fields,
    century: Option<i64>,
    /// The numbering of weeks, and the number of the week.
    week: Option<(Week, i64)>,
    /// 0 is Sunday.
    weekday: Option<i64>,
    second_end: usize,
    fraction: (usize, usize),
}

/// The first week of a year: that of its first Sunday, of its first Monday, or of 4 January (ISO).
#[derive(Debug, Clone, Copy)]
enum Week {
    Sunday,
    Monday,
    Iso,
}

impl<'a> Reader<'a> {
    fn new(text: &'a [u8]) -> Self {
        Self {
            text,
            at: 0,
            fields: Fields::default(),
            century: None,
            week: None,
            weekday: None,
            second_end: 0,
            fraction: (0, 0),
        }
    }

    fn out(mut self) -> Parsed {
        if let (None, Some(century)) = (self.fields.year, self.century) {
            self.fields.year = Some(century * 100);
        }
        if let Some((year, month, day)) = self.date_of_week() {
            self.fields.year = Some(year);
            self.fields.month = Some(month);
            self.fields.day = Some(day);
        }
        if self.fraction.0 == 0 {
            self.fraction = (self.second_end, self.second_end);
        }
        Parsed {
            fields: self.fields,
            end: self.at,
            second_end: self.second_end,
            fraction: self.fraction,
        }
    }

    /// Returns the date of year, week and weekday, if nothing else gives the date.
    fn date_of_week(&self) -> Option<(i64, i64, i64)> {
        let Fields { year, month, day, day_of_year, .. } = self.fields;
        if month.is_some() || day.is_some() || day_of_year.is_some() {
            return None;
        }
        let (first, (kind, week), weekday) =
            (days_from_civil(year?, 1, 1), self.week?, self.weekday?);
        let first_weekday = (first + 4).rem_euclid(7);
        let after_monday = (weekday + 6) % 7;
        let of_week = match kind {
            Week::Sunday => (7 - first_weekday) % 7 + weekday,
            Week::Monday => (8 - first_weekday) % 7 + after_monday,
            // 4 January, less the days since its Monday.
            Week::Iso => 3 - (first_weekday + 2) % 7 + after_monday,
        };
        Some(civil_from_days(first + (week - 1) * 7 + of_week))
    }

    fn item(&mut self, item: &Item, next: Option<&Item>) -> Option<()> {
        match item {
            Item::Literal(text) => self.literal(text.as_bytes())?,
            Item::Space(_) => self.blanks(),
            Item::Year4 | Item::IsoYear => self.fields.year = Some(self.number(4, 4)?),
            Item::Year2 | Item::IsoYear2 => self.fields.year = Some(self.short_year()?),
            Item::YearAny => {
                let digits = self.rest().iter().take_while(|byte| byte.is_ascii_digit()).count();
                let year = if digits < 4 { self.short_year() } else { self.number(4, 4) };
                self.fields.year = Some(year?);
            }
            Item::Century => self.century = Some(self.number(2, 2)?),
            Item::Month => self.fields.month = Some(self.within(1, 2, 1..=12)?),
            Item::MonthShort | Item::MonthLong => self.fields.month = Some(self.name(&MONTHS)? + 1),
            Item::Day | Item::DayPadded => self.fields.day = Some(self.within(1, 2, 1..=31)?),
            Item::DayOfYear => self.fields.day_of_year = Some(self.within(1, 3, 1..=366)?),
            Item::Hour24 | Item::Hour24Padded => self.fields.hour = self.within(1, 2, 0..=23)?,
            Item::Hour12 | Item::Hour12Padded => {
                self.fields.hour = self.within(1, 2, 1..=12)?;
                self.fields.pm.get_or_insert(false);
            }
            Item::Minute => self.fields.minute = self.within(1, 2, 0..=59)?,
            Item::Second => {
                self.fields.second = self.within(1, 2, 0..=60)?;
                self.second_end = self.at;
            }
            Item::AmPm | Item::AmPmLower => self.am_pm()?,
            Item::WeekdayShort | Item::WeekdayLong => self.weekday = Some(self.name(&WEEKDAYS)?),
            Item::WeekdayNumber | Item::WeekdayIso => {
                self.weekday = Some(self.within(1, 1, 0..=7)? % 7);
            }
            Item::WeekIso => self.week = Some((Week::Iso, self.within(1, 2, 1..=53)?)),
            Item::WeekSunday => self.week = Some((Week::Sunday, self.within(1, 2, 0..=53)?)),
            Item::WeekMonday => self.week = Some((Week::Monday, self.within(1, 2, 0..=53)?)),
            Item::Epoch => self.epoch(matches!(next, Some(Item::Fraction { .. })))?,
            Item::ZoneName => self.zone()?,
            Item::Offset
            | Item::OffsetColon
            | Item::OffsetSeconds
            | Item::OffsetMinutes
            | Item::OffsetHours => {
                self.offset()?;
            }
            Item::Fraction { digits, exact } => self.fraction(if *exact { *digits } else { 18 })?,
            Item::Unknown(_) => return None,
        }
        Some(())
    }

    fn rest(&self) -> &'a [u8] {
        &self.text[self.at..]
    }

    /// Whether neither a fraction nor more digits follow.
    fn is_after_second(&self) -> bool {
        let continues = |byte: &u8| byte.is_ascii_digit() || b".,:".contains(byte);
        !self.rest().first().is_some_and(continues)
    }

    fn blanks(&mut self) {
        self.at += self.rest().iter().take_while(|byte| byte.is_ascii_whitespace()).count();
    }

    fn literal(&mut self, expected: &[u8]) -> Option<()> {
        self.rest().starts_with(expected).then(|| self.at += expected.len())
    }

    /// Reads between `least` and `most` digits, after blanks.
    fn number(&mut self, least: usize, most: usize) -> Option<i64> {
        if self.rest().first() == Some(&b' ') {
            self.blanks();
        }
        let start = self.at;
        let mut value = 0i64;
        while self.at - start < most
            && let Some(digit) = self.rest().first().filter(|byte| byte.is_ascii_digit())
        {
            value = value * 10 + i64::from(digit - b'0');
            self.at += 1;
        }
        (self.at - start >= least).then_some(value)
    }

    /// Reads the last two digits of a year of the current or the previous century.
    fn short_year(&mut self) -> Option<i64> {
        let year = self.number(2, 2)?;
        Some(if year < 69 { 2000 + year } else { 1900 + year })
    }

    fn within(
        &mut self,
        least: usize,
        most: usize,
        range: std::ops::RangeInclusive<i64>,
    ) -> Option<i64> {
        self.number(least, most).filter(|value| range.contains(value))
    }

    /// Reads one of the names, in full or as its first three letters, ignoring case; returns its index.
    fn name(&mut self, names: &[&str]) -> Option<i64> {
        let (index, length) = name_at(self.rest(), names)?;
        self.at += length;
        Some(index)
    }

    fn am_pm(&mut self) -> Option<()> {
        let pm = match self.rest() {
            [b'a' | b'A', b'm' | b'M', ..] => false,
            [b'p' | b'P', b'm' | b'M', ..] => true,
            _ => return None,
        };
        self.fields.pm = Some(pm);
        self.at += 2;
        Some(())
    }

    fn epoch(&mut self, digits_follow: bool) -> Option<()> {
        let negative = self.rest().first() == Some(&b'-');
        self.at += usize::from(negative);
        let seconds = self.number(1, if digits_follow { 10 } else { 12 })?;
        self.fields.epoch = Some(if negative { -seconds } else { seconds });
        self.second_end = self.at;
        Some(())
    }

    fn zone(&mut self) -> Option<()> {
        let length = self.rest().iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
        if length == 0 {
            return self.offset();
        }
        self.fields.offset = Some(abbreviation_offset(&self.rest()[..length])?);
        self.at += length;
        Some(())
    }

    fn offset(&mut self) -> Option<()> {
        if let [b'Z' | b'z', rest @ ..] = self.rest()
            && !rest.first().is_some_and(u8::is_ascii_alphanumeric)
        {
            self.fields.offset = Some(0);
            self.at += 1;
            return Some(());
        }
        let (offset, length) = match parse_offset(self.rest()) {
            Some(found) => found,
            None if self.rest().first().is_some_and(u8::is_ascii_alphabetic) => return self.zone(),
            None => return None,
        };
        self.fields.offset = Some(offset);
        self.at += length;
        Some(())
    }

    /// Reads up to `most` fractional digits of the second. After a colon, which is not a decimal mark, fewer
    /// than three digits are whole milliseconds.
    fn fraction(&mut self, most: u8) -> Option<()> {
        let after_colon = self.at > 0 && self.text[self.at - 1] == b':';
        let (micros, length) = fraction_at(self.rest(), usize::from(most), after_colon)?;
        self.fields.micros = micros;
        self.fraction = (self.at, self.at + length);
        self.at += length;
        Some(())
    }
}

/// Returns the index and the length of the name at the start of the text.
pub(crate) fn name_at(text: &[u8], names: &[&str]) -> Option<(i64, usize)> {
    let short = text.get(..3)?;
    let found = |name: &&str| name.as_bytes()[..3].eq_ignore_ascii_case(short);
    let index = names.iter().position(found)?;
    let full = names[index].as_bytes();
    let is_full = text.get(..full.len()).is_some_and(|start| start.eq_ignore_ascii_case(full));
    Some((i64::try_from(index).ok()?, if is_full { full.len() } else { 3 }))
}

/// Returns the microseconds of the fractional digits at the start of the text, and the number of digits.
#[must_use]
pub fn fraction_at(text: &[u8], most: usize, whole_millis: bool) -> Option<(i64, usize)> {
    let mut micros = 0i64;
    let mut length = 0usize;
    while length < most
        && let Some(digit) = text.get(length).filter(|byte| byte.is_ascii_digit())
    {
        if length < 6 {
            micros = micros * 10 + i64::from(digit - b'0');
        }
        length += 1;
    }
    if length == 0 {
        return None;
    }
    if whole_millis && length < 3 {
        return Some((micros * 1000, length));
    }
    for _ in length..6 {
        micros *= 10;
    }
    Some((micros, length))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    /// 2026-11-20T12:00:00Z.
    const REFERENCE: EventTime = EventTime(1_795_176_000_000_000);

    fn check(format: &str, text: &str, expected: Option<f64>) {
        let time = TimeFormat::parse(format).strptime(text, &mut LocalClock::utc(), REFERENCE);
        assert_eq!(time.map(EventTime::seconds), expected, "{format} on {text}");
    }

    #[test]
    fn the_formats_of_the_sample_data_are_read() {
        check("%y%m%d %H%M%S", "081109 203615 148", Some(1_226_262_975.0));
        check("%Y-%m-%d-%H.%M.%S.%6N", "2005-06-03-15.42.50.675872", Some(1_117_813_370.675_872));
        check("%Y%m%d-%H:%M:%S:%3N", "20171223-22:15:29:606", Some(1_514_067_329.606));
        check("%Y%m%d-%H:%M:%S:%3N", "20171224-1:1:0:9|", Some(1_514_077_260.009));
        check("%m-%d %H:%M:%S.%3N", "03-17 16:13:38.811", Some(1_773_764_018.811));
        check("%m.%d %H:%M:%S]", "10.30 16:49:06]", Some(1_793_378_946.0));
        check("%y/%m/%d %H:%M:%S", "17/06/09 20:10:40", Some(1_497_039_040.0));
        check("%a %b %d %H:%M:%S %Y", "Sun Dec 04 04:47:44 2005", Some(1_133_671_664.0));
        check("%b %d %H:%M:%S", "Jul  1 09:00:55", Some(1_782_896_455.0));
        check("%d/%b/%Y:%H:%M:%S %z", "17/May/2015:10:05:03 +0200", Some(1_431_849_903.0));
        check(
            "%Y-%m-%dT%H:%M:%S.%6N%z",
            "2018-03-24T17:15:21.608646Z",
            Some(1_521_911_721.608_646),
        );
        check("%Y-%m-%d %H:%M:%S,%3N", "2015-10-18 18:01:47,978", Some(1_445_191_307.978));
        check("%Y-%m-%d %H:%M:%S.%q", "2015-10-18 18:01:47.978123", Some(1_445_191_307.978_123));
        check("%Y-%m-%dT%H:%M:%S.%LZ", "2015-10-18T18:01:47.978Z", Some(1_445_191_307.978));
    }

    #[test]
    fn dates_by_week_and_in_the_form_of_the_locale_are_read() {
        // Thursday, 1 January 2026, and the last day of 2025.
        check("%Y %U %w", "2026 00 4", Some(1_767_225_600.0));
        check("%Y %W %a", "2026 00 Thu", Some(1_767_225_600.0));
        check("%G-W%V-%u", "2026-W01-4", Some(1_767_225_600.0));
        check("%G-W%V-%u", "2026-W01-3", Some(1_767_139_200.0));
        check("%g-W%V-%u", "26-W01-3", Some(1_767_139_200.0));
        check("%Y %U %w", "2026 1 0", Some(1_767_484_800.0));
        check("%Y %U", "2026 01", None);
        check("%x %X", "01/01/2026 00:00:00", Some(1_767_225_600.0));
        check("%x %X", "01/01/26 00:00:00", Some(1_767_225_600.0));
        check("%x", "01/01/2", None);
        // A weekday beside a date is ignored.
        check("%a %Y-%m-%d", "Mon 2026-01-01", Some(1_767_225_600.0));
    }

    #[test]
    fn epochs_with_and_without_fraction_are_read() {
        check("%s", "1077804742 1", Some(1_077_804_742.0));
        check("%s.%6N", "1521911724.699488", Some(1_521_911_724.699_488));
        check("%s%3N", "1446249499322", Some(1_446_249_499.322));
        check("%s", "-5", Some(-5.0));
    }

    #[test]
    fn a_fraction_may_be_missing_with_its_mark() {
        check("%F %T.%3N %z", "2020-01-01 00:00:00 +0000", Some(1_577_836_800.0));
        check("%F %T,%Q", "2020-01-01 00:00:00", Some(1_577_836_800.0));
        check("%F %T.%6NZ", "2020-01-01T00:00:00Z", None);
        check("%FT%T.%6NZ", "2020-01-01T00:00:00Z", Some(1_577_836_800.0));
        check("%s.%6N", "1577836800", Some(1_577_836_800.0));
        // Another mark, or none before digits, is another format.
        check("%F %T.%3N", "2020-01-01 00:00:00,978", None);
        check("%F %T.%3N", "2020-01-01 00:00:00.x", None);
        check("%F %T:%3N", "2020-01-01 00:00:00", None);
        check("%F %T%3N", "2020-01-01 00:00:00", None);
        // Timestamps of events have all parts of their format.
        assert!(TimeFormat::parse("%T.%3N").read(b"00:00:00 x").is_none());
    }

    #[test]
    fn zones_are_read_in_every_spelling() {
        for zone in ["+0100", "+01:00", "+01", "CET"] {
            check(
                "%Y-%m-%d %H:%M:%S %z",
                &format!("2020-01-01 01:00:00 {zone}"),
                Some(1_577_836_800.0),
            );
            check("%Y-%m-%d %H:%M:%S%Z", "2020-01-01 00:00:00UTC", Some(1_577_836_800.0));
        }
        check("%F %T %:::z", "2020-01-01 01:00:00 +01", Some(1_577_836_800.0));
        check("%F %T %Z", "2020-01-01 00:00:00 XYZ", None);
    }

    #[test]
    fn twelve_hour_clocks_need_their_half() {
        check("%Y-%m-%d %I:%M %p", "2020-01-01 12:00 AM", Some(1_577_836_800.0));
        check("%Y-%m-%d %I:%M %p", "2020-01-01 1:00 pm", Some(1_577_883_600.0));
        check("%I:%M %p", "13:00 PM", None);
    }

    #[test]
    fn what_does_not_match_gives_nothing() {
        check("%Y-%m-%d", "2020-13-01", None);
        check("%Y-%m-%d", "2020/01/01", None);
        check("%Y-%m", "2020-01", None);
        check("%i", "1", None);
        check("", "x", None);
    }

    #[test]
    fn an_undefined_specifier_is_an_error_for_input() {
        let error = TimeFormat::for_input("%Y %i").unwrap_err().to_string();
        assert_eq!(error, "bad time format \"%Y %i\" at position 3: %i cannot be parsed");
        let error = TimeFormat::for_input("%Y%").unwrap_err().to_string();
        assert_eq!(error, "bad time format \"%Y%\" at position 2: % cannot be parsed");
    }

    proptest! {
        #[test]
        fn reading_never_panics(format in "(%?[a-zA-Z0-9:+ -]){0,12}", text in "\\PC{0,40}|[0-9:/ .-]{0,30}") {
            let _ = TimeFormat::parse(&format).strptime(&text, &mut LocalClock::utc(), REFERENCE);
        }

        #[test]
        fn what_is_written_is_read_back(micros in -60_000_000_000_000_000i64..200_000_000_000_000_000) {
            for format in [
                "%Y-%m-%d %H:%M:%S.%6N",
                "%c.%f %z",
                "%d/%b/%Y:%I:%M:%S %p.%6Q",
                "%Y %j %T.%6N",
                "%x %X.%6N",
                "%Y %U %w %T.%6N",
                "%Y %W %A %T.%6N",
                "%G-W%V-%u %T.%6N",
            ] {
                let format = TimeFormat::parse(format);
                let mut clock = LocalClock::utc();
                let mut text = String::new();
                format.strftime(EventTime(micros), &clock, &mut text);
                prop_assert_eq!(format.strptime(&text, &mut clock, REFERENCE), Some(EventTime(micros)), "{}", text);
            }
        }
    }
}
