//! The time formats that are recognised without configuration: hand-written parsers that backtrack over at
//! most a few dozen bytes.

mod next_field;

use eval::time::civil::month_days;
use eval::time::{Fields, Parsed, abbreviation_offset, fraction_at, parse_offset};

const MONTHS: [&[u8; 3]; 12] = [
    b"jan", b"feb", b"mar", b"apr", b"may", b"jun", b"jul", b"aug", b"sep", b"oct", b"nov", b"dec",
];
const MONTHS_LONG: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];
/// The start of TAI64 labels for the seconds 2^62 to 2^62 + 2^32, which are the years 1970 to 2106.
const TAI64: &[u8] = b"40000000";
/// The TAI64 second of the epoch, as daemontools and multilog count.
const TAI64_EPOCH: i64 = 10;
const WEEKDAYS: [&[u8; 3]; 7] = [b"sun", b"mon", b"tue", b"wed", b"thu", b"fri", b"sat"];

/// Returns whether a timestamp may begin at a position: not inside of a word, number or path.
pub(super) fn may_begin(text: &[u8], at: usize) -> bool {
    let Some(byte) = text.get(at) else { return false };
    if !byte.is_ascii_alphanumeric() {
        return false;
    }
    let Some(before) = at.checked_sub(1).map(|before| text[before]) else { return true };
    if before == b'm' && ends_colour(&text[..at]) {
        return true;
    }
    !(before.is_ascii_alphanumeric() || matches!(before, b'.' | b'-' | b'_' | b'/' | 0x80..))
}

/// Returns whether a text ends with a terminal colour code, such as `ESC[32m` or `ESC[0;1m`.
pub(super) fn ends_colour(text: &[u8]) -> bool {
    let Some(rest) = text.strip_suffix(b"m") else { return false };
    let numbers = rest.iter().rev().take_while(|byte| byte.is_ascii_digit() || **byte == b';');
    rest[..rest.len() - numbers.count()].ends_with(b"\x1b[")
}

/// Reads the timestamp at the start of the text.
pub(super) fn read(text: &[u8]) -> Option<Parsed> {
    let mut cursor = Cursor::new(text);
    if text.first()?.is_ascii_digit() {
        cursor.numeric()?;
    } else {
        cursor.named()?;
    }
    cursor.out()
}

/// Returns whether a text begins with a timestamp, or is a date.
pub(crate) fn is_time(text: &str) -> bool {
    read(text.as_bytes()).is_some() || read_cell(text.as_bytes()).is_some()
}

/// Reads a text that is a time as a whole, as in table cells: any timestamp, a date alone, or a date with a
/// time without seconds.
pub(super) fn read_cell(text: &[u8]) -> Option<Fields> {
    if let Some(parsed) = read(text).filter(|parsed| parsed.end == text.len()) {
        return Some(parsed.fields);
    }
    let mut cursor = Cursor::new(text);
    cursor.date()?;
    if cursor.at < text.len() {
        cursor.expect(b"T ,")?;
        cursor.blanks();
        cursor.fields.hour = cursor.small()?;
        cursor.expect(b":")?;
        cursor.fields.minute = cursor.small()?;
        cursor.half();
        cursor.zone();
    }
    let parsed = cursor.out()?;
    (parsed.end == text.len()).then_some(parsed.fields)
}

struct Cursor<'a> {
    text: &'a [u8],
    at: usize,
    fields: Fields,
    second_end: usize,
    fraction: (usize, usize),
}

impl<'a> Cursor<'a> {
    fn new(text: &'a [u8]) -> Self {
        Self { text, at: 0, fields: Fields::default(), second_end: 0, fraction: (0, 0) }
    }

    fn out(self) -> Option<Parsed> {
        let f = &self.fields;
        if f.epoch.is_none() {
            let (month, day) = (f.month?, f.day?);
            let days = month_days(f.year.unwrap_or(2000), month);
            let date = (1..=12).contains(&month) && (1..=days).contains(&day);
            let year = f.year.is_none_or(|year| (1970..=2200).contains(&year));
            if !(date && year && f.hour < 24 && f.minute < 60 && f.second <= 60) {
                return None;
            }
        }
        let none = (self.second_end, self.second_end);
        let fraction = if self.fraction.0 == 0 { none } else { self.fraction };
        Some(Parsed { fields: self.fields, end: self.at, second_end: self.second_end, fraction })
    }

