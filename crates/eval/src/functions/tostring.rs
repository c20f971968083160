//! `tostring(value)` and `tostring(number, "hex" | "commas" | "duration" | "binary")`.

use std::fmt::Write;

use super::{Body, Call, Function, Numbers, Preparation, number_format, refuse, text_of_each};
use crate::value::{NumberText, rounded};

pub(super) const FUNCTIONS: &[Function] = &[Function {
    name: "tostring",
    body: Body::Values { numbers: Numbers::ShownAlone, prepare: tostring },
}];

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

    fn write(self, number: f64, out: &mut String) {
        // Writing to a String cannot fail.
        let _ = match self {
            Self::Binary => write!(out, "{:b}", whole(number)),
            Self::Hex => write!(out, "{}0x{:X}", sign(number), whole(number).unsigned_abs()),
            Self::Commas => {
                commas(number, out);
                Ok(())
            }
            Self::Duration => {
                duration(number, out);
                Ok(())
            }
        };
    }
}

#[allow(clippy::cast_possible_truncation)]
fn whole(number: f64) -> i64 {
    number as i64
}

fn sign(number: f64) -> &'static str {
    if number <= -1.0 { "-" } else { "" }
}

fn tostring(call: &Call<'_>) -> Preparation {
    if call.len() == 1 {
        return Ok(text_of_each(|row, out| {
            match row.text(0) {
                Some(text) => out.push_str(&text),
                None => out.push_str("Null"),
            }
            Some(())
        }));
    }
    if let Some(name) = call.text(1)
        && Format::find(name).is_none()
    {
        let known = "\"binary\", \"commas\", \"duration\" and \"hex\"";
        return refuse(1, format!("tostring() knows {known}, not \"{name}\""));
    }
    Ok(text_of_each(|row, out| {
        let format = Format::find(&row.text(1)?)?;
        match row.number(0) {
            Some(number) => format.write(number, out),
            None => out.push_str(&row.text(0)?),
        }
        Some(())
    }))
}

/// Writes `1,234,567.89`: with thousands separators, and two decimals unless the number is whole.
fn commas(number: f64, out: &mut String) {
    let text = match number.fract() == 0.0 {
        true => NumberText::float(number).to_string(),
        // Adding zero removes the sign of a small negative number that is rounded to zero.
        false => format!("{:.2}", rounded(number, 2) + 0.0),
    };
    let digits = match text.strip_prefix('-') {
        Some(rest) => {
            out.push('-');
            rest
        }
        None => &text,
    };
    out.push_str(&number_format::grouped(digits, true));
}

/// Writes `1+02:03:04.500000`: days, hours, minutes, seconds; the fraction only if it is not zero.
#[allow(clippy::cast_possible_truncation)]
fn duration(seconds: f64, out: &mut String) {
    if !seconds.is_finite() {
        out.push_str(&NumberText::float(seconds));
        return;
    }
    let micros = (seconds.abs() * 1e6).round() as i64;
    let (whole, fraction) = (micros / 1_000_000, micros % 1_000_000);
    let (days, rest) = (whole / 86_400, whole % 86_400);
    if seconds < 0.0 {
        out.push('-');
    }
    // Writing to a String cannot fail.
    let _ = if days > 0 { write!(out, "{days}+") } else { Ok(()) };
    let _ = write!(out, "{:02}:{:02}:{:02}", rest / 3600, rest / 60 % 60, rest % 60);
    let _ = if fraction > 0 { write!(out, ".{fraction:06}") } else { Ok(()) };
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::Format;

    #[test]
    fn numbers_are_formatted() {
        let cases = [
            ("commas", 1_234_567.891, "1,234,567.89"),
            ("commas", -1234.0, "-1,234"),
            ("commas", 123.0, "123"),
            ("commas", 0.001, "0.00"),
            ("commas", -0.001, "0.00"),
            ("commas", 0.5, "0.50"),
            ("commas", 1.999, "2.00"),
            ("hex", 255.0, "0xFF"),
            ("hex", -15.0, "-0xF"),
            ("binary", 9.0, "1001"),
            ("duration", 615.0, "00:10:15"),
            ("duration", 93_784.5, "1+02:03:04.500000"),
            ("duration", -1.0, "-00:00:01"),
        ];
        for (name, number, expected) in cases {
            let mut out = String::new();
            Format::find(name).unwrap().write(number, &mut out);
            assert_eq!(out, expected);
        }
    }
}
