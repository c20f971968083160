//! The forms in which logs write times: read once, written again for another time.
//!
//! A form is a pattern in the manner of `strptime`; what a pattern leaves open (digits of the fraction,
//! how a single-digit day is written) is kept from the text that was read.

use crate::line::{civil, write_number};

const MONTHS: [&[u8; 3]; 12] = [
    b"Jan", b"Feb", b"Mar", b"Apr", b"May", b"Jun", b"Jul", b"Aug", b"Sep", b"Oct", b"Nov", b"Dec",
];
const WEEKDAYS: [&[u8; 3]; 7] = [b"Sun", b"Mon", b"Tue", b"Wed", b"Thu", b"Fri", b"Sat"];
const DAY: i64 = 86_400;

/// A form of times. `%k`, `%i`, `%S` of [`Form::Bare`] and so on are numbers without leading zeros.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Form {
    /// `%Y %y %m %d %b %a %H %M %S` as in `strptime`; `%e` a day padded with a blank or not at all;
    /// `%n` a number without leading zeros for hour, minute, second and millisecond in turn; `%f` a
    /// fraction with its mark, or nothing; `%E` seconds since 1970 with or without a fraction, or
    /// milliseconds.
    pub(crate) pattern: &'static str,
    /// Whether the form is seldom anything but a time, so that it may stand behind another one.
    pub(crate) certain: bool,
    /// Whether it tells the time of day.
    pub(crate) clock: bool,
}

const fn form(pattern: &'static str, certain: bool) -> Form {
    Form { pattern, certain, clock: true }
}

/// The forms, those first that begin like others and are longer.
pub(crate) const FORMS: &[Form] = &[
    form("%Y-%m-%dT%H:%M:%S%f", true),
    form("%Y-%m-%d %H:%M:%S%f", true),
    form("%Y-%m-%d-%H.%M.%S%f", true),
    form("%Y/%m/%d %H:%M:%S%f", true),
    form("%Y%m%d-%n:%n:%n:%n", true),
    form("%a %b %d %H:%M:%S %Y", true),
    form("%d/%b/%Y:%H:%M:%S", true),
    form("%b %e %H:%M:%S%f", true),
    Form { pattern: "%Y.%m.%d", certain: true, clock: false },
    form("%y%m%d %H%M%S", false),
    form("%y/%m/%d %H:%M:%S", false),
    form("%m-%d %H:%M:%S%f", false),
    form("%m.%d %H:%M:%S", false),
    form("%E", false),
];

/// A time in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stamp {
    /// Index into [`FORMS`].
    pub(crate) form: usize,
    /// UTC microseconds, as if the text told UTC; a form without a year tells one in 2000.
    pub(crate) time: i64,
    /// Bytes of text.
    pub(crate) length: usize,
    /// Digits of the fraction; of `%E`, those after the seconds.
    pub(crate) digits: u8,
    /// What stands before the fraction; 0 for nothing.
    pub(crate) mark: u8,
    /// Whether a single-digit `%e` has a blank before it.
    pub(crate) blank: bool,
    /// Whether it tells a year.
    pub(crate) dated: bool,
}

/// What has been read so far.
#[derive(Debug, Default)]
struct Fields {
    year: Option<i64>,
    month: i64,
    day: i64,
    /// Hour, minute, second, and for [`Form`]s of bare numbers millisecond.
    clock: [i64; 4],
    numbers: usize,
    epoch: Option<i64>,
    micros: i64,
    digits: u8,
    mark: u8,
    blank: bool,
}

struct Cursor<'a> {
    text: &'a [u8],
    at: usize,
}

impl Cursor<'_> {
    fn peek(&self, ahead: usize) -> u8 {
        self.text.get(self.at + ahead).copied().unwrap_or(0)
    }

    fn digits(&self, most: usize) -> usize {
        let rest = &self.text[self.at.min(self.text.len())..];
        rest.iter().take(most).take_while(|byte| byte.is_ascii_digit()).count()
    }

    fn number(&mut self, digits: usize) -> Option<i64> {
        if digits == 0 || self.digits(digits) < digits {
            return None;
        }
        let value = self.text[self.at..self.at + digits]
            .iter()
            .fold(0, |value, digit| value * 10 + i64::from(digit - b'0'));
        self.at += digits;
        Some(value)
    }

    fn within(&mut self, digits: usize, least: i64, most: i64) -> Option<i64> {
        self.number(digits).filter(|value| (least..=most).contains(value))
    }

    fn name(&mut self, names: &[&[u8; 3]]) -> Option<i64> {
        let word = self.text.get(self.at..self.at + 3)?;
        let index = names.iter().position(|name| *name == word)?;
        self.at += 3;
        i64::try_from(index).ok()
    }
}

