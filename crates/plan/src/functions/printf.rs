//! `printf(format, values...)`: C-style formatting.
//!
//! Guarantees: flags `- + space # 0 '`, width and precision (also `*`), conversions
//! `d i u c s x X o f F e E g G %`; a missing value prints as nothing or 0. Widths are bounded.

use std::fmt::Write;

use crate::Error;
use crate::expr::Typed;
use crate::expr::column::{Row, Value};
use crate::expr::kernel::text;
use crate::functions::{ANY, Function, Invocation, values};
use crate::value::NumberText;

pub(crate) const FUNCTIONS: &[Function] =
    &[values(&["printf"], (1, ANY), |call: Invocation<'_>| -> Result<Typed, Error> {
        Ok(text("printf", printf).call(call.arguments))
    })];

/// No column of a report is wider; a larger width in a format is cut to it.
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
        out.push_str(&rest[..at]);
        rest = convert(&rest[at + 1..], &mut argument, out)?;
    }
    out.push_str(rest);
    Some(())
}

/// Writes one conversion and gives the text behind it; `None` if it is malformed.
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

/// A number or `*`.
fn size<'f, 'v>(rest: &'f str, argument: &mut dyn FnMut() -> Value<'v>) -> (Option<i64>, &'f str) {
    if let Some(after) = rest.strip_prefix('*') {
        return (argument().whole(), after);
    }
    let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    (rest[..digits].parse().ok(), &rest[digits..])
}

impl Conversion {
    fn write(&self, kind: char, value: Value<'_>, out: &mut String) -> Option<()> {
        let number = value.number().unwrap_or(0.0);
        let digits = self.precision.unwrap_or(6);
        let body = match kind {
            's' | 'c' => return self.write_text(kind, value, out),
            'd' | 'i' | 'u' => {
                grouped(&value.whole().unwrap_or(0).unsigned_abs().to_string(), self.group)
            }
            'x' => format!("{}{:x}", self.prefix("0x"), value.whole().unwrap_or(0)),
            'X' => format!("{}{:X}", self.prefix("0X"), value.whole().unwrap_or(0)),
            'o' => format!("{}{:o}", self.prefix("0"), value.whole().unwrap_or(0)),
            'f' | 'F' => grouped(&format!("{:.digits$}", number.abs()), self.group),
            'e' | 'E' => exponent(&format!("{:.digits$e}", number.abs()), kind),
            'g' | 'G' => NumberText::float(number.abs()).to_string(),
            _ => return None,
        };
        let signed = !matches!(kind, 'x' | 'X' | 'o' | 'u');
        let sign = match () {
            () if signed && number < 0.0 => "-",
            () if signed && self.plus => "+",
            () if signed && self.space => " ",
            () => "",
        };
        let missing = self.width.saturating_sub(sign.len() + body.len());
        if self.zero && !self.left {
            let _ = write!(out, "{sign}{}{body}", "0".repeat(missing));
        } else {
            self.pad(&format!("{sign}{body}"), out);
        }
        Some(())
    }

    fn prefix(&self, prefix: &'static str) -> &'static str {
        if self.alternate { prefix } else { "" }
    }

    fn write_text(&self, kind: char, value: Value<'_>, out: &mut String) -> Option<()> {
        let text = value.text();
        let text: &str = text.as_deref().unwrap_or_default();
        let most = if kind == 'c' { 1 } else { self.precision.unwrap_or(usize::MAX) };
        self.pad(&text.chars().take(most).collect::<String>(), out);
        Some(())
    }

    fn pad(&self, text: &str, out: &mut String) {
        let missing = self.width.saturating_sub(text.chars().count());
        let spaces = " ".repeat(missing);
        // Writing to a String cannot fail.
        let _ =
            if self.left { write!(out, "{text}{spaces}") } else { write!(out, "{spaces}{text}") };
    }
}

/// `e+02` as C writes it, where Rust writes `e2`.
fn exponent(text: &str, kind: char) -> String {
    let (mantissa, power) = text.split_once('e').unwrap_or((text, "0"));
    let (sign, digits) = match power.strip_prefix('-') {
        Some(digits) => ('-', digits),
        None => ('+', power),
    };
    format!("{mantissa}{kind}{sign}{digits:0>2}")
}

fn grouped(text: &str, group: bool) -> String {
    if !group {
        return text.to_owned();
    }
    let (digits, decimals) = text.split_at(text.find('.').unwrap_or(text.len()));
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at) % 3 == 0 {
            out.push(',');
        }
        out.push(digit);
    }
    out + decimals
}
