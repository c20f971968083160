//! The formats of Booleans, sizes and time spans in `.conf` files.

use std::time::Duration;

/// `true`, `1`, `t`, `yes`, `y`, `on`, `enabled` and their opposites, in any case.
#[must_use]
pub fn boolean(text: &str) -> Option<bool> {
    match text.trim().to_ascii_lowercase().as_str() {
        "1" | "true" | "t" | "yes" | "y" | "on" | "enabled" => Some(true),
        "0" | "false" | "f" | "no" | "n" | "off" | "disabled" => Some(false),
        _ => None,
    }
}

/// Parses sizes in bytes: `1024`, `500KB`, `16MB`, `1GB`, `2TB`, ignoring case. Units are powers of two.
#[must_use]
pub fn size(text: &str) -> Option<u64> {
    let text = text.trim();
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let shift = match text[digits.len()..].to_ascii_uppercase().as_str() {
        "" | "B" => 0,
        "K" | "KB" => 10,
        "M" | "MB" => 20,
        "G" | "GB" => 30,
        "T" | "TB" => 40,
        _ => return None,
    };
    digits.trim().parse::<u64>().ok()?.checked_mul(1 << shift)
}

/// Parses a time span: `90` or `90s`, `30m`, `1h`, `2 days`, also with a decimal point. Default unit:
/// seconds.
#[must_use]
pub fn time_span(text: &str) -> Option<Duration> {
    let text = text.trim();
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match text[digits.len()..].to_ascii_lowercase().as_str() {
        "" | "s" | "sec" | "secs" | "second" | "seconds" => 1_u64,
        "m" | "min" | "mins" | "minute" | "minutes" => 60,
        "h" | "hr" | "hrs" | "hour" | "hours" => 3_600,
        "d" | "day" | "days" => 86_400,
        _ => return None,
    };
    let digits = digits.trim_end();
    if let Ok(number) = digits.parse::<u64>() {
        return number.checked_mul(unit).map(Duration::from_secs);
    }
    let is_decimal = digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let number = digits.parse::<f64>().ok().filter(|_| is_decimal)?;
    Duration::try_from_secs_f64(number * unit as f64).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn booleans_have_many_words() {
        for word in ["1", "TRUE", "t", "yes", "Y", "on", " enabled "] {
            assert_eq!(boolean(word), Some(true), "{word}");
        }
        for word in ["0", "false", "F", "no", "n", "off", "disabled"] {
            assert_eq!(boolean(word), Some(false), "{word}");
        }
        assert_eq!((boolean(""), boolean("2"), boolean("maybe")), (None, None, None));
    }

    #[test]
    fn sizes_have_units() {
        let sizes = ["7", "500KB", "16 mb", "1G", "2TB", "3B"].map(size);
        assert_eq!(sizes, [7, 500 << 10, 16 << 20, 1 << 30, 2 << 40, 3].map(Some));
        assert_eq!(["", "MB", "-1", "1.5GB", "1XB", "99999999TB"].map(size), [None; 6]);
    }

    #[test]
    fn time_spans_have_a_number_and_a_unit() {
        let seconds = |text| time_span(text).map(|span| span.as_secs_f64());
        assert_eq!(
            ["90", "5m", "42h", "2 days", "0", "1.5s"].map(seconds),
            [90.0, 300.0, 151_200.0, 172_800.0, 0.0, 1.5].map(Some)
        );
        assert_eq!(["", "h", "1y", "-1h", "soon", "3w", "inf"].map(seconds), [None; 7]);
    }
}
