//! Numbers to numbers: `abs`, `floor`, `ceiling`, `sqrt`, `exp`, `ln`, `log`, `pow`, `pi`,
//! trigonometry, and `min`, `max`, `sum`, `avg` of several arguments.
//!
//! Guarantees: what is no number gives null; a result that is none (`sqrt(-1)`) is `nan`, and one
//! that is too large `inf`. Of a field with several values each counts.

use crate::Error;
use crate::expr::Typed;
use crate::expr::column::{Row, Value};
use crate::expr::compare::order;
use crate::expr::kernel::{number, text};
use crate::functions::{ANY, Function, Invocation, values};
use crate::types::ValueType;

pub(crate) const FUNCTIONS: &[Function] = &[
    values(&["abs"], (1, 1), |call| one("abs", call, f64::abs)),
    values(&["floor"], (1, 1), |call| one("floor", call, f64::floor)),
    values(&["ceiling", "ceil"], (1, 1), |call| one("ceiling", call, f64::ceil)),
    values(&["sqrt"], (1, 1), |call| one("sqrt", call, f64::sqrt)),
    values(&["exp"], (1, 1), |call| one("exp", call, f64::exp)),
    values(&["ln"], (1, 1), |call| one("ln", call, f64::ln)),
    values(&["sin"], (1, 1), |call| one("sin", call, f64::sin)),
    values(&["cos"], (1, 1), |call| one("cos", call, f64::cos)),
    values(&["tan"], (1, 1), |call| one("tan", call, f64::tan)),
    values(&["asin"], (1, 1), |call| one("asin", call, f64::asin)),
    values(&["acos"], (1, 1), |call| one("acos", call, f64::acos)),
    values(&["atan"], (1, 1), |call| one("atan", call, f64::atan)),
    values(&["sinh"], (1, 1), |call| one("sinh", call, f64::sinh)),
    values(&["cosh"], (1, 1), |call| one("cosh", call, f64::cosh)),
    values(&["tanh"], (1, 1), |call| one("tanh", call, f64::tanh)),
    values(&["asinh"], (1, 1), |call| one("asinh", call, f64::asinh)),
    values(&["acosh"], (1, 1), |call| one("acosh", call, f64::acosh)),
    values(&["atanh"], (1, 1), |call| one("atanh", call, f64::atanh)),
    values(&["atan2"], (2, 2), |call| two("atan2", call, f64::atan2)),
    values(&["hypot"], (2, 2), |call| two("hypot", call, f64::hypot)),
    values(&["pow"], (2, 2), |call| two("pow", call, f64::powf)),
    values(&["log"], (1, 2), log),
    values(&["pi"], (0, 0), |_| Ok(Typed::number(std::f64::consts::PI))),
    values(&["min"], (1, ANY), |call| extreme("min", call, false)),
    values(&["max"], (1, ANY), |call| extreme("max", call, true)),
    values(&["sum"], (1, ANY), |call| total("sum", call, sum)),
    values(&["avg"], (1, ANY), |call| total("avg", call, average)),
];

fn one(name: &'static str, call: Invocation<'_>, compute: fn(f64) -> f64) -> Result<Typed, Error> {
    Ok(number(name, move |row| Some(compute(row.number(0)?))).call(call.arguments))
}

fn two(
    name: &'static str,
    call: Invocation<'_>,
    compute: fn(f64, f64) -> f64,
) -> Result<Typed, Error> {
    let function = number(name, move |row| Some(compute(row.number(0)?, row.number(1)?)));
    Ok(function.call(call.arguments))
}

/// `log(x)` to base 10, `log(x, base)`; null where there is no such base.
fn log(call: Invocation<'_>) -> Result<Typed, Error> {
    let function = number("log", |row| {
        let number = row.number(0)?;
        let base = if row.arguments.len() > 1 { row.number(1)? } else { 10.0 };
        if base <= 0.0 || base == 1.0 {
            return None;
        }
        // log10 is exact for powers of ten.
        Some(if base == 10.0 { number.log10() } else { number.ln() / base.ln() })
    });
    Ok(function.call(call.arguments))
}

/// The smallest or largest value: numbers are smaller than texts. Nulls do not count.
fn extreme(name: &'static str, call: Invocation<'_>, largest: bool) -> Result<Typed, Error> {
    let arguments = call.arguments;
    if arguments.iter().all(|value| value.kind.is_number()) {
        let function = number(name, move |row| {
            let numbers = row.values().filter_map(Value::number);
            numbers.reduce(if largest { f64::max } else { f64::min })
        });
        return Ok(function.call(arguments));
    }
    let function = text(name, move |row, out| {
        out.push_str(&extreme_value(row, largest)?.text()?);
        Some(())
    });
    Ok(function.call(arguments.into_iter().filter(|value| value.kind != ValueType::Null).collect()))
}

fn extreme_value(row: Row<'_>, largest: bool) -> Option<Value<'_>> {
    let present = each_value(row).filter(|value| !value.is_null());
    present.reduce(|best, next| {
        let ranked = next.number().is_none().cmp(&best.number().is_none());
        let ordering = ranked.then_with(|| order(next, best).unwrap_or(ranked));
        if (largest && ordering.is_gt()) || (!largest && ordering.is_lt()) { next } else { best }
    })
}

/// All values of all arguments.
fn each_value(row: Row<'_>) -> impl Iterator<Item = Value<'_>> {
    row.values().flat_map(|value| {
        let (single, several) = match value {
            Value::Multi(several) => (None, Some(several)),
            single => (Some(single), None),
        };
        single.into_iter().chain(several.into_iter().flat_map(|s| s.iter().map(Value::Text)))
    })
}

fn numbers(row: Row<'_>) -> impl Iterator<Item = f64> {
    each_value(row).filter_map(Value::number)
}

/// `sum` and `avg`: fields may hold anything, but a text in quotes cannot be meant.
fn total(
    name: &'static str,
    call: Invocation<'_>,
    compute: fn(Row<'_>) -> Option<f64>,
) -> Result<Typed, Error> {
    for at in 0..call.arguments.len() {
        if let Some(text) = call.literal(at) {
            let message = format!("{name}() takes numbers; use tonumber(\"{text}\") for a text");
            return Err(call.error(at, message));
        }
    }
    Ok(number(name, compute).call(call.arguments))
}

fn sum(row: Row<'_>) -> Option<f64> {
    numbers(row).reduce(|total, next| total + next)
}

#[allow(clippy::cast_precision_loss)]
fn average(row: Row<'_>) -> Option<f64> {
    let count = numbers(row).count();
    Some(sum(row)? / count as f64)
}
