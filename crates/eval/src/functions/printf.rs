//! `printf(format, values...)`: C-style formatting.
//!
//! Guarantees: flags `- + space # 0 '`, width and precision (also `*`), conversions
//! `a c d e f g i o p s u x z %` and their upper-case forms, if any; a missing value prints as `Null` or 0. A
//! format that is invalid in C gives null. Widths are bounded.

use super::{Function, number_format, plain, text};
use crate::value::Value;
use crate::{LONGEST_TEXT, Row};

pub(super) const FUNCTIONS: &[Function] = &[plain("printf", |_| Ok(text(printf)))];

/// Maximum width of a column; larger widths in a format are reduced to it.
const WIDEST: usize = 1_000;

#[derive(Debug, Default)]
struct Conversion {
    left: bool,
    plus: bool,
    space: bool,
    alternate: bool,
    zero: bool,
    group: bool,
    width: usize,
    precision: Option<usize>,
}

fn printf(row: Row<'_>, out: &mut String) -> Option<()> {
    let format = row.text(0)?;
    let mut next = 1;
    let mut argument = || {
        next += 1;
        row.value(next - 1)
    };
    let mut rest: &str = &format;
    while let Some(at) = rest.find('%') {
        // A longer result is rejected by the caller.
        if out.len() > LONGEST_TEXT {
            return Some(());
        }
        out.push_str(&rest[..at]);
        rest = convert(&rest[at + 1..], &mut argument, out)?;
    }
    out.push_str(rest);
    Some(())
}

/// Writes one conversion and returns the text after it; `None` if the conversion is malformed.
fn convert<'f, 'v>(
    mut rest: &'f str,
    argument: &mut dyn FnMut() -> Value<'v>,
    out: &mut String,
) -> Option<&'f str> {
    let mut conversion = Conversion::default();
    loop {
        match rest.as_bytes().first()? {
            b'-' => conversion.left = true,
            b'+' => conversion.plus = true,
            b' ' => conversion.space = true,
            b'#' => conversion.alternate = true,
            b'0' => conversion.zero = true,
            b'\'' => conversion.group = true,
            _ => break,
        }
        rest = &rest[1..];
    }
    let (width, after) = size(rest, argument);
    if let Some(width) = width {
        conversion.left |= width < 0;
        conversion.width = usize::try_from(width.unsigned_abs()).unwrap_or(WIDEST).min(WIDEST);
    }
    rest = after;
    if let Some(after) = rest.strip_prefix('.') {
        let (precision, after) = size(after, argument);
        conversion.precision = usize::try_from(precision.unwrap_or(0)).ok().map(|p| p.min(WIDEST));
        rest = after;
    }
    let kind = rest.chars().next()?;
    if kind == '%' {
        out.push('%');
    } else {
        conversion.write(kind, argument(), out)?;
    }
    Some(&rest[kind.len_utf8()..])
}

/// Reads a number or `*`.
fn size<'f, 'v>(rest: &'f str, argument: &mut dyn FnMut() -> Value<'v>) -> (Option<i64>, &'f str) {
    if let Some(after) = rest.strip_prefix('*') {
        return (argument().whole(), after);
    }
    let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    (rest[..digits].parse().ok(), &rest[digits..])
}

