//! Functions over several values: `split`, `mvcount`, `mvindex`, `mvjoin`, `mvappend`, `mvdedup`,
//! `mvsort`, `mvzip`, `mvfind`, `mvrange`.
//!
//! Guarantees: a single value is treated as a list of one value; a list without values is null.

use hashbrown::HashSet;

use super::pattern::patterns;
use super::{Call, Function, Preparation, integer, multi, number, plain, shown, text};
use crate::value::{NumberText, Value};
use crate::{LONGEST_TEXT, Row, Several};

pub(super) const FUNCTIONS: &[Function] = &[
    shown("split", |_| Ok(multi(split))),
    shown("mvcount", |_| Ok(integer(mvcount))),
    plain("mvindex", mvindex),
    shown("mvjoin", |_| Ok(text(mvjoin))),
    shown("mvappend", |_| Ok(multi(mvappend))),
    shown("mvdedup", |_| Ok(multi(mvdedup))),
    shown("mvsort", |_| Ok(multi(mvsort))),
    shown("mvreverse", |_| Ok(multi(mvreverse))),
    shown("mvzip", |_| Ok(multi(mvzip))),
    shown("mvfind", mvfind),
    plain("mvrange", |_| Ok(multi(mvrange))),
];

/// Maximum number of values that `mvrange` creates per event; a longer or endless range gives null.
const MOST_IN_RANGE: f64 = 100_000.0;
const TOO_MANY_IN_RANGE: &str =
    "mvrange() returns no values if there would be more than 100000; use a longer step";

fn split(row: Row<'_>, out: &mut Several<'_>) -> Option<()> {
    let delimiter = row.text(1)?;
    let mut characters = delimiter.chars();
    let ends = (characters.next(), characters.next());
    row.value(0).each_text(|text| match ends {
        (None, _) => text.chars().for_each(|character| {
            out.append_value(&*character.encode_utf8(&mut [0; 4]));
        }),
        // The standard library finds a single character several times as fast as a text.
        (Some(one), None) => text.split(one).for_each(|part| out.append_value(part)),
        _ => text.split(&*delimiter).for_each(|part| out.append_value(part)),
    });
    Some(())
}

/// Returns the number of values; null, not 0, if there are no values.
fn mvcount(row: Row<'_>) -> Option<i64> {
    match row.value(0).count() {
        0 => None,
        count => i64::try_from(count).ok(),
    }
}

/// `mvindex(list, at)` gives one value, `mvindex(list, from, to)` several; negative positions count from the
/// end, positions outside of the list give null.
fn mvindex(call: &Call<'_>) -> Preparation {
    if call.len() == 2 {
        return Ok(text(|row, out| {
            let at = index(row.value(1).whole()?, row.value(0).count())?;
            nth(row.value(0), at, |text| out.push_str(text))
        }));
    }
    Ok(multi(|row, out| {
        let count = row.value(0).count();
        let last = i64::try_from(count).ok()?.checked_sub(1)?;
        let resolve = |at: i64| if at < 0 { last.saturating_add(1).saturating_add(at) } else { at };
        let from = resolve(row.value(1).whole()?).max(0);
        let to = resolve(row.value(2).whole()?).min(last);
        for at in from..=to {
            nth(row.value(0), usize::try_from(at).ok()?, |text| out.append_value(text))?;
        }
        Some(())
    }))
}

fn index(at: i64, count: usize) -> Option<usize> {
    let at = if at < 0 { i64::try_from(count).ok()? + at } else { at };
    usize::try_from(at).ok().filter(|at| *at < count)
}

fn nth(value: Value<'_>, at: usize, visit: impl FnOnce(&str)) -> Option<()> {
    match value {
        Value::Multi(values) => visit(values.get(at)),
        single => visit(&single.text()?),
    }
    Some(())
}

fn mvjoin(row: Row<'_>, out: &mut String) -> Option<()> {
    let delimiter = row.text(1)?;
    let mut first = true;
    row.value(0).each_text(|text| {
        if out.len() > LONGEST_TEXT {
            return;
        }
        if !first {
            out.push_str(&delimiter);
        }
        first = false;
        out.push_str(text);
    });
    (!first).then_some(())
}

fn mvappend(row: Row<'_>, out: &mut Several<'_>) -> Option<()> {
    row.values().for_each(|value| value.each_text(|text| out.append_value(text)));
    Some(())
}

fn texts(value: Value<'_>) -> Vec<String> {
    let mut all = Vec::with_capacity(value.count());
    value.each_text(|text| all.push(text.to_owned()));
    all
}

fn mvdedup(row: Row<'_>, out: &mut Several<'_>) -> Option<()> {
    let mut seen = HashSet::new();
    row.value(0).each_text(|text| {
        if seen.insert(text.to_owned()) {
            out.append_value(text);
        }
    });
    Some(())
}

/// Sorts the values byte by byte, as Splunk does.
fn mvsort(row: Row<'_>, out: &mut Several<'_>) -> Option<()> {
    let mut all = texts(row.value(0));
    all.sort_unstable();
    all.iter().for_each(|text| out.append_value(text));
    Some(())
}

fn mvreverse(row: Row<'_>, out: &mut Several<'_>) -> Option<()> {
    texts(row.value(0)).iter().rev().for_each(|text| out.append_value(text));
    Some(())
}

/// Joins the first value of one list with the first of the other, the second with the second and so on up to
/// the end of the shorter list; the default delimiter is a comma.
fn mvzip(row: Row<'_>, out: &mut Several<'_>) -> Option<()> {
    let given = if row.len() > 2 { Some(row.text(2)?) } else { None };
    let delimiter = given.as_deref().unwrap_or(",");
    for (left, right) in texts(row.value(0)).iter().zip(texts(row.value(1))) {
        if out.is_full() {
            return None;
        }
        out.append_value(format!("{left}{delimiter}{right}"));
    }
    Some(())
}

/// Returns the position of the first value that matches a regular expression.
#[allow(clippy::cast_precision_loss)]
fn mvfind(call: &Call<'_>) -> Preparation {
    let pattern = patterns(call, 1)?;
    Ok(number(move |row| {
        let pattern = pattern(row)?;
        let mut at = 0_usize;
        let mut found = None;
        row.value(0).each_text(|text| {
            if found.is_none() && pattern.is_match(text) {
                found = Some(at as f64);
            }
            at += 1;
        });
        found
    }))
}

/// `mvrange(start, end, step)`: numbers from `start` up to, but excluding, `end`. The step may be a time
/// span.
fn mvrange(row: Row<'_>, out: &mut Several<'_>) -> Option<()> {
    let (start, end) = (row.number(0)?, row.number(1)?);
    let step = if row.len() > 2 { step(row.value(2))? } else { 1.0 };
    let count = ((end - start) / step).ceil();
    if count > MOST_IN_RANGE {
        row.environment().note(TOO_MANY_IN_RANGE);
        return None;
    }
    // A step in the direction away from the end gives null, too.
    if count.is_nan() || count < 0.0 {
        return None;
    }
    let mut at = 0.0;
    while at < count && !out.is_full() {
        out.append_value(&*NumberText::float(start + at * step));
        at += 1.0;
    }
    Some(())
}

/// Returns a step as a number; a time span such as `1d` is converted to seconds.
fn step(value: Value<'_>) -> Option<f64> {
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
