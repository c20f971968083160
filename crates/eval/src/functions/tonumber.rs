//! `tonumber(text)`, `todouble(text)`, `toint(text)`, all with a base, and `tobool(value)`.
//!
//! Guarantees: a text that is not exactly a number gives null, for example one with surrounding blanks; a
//! literal text that is not a number is rejected.

use super::{Call, Function, Preparation, multi, number, plain, refuse, truth};
use crate::value::{NumberText, Value, ValueType, parse_in_base, parse_number};

pub(super) const FUNCTIONS: &[Function] = &[
    plain("tonumber", tonumber),
    plain("todouble", |call| read(call, |number| number)),
    plain("toint", |call| read(call, f64::floor)),
    plain("tobool", |_| Ok(truth(|row| truth_of(row.value(0))))),
];

fn tonumber(call: &Call<'_>) -> Preparation {
    if call.kind(0) == Some(ValueType::Multi) && call.len() == 1 {
        return Ok(multi(|row, out| {
            row.value(0).each_text(|text| {
                if let Some(number) = exactly(text, 10) {
                    out.append_value(&*NumberText::float(number));
                }
            });
            Some(())
        }));
    }
    if let Some(text) = call.text(0) {
        let base = if call.len() > 1 { call.number(1) } else { Some(10.0) };
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let base = base.map(|base| base as u32).filter(|base| (2..=36).contains(base));
        if base.is_some_and(|base| exactly(text, base).is_none()) {
            return refuse(0, format!("tonumber() cannot read \"{text}\" as a number"));
        }
    }
    read(call, |number| number)
}

fn read(call: &Call<'_>, finish: fn(f64) -> f64) -> Preparation {
    if let Some(base) = call.number(1)
        && !(2.0..=36.0).contains(&base)
    {
        return refuse(1, format!("the base of {}() is between 2 and 36", call.name));
    }
    Ok(number(move |row| {
        let base = match row.len() {
            1 => 10,
            _ => u32::try_from(row.value(1).whole()?).ok()?,
        };
        let found = match row.value(0).single_as_text() {
            Value::Text(text) => exactly(text, base),
            other if base == 10 => other.number(),
            other => exactly(&other.text()?, base),
        };
        found.map(finish)
    }))
}

/// Parses the whole text as a number.
fn exactly(text: &str, base: u32) -> Option<f64> {
    let trimmed = text.trim().len() == text.len();
    let parse = |text| if base == 10 { parse_number(text) } else { parse_in_base(text, base) };
    trimmed.then(|| parse(text)).flatten()
}

fn truth_of(value: Value<'_>) -> Option<bool> {
    match value.single_as_text() {
        Value::Boolean(truth) => Some(truth),
        Value::Text(text) if text.eq_ignore_ascii_case("true") => Some(true),
        Value::Text(text) if text.eq_ignore_ascii_case("false") => Some(false),
        other => other.number().map(|number| number != 0.0),
    }
}
