//! `tonumber(text)`, `todouble(text)`, `toint(text)`, all with a base, and `tobool(value)`.
//!
//! Guarantees: what cannot be read gives null, blanks around a number included; a text in the search
//! itself that is no number is refused.

use crate::Error;
use crate::expr::Typed;
use crate::expr::column::Value;
use crate::expr::kernel::{multi, number, truth};
use crate::functions::{Function, Invocation, values};
use crate::types::ValueType;
use crate::value::{NumberText, parse_in_base, parse_number};

pub(crate) const FUNCTIONS: &[Function] = &[
    values(&["tonumber"], (1, 2), tonumber),
    values(&["todouble"], (1, 2), |call| read("todouble", call, |number| number)),
    values(&["toint"], (1, 2), |call| read("toint", call, f64::floor)),
    values(&["tobool"], (1, 1), |call| {
        Ok(truth("tobool", |row| truth_of(row.value(0))).call(call.arguments))
    }),
];

fn tonumber(call: Invocation<'_>) -> Result<Typed, Error> {
    if call.arguments[0].kind == ValueType::Multi && call.arguments.len() == 1 {
        let function = multi("tonumber", |row, out| {
            row.value(0).each_text(|text| {
                if let Some(number) = exactly(text, 10) {
                    out.append_value(&*NumberText::float(number));
                }
            });
            Some(())
        });
        return Ok(function.call(call.arguments));
    }
    if let Some(text) = call.literal(0) {
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let base = call.arguments.get(1).map_or(Some(10.0), Typed::literal_number);
        let base = base.map(|base| base as u32).filter(|base| (2..=36).contains(base));
        if base.is_some_and(|base| exactly(text, base).is_none()) {
            return Err(call.error(0, format!("tonumber() cannot read \"{text}\" as a number")));
        }
    }
    read("tonumber", call, |number| number)
}

fn read(name: &'static str, call: Invocation<'_>, finish: fn(f64) -> f64) -> Result<Typed, Error> {
    if let Some(base) = call.arguments.get(1).and_then(Typed::literal_number)
        && !(2.0..=36.0).contains(&base)
    {
        return Err(call.error(1, format!("the base of {name}() is between 2 and 36")));
    }
    let function = number(name, move |row| {
        let base = match row.arguments.len() {
            1 => 10,
            _ => u32::try_from(row.value(1).whole()?).ok()?,
        };
        let found = match row.value(0) {
            Value::Text(text) => exactly(text, base),
            other if base == 10 => other.number(),
            other => exactly(&other.text()?, base),
        };
        found.map(finish)
    });
    Ok(function.call(call.arguments))
}

/// The number that the whole text is.
fn exactly(text: &str, base: u32) -> Option<f64> {
    let trimmed = text.trim().len() == text.len();
    let parse = |text| if base == 10 { parse_number(text) } else { parse_in_base(text, base) };
    trimmed.then(|| parse(text)).flatten()
}

fn truth_of(value: Value<'_>) -> Option<bool> {
    match value {
        Value::Boolean(truth) => Some(truth),
        Value::Text(text) if text.eq_ignore_ascii_case("true") => Some(true),
        Value::Text(text) if text.eq_ignore_ascii_case("false") => Some(false),
        other => other.number().map(|number| number != 0.0),
    }
}