impl Form {
    /// The time that a text begins with.
    pub(crate) fn read(index: usize, text: &[u8]) -> Option<Stamp> {
        let form = &FORMS[index];
        let mut cursor = Cursor { text, at: 0 };
        let mut fields = Fields { month: 1, day: 1, ..Fields::default() };
        let mut pattern = form.pattern.bytes();
        while let Some(byte) = pattern.next() {
            if byte == b'%' {
                fields.read(pattern.next()?, &mut cursor)?;
            } else {
                if cursor.peek(0) != byte {
                    return None;
                }
                cursor.at += 1;
            }
        }
        if cursor.peek(0).is_ascii_digit() || !fields.is_a_time() {
            return None;
        }
        let dated = fields.year.is_some() || fields.epoch.is_some();
        Some(Stamp {
            form: index,
            time: fields.time(),
            length: cursor.at,
            digits: fields.digits,
            mark: fields.mark,
            blank: fields.blank,
            dated,
        })
    }
}

impl Fields {
    fn read(&mut self, letter: u8, cursor: &mut Cursor<'_>) -> Option<()> {
        match letter {
            b'Y' => self.year = Some(cursor.within(4, 1_970, 2_099)?),
            b'y' => self.year = Some(2_000 + cursor.number(2)?),
            b'm' => self.month = cursor.within(2, 1, 12)?,
            b'd' => self.day = cursor.within(2, 1, 31)?,
            b'b' => self.month = cursor.name(&MONTHS)? + 1,
            b'a' => drop(cursor.name(&WEEKDAYS)?),
            b'e' => self.read_day(cursor)?,
            b'H' => self.clock[0] = cursor.within(2, 0, 23)?,
            b'M' => self.clock[1] = cursor.within(2, 0, 59)?,
            b'S' => self.clock[2] = cursor.within(2, 0, 60)?,
            b'n' => {
                let most = [23, 59, 60, 999][self.numbers.min(3)];
                self.clock[self.numbers.min(3)] = cursor.within(cursor.digits(3), 0, most)?;
                self.numbers += 1;
            }
            b'f' => self.read_fraction(cursor),
            _ => self.read_epoch(cursor)?,
        }
        Some(())
    }

    fn read_day(&mut self, cursor: &mut Cursor<'_>) -> Option<()> {
        self.blank = cursor.peek(0) == b' ';
        cursor.at += usize::from(self.blank);
        let digits = cursor.digits(2);
        self.day = cursor.within(digits, 1, 31)?;
        // Two digits do not tell how one is written; most logs pad.
        self.blank |= digits == 2;
        Some(())
    }

    fn read_fraction(&mut self, cursor: &mut Cursor<'_>) {
        if !matches!(cursor.peek(0), b'.' | b',') || !cursor.peek(1).is_ascii_digit() {
            return;
        }
        self.mark = cursor.peek(0);
        cursor.at += 1;
        self.read_digits(cursor, 9);
    }

    fn read_digits(&mut self, cursor: &mut Cursor<'_>, most: usize) {
        let digits = cursor.digits(most);
        let value = cursor.number(digits).unwrap_or(0);
        let power = u32::try_from(digits).unwrap_or(9);
        self.micros = value * 1_000_000 / 10_i64.pow(power);
        self.digits = u8::try_from(digits).unwrap_or(9);
    }

    fn read_epoch(&mut self, cursor: &mut Cursor<'_>) -> Option<()> {
        let seconds = cursor.within(10, 946_684_800, 4_102_444_800)?;
        self.epoch = Some(seconds);
        match cursor.digits(4) {
            0 => self.read_fraction(cursor),
            3 => self.read_digits(cursor, 3),
            _ => return None,
        }
        Some(())
    }

    fn is_a_time(&self) -> bool {
        self.epoch.is_some()
            || self.day <= i64::from(days_in(self.year.unwrap_or(2_000), self.month))
    }

