//! Numeric functions: `abs`, `floor`, `ceiling`, `sqrt`, `exp`, `ln`, `log`, `pow`, trigonometry, and `min`,
//! `max`, `sum`, `avg` of several arguments.
//!
//! Guarantees: an argument that is not a number gives null, and so does an argument outside of the domain of
//! the function (`sqrt(-1)`, `ln(0)`); a result that is too large is `inf`. All values of a multivalue field
//! are used.

use super::{Call, Function, Preparation, number, plain, refuse, text};
use crate::Row;
use crate::value::{Value, order};

pub(super) const FUNCTIONS: &[Function] = &[
    plain("abs", |_| one(f64::abs)),
    plain("floor", |_| one(f64::floor)),
    plain("sqrt", |_| one(f64::sqrt)),
    plain("exp", |_| one(f64::exp)),
    plain("ln", |_| one(f64::ln)),
    plain("sin", |_| one(f64::sin)),
    plain("cos", |_| one(f64::cos)),
    plain("tan", |_| one(f64::tan)),
    plain("asin", |_| one(f64::asin)),
    plain("acos", |_| one(f64::acos)),
    plain("atan", |_| one(f64::atan)),
    plain("sinh", |_| one(f64::sinh)),
    plain("cosh", |_| one(f64::cosh)),
    plain("tanh", |_| one(f64::tanh)),
    plain("asinh", |_| one(f64::asinh)),
    plain("acosh", |_| one(f64::acosh)),
    plain("atanh", |_| one(f64::atanh)),
    plain("ceiling", |_| one(f64::ceil)),
    plain("atan2", |_| two(f64::atan2)),
    plain("hypot", |_| two(f64::hypot)),
    plain("pow", |_| two(f64::powf)),
    plain("log", |_| Ok(number(log))),
    plain("min", |call| extreme(call, false)),
    plain("max", |call| extreme(call, true)),
    plain("sum", |call| total(call, sum)),
    plain("avg", |call| total(call, average)),
];

fn one(compute: fn(f64) -> f64) -> Preparation {
    Ok(number(move |row| defined(compute(row.number(0)?))))
}

/// Returns the result, or `None` outside of the domain of the function. Only logarithms and `atanh` give
/// minus infinity.
fn defined(result: f64) -> Option<f64> {
    (!result.is_nan() && result != f64::NEG_INFINITY).then_some(result)
}

fn two(compute: fn(f64, f64) -> f64) -> Preparation {
    Ok(number(move |row| defined(compute(row.number(0)?, row.number(1)?))))
}

/// `log(x)` to base 10, `log(x, base)`; null if the base is invalid.
fn log(row: Row<'_>) -> Option<f64> {
    let number = row.number(0)?;
    let base = if row.len() > 1 { row.number(1)? } else { 10.0 };
    if base <= 0.0 || base == 1.0 {
        return None;
    }
    // log10 is exact for powers of ten.
    defined(if base == 10.0 { number.log10() } else { number.ln() / base.ln() })
}

/// Prepares `min` or `max`. Numbers sort before texts, and a quoted text is a text even if it has only
/// digits. Nulls are ignored.
fn extreme(call: &Call<'_>, largest: bool) -> Preparation {
    if call.arguments.iter().all(|argument| argument.kind.is_number()) {
        return Ok(number(move |row| {
            let numbers = row.values().filter_map(Value::number);
            numbers.reduce(if largest { f64::max } else { f64::min })
        }));
    }
    let quoted: Vec<bool> = (0..call.len()).map(|at| call.text(at).is_some()).collect();
    Ok(text(move |row, out| {
        out.push_str(&extreme_value(row, &quoted, largest)?.text()?);
        Some(())
    }))
}

fn extreme_value<'r>(row: Row<'r>, quoted: &[bool], largest: bool) -> Option<Value<'r>> {
    let arguments = row.values().zip(quoted);
    let each = arguments.flat_map(|(value, quoted)| each_of(value).map(move |one| (one, *quoted)));
    let present = each.filter(|(value, _)| !value.is_null());
    // Texts are compared as texts here, because `order` compares two numeric texts as numbers.
    let known = present.map(|(value, quoted)| (value, value.number().filter(|_| !quoted)));
    let best = known.reduce(|best, next| {
        let ordering = match (next.1, best.1) {
            (Some(_), Some(_)) => order(next.0, best.0),
            (None, None) => next.0.text().zip(best.0.text()).map(|(next, best)| next.cmp(&best)),
            (next, best) => Some(next.is_none().cmp(&best.is_none())),
        };
        let is_better = ordering.is_some_and(|o| if largest { o.is_gt() } else { o.is_lt() });
        if is_better { next } else { best }
    });
    best.map(|(value, _)| value)
}

/// Iterates over all values of all arguments.
fn each_value(row: Row<'_>) -> impl Iterator<Item = Value<'_>> {
    row.values().flat_map(each_of)
}

/// Iterates over the values of an argument.
fn each_of(value: Value<'_>) -> impl Iterator<Item = Value<'_>> {
    let (single, several) = match value {
        Value::Multi(several) => (None, Some(several)),
        single => (Some(single), None),
    };
    single.into_iter().chain(several.into_iter().flat_map(|s| s.iter().map(Value::Text)))
}

fn numbers(row: Row<'_>) -> impl Iterator<Item = f64> {
    each_value(row).filter_map(Value::number)
}

/// Prepares `sum` or `avg`. A field may hold any values, but a literal text is rejected as a mistake.
fn total(call: &Call<'_>, compute: fn(Row<'_>) -> Option<f64>) -> Preparation {
    for at in 0..call.len() {
        if let Some(text) = call.text(at) {
            let name = call.name;
            let message = format!("{name}() takes numbers; use tonumber(\"{text}\") for a text");
            return refuse(at, message);
        }
    }
    Ok(number(compute))
}

fn sum(row: Row<'_>) -> Option<f64> {
    numbers(row).reduce(|total, next| total + next)
}

#[allow(clippy::cast_precision_loss)]
fn average(row: Row<'_>) -> Option<f64> {
    let count = numbers(row).count();
    Some(sum(row)? / count as f64)
}