    fn peek(&self, ahead: usize) -> u8 {
        self.text.get(self.at + ahead).copied().unwrap_or(0)
    }

    fn digits(&self) -> usize {
        let rest = &self.text[self.at.min(self.text.len())..];
        rest.iter().take(20).take_while(|byte| byte.is_ascii_digit()).count()
    }

    /// Takes exactly `count` digits, which must exist.
    fn take(&mut self, count: usize) -> Option<i64> {
        let mut value = 0i64;
        for byte in self.text.get(self.at..self.at + count)? {
            if !byte.is_ascii_digit() {
                return None;
            }
            value = value.checked_mul(10)?.checked_add(i64::from(byte - b'0'))?;
        }
        self.at += count;
        Some(value)
    }

    /// Takes one or two digits that no third digit follows.
    fn small(&mut self) -> Option<i64> {
        match self.digits() {
            count @ 1..=2 => self.take(count),
            _ => None,
        }
    }

    fn expect(&mut self, accepted: &[u8]) -> Option<u8> {
        let byte = self.peek(0);
        accepted.contains(&byte).then(|| {
            self.at += 1;
            byte
        })
    }

    fn blanks(&mut self) -> usize {
        let start = self.at;
        while self.peek(0) == b' ' {
            self.at += 1;
        }
        self.at - start
    }

    fn numeric(&mut self) -> Option<()> {
        let count = self.digits();
        let next = self.peek(count);
        if self.text.starts_with(TAI64) {
            return self.tai64();
        }
        match (count, next) {
            (4, b'-' | b'/' | b'.') => self.year_first(next),
            (4, b' ') => self.year_and_name(),
            (8, b'-' | b'T' | b' ' | b'_' | b':') => self.compact(),
            (14, _) => self.compact_all(),
            (6, b' ') => self.short_compact(),
            (10 | 13 | 16 | 19, _) => self.epoch(count),
            (1 | 2, b'/' | b'-' | b'.' | b' ') => self.day_or_month_first(next),
            _ => None,
        }
    }

    /// Reads `4000000043322583` with eight more digits for nanoseconds, all hexadecimal.
    fn tai64(&mut self) -> Option<()> {
        let label = self.text.iter().take(25).take_while(|byte| byte.is_ascii_hexdigit()).count();
        let hex = |from: usize| {
            let text = std::str::from_utf8(self.text.get(from..from + 8)?).ok()?;
            i64::from_str_radix(text, 16).ok()
        };
        if label != 16 && label != 24 {
            // This is a number with the same first digits; epoch seconds do not have them.
            return None;
        }
        let nanos = if label == 24 { hex(16)? } else { 0 };
        self.fields.epoch = Some(hex(8)? - TAI64_EPOCH);
        self.fields.micros = nanos / 1_000;
        self.at = label;
        self.second_end = label;
        let ends = !self.peek(0).is_ascii_alphanumeric();
        (ends && nanos < 1_000_000_000).then_some(())
    }

    /// Reads `0517 15:04:22.619632` or `20170322 06:58:47.08` after the letter of the severity, as glog and
    /// klog write it. The fraction distinguishes it from other words.
    fn severity_first(&mut self) -> Option<()> {
        self.at += 1;
        match self.digits() {
            4 => {
                self.fields.month = Some(self.take(2)?);
                self.fields.day = Some(self.take(2)?);
            }
            8 => self.date_digits()?,
            _ => return None,
        }
        if self.blanks() == 0 {
            return None;
        }
        self.clock()?;
        (self.fraction.0 > 0).then_some(())
    }

    /// Reads a date alone, in any of the formats.
    fn date(&mut self) -> Option<()> {
        let count = self.digits();
        match (count, self.peek(count)) {
            (4, separator @ (b'-' | b'/' | b'.')) => self.year_month_day(separator),
            (1 | 2, separator @ (b'/' | b'-' | b'.' | b' ')) => {
                let first = self.small()?;
                self.at += 1;
                if self.peek(0).is_ascii_alphabetic() {
                    return self.month_and_year(first, separator);
                }
                let second = self.small()?;
                self.expect(&[separator])?;
                self.three_numbers(first, second, separator)
            }
            (0, _) => {
                self.fields.month = Some(self.month()?);
                self.blanks();
                self.fields.day = Some(self.small()?);
                let _ = self.expect(b",");
                self.blanks();
                self.fields.year = Some(self.take(4)?);
                Some(())
            }
            _ => None,
        }
    }

