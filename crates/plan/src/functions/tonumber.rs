//! `tonumber(text)` and `tonumber(text, base)`.

use crate::Error;
use crate::expr::Typed;
use crate::expr::kernel::{multi, number};
use crate::functions::{Function, Invocation, values};
use crate::types::ValueType;
use crate::value::{NumberText, parse_in_base, parse_number};

pub(crate) const FUNCTIONS: &[Function] = &[values(&["tonumber"], (1, 2), tonumber)];

fn tonumber(call: Invocation<'_>) -> Result<Typed, Error> {
    if let Some(base) = call.arguments.get(1).and_then(Typed::literal_number)
        && !(2.0..=36.0).contains(&base)
    {
        return Err(call.error(1, "the base of tonumber() is between 2 and 36"));
    }
    if call.arguments[0].kind == ValueType::Multi && call.arguments.len() == 1 {
        let function = multi("tonumber", |row, out| {
            row.value(0).each_text(|text| {
                if let Some(number) = parse_number(text) {
                    out.append_value(&*NumberText::float(number));
                }
            });
            Some(())
        });
        return Ok(function.call(call.arguments));
    }
    if call.arguments.len() == 1 {
        return Ok(number("tonumber", |row| row.number(0)).call(call.arguments));
    }
    let function = number("tonumber", |row| {
        let base = u32::try_from(row.value(1).whole()?).ok()?;
        parse_in_base(&row.text(0)?, base)
    });
    Ok(function.call(call.arguments))
}
