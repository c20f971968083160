//! Numbers and texts: when a text is a number, how a number is written, and how it is rounded.
//!
//! Guarantees: pure functions; nothing here allocates.

use std::fmt::{self, Write};
use std::ops::Deref;

/// Parses a text as a number: optional surrounding spaces, sign, decimals, exponent. `inf`, `nan`,
/// hexadecimal and all other forms are texts.
#[must_use]
pub fn parse_number(text: &str) -> Option<f64> {
    let text = text.trim_matches([' ', '\t']);
    let bytes = text.as_bytes();
    let first = *bytes.first()?;
    if !(first.is_ascii_digit() || matches!(first, b'-' | b'+' | b'.')) {
        return None;
    }
    if bytes.len() <= 15
        && let Some(whole) = short_integer(bytes)
    {
        return Some(whole);
    }
    let allowed = |b: &u8| b.is_ascii_digit() || matches!(b, b'.' | b'-' | b'+' | b'e' | b'E');
    if !bytes.iter().all(allowed) {
        return None;
    }
    text.parse().ok().filter(|number: &f64| number.is_finite())
}

/// Parses digits with an optional sign; at most 15 bytes, so that the result is exact.
#[allow(clippy::cast_precision_loss)]
fn short_integer(bytes: &[u8]) -> Option<f64> {
    let (negative, digits) = match bytes {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        all => (false, all),
    };
    if digits.is_empty() {
        return None;
    }
    let mut total = 0_i64;
    for digit in digits {
        let value = digit.wrapping_sub(b'0');
        if value > 9 {
            return None;
        }
        total = total * 10 + i64::from(value);
    }
    Some(if negative { -(total as f64) } else { total as f64 })
}

/// Parses a whole number that is written canonically: no `+`, no leading zeros, no `-0`.
#[must_use]
pub fn whole_number(text: &str) -> Option<i64> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let canonical = match digits.as_bytes() {
        [b'0'] => digits.len() == text.len(),
        [b'1'..=b'9', rest @ ..] => rest.len() < 19 && rest.iter().all(u8::is_ascii_digit),
        _ => false,
    };
    canonical.then(|| text.parse().ok()).flatten()
}

/// Parses a whole number in a base from 2 to 36, as `tonumber(text, base)` does; hexadecimal digits may have
/// the prefix `0x`.
#[must_use]
#[allow(clippy::cast_precision_loss)]
pub fn parse_in_base(text: &str, base: u32) -> Option<f64> {
    if base == 10 {
        return parse_number(text);
    }
    if !(2..=36).contains(&base) {
        return None;
    }
    let text = text.trim();
    let (negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let hexadecimal = digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X"));
    let digits = if base == 16 { hexadecimal.unwrap_or(digits) } else { digits };
    if !digits.bytes().all(|b| b.is_ascii_alphanumeric()) {
        return None;
    }
    let value = i128::from_str_radix(digits, base).ok()? as f64;
    Some(if negative { -value } else { value })
}

/// A number as text, without allocation. Whole numbers have no decimals; others have the minimum of digits
/// that is parsed back as the same number; very large and very small numbers have an exponent.
#[derive(Clone, Copy)]
pub struct NumberText {
    bytes: [u8; 32],
    length: u8,
}

impl NumberText {
    /// Returns the text of a number.
    #[must_use]
    #[allow(clippy::cast_possible_truncation)]
    pub fn float(number: f64) -> Self {
        let size = number.abs();
        if size < 1e15 && number.trunc() == number {
            return Self::integer(number as i64);
        }
        let mut text = Self { bytes: [0; 32], length: 0 };
        let written = if number.is_nan() {
            text.write_str("nan")
        } else if number.is_infinite() {
            text.write_str(if number > 0.0 { "inf" } else { "-inf" })
        } else if (1e-6..1e21).contains(&size) {
            write!(text, "{number}")
        } else {
            write!(text, "{number:e}")
        };
        debug_assert!(written.is_ok(), "every number fits in 32 bytes");
        text
    }

    /// Returns the text of a whole number.
    #[must_use]
    pub fn integer(number: i64) -> Self {
        let mut reversed = [0_u8; 20];
        let mut rest = number.unsigned_abs();
        let mut digits = 0;
        loop {
            reversed[digits] = b'0' + u8::try_from(rest % 10).unwrap_or(0);
            digits += 1;
            rest /= 10;
            if rest == 0 {
                break;
            }
        }
        let mut bytes = [0; 32];
        let sign = usize::from(number < 0);
        bytes[0] = b'-';
        for (at, digit) in reversed[..digits].iter().rev().enumerate() {
            bytes[sign + at] = *digit;
        }
        Self { bytes, length: u8::try_from(sign + digits).unwrap_or(32) }
    }

    /// Returns the epoch seconds of a time in microseconds; whole seconds have no decimals, others six.
    #[must_use]
    pub fn time(micros: i64) -> Self {
        let fraction = micros.unsigned_abs() % 1_000_000;
        if fraction == 0 {
            return Self::integer(micros / 1_000_000);
        }
        let mut text = Self { bytes: [0; 32], length: 0 };
        let sign = if micros < 0 { "-" } else { "" };
        let seconds = micros.unsigned_abs() / 1_000_000;
        let written = write!(text, "{sign}{seconds}.{fraction:06}");
        debug_assert!(written.is_ok(), "every time fits in 32 bytes");
        text
    }
}

impl Write for NumberText {
    fn write_str(&mut self, part: &str) -> fmt::Result {
        let start = usize::from(self.length);
        let end = start + part.len();
        self.bytes.get_mut(start..end).ok_or(fmt::Error)?.copy_from_slice(part.as_bytes());
        self.length = u8::try_from(end).map_err(|_| fmt::Error)?;
        Ok(())
    }
}

impl Deref for NumberText {
    type Target = str;
    fn deref(&self) -> &str {
        std::str::from_utf8(&self.bytes[..usize::from(self.length)]).unwrap_or_default()
    }
}

impl fmt::Debug for NumberText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self)
    }
}