    /// Reads `2005-06-03-15.42.50.675872`, `2015-07-29 17:41:44,747`, `2018-03-24T17:15:21.6Z`.
    fn year_first(&mut self, separator: u8) -> Option<()> {
        self.year_month_day(separator)?;
        self.clock_after(b"T t-_:,")
    }

    /// Reads `2025 Oct 11 22:14:15`, as network devices write it.
    fn year_and_name(&mut self) -> Option<()> {
        self.fields.year = Some(self.take(4)?);
        self.blanks();
        self.fields.month = Some(self.month()?);
        if self.blanks() == 0 {
            return None;
        }
        self.fields.day = Some(self.small()?);
        if self.blanks() == 0 {
            return None;
        }
        self.clock()
    }

    fn year_month_day(&mut self, separator: u8) -> Option<()> {
        self.fields.year = Some(self.take(4)?);
        self.at += 1;
        self.fields.month = Some(self.small()?);
        self.expect(&[separator])?;
        self.fields.day = Some(self.small()?);
        Some(())
    }

    /// Reads `20171223-22:15:29:606`, `20171223T221529Z`.
    fn compact(&mut self) -> Option<()> {
        self.date_digits()?;
        self.at += 1;
        if self.digits() == 6 { self.clock_digits() } else { self.clock() }
    }

    /// Reads `20171223221529`.
    fn compact_all(&mut self) -> Option<()> {
        self.date_digits()?;
        self.clock_digits()
    }

    /// Reads `081109 203615`, `140224 22:39:34`, `140224  2:39:34`.
    fn short_compact(&mut self) -> Option<()> {
        self.fields.year = Some(2000 + self.take(2)?);
        self.fields.month = Some(self.take(2)?);
        self.fields.day = Some(self.take(2)?);
        self.at += 1;
        let blank = usize::from(self.peek(0) == b' ');
        if self.peek(blank + 1) == b':' || self.peek(blank + 2) == b':' {
            self.at += blank;
            return self.clock();
        }
        if self.digits() != 6 {
            return None;
        }
        self.clock_digits()
    }

    fn date_digits(&mut self) -> Option<()> {
        self.fields.year = Some(self.take(4)?);
        self.fields.month = Some(self.take(2)?);
        self.fields.day = Some(self.take(2)?);
        Some(())
    }

    fn clock_digits(&mut self) -> Option<()> {
        self.fields.hour = self.take(2)?;
        self.fields.minute = self.take(2)?;
        self.fields.second = self.take(2)?;
        self.second_end = self.at;
        self.fraction();
        self.zone();
        Some(())
    }

    /// Reads epoch seconds with or without a fraction, or epoch milli-, micro- or nanoseconds.
    fn epoch(&mut self, count: usize) -> Option<()> {
        self.fields.epoch = Some(self.take(10)?);
        self.second_end = self.at;
        if count > 10 {
            let start = self.at;
            let (micros, length) = fraction_at(&self.text[self.at..], count - 10, false)?;
            self.fields.micros = micros;
            self.at += length;
            self.fraction = (start, self.at);
        } else if self.peek(0) == b'.' {
            self.fraction();
        }
        let next = self.peek(0);
        let number_goes_on = matches!(next, b'-' | b'_' | b'.' | b':' | b'/')
            && self.peek(1).is_ascii_alphanumeric();
        (!next.is_ascii_alphanumeric() && !number_goes_on).then_some(())
    }

    /// Reads `17/May/2015:10:05:03 +0000`, `06/14/2015 10:00:00`, `17/06/09 20:10:40`, `03-17 16:13:38.811`,
    /// `10.30 16:49:06`, `17 May 2015 10:05:03`.
    fn day_or_month_first(&mut self, separator: u8) -> Option<()> {
        let first = self.small()?;
        self.at += 1;
        if self.peek(0).is_ascii_alphabetic() {
            self.month_and_year(first, separator)?;
            return self.clock_after(b": T,");
        }
        let second = self.small()?;
        if separator != b'/' && matches!(self.peek(0), b' ' | b'T') {
            self.fields.month = Some(first);
            self.fields.day = Some(second);
            self.at += 1;
            return self.clock();
        }
        self.expect(&[separator])?;
        self.three_numbers(first, second, separator)?;
        self.clock_after(b" T:,-")
    }

