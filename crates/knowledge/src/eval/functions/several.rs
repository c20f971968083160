//! Functions over several values: `split`, `mvcount`, `mvindex`, `mvjoin`, `mvappend`, `mvdedup`,
//! `mvsort`, `mvreverse`, `mvzip`, `mvfind`, `mvrange`, `mvfilter`, `mvmap`.
//!
//! Guarantees: a single value acts as a list of one; a list without values is null.

use std::collections::HashSet;

use super::text::pattern;
use super::{Build, Function, Prepared, ResultKind, prepared, values};
use crate::eval::node::{Arguments, Kind};
use crate::eval::value::{Value, number_text};
use crate::pattern::Pattern;

pub(super) const FUNCTIONS: &[Function] = &[
    values(&["split"], Kind::Multi, split),
    values(&["mvcount"], Kind::Number, mvcount),
    values(&["mvindex"], Kind::Multi, mvindex),
    values(&["mvjoin"], Kind::Text, mvjoin),
    values(&["mvappend"], Kind::Multi, |arguments| {
        Value::multi(arguments.values.iter().flat_map(owned).collect())
    }),
    values(&["mvdedup"], Kind::Multi, |arguments| {
        let mut seen = HashSet::new();
        let mut texts = owned(arguments.value(0));
        texts.retain(|text| seen.insert(text.clone()));
        Value::multi(texts)
    }),
    values(&["mvsort"], Kind::Multi, |arguments| {
        let mut texts = owned(arguments.value(0));
        texts.sort_unstable();
        Value::multi(texts)
    }),
    values(&["mvreverse"], Kind::Multi, |arguments| {
        let mut texts = owned(arguments.value(0));
        texts.reverse();
        Value::multi(texts)
    }),
    values(&["mvzip"], Kind::Multi, mvzip),
    prepared(&["mvfind"], ResultKind::Always(Kind::Number), |all| pattern(all, 1), mvfind),
    values(&["mvrange"], Kind::Multi, mvrange),
    Function { names: &["mvfilter"], build: Build::Each { filters: true } },
    Function { names: &["mvmap"], build: Build::Each { filters: false } },
];

/// The most values `mvrange` makes of one event; more is null, as an endless range would be.
const MOST_IN_RANGE: f64 = 100_000.0;

fn owned(value: &Value<'_>) -> Vec<String> {
    value.texts().into_iter().map(std::borrow::Cow::into_owned).collect()
}

fn split<'a>(arguments: &Arguments<'a, '_>) -> Value<'a> {
    let Some(delimiter) = arguments.text(1) else { return Value::Null };
    let mut out = Vec::new();
    for text in arguments.value(0).texts() {
        if delimiter.is_empty() {
            out.extend(text.chars().map(String::from));
        } else {
            out.extend(text.split(&*delimiter).map(str::to_owned));
        }
    }
    Value::multi(out)
}

/// The number of values; null, not 0, where there is none.
#[allow(clippy::cast_precision_loss)]
fn mvcount<'a>(arguments: &Arguments<'a, '_>) -> Value<'a> {
    match arguments.value(0).count() {
        0 => Value::Null,
        count => Value::Number(count as f64),
    }
}

/// `mvindex(list, at)` is one value, `mvindex(list, from, to)` several; negatives count from the
/// end, what lies outside is null.
fn mvindex<'a>(arguments: &Arguments<'a, '_>) -> Value<'a> {
    let texts = arguments.value(0).texts();
    let Ok(count) = i64::try_from(texts.len()) else { return Value::Null };
    let resolve = |at: i64| if at < 0 { count + at } else { at };
    let Some(from) = arguments.value(1).whole().map(resolve) else { return Value::Null };
    let place = |at: i64| usize::try_from(at).ok().and_then(|at| texts.get(at));
    if !arguments.given(2) {
        return place(from).map_or(Value::Null, |text| Value::owned_text(text.to_string()));
    }
    let Some(to) = arguments.value(2).whole().map(resolve) else { return Value::Null };
    let range = from.max(0)..=to.min(count - 1);
    Value::multi(range.filter_map(place).map(ToString::to_string).collect())
}

fn mvjoin<'a>(arguments: &Arguments<'a, '_>) -> Value<'a> {
    let texts = arguments.value(0).texts();
    match arguments.text(1) {
        Some(delimiter) if !texts.is_empty() => Value::owned_text(texts.join(&*delimiter)),
        _ => Value::Null,
    }
}

/// First with first, second with second, as long as both have one, joined by a comma by default.
fn mvzip<'a>(arguments: &Arguments<'a, '_>) -> Value<'a> {
    let given = if arguments.given(2) { arguments.text(2) } else { Some(",".into()) };
    let Some(delimiter) = given else { return Value::Null };
    let (left, right) = (arguments.value(0).texts(), arguments.value(1).texts());
    let pairs = left.iter().zip(&right);
    Value::multi(pairs.map(|(left, right)| format!("{left}{delimiter}{right}")).collect())
}

/// The place of the first value that matches a regular expression.
#[allow(clippy::cast_precision_loss)]
fn mvfind<'a>(arguments: &Arguments<'a, '_>) -> Value<'a> {
    let texts = arguments.value(0).texts();
    let find = |pattern: &Pattern| texts.iter().position(|text| pattern.is_match(text));
    let found = match arguments.prepared {
        Prepared::Pattern(pattern) => find(pattern),
        _ => {
            let pattern = arguments.text(1).and_then(|text| Pattern::compile(&text).ok());
            pattern.and_then(|pattern| find(&pattern))
        }
    };
    Value::optional_number(found.map(|at| at as f64))
}

/// `mvrange(start, end, step)`: numbers from `start`, `end` excluded. A step may be a time span.
fn mvrange<'a>(arguments: &Arguments<'a, '_>) -> Value<'a> {
    let step = if arguments.given(2) { step(arguments.value(2)) } else { Some(1.0) };
    let (Some(start), Some(end), Some(step)) = (arguments.number(0), arguments.number(1), step)
    else {
        return Value::Null;
    };
    let count = ((end - start) / step).ceil();
    if !(0.0..=MOST_IN_RANGE).contains(&count) {
        return Value::Null;
    }
    let mut out = Vec::new();
    let mut at = 0.0;
    while at < count {
        out.push(number_text(start + at * step));
        at += 1.0;
    }
    Value::multi(out)
}

/// A step as a number, or seconds of a time span such as `1d`.
fn step(value: &Value<'_>) -> Option<f64> {
    if let Some(number) = value.number() {
        return Some(number).filter(|step| *step != 0.0);
    }
    let text = value.text()?;
    let unit_at = text.find(|character: char| !character.is_ascii_digit())?;
    let (count, unit) = text.split_at(unit_at);
    let seconds = match unit {
        "s" | "sec" | "secs" | "second" | "seconds" => 1.0,
        "m" | "min" | "mins" | "minute" | "minutes" => 60.0,
        "h" | "hr" | "hrs" | "hour" | "hours" => 3600.0,
        "d" | "day" | "days" => 86_400.0,
        "w" | "week" | "weeks" => 604_800.0,
        _ => return None,
    };
    Some(if count.is_empty() { seconds } else { count.parse::<f64>().ok()? * seconds })
        .filter(|step| *step != 0.0)
}
