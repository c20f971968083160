//! Parses numbers with units, commas or colons; `None` if a text is not such a number.

use eval::value::parse_number;

/// Parses a number with or without digit-grouping commas.
#[must_use]
pub fn plain(text: &str) -> Option<f64> {
    parse_number(text).or_else(|| parse_number(&text.replace(',', "")))
}

/// Parses the number with which a text begins.
#[must_use]
pub fn leading(text: &str) -> Option<f64> {
    let text = text.trim();
    let end = text.find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | '-' | '+' | ',')));
    plain(&text[..end.unwrap_or(text.len())])
}

/// Parses sizes such as `12m`, `3g`, `700k`, and returns kilobytes.
#[must_use]
pub fn memk(text: &str) -> Option<f64> {
    let factor = match text.trim().chars().last()?.to_ascii_lowercase() {
        'm' => 1024.0,
        'g' => 1024.0 * 1024.0,
        _ => 1.0,
    };
    Some(leading(text)? * factor)
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
