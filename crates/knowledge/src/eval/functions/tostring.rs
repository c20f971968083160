//! `tostring(value)` and `tostring(number, "hex" | "commas" | "duration" | "binary")`.

use std::fmt::Write;

use super::number::rounded;
use super::{Function, Prepared, ResultKind, prepared};
use crate::eval::node::Arguments;
use crate::eval::value::{Value, number_text};

pub(super) const FUNCTIONS: &[Function] = &[prepared(
    &["tostring"],
    ResultKind::OfEach,
    |arguments| match arguments.get(1).and_then(|node| node.literal_text()) {
        Some(name) if Format::find(name).is_none() => Err(format!(
            "tostring() knows \"binary\", \"commas\", \"duration\" and \"hex\", not \"{name}\""
        )),
        _ => Ok(Prepared::Nothing),
    },
    tostring,
)];

#[derive(Debug, Clone, Copy)]
enum Format {
    Binary,
    Commas,
    Duration,
    Hex,
}

impl Format {
    fn find(name: &str) -> Option<Self> {
        Some(match name.to_ascii_lowercase().as_str() {
            "binary" => Self::Binary,
            "commas" => Self::Commas,
            "duration" => Self::Duration,
            "hex" => Self::Hex,
            _ => return None,
        })
    }

    #[allow(clippy::cast_possible_truncation)]
    fn of(self, number: f64) -> String {
        let whole = number as i64;
        match self {
            Self::Binary => format!("{whole:b}"),
            Self::Hex => {
                let sign = if number <= -1.0 { "-" } else { "" };
                format!("{sign}0x{:X}", whole.unsigned_abs())
            }
            Self::Commas => commas(number),
            Self::Duration => duration(number),
        }
    }
}

fn tostring<'a>(arguments: &Arguments<'a, '_>) -> Value<'a> {
    if !arguments.given(1) {
        return match arguments.value(0) {
            several @ Value::Multi(_) => several.clone(),
            single => single.text().map_or(Value::Null, |t| Value::owned_text(t.into_owned())),
        };
    }
    let Some(format) = arguments.text(1).and_then(|name| Format::find(&name)) else {
        return Value::Null;
    };
    if let Value::Number(number) = arguments.value(0) {
        return Value::owned_text(format.of(*number));
    }
    arguments.each(|text| {
        Some(match crate::eval::value::parse_number(text) {
            Some(number) => format.of(number),
            None => text.to_owned(),
        })
    })
}

/// `1,234,567.89`: thousands separated, two decimals unless whole.
fn commas(number: f64) -> String {
    let number = rounded(number, 2);
    let text = if number.fract() == 0.0 { number_text(number) } else { format!("{number:.2}") };
    grouped(&text)
}

/// Thousands of the whole part separated.
pub(super) fn grouped(text: &str) -> String {
    let (sign, text) = match text.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", text),
    };
    let (digits, decimals) = text.split_at(text.find('.').unwrap_or(text.len()));
    let mut out = sign.to_owned();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at) % 3 == 0 {
            out.push(',');
        }
        out.push(digit);
    }
    out + decimals
}

/// `1+02:03:04.500000`: days, hours, minutes, seconds; the fraction only where there is one.
#[allow(clippy::cast_possible_truncation)]
fn duration(seconds: f64) -> String {
    if !seconds.is_finite() {
        return number_text(seconds);
    }
    let micros = (seconds.abs() * 1e6).round() as i64;
    let (whole, fraction) = (micros / 1_000_000, micros % 1_000_000);
    let (days, rest) = (whole / 86_400, whole % 86_400);
    let mut out = if seconds < 0.0 { "-" } else { "" }.to_owned();
    // Writing to a String cannot fail.
    let _ = if days > 0 { write!(out, "{days}+") } else { Ok(()) };
    let _ = write!(out, "{:02}:{:02}:{:02}", rest / 3600, rest / 60 % 60, rest % 60);
    let _ = if fraction > 0 { write!(out, ".{fraction:06}") } else { Ok(()) };
    out
}
