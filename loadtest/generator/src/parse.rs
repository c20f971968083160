//! Numbers, times and spans as people type them.

use std::time::Duration;

use anyhow::{Context, Result};

/// `2000000`, `2_000_000`, `2m`, `500k`, `1g`.
///
/// # Errors
/// If it is no such number.
pub fn count(text: &str) -> Result<u64> {
    let clean = text.replace('_', "").to_ascii_lowercase();
    let (digits, factor) = match clean.strip_suffix(['k', 'm', 'g']) {
        Some(digits) if clean.ends_with('k') => (digits, 1_000),
        Some(digits) if clean.ends_with('m') => (digits, 1_000_000),
        Some(digits) => (digits, 1_000_000_000),
        None => (clean.as_str(), 1),
    };
    let number: u64 = digits
        .parse()
        .with_context(|| format!("\"{text}\" is no count; write 2000000, 500k or 2m"))?;
    number.checked_mul(factor).with_context(|| format!("\"{text}\" is too large"))
}

/// `50ms`, `90s`, `10m`, `24h`, `7d` in microseconds.
///
/// # Errors
/// If it is no such span.
pub fn span(text: &str) -> Result<u64> {
    let wrong = || format!("\"{text}\" is no span; write 50ms, 90s, 10m, 24h or 7d");
    let units = [
        ("ms", 1_000),
        ("s", 1_000_000),
        ("m", 60_000_000),
        ("h", 3_600_000_000),
        ("d", 86_400_000_000),
    ];
    let unit =
        units.into_iter().find_map(|(unit, micros)| Some((text.strip_suffix(unit)?, micros)));
    let (number, micros) = unit.with_context(wrong)?;
    let number: u64 = number.parse().ok().with_context(wrong)?;
    number.checked_mul(micros).with_context(wrong)
}

/// `90s`, `10m`, `24h`.
///
/// # Errors
/// If it is no such span.
pub fn duration(text: &str) -> Result<Duration> {
    span(text).map(Duration::from_micros)
}

/// `2026-11-20T21:00:00Z`, or epoch seconds with any fraction, in microseconds.
///
/// # Errors
/// If it is no such time.
pub fn time(text: &str) -> Result<i64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    if let (Ok(seconds), true) =
        (whole.parse::<i64>(), fraction.bytes().all(|byte| byte.is_ascii_digit()))
    {
        let digits = format!("{fraction:0<6}");
        let micros: i64 = digits[..6].parse().context("six digits are a number")?;
        let micros = if text.starts_with('-') { -micros } else { micros };
        let whole = seconds.checked_mul(1_000_000).and_then(|whole| whole.checked_add(micros));
        return whole.with_context(|| format!("the time \"{text}\" is too far away"));
    }
    let parsed: Result<jiff::Timestamp, _> = text.parse();
    let time = parsed.with_context(|| {
        format!("\"{text}\" is no time; write 2026-11-20T21:00:00Z, epoch seconds or now")
    })?;
    Ok(time.as_microsecond())
}