    fn month_and_year(&mut self, day: i64, separator: u8) -> Option<()> {
        self.fields.day = Some(day);
        self.fields.month = Some(self.month()?);
        self.expect(&[separator])?;
        self.fields.year = Some(self.year()?);
        Some(())
    }

    /// Determines which of three numbers are year, month and day: American order, unless a value or the
    /// separator excludes it.
    fn three_numbers(&mut self, first: i64, second: i64, separator: u8) -> Option<()> {
        let (year, month, day) = match self.digits() {
            4 => {
                let year = self.take(4)?;
                let european = first > 12 || separator == b'.';
                if european { (year, second, first) } else { (year, first, second) }
            }
            2 => {
                let third = self.take(2)?;
                if first > 12 {
                    (2000 + first, second, third)
                } else {
                    (2000 + third, first, second)
                }
            }
            _ => return None,
        };
        self.fields.year = Some(year);
        self.fields.month = Some(month);
        self.fields.day = Some(day);
        Some(())
    }

    fn year(&mut self) -> Option<i64> {
        match self.digits() {
            4 => self.take(4),
            2 => Some(2000 + self.take(2)?),
            _ => None,
        }
    }

    fn short_name(&self, names: &[&[u8; 3]]) -> Option<i64> {
        let text = self.text.get(self.at..self.at + 3)?;
        let found = names.iter().position(|name| name.eq_ignore_ascii_case(text));
        found.and_then(|index| i64::try_from(index).ok())
    }

    fn month(&mut self) -> Option<i64> {
        let index = self.short_name(&MONTHS)?;
        let long = MONTHS_LONG[usize::try_from(index).ok()?].as_bytes();
        let rest = &self.text[self.at..];
        let full = rest.get(..long.len()).is_some_and(|start| start.eq_ignore_ascii_case(long));
        self.at += if full { long.len() } else { 3 };
        (!self.peek(0).is_ascii_alphabetic()).then_some(index + 1)
    }

    /// Reads `Jun 14 15:16:01`, `Jun 14 2015 15:16:01`, `Sun Dec 04 04:47:44 2005`,
    /// `Mon, 05 Dec 2005 19:15:57 GMT`.
    fn named(&mut self) -> Option<()> {
        if matches!(self.peek(0), b'D' | b'E' | b'F' | b'I' | b'W') && self.peek(1).is_ascii_digit()
        {
            return self.severity_first();
        }
        if self.short_name(&WEEKDAYS).is_some() {
            while self.peek(0).is_ascii_alphabetic() {
                self.at += 1;
            }
            let _ = self.expect(b",");
            if self.blanks() == 0 {
                return None;
            }
            if self.peek(0).is_ascii_digit() {
                let separator = self.peek(self.digits());
                return self.day_or_month_first(separator);
            }
        }
        self.fields.month = Some(self.month()?);
        if self.blanks() == 0 {
            return None;
        }
        self.fields.day = Some(self.small()?);
        let _ = self.expect(b",");
        if self.blanks() == 0 {
            return None;
        }
        if self.digits() == 4 {
            self.fields.year = Some(self.take(4)?);
            let _ = self.expect(b",:");
            self.blanks();
        }
        self.clock()?;
        if self.fields.year.is_none() {
            self.trailing_year();
        }
        Some(())
    }

    fn trailing_year(&mut self) {
        let start = self.at;
        if self.blanks() > 0 && self.digits() == 4 {
            let year = self.take(4);
            let plausible = year.is_some_and(|year| (1970..=2200).contains(&year));
            if plausible && self.number_ends() {
                self.fields.year = year;
                return;
            }
        }
        self.at = start;
    }

    /// Returns whether the digits read so far are a complete word. Those of the addresses `2001.1.1.1` and
    /// `2001:db8::1` are not, those of `2026:` are.
    fn number_ends(&self) -> bool {
        match self.peek(0) {
            b':' => matches!(self.peek(1), 0 | b' ' | b'\t' | b'\r' | b'\n'),
            next => !(next.is_ascii_alphanumeric() || matches!(next, b'.' | b'-')),
        }
    }

    /// Reads the clock after a date: behind one of the characters and blanks, or in the next field.
    fn clock_after(&mut self, accepted: &[u8]) -> Option<()> {
        let date_end = self.at;
        if self.expect(accepted).is_some() {
            self.blanks();
            if self.peek(0).is_ascii_digit() {
                return self.clock();
            }
        }
        self.at = date_end;
        self.clock_in_next_field()
    }

