//! Times in a column of texts, such as `_time` of rows above a row with `_time="Total"`.
//!
//! Guarantees: such a time is the text of its epoch seconds, so that every command treats it as a number; its
//! six decimals distinguish it from other numbers, such as the hour of `strftime(_time, "%H")`.

/// The number of decimals of a time among texts.
const DECIMALS: usize = 6;

/// Writes a time in microseconds as it is stored among texts: epoch seconds with six decimals.
#[must_use]
pub fn time_among_texts(micros: i64) -> String {
    let sign = if micros < 0 { "-" } else { "" };
    let positive = micros.unsigned_abs();
    format!("{sign}{}.{:06}", positive / 1_000_000, positive % 1_000_000)
}

/// Returns the microseconds of a text written by [`time_among_texts`]; `None` for all other texts.
#[must_use]
pub fn read_time_among_texts(text: &str) -> Option<i64> {
    let (seconds, decimals) = text.split_once('.')?;
    let (sign, seconds) = match seconds.strip_prefix('-') {
        Some(seconds) => (-1, seconds),
        None => (1, seconds),
    };
    let is_number = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    let is_time = !seconds.is_empty() && decimals.len() == DECIMALS;
    if !is_time || !is_number(seconds) || !is_number(decimals) {
        return None;
    }
    let seconds: i64 = seconds.parse().ok()?;
    let decimals: i64 = decimals.parse().ok()?;
    Some(sign * seconds.checked_mul(1_000_000)?.checked_add(decimals)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_among_texts_is_read_back() {
        for micros in [0, 1, -1, 1_700_000_000_000_000, -1_500_000, 1_700_000_000_123_456] {
            assert_eq!(read_time_among_texts(&time_among_texts(micros)), Some(micros));
        }
        assert_eq!(time_among_texts(7_200_000_000), "7200.000000");
    }

    #[test]
    fn other_texts_are_not_times() {
        for text in ["", "Total", "10", "1700000000", "1.5", ".000000", "-.000000", "1.00000x"] {
            assert_eq!(read_time_among_texts(text), None, "{text}");
        }
    }
}
