//! Parses numbers with units, commas or colons; `None` if a text is not such a number.

use eval::value::parse_number;

/// Parses a number with or without digit-grouping commas.
fn plain(text: &str) -> Option<f64> {
    parse_number(text).or_else(|| parse_number(&text.replace(',', "")))
}

/// Parses a number with or without digit-grouping commas, or a duration `[D+]HH:MM:SS` in seconds.
#[must_use]
pub fn plain_or_duration(text: &str) -> Option<f64> {
    plain(text).or_else(|| if is_clock(text) { duration(text) } else { None })
}

/// Whether a text has the form `[D+]HH:MM:SS`. Other texts with colons may be addresses.
fn is_clock(text: &str) -> bool {
    let clock = text.split_once('+').map_or(text, |(_, clock)| clock).trim();
    let digits = |part: Option<&str>| {
        part.is_some_and(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let mut parts = clock.split(':');
    digits(parts.next()) && digits(parts.next()) && parts.next().is_some() && parts.next().is_none()
}

/// Parses the number with which a text begins.
#[must_use]
pub fn leading(text: &str) -> Option<f64> {
    let text = text.trim();
    let end = text.find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | '-' | '+' | ',')));
    plain(&text[..end.unwrap_or(text.len())])
}

/// Parses sizes such as `12m`, `1.5 GB`, `700`, and returns kilobytes.
#[must_use]
pub fn memk(text: &str) -> Option<f64> {
    if let Some(kilobytes) = plain(text) {
        return Some(kilobytes);
    }
    let text = text.trim();
    let (number, unit) = text.split_at(text.find(|c: char| c.is_alphabetic())?);
    let factor = match unit.to_ascii_lowercase().as_str() {
        "k" | "kb" => 1.0,
        "m" | "mb" => 1024.0,
        "g" | "gb" => 1024.0 * 1024.0,
        _ => return None,
    };
    Some(plain(number.trim_end())? * factor)
}

/// Parses `[D+]HH:MM:SS`, and returns seconds.
#[must_use]
pub fn duration(text: &str) -> Option<f64> {
    let (days, clock) = match text.trim().split_once('+') {
        Some((days, clock)) => (parse_number(days)?, clock),
        None => (0.0, text.trim()),
    };
    let mut seconds = 0.0;
    for part in clock.split(':') {
        seconds = seconds * 60.0 + parse_number(part)?;
    }
    Some(days * 86_400.0 + seconds)
}

/// Parses `[MM:]SS.SSS`, and returns seconds.
#[must_use]
pub fn minutes(text: &str) -> Option<f64> {
    match text.trim().split_once(':') {
        Some((minutes, seconds)) => Some(parse_number(minutes)? * 60.0 + parse_number(seconds)?),
        None => parse_number(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_may_be_durations_but_no_addresses() {
        for (text, number) in [
            ("1,234.5", 1_234.5),
            ("00:02:00", 120.0),
            (" 01:30:00.5 ", 5_400.5),
            ("2+01:00:00", 176_400.0),
        ] {
            assert_eq!(plain_or_duration(text), Some(number), "{text}");
        }
        for text in ["12:30", "00:1b:44", "00:11:22:33:44:55", "::1", "1:2:", "abc", ""] {
            assert_eq!(plain_or_duration(text), None, "{text}");
        }
    }

    #[test]
    fn sizes_are_kilobytes_whatever_their_unit() {
        for (text, kilobytes) in [
            ("2m", 2_048.0),
            ("1.5GB", 1_572_864.0),
            (" 1,024 Kb ", 1_024.0),
            ("700", 700.0),
            ("0.5 g", 524_288.0),
            ("3MB", 3_072.0),
        ] {
            assert_eq!(memk(text), Some(kilobytes), "{text}");
        }
        for text in ["5t", "5 bytes", "12 m of 3 g", "m", "", "5%"] {
            assert_eq!(memk(text), None, "{text}");
        }
    }
}