    /// Reads `15:16:01`, `15.42.50`, with an optional fraction, AM or PM, and zone.
    fn clock(&mut self) -> Option<()> {
        self.fields.hour = self.small()?;
        let separator = self.expect(b":.")?;
        self.fields.minute = self.small()?;
        self.expect(&[separator])?;
        self.fields.second = self.small()?;
        self.second_end = self.at;
        self.fraction();
        self.half();
        self.zone();
        Some(())
    }

    fn fraction(&mut self) {
        let mark = self.peek(0);
        if !matches!(mark, b'.' | b',' | b':') || !self.peek(1).is_ascii_digit() {
            return;
        }
        let start = self.at + 1;
        let whole_millis = mark == b':';
        let read = fraction_at(&self.text[start..], 18, whole_millis);
        if let Some((micros, length)) = read {
            self.fields.micros = micros;
            self.at = start + length;
            self.fraction = (start, self.at);
        }
    }

    fn half(&mut self) {
        let blank = usize::from(self.peek(0) == b' ');
        let pm = match self.peek(blank).to_ascii_lowercase() {
            b'a' => false,
            b'p' => true,
            _ => return,
        };
        let ends = !self.peek(blank + 2).is_ascii_alphanumeric();
        if self.peek(blank + 1).eq_ignore_ascii_case(&b'm') && ends && self.fields.hour <= 12 {
            self.fields.pm = Some(pm);
            self.at += blank + 2;
        }
    }

    fn zone(&mut self) {
        let blank = usize::from(self.peek(0) == b' ');
        match self.peek(blank) {
            b'+' | b'-' => {
                let rest = &self.text[self.at + blank..];
                if blank == 0
                    && let Some(offset) = offset_in_minutes(rest)
                {
                    self.fields.offset = Some(offset);
                    self.at += 4;
                    return;
                }
                let Some((offset, length)) = parse_offset(rest) else { return };
                let complete = length >= 5 || blank == 0;
                if complete && !rest.get(length).is_some_and(u8::is_ascii_alphanumeric) {
                    self.fields.offset = Some(offset);
                    self.at += blank + length;
                }
            }
            b'A'..=b'Z' => {
                let rest = &self.text[self.at + blank..];
                let length =
                    rest.iter().take(6).take_while(|byte| byte.is_ascii_uppercase()).count();
                let ends = !rest.get(length).is_some_and(u8::is_ascii_alphanumeric);
                if ends && let Some(offset) = abbreviation_offset(&rest[..length]) {
                    self.fields.offset = Some(offset);
                    self.at += blank + length;
                }
            }
            _ => {}
        }
    }
}

