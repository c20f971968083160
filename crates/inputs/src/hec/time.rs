//! `time` as senders write it: seconds, or a finer unit that its size gives away.

use model::EventTime;

/// Epoch time in seconds (or, when it is too large for that, milli-, micro- or nanoseconds), exact
/// to the microsecond; `None` for anything else.
#[must_use]
pub fn parse_time(json: &str) -> Option<EventTime> {
    // 0001-01-01 and the last microsecond that nanoseconds can express, in 2262.
    const CALENDAR: std::ops::RangeInclusive<i64> = -62_135_596_800_000_000..=i64::MAX / 1_000;
    let micros = seconds_of_today(json).or_else(|| epoch_micros(json))?;
    CALENDAR.contains(&micros).then_some(EventTime(micros))
}

/// Parses the format that nearly all senders use: ten digits, with an optional fraction.
fn seconds_of_today(json: &str) -> Option<i64> {
    let (whole, fraction) = json.as_bytes().split_first_chunk::<10>()?;
    let mut micros = 0;
    for digit in whole {
        micros = micros * 10 + i64::from(digit.is_ascii_digit().then(|| digit - b'0')?);
    }
    let fraction = match fraction {
        [] => fraction,
        [b'.', fraction @ ..] if fraction.iter().all(u8::is_ascii_digit) => fraction,
        _ => return None,
    };
    for place in 0..6 {
        micros = micros * 10 + fraction.get(place).map_or(0, |digit| i64::from(digit - b'0'));
    }
    Some(micros)
}

fn epoch_micros(json: &str) -> Option<i64> {
    let text = json.trim_matches('"').trim();
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let plain = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !plain(whole) || !plain(fraction) {
        // Scientific notation is rare and has no need for exactness.
        let seconds: f64 = text.parse().ok()?;
        return seconds.is_finite().then(|| EventTime::from_seconds(seconds).0);
    }
    let whole = whole.trim_start_matches('0');
    // Number of digits after the (shifted) decimal point that are before the decimal point of the text.
    let shift = match whole.len() {
        0..=11 => 0,
        12..=14 => 3,
        15..=17 => 6,
        _ => 9,
    };
    let digits = whole.bytes().chain(fraction.bytes()).map(|byte| i64::from(byte - b'0'));
    let wanted = whole.len() + 6 - shift.min(whole.len() + 6);
    let mut micros = 0i64;
    for digit in digits.chain(std::iter::repeat(0)).take(wanted) {
        micros = micros.checked_mul(10)?.checked_add(digit)?;
    }
    Some(if negative { -micros } else { micros })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_exact_and_their_unit_is_recognised() {
        let cases = [
            ("1700000000", 1_700_000_000_000_000),
            ("1700000000.123456", 1_700_000_000_123_456),
            ("1700000000.1", 1_700_000_000_100_000),
            ("\"1700000000.1234567\"", 1_700_000_000_123_456),
            ("1700000000123", 1_700_000_000_123_000),
            ("1700000000123.5", 1_700_000_000_123_500),
            ("1700000000123456", 1_700_000_000_123_456),
            ("1700000000123456789", 1_700_000_000_123_456),
            ("1.7e9", 1_700_000_000_000_000),
            ("0", 0),
            ("0.5", 500_000),
            ("-1.5", -1_500_000),
            ("9223372036.854775", 9_223_372_036_854_775),
        ];
        for (text, micros) in cases {
            assert_eq!(parse_time(text), Some(EventTime(micros)), "{text}");
        }
    }

    #[test]
    fn times_beyond_the_calendar_are_refused() {
        let far = ["9223372037", "99999999999", "99999999999999999", "99999999999999999999"];
        for text in far {
            assert_eq!(parse_time(text), None, "{text}");
        }
        for text in ["1e300", "-1e18", "1e18", "-99999999999", "1700000000.x", "true"] {
            assert_eq!(parse_time(text), None, "{text}");
        }
    }
}
