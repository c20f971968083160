//! Numbers to numbers, `tonumber`, and `min`, `max`, `sum`, `avg` of several arguments.
//!
//! Guarantees: what is no number gives null, and so does a result that is none (`sqrt(-1)`).

use super::{Function, Prepared, ResultKind, prepared, values};
use crate::eval::node::{Arguments, Kind};
use crate::eval::value::{Value, number_text, order, parse_in_base, parse_number};

macro_rules! one {
    ($($name:literal)|+, $compute:expr) => {
        values(&[$($name),+], Kind::Number, |arguments| {
            let compute: fn(f64) -> f64 = $compute;
            defined(arguments.number(0).map(compute))
        })
    };
}

macro_rules! two {
    ($name:literal, $compute:expr) => {
        values(&[$name], Kind::Number, |arguments| {
            let compute: fn(f64, f64) -> f64 = $compute;
            let both = arguments.number(0).zip(arguments.number(1));
            defined(both.map(|(left, right)| compute(left, right)))
        })
    };
}

pub(super) const FUNCTIONS: &[Function] = &[
    one!("abs", f64::abs),
    one!("floor", f64::floor),
    one!("ceiling" | "ceil", f64::ceil),
    one!("sqrt", f64::sqrt),
    one!("exp", f64::exp),
    one!("ln", f64::ln),
    one!("exact", |number| number),
    one!("sigfig", |number| number),
    one!("sin", f64::sin),
    one!("cos", f64::cos),
    one!("tan", f64::tan),
    one!("asin", f64::asin),
    one!("acos", f64::acos),
    one!("atan", f64::atan),
    one!("sinh", f64::sinh),
    one!("cosh", f64::cosh),
    one!("tanh", f64::tanh),
    one!("asinh", f64::asinh),
    one!("acosh", f64::acosh),
    one!("atanh", f64::atanh),
    two!("atan2", f64::atan2),
    two!("hypot", f64::hypot),
    two!("pow", f64::powf),
    values(&["log"], Kind::Number, log),
    values(&["pi"], Kind::Number, |_| Value::Number(std::f64::consts::PI)),
    values(&["round"], Kind::Number, round),
    prepared(&["min"], ResultKind::OfAll, |_| Ok(Prepared::Nothing), |all| extreme(all, false)),
    prepared(&["max"], ResultKind::OfAll, |_| Ok(Prepared::Nothing), |all| extreme(all, true)),
    values(&["sum"], Kind::Number, |all| Value::optional_number(sum(all))),
    values(&["avg"], Kind::Number, average),
    values(&["tonumber"], Kind::Number, tonumber),
];

fn defined(number: Option<f64>) -> Value<'static> {
    Value::optional_number(number.filter(|number| !number.is_nan()))
}

/// `log(x)` to base 10, `log(x, base)`; null where it is not defined.
fn log<'a>(arguments: &Arguments<'a, '_>) -> Value<'a> {
    let base = if arguments.given(1) { arguments.number(1) } else { Some(10.0) };
    let (Some(number), Some(base)) = (arguments.number(0), base) else { return Value::Null };
    if number <= 0.0 || base <= 0.0 || base == 1.0 {
        return Value::Null;
    }
    // log10 is exact for powers of ten.
    Value::Number(if base == 10.0 { number.log10() } else { number.ln() / base.ln() })
}

fn round<'a>(arguments: &Arguments<'a, '_>) -> Value<'a> {
    let digits = if arguments.given(1) { arguments.value(1).whole() } else { Some(0) };
    let both = arguments.number(0).zip(digits);
    Value::optional_number(both.map(|(number, digits)| rounded(number, digits)))
}

/// A number rounded to so many decimals, halves away from zero as its decimal form has them.
#[allow(clippy::cast_possible_truncation)]
pub(super) fn rounded(number: f64, digits: i64) -> f64 {
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

/// The smallest or largest argument: numbers are smaller than texts. Nulls do not count.
fn extreme<'a>(arguments: &Arguments<'a, '_>, largest: bool) -> Value<'a> {
    let mut best: Option<&Value<'a>> = None;
    let mut all_numbers = true;
    for next in arguments.values {
        all_numbers &= matches!(next, Value::Number(_) | Value::Time(_));
        if next.is_null() {
            continue;
        }
        let better = best.is_none_or(|best| {
            let ranked = next.number().is_none().cmp(&best.number().is_none());
            let ordering = ranked.then_with(|| order(next, best).unwrap_or(ranked));
            if largest { ordering.is_gt() } else { ordering.is_lt() }
        });
        if better {
            best = Some(next);
        }
    }
    match best {
        None => Value::Null,
        Some(best) if all_numbers => Value::optional_number(best.number()),
        Some(best) => best.text().map_or(Value::Null, |text| Value::owned_text(text.into_owned())),
    }
}

fn sum(arguments: &Arguments<'_, '_>) -> Option<f64> {
    arguments.values.iter().filter_map(Value::number).reduce(|total, next| total + next)
}

#[allow(clippy::cast_precision_loss)]
fn average<'a>(arguments: &Arguments<'a, '_>) -> Value<'a> {
    let count = arguments.values.iter().filter_map(Value::number).count();
    Value::optional_number(sum(arguments).map(|sum| sum / count as f64))
}

fn tonumber<'a>(arguments: &Arguments<'a, '_>) -> Value<'a> {
    if arguments.given(1) {
        let base = arguments.value(1).whole().and_then(|base| u32::try_from(base).ok());
        let both = arguments.text(0).zip(base);
        return Value::optional_number(both.and_then(|(text, base)| parse_in_base(&text, base)));
    }
    match arguments.value(0) {
        Value::Multi(texts) => {
            let numbers = texts.iter().filter_map(|text| parse_number(text));
            Value::multi(numbers.map(number_text).collect())
        }
        single => Value::optional_number(single.number()),
    }
}
