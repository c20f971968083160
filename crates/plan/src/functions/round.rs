//! `round(x)` and `round(x, digits)`, and `sigfig(x)`.
//!
//! Guarantees: halves are rounded away from zero, judged by the shortest decimal form of the number
//! rather than by its binary one, so `round(2.675, 2)` is 2.68.

use crate::Error;
use crate::expr::Typed;
use crate::expr::kernel::number;
use crate::functions::{Function, Invocation, values};

pub(crate) const FUNCTIONS: &[Function] =
    &[values(&["round"], (1, 2), round), values(&["sigfig"], (1, 1), sigfig)];

fn round(call: Invocation<'_>) -> Result<Typed, Error> {
    let function = number("round", |row| {
        let number = row.number(0)?;
        let digits = if row.arguments.len() > 1 { row.value(1).whole()? } else { 0 };
        Some(rounded(number, digits))
    });
    Ok(function.call(call.arguments))
}

/// A number rounded to so many decimals; negative counts round to tens, hundreds and so on.
#[allow(clippy::cast_possible_truncation)]
pub(crate) fn rounded(number: f64, digits: i64) -> f64 {
    if digits == 0 {
        return number.round();
    }
    if !number.is_finite() || digits > 17 {
        return number;
    }
    let scale = 10_f64.powi(digits.clamp(-308, 17) as i32);
    let scaled = number * scale;
    if !scaled.is_finite() || scaled.abs() >= 9e15 {
        return number;
    }
    // The product may fall just below a half that the decimal form has.
    let nudged = scaled + scaled.signum() * scaled.abs() * f64::EPSILON;
    nudged.round() / scale
}

/// The digits that are significant in the operands are not tracked: a number stays as it is.
fn sigfig(call: Invocation<'_>) -> Result<Typed, Error> {
    Ok(number("sigfig", |row| row.number(0)).call(call.arguments))
}

#[cfg(test)]
mod tests {
    use super::rounded;

    #[test]
    fn halves_go_away_from_zero() {
        let cases = [
            (2.5, 0, 3.0),
            (-2.5, 0, -3.0),
            (2.675, 2, 2.68),
            (1.005, 2, 1.01),
            (-1.005, 2, -1.01),
            (1.004_999, 2, 1.0),
            (1234.0, -2, 1200.0),
            (1e300, 2, 1e300),
        ];
        for (number, digits, expected) in cases {
            assert_eq!(rounded(number, digits), expected, "{number} {digits}");
        }
    }
}