/// Rounds a number to this number of decimals; negative numbers round to tens, hundreds and so on. Halves are
/// rounded up, judged by the shortest decimal form of the number rather than by its binary form, so 2.675
/// rounds to 2.68 and -4.5 to -4.
#[must_use]
#[allow(clippy::cast_possible_truncation)]
pub fn rounded(number: f64, digits: i64) -> f64 {
    if digits == 0 {
        return half_up(number);
    }
    if !number.is_finite() || digits > 17 {
        return number;
    }
    let scale = 10_f64.powi(digits.clamp(-308, 17) as i32);
    let scaled = number * scale;
    if !scaled.is_finite() || scaled.abs() >= 9e15 {
        return number;
    }
    // The product may be just below a half although the decimal form is exactly a half. For large products,
    // the neighbouring floating-point numbers are too far away for this correction.
    let nudge = if scaled.abs() < 1e12 { scaled.abs() * f64::EPSILON } else { 0.0 };
    let nudged = scaled + nudge;
    half_up(nudged) / scale
}

fn half_up(number: f64) -> f64 {
    let below = number.floor();
    if number - below >= 0.5 { below + 1.0 } else { below }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_that_look_like_numbers_are_numbers() {
        let cases = [
            ("0", 0.0),
            ("200", 200.0),
            (" 42 ", 42.0),
            ("-7", -7.0),
            ("+7", 7.0),
            ("1.5", 1.5),
            (".5", 0.5),
            ("5.", 5.0),
            ("1e3", 1000.0),
            ("1.5E-2", 0.015),
            ("007", 7.0),
            ("12345678901234567890", 12_345_678_901_234_567_000.0),
        ];
        for (text, expected) in cases {
            assert_eq!(parse_number(text), Some(expected), "{text:?}");
        }
    }

    #[test]
    fn other_texts_are_not_numbers() {
        let texts = [
            "", " ", "-", ".", "+", "abc", "1a", "1 2", "inf", "nan", "0x10", "1.2.3", "1e999",
            "--1", "1,5",
        ];
        for text in texts {
            assert_eq!(parse_number(text), None, "{text:?}");
        }
    }

    #[test]
    fn whole_numbers_are_written_in_one_way() {
        for number in [0, 7, -7, 10, 1_000_000, i64::MAX, i64::MIN] {
            assert_eq!(whole_number(&NumberText::integer(number)), Some(number));
        }
        let others = [
            "",
            "-",
            "-0",
            "+1",
            "007",
            "1.0",
            " 1",
            "1 ",
            "1e3",
            "9223372036854775808",
            "x",
            "99999999999999999999",
            "-9223372036854775809",
        ];
        for text in others {
            assert_eq!(whole_number(text), None, "{text:?}");
        }
    }

    #[test]
    fn numbers_are_written_the_short_way() {
        let cases = [
            (0.0, "0"),
            (-0.0, "0"),
            (5.0, "5"),
            (-5.0, "-5"),
            (0.5, "0.5"),
            (1.0 / 3.0, "0.3333333333333333"),
            (1e14, "100000000000000"),
            (1e20, "100000000000000000000"),
            (1e21, "1e21"),
            (1e-7, "1e-7"),
            (-1.797_693_134_862_315_7e308, "-1.7976931348623157e308"),
            (f64::INFINITY, "inf"),
        ];
        for (number, expected) in cases {
            assert_eq!(&*NumberText::float(number), expected);
        }
        assert_eq!(&*NumberText::integer(i64::MIN), "-9223372036854775808");
    }

    #[test]
    fn times_are_epoch_seconds() {
        assert_eq!(&*NumberText::time(1_700_000_000_000_000), "1700000000");
        assert_eq!(&*NumberText::time(1_500_000), "1.500000");
        assert_eq!(&*NumberText::time(-1_500_000), "-1.500000");
    }

    #[test]
    fn every_number_reads_back_as_itself() {
        let mut seed = 1_u64;
        for _ in 0..10_000 {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let number = f64::from_bits(seed);
            if number.is_finite() {
                assert_eq!(parse_number(&NumberText::float(number)), Some(number));
            }
        }
    }

    #[test]
    fn other_bases_are_read() {
        assert_eq!(parse_in_base("ff", 16), Some(255.0));
        assert_eq!(parse_in_base("0xFF", 16), Some(255.0));
        assert_eq!(parse_in_base("-101", 2), Some(-5.0));
        assert_eq!(parse_in_base("zz", 36), Some(1295.0));
        assert_eq!(parse_in_base("8", 8), None);
        assert_eq!(parse_in_base("+-1", 16), None);
        assert_eq!(parse_in_base("1", 37), None);
        assert_eq!(parse_in_base("1.5", 10), Some(1.5));
    }

    #[test]
    fn halves_go_up() {
        let cases = [
            (2.5, 0, 3.0),
            (-2.5, 0, -2.0),
            (-2.51, 0, -3.0),
            (2.675, 2, 2.68),
            (2.555, 2, 2.56),
            (1.005, 2, 1.01),
            (-1.005, 2, -1.0),
            (-1.006, 2, -1.01),
            (1.004_999, 2, 1.0),
            (1234.0, -2, 1200.0),
            (1e300, 2, 1e300),
            (1_700_000_000.0, 6, 1_700_000_000.0),
            (1_700_000_000.25, 6, 1_700_000_000.25),
        ];
        for (number, digits, expected) in cases {
            assert_eq!(rounded(number, digits), expected, "{number} {digits}");
        }
    }
}
