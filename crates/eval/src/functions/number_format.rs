//! Numbers as the conversions of C's `printf` write them. All functions take non-negative numbers.

/// Writes a number with this number of decimals; `point` keeps the decimal point if there are no decimals.
pub(super) fn fixed(number: f64, digits: usize, point: bool) -> String {
    let text = format!("{number:.digits$}");
    if point && digits == 0 { text + "." } else { text }
}

/// Writes a number as `1.5e+02`: one digit before the point, at least two digits in the exponent.
pub(super) fn exponent(number: f64, digits: usize, point: bool) -> String {
    let text = format!("{number:.digits$e}");
    let (mantissa, power) = text.split_once('e').unwrap_or((&text, "0"));
    let (sign, power) = match power.strip_prefix('-') {
        Some(power) => ('-', power),
        None => ('+', power),
    };
    let point = if point && digits == 0 { "." } else { "" };
    format!("{mantissa}{point}e{sign}{power:0>2}")
}

/// Writes a number with this number of significant digits, with an exponent if that is shorter; trailing
/// zeros are kept only with `point`.
pub(super) fn shortest(number: f64, digits: usize, point: bool) -> String {
    let digits = digits.max(1);
    let scientific = exponent(number, digits - 1, point);
    let power: i64 =
        scientific.split_once('e').and_then(|(_, power)| power.parse().ok()).unwrap_or(0);
    let most = i64::try_from(digits).unwrap_or(i64::MAX);
    if power < -4 || power >= most {
        let (mantissa, tail) = scientific.split_once('e').unwrap_or((&scientific, "+00"));
        return format!("{}e{tail}", if point { mantissa } else { without_zeros(mantissa) });
    }
    let decimals = usize::try_from(most - 1 - power).unwrap_or(0);
    let text = fixed(number, decimals, point);
    if point { text } else { without_zeros(&text).to_owned() }
}

fn without_zeros(text: &str) -> &str {
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.'),
        false => text,
    }
}

/// Writes a number as `0x1.8p+1`: the mantissa in hexadecimal, rounded to this number of digits.
pub(super) fn hexadecimal(number: f64, digits: Option<usize>) -> String {
    const MANTISSA_BITS: u32 = 52;
    const MANTISSA_DIGITS: usize = 13;
    let bits = number.to_bits();
    let raw = i64::try_from(bits >> MANTISSA_BITS & 0x7FF).unwrap_or(0);
    let fraction = bits & ((1 << MANTISSA_BITS) - 1);
    let (mut lead, mut exponent) = match (raw, fraction) {
        (0, 0) => (0, 0),
        (0, _) => (0, -1022),
        _ => (1, raw - 1023),
    };
    let mut hex = format!("{fraction:013x}");
    match digits {
        None => hex.truncate(hex.trim_end_matches('0').len()),
        Some(digits) if digits < MANTISSA_DIGITS => {
            let dropped = 4 * u32::try_from(MANTISSA_DIGITS - digits).unwrap_or(0);
            let half = 1_u64 << (dropped - 1);
            let kept = fraction >> dropped;
            let rest = fraction & ((1 << dropped) - 1);
            let up = rest > half || (rest == half && kept & 1 == 1);
            let rounded = kept + u64::from(up);
            let carried = rounded >> (MANTISSA_BITS - dropped);
            lead += carried;
            if lead > 1 {
                lead = 1;
                exponent += 1;
            }
            let rounded = rounded & ((1_u64 << (MANTISSA_BITS - dropped)) - 1);
            hex = if digits == 0 { String::new() } else { format!("{rounded:0digits$x}") };
        }
        Some(digits) => hex.extend(std::iter::repeat_n('0', digits - MANTISSA_DIGITS)),
    }
    let point = if hex.is_empty() { "" } else { "." };
    format!("0x{lead}{point}{hex}p{exponent:+}")
}

/// Inserts commas between thousands.
pub(super) fn grouped(text: &str, group: bool) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_c_writes_them() {
        assert_eq!(fixed(2.768, 2, false), "2.77");
        assert_eq!(fixed(3.0, 0, true), "3.");
        assert_eq!(exponent(5139.0, 2, false), "5.14e+03");
        assert_eq!(exponent(0.000_012, 1, false), "1.2e-05");
        assert_eq!(shortest(std::f64::consts::PI, 2, false), "3.1");
        assert_eq!(shortest(123.0, 2, false), "1.2e+02");
        assert_eq!(shortest(100_000.0, 6, false), "100000");
        assert_eq!(shortest(0.0001, 6, false), "0.0001");
        assert_eq!(shortest(0.000_01, 6, false), "1e-05");
        assert_eq!(shortest(1.0, 6, true), "1.00000");
        assert_eq!(grouped("1234567.5", true), "1,234,567.5");
    }

    #[test]
    fn mantissas_are_written_in_hexadecimal() {
        assert_eq!(hexadecimal(std::f64::consts::PI, Some(3)), "0x1.922p+1");
        assert_eq!(hexadecimal(1.0, None), "0x1p+0");
        assert_eq!(hexadecimal(0.0, None), "0x0p+0");
        assert_eq!(hexadecimal(3.0, None), "0x1.8p+1");
        assert_eq!(hexadecimal(0.1, None), "0x1.999999999999ap-4");
        assert_eq!(hexadecimal(1.999_999, Some(1)), "0x1.0p+1");
        assert_eq!(hexadecimal(1.5, Some(15)), "0x1.800000000000000p+0");
    }
}
