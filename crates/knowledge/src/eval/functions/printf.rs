//! `printf(format, x, ...)`: the conversions `s c d i u x X o f F e E g G %`; a missing value prints
//! as nothing or 0. Widths are bounded.

use super::tostring::grouped;
use super::{Function, values};
use crate::eval::node::{Arguments, Kind};
use crate::eval::value::{Value, number_text};

pub(super) const FUNCTIONS: &[Function] = &[values(&["printf"], Kind::Text, |arguments| {
    printf(arguments).map_or(Value::Null, Value::owned_text)
})];

/// A larger width in a format is cut to this.
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

/// The arguments that have not been printed.
struct Rest<'a, 's> {
    arguments: &'s Arguments<'a, 's>,
    next: usize,
}

impl<'a, 's> Rest<'a, 's> {
    fn take(&mut self) -> &'s Value<'a> {
        self.next += 1;
        self.arguments.value(self.next - 1)
    }

    /// A number or `*`.
    fn size<'f>(&mut self, rest: &'f str) -> (Option<i64>, &'f str) {
        if let Some(after) = rest.strip_prefix('*') {
            return (self.take().whole(), after);
        }
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        (rest[..digits].parse().ok(), &rest[digits..])
    }
}

fn printf(arguments: &Arguments<'_, '_>) -> Option<String> {
    let format = arguments.text(0)?;
    let mut values = Rest { arguments, next: 1 };
    let mut out = String::new();
    let mut rest: &str = &format;
    while let Some(at) = rest.find('%') {
        out.push_str(&rest[..at]);
        rest = convert(&rest[at + 1..], &mut values, &mut out)?;
    }
    out.push_str(rest);
    Some(out)
}

/// Writes one conversion and gives the text behind it; `None` if it is malformed.
fn convert<'f>(mut rest: &'f str, values: &mut Rest<'_, '_>, out: &mut String) -> Option<&'f str> {
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
    let (width, after) = values.size(rest);
    if let Some(width) = width {
        conversion.left |= width < 0;
        conversion.width = usize::try_from(width.unsigned_abs()).unwrap_or(WIDEST).min(WIDEST);
    }
    rest = after;
    if let Some(after) = rest.strip_prefix('.') {
        let (precision, after) = values.size(after);
        conversion.precision = usize::try_from(precision.unwrap_or(0)).ok().map(|p| p.min(WIDEST));
        rest = after;
    }
    let kind = rest.chars().next()?;
    if kind == '%' {
        out.push('%');
    } else {
        out.push_str(&conversion.of(kind, values.take())?);
    }
    Some(&rest[kind.len_utf8()..])
}

impl Conversion {
    fn of(&self, kind: char, value: &Value<'_>) -> Option<String> {
        let number = value.number().unwrap_or(0.0);
        let whole = value.whole().unwrap_or(0);
        let digits = self.precision.unwrap_or(6);
        let grouped = |text: String| if self.group { grouped(&text) } else { text };
        let body = match kind {
            's' | 'c' => return Some(self.text(kind, value)),
            'd' | 'i' | 'u' => grouped(whole.unsigned_abs().to_string()),
            'x' => format!("{}{whole:x}", self.prefix("0x")),
            'X' => format!("{}{whole:X}", self.prefix("0X")),
            'o' => format!("{}{whole:o}", self.prefix("0")),
            'f' | 'F' => grouped(format!("{:.digits$}", number.abs())),
            'e' | 'E' => exponent(&format!("{:.digits$e}", number.abs()), kind),
            'g' | 'G' => number_text(number.abs()),
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
        Some(match self.zero && !self.left {
            true => format!("{sign}{}{body}", "0".repeat(missing)),
            false => self.padded(&format!("{sign}{body}")),
        })
    }

    fn prefix(&self, prefix: &'static str) -> &'static str {
        if self.alternate { prefix } else { "" }
    }

    fn text(&self, kind: char, value: &Value<'_>) -> String {
        let text = value.text().unwrap_or_default();
        let most = if kind == 'c' { 1 } else { self.precision.unwrap_or(usize::MAX) };
        self.padded(&text.chars().take(most).collect::<String>())
    }

    fn padded(&self, text: &str) -> String {
        let spaces = " ".repeat(self.width.saturating_sub(text.chars().count()));
        if self.left { format!("{text}{spaces}") } else { format!("{spaces}{text}") }
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