/// Reads `+120` and `-060`, as Db2 writes offsets: three digits are minutes.
fn offset_in_minutes(text: &[u8]) -> Option<i64> {
    let digits = text.get(1..4)?;
    let ends = !text.get(4).is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b':');
    if !ends || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let minutes = digits.iter().fold(0, |value, digit| value * 10 + i64::from(digit - b'0'));
    let sign = if text[0] == b'-' { -1 } else { 1 };
    (minutes <= 14 * 60).then_some(sign * minutes * 60)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use eval::time::LocalClock;
    use model::EventTime;

    fn check(text: &str, expected: Option<f64>) {
        let reference = EventTime(1_795_176_000_000_000); // 2026-11-20T12:00:00Z
        let mut clock = LocalClock::utc();
        let time = read(text.as_bytes()).and_then(|p| p.fields.resolve(&mut clock, reference));
        assert_eq!(time.map(EventTime::seconds), expected, "{text}");
    }

    #[test]
    fn common_formats_are_recognised() {
        for (text, seconds) in [
            ("081109 203615 148 INFO", 1_226_262_975.0),
            ("1117838570 2005.06.03", 1_117_838_570.0),
            ("2005-06-03-15.42.50.675872 R02", 1_117_813_370.675_872),
            ("20171223-22:15:29:606|", 1_514_067_329.606),
            ("20171224-1:1:0:935|", 1_514_077_260.935),
            ("03-17 16:13:38.811  1702", 1_773_764_018.811),
            ("10.30 16:49:06] chrome", 1_793_378_946.0),
            ("17/06/09 20:10:40 INFO", 1_497_039_040.0),
            ("Sun Dec 04 04:47:44 2005] [notice]", 1_133_671_664.0),
            ("Jun 14 15:16:01 combo", 1_781_450_161.0),
            ("Dec 10 06:55:46 LabSZ", 1_765_349_746.0),
            ("Jun 14 15:16:01 2001:db8::1 sshd[1]", 1_781_450_161.0),
            ("Jun 14 15:16:01 2001: %ASA", 992_531_761.0),
            ("Jun 14 15:16:01 2001:", 992_531_761.0),
            ("2015 Jun 14 15:16:01 gw", 1_434_294_961.0),
            ("2015 Jun  4 15:16:01.5 UTC: %X", 1_433_430_961.5),
            ("17/May/2015:10:05:03 +0000]", 1_431_857_103.0),
            ("2018-03-24T17:15:21.608646Z\"", 1_521_911_721.608_646),
            ("2015-07-29 17:41:44,747 - INFO", 1_438_191_704.747),
            ("2016-09-28 04:30:30, Info", 1_475_037_030.0),
            ("2015-10-18 18:01:47+02:00", 1_445_184_107.0),
            ("1521911724.699488\tC", 1_521_911_724.699_488),
            ("1446249499322,", 1_446_249_499.322),
            ("1446249499322123 ", 1_446_249_499.322_123),
            ("Mon, 05 Dec 2005 19:15:57 GMT", 1_133_810_157.0),
            ("06/14/2015 3:16:01 PM x", 1_434_294_961.0),
            ("14.06.2015 15:16:01", 1_434_294_961.0),
            ("20150614T151601Z", 1_434_294_961.0),
            ("14 June 2015 15:16:01 CEST", 1_434_287_761.0),
            ("Jun 14, 2015 15:16:01.5", 1_434_294_961.5),
            ("I20170322 06:58:47.08 61456 a.cc:1]", 1_490_165_927.08),
            ("E0517 15:04:22.619632 195 a.cc:2]", 1_779_030_262.619_632),
            ("140224 22:39:34", 1_393_281_574.0),
            ("140224  2:39:34\t3 Connect", 1_393_209_574.0),
            ("400000005a7c5d0c1e9d8f64 status", 1_518_099_714.513_642),
            ("400000005a7c5d0c status", 1_518_099_714.0),
            ("1712790000100000000}", 1_712_790_000.1),
            ("2024-05-02-10.11.12.123456+120 I1H300", 1_714_637_472.123_456),
            ("2015-07-29 17:41:44.5Z\x1b[0m \x1b[32m INFO\x1b[0m", 1_438_191_704.5),
        ] {
            check(text, Some(seconds));
        }
    }

    #[test]
    fn cells_may_be_dates_alone_and_times_without_seconds() {
        for (text, seconds) in [
            ("2015-06-14", Some(1_434_240_000.0)),
            ("14.06.2015", Some(1_434_240_000.0)),
            ("06/14/2015", Some(1_434_240_000.0)),
            ("14-Jun-2015", Some(1_434_240_000.0)),
            ("June 14, 2015", Some(1_434_240_000.0)),
            ("2015-06-14 15:16", Some(1_434_294_960.0)),
            ("06/14/2015 3:16 PM", Some(1_434_294_960.0)),
            ("2015-06-14T15:16:01.5Z", Some(1_434_294_961.5)),
            ("1434294961", Some(1_434_294_961.0)),
            ("2015-06-14 and more", None),
            ("10.1.2.3", None),
            ("", None),
            ("12", None),
        ] {
            let reference = EventTime(1_795_176_000_000_000);
            let mut clock = LocalClock::utc();
            let time = read_cell(text.as_bytes()).and_then(|f| f.resolve(&mut clock, reference));
            assert_eq!(time.map(EventTime::seconds), seconds, "{text}");
        }
    }

    #[test]
    fn numbers_and_words_that_are_no_times_are_left() {
        for text in [
            "10.10.34.11:3888",
            "2015",
            "2015 Jun 14",
            "1234 Jun 14 15:16:01",
            "2015-13-40 10:00:00",
            "145623422x",
            "May be",
            "Monday morning",
            "12/25",
            "1117838570-1",
            "99:99:99",
            "2005.06.03 dn228",
            "38865049064139660",
            "E1234 is a model",
            "I1234 10:00:00",
            "F20170322",
            "40000000 rows",
            "4000000012345678901",
            "140224 22 39",
        ] {
            check(text, None);
        }
    }
}