    fn time(&self) -> i64 {
        let [hour, minute, second, millis] = self.clock;
        let days = days_from_civil(self.year.unwrap_or(2_000), self.month, self.day);
        let civil = days * DAY + hour * 3_600 + minute * 60 + second;
        self.epoch.unwrap_or(civil) * 1_000_000 + self.micros + millis * 1_000
    }
}

impl Stamp {
    /// The form it is in.
    pub(crate) const fn form(&self) -> &'static Form {
        &FORMS[self.form]
    }

    /// The same day and time in the year that brings it nearest to a time.
    pub(crate) fn nearest_to(mut self, time: i64) -> Self {
        const MICROS: i64 = DAY * 1_000_000;
        let (year, _, _) = civil(time.div_euclid(MICROS));
        let (_, month, day) = civil(self.time.div_euclid(MICROS));
        let in_year = |year: usize| {
            let [year, month, day] =
                [year, month, day].map(|value| i64::try_from(value).unwrap_or(1));
            days_from_civil(year, month, day) * MICROS + self.time.rem_euclid(MICROS)
        };
        let years = [year.saturating_sub(1), year, year + 1].map(in_year);
        self.time = years.into_iter().min_by_key(|then| then.abs_diff(time)).unwrap_or(self.time);
        self
    }

    /// Appends another time in the same form.
    pub(crate) fn write(&self, time: i64, out: &mut Vec<u8>) {
        let (second, micros) = (time.div_euclid(1_000_000), time.rem_euclid(1_000_000));
        let (days, of_day) = (second.div_euclid(DAY), second.rem_euclid(DAY));
        let (year, month, day) = civil(days);
        let clock = [of_day / 3_600, of_day / 60 % 60, of_day % 60, micros / 1_000];
        let mut numbers = clock.into_iter();
        let mut pattern = self.form().pattern.bytes();
        while let Some(byte) = pattern.next() {
            if byte != b'%' {
                out.push(byte);
                continue;
            }
            match pattern.next().unwrap_or(b'%') {
                b'Y' => padded(year as u64, 4, out),
                b'y' => padded(year as u64 % 100, 2, out),
                b'm' => padded(month as u64, 2, out),
                b'd' => padded(day as u64, 2, out),
                b'b' => out.extend_from_slice(MONTHS[(month - 1) % 12]),
                b'a' => {
                    let weekday = usize::try_from((days + 4).rem_euclid(7)).unwrap_or(0);
                    out.extend_from_slice(WEEKDAYS[weekday]);
                }
                b'e' => {
                    if self.blank && day < 10 {
                        out.push(b' ');
                    }
                    write_number(day as u64, out);
                }
                b'H' => padded(unsigned(clock[0]), 2, out),
                b'M' => padded(unsigned(clock[1]), 2, out),
                b'S' => padded(unsigned(clock[2]), 2, out),
                b'n' => write_number(unsigned(numbers.next().unwrap_or(0)), out),
                b'E' => {
                    write_number(unsigned(second), out);
                    self.write_fraction(unsigned(micros), out);
                }
                _ => self.write_fraction(unsigned(micros), out),
            }
        }
    }

    fn write_fraction(&self, micros: u64, out: &mut Vec<u8>) {
        if self.mark != 0 {
            out.push(self.mark);
        }
        let digits = usize::from(self.digits);
        if digits > 6 {
            padded(micros, 6, out);
            out.resize(out.len() + digits - 6, b'0');
        } else if digits > 0 {
            padded(micros / 10_u64.pow(6 - u32::from(self.digits)), digits, out);
        }
    }
}

fn unsigned(value: i64) -> u64 {
    u64::try_from(value).unwrap_or(0)
}

/// Appends a number with leading zeros.
fn padded(value: u64, digits: usize, out: &mut Vec<u8>) {
    let start = out.len();
    write_number(value, out);
    let missing = digits.saturating_sub(out.len() - start);
    out.splice(start..start, std::iter::repeat_n(b'0', missing));
}

/// Days of a month.
fn days_in(year: i64, month: i64) -> u8 {
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    match month {
        2 => 28 + u8::from(leap),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days since 1970 (Howard Hinnant's `days_from_civil`).
fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = year - i64::from(month <= 2);
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let from_march = if month > 2 { month - 3 } else { month + 9 };
    let day_of_year = (153 * from_march + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}
