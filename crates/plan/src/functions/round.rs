//! `round(x)` and `round(x, digits)`, `sigfig(x)`, `exact(x)`.
//!
//! Guarantees: halves are rounded up, judged by the shortest decimal form of the number rather than
//! by its binary one, so `round(2.675, 2)` is 2.68 and `round(-4.5)` is -4.

use spl::ast::{Call, Span};

use crate::Error;
use crate::expr::kernel::number;
use crate::expr::{Scope, Typed, compile};
use crate::functions::{Function, Invocation, syntax, values};
use crate::types::ValueType;

pub(crate) const FUNCTIONS: &[Function] = &[
    values(&["round"], (1, 2), round),
    syntax(&["exact"], (1, 1), exact),
    syntax(&["sigfig"], (1, 1), sigfig),
];

fn round(call: Invocation<'_>) -> Result<Typed, Error> {
    let digits = call.arguments.get(1).and_then(Typed::literal_number);
    if digits.is_some_and(|digits| digits < 0.0) {
        return Err(call.error(1, "round() cannot round to less than 0 decimals"));
    }
    let dynamic = call.arguments.get(1).cloned();
    let function = number("round", |row| {
        let number = row.number(0)?;
        let digits = if row.arguments.len() > 1 { row.value(1).whole()? } else { 0 };
        (digits >= 0).then(|| rounded(number, digits))
    });
    let value = function.call(call.arguments);
    Ok(match (digits, dynamic) {
        #[allow(clippy::cast_possible_truncation)]
        (Some(digits), _) if digits >= 1.0 => value.with_decimals(digits as i64),
        (None, Some(digits)) => value.with_places(digits.to(ValueType::Integer).expr),
        _ => value,
    })
}

/// A number rounded to so many decimals; negative counts round to tens, hundreds and so on.
#[allow(clippy::cast_possible_truncation)]
pub(crate) fn rounded(number: f64, digits: i64) -> f64 {
    if digits == 0 {
        return half_up(number);
    }
    if !number.is_finite() || digits > 17 {
        return number;
    }
    let scale = 10_f64.powi(digits.clamp(-308, 17) as i32);
    let scaled = number * scale;
    if !scaled.is_finite() || scaled.abs() >= 9e15 {
        return number;
    }
    // The product may fall just below a half that the decimal form has. Of large products the
    // neighbouring number is too far away for that.
    let nudge = if scaled.abs() < 1e12 { scaled.abs() * f64::EPSILON } else { 0.0 };
    let nudged = scaled + nudge;
    half_up(nudged) / scale
}

fn half_up(number: f64) -> f64 {
    let below = number.floor();
    if number - below >= 0.5 { below + 1.0 } else { below }
}

/// The number with all its digits, however precise what it is computed from.
fn exact(call: &Call, _: Span, scope: &dyn Scope) -> Result<Typed, Error> {
    Ok(compile(&call.arguments[0], scope)?.plain().to(ValueType::Float))
}

/// The number rounded to the digits that are significant in what it is computed from.
fn sigfig(call: &Call, _: Span, scope: &dyn Scope) -> Result<Typed, Error> {
    let value = compile(&call.arguments[0], scope)?;
    let Some((_, places)) = value.carried() else { return Ok(value.to(ValueType::Float)) };
    let places = Typed::new(places.clone(), ValueType::Integer);
    let function = number("sigfig", |row| {
        let number = row.number(0)?;
        Some(row.value(1).whole().map_or(number, |places| rounded(number, places)))
    });
    Ok(function.call(vec![value.plain(), places.clone()]).with_places(places.expr))
}

#[cfg(test)]
mod tests {
    use super::rounded;

    #[test]
    fn halves_go_up() {
        let cases = [
            (2.5, 0, 3.0),
            (-2.5, 0, -2.0),
            (-2.51, 0, -3.0),
            (2.675, 2, 2.68),
            (2.555, 2, 2.56),
            (1.005, 2, 1.01),
            (-1.005, 2, -1.0),
            (-1.006, 2, -1.01),
            (1.004_999, 2, 1.0),
            (1234.0, -2, 1200.0),
            (1e300, 2, 1e300),
            (1_700_000_000.0, 6, 1_700_000_000.0),
            (1_700_000_000.25, 6, 1_700_000_000.25),
        ];
        for (number, digits, expected) in cases {
            assert_eq!(rounded(number, digits), expected, "{number} {digits}");
        }
    }
}