impl Conversion {
    fn write(&self, kind: char, value: Value<'_>, out: &mut String) -> Option<()> {
        match kind {
            's' | 'z' => {
                let text = value.text();
                let most = self.precision.unwrap_or(usize::MAX);
                let text = text.as_deref().unwrap_or("Null");
                self.pad(&text.chars().take(most).collect::<String>(), out);
            }
            'c' => self.pad(&character(value).map(String::from).unwrap_or_default(), out),
            'd' | 'i' => {
                let whole = value.whole().unwrap_or(0);
                self.write_whole(whole < 0, true, whole.unsigned_abs().to_string(), "", out);
            }
            'u' => self.write_whole(false, false, bits(value).to_string(), "", out),
            'o' => {
                let prefix = if self.alternate && bits(value) != 0 { "0" } else { "" };
                self.write_whole(false, false, format!("{:o}", bits(value)), prefix, out);
            }
            'x' => {
                let prefix = if self.alternate && bits(value) != 0 { "0x" } else { "" };
                self.write_whole(false, false, format!("{:x}", bits(value)), prefix, out);
            }
            'X' | 'p' => {
                let prefix = if self.alternate && bits(value) != 0 { "0X" } else { "" };
                self.write_whole(false, false, format!("{:X}", bits(value)), prefix, out);
            }
            'f' | 'F' | 'e' | 'E' | 'g' | 'G' | 'a' | 'A' => self.write_decimal(kind, value, out),
            _ => return None,
        }
        Some(())
    }

    fn sign(&self, negative: bool, signed: bool) -> &'static str {
        match () {
            () if negative => "-",
            () if signed && self.plus => "+",
            () if signed && self.space => " ",
            () => "",
        }
    }

    /// Writes a whole number. The precision is the minimum number of digits; zeros pad to the width only if
    /// there is no precision.
    fn write_whole(
        &self,
        negative: bool,
        signed: bool,
        mut digits: String,
        prefix: &str,
        out: &mut String,
    ) {
        if self.precision == Some(0) && digits == "0" {
            digits.clear();
        }
        let least = self.precision.unwrap_or(0);
        let digits = format!("{}{digits}", "0".repeat(least.saturating_sub(digits.len())));
        let body = number_format::grouped(&digits, self.group);
        let sign = format!("{}{prefix}", self.sign(negative, signed));
        self.fill(&sign, &body, self.zero && self.precision.is_none(), out);
    }

    fn write_decimal(&self, kind: char, value: Value<'_>, out: &mut String) {
        let number = value.number().unwrap_or(0.0);
        let size = number.abs();
        let digits = self.precision.unwrap_or(6);
        let body = match kind {
            _ if !size.is_finite() => if size.is_nan() { "nan" } else { "inf" }.to_owned(),
            'f' | 'F' => {
                let text = number_format::fixed(size, digits, self.alternate);
                number_format::grouped(&text, self.group)
            }
            'e' | 'E' => number_format::exponent(size, digits, self.alternate),
            'g' | 'G' => number_format::shortest(size, digits, self.alternate),
            _ => number_format::hexadecimal(size, self.precision),
        };
        let body = if kind.is_ascii_uppercase() { body.to_ascii_uppercase() } else { body };
        let sign = self.sign(number < 0.0, true);
        self.fill(sign, &body, self.zero && size.is_finite(), out);
    }

    /// Writes a number padded to the width; padding zeros go between sign and digits.
    fn fill(&self, sign: &str, body: &str, zeros: bool, out: &mut String) {
        let missing = self.width.saturating_sub(sign.len() + body.len());
        if zeros && !self.left {
            out.push_str(sign);
            out.extend(std::iter::repeat_n('0', missing));
            out.push_str(body);
        } else {
            self.pad(&format!("{sign}{body}"), out);
        }
    }

    fn pad(&self, text: &str, out: &mut String) {
        let missing = self.width.saturating_sub(text.chars().count());
        let spaces = std::iter::repeat_n(' ', missing);
        if self.left {
            out.push_str(text);
            out.extend(spaces);
        } else {
            out.extend(spaces);
            out.push_str(text);
        }
    }
}

/// Returns the character with this code point, or the first character of a text.
fn character(value: Value<'_>) -> Option<char> {
    match value.whole().and_then(|whole| u32::try_from(whole).ok()) {
        Some(code) => char::from_u32(code),
        None => value.text()?.chars().next(),
    }
}

/// Returns the number without a sign: of a negative number, C prints the bits of its two's complement.
fn bits(value: Value<'_>) -> u64 {
    value.whole().unwrap_or(0).cast_unsigned()
}
