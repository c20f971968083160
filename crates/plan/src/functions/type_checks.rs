//! `isnum`, `isint`, `isstr`, `isbool`, `ismv`, `typeof`.

use crate::Error;
use crate::expr::Typed;
use crate::expr::column::Value;
use crate::expr::kernel::{text, truth};
use crate::functions::{Function, Invocation, values};
use crate::types::ValueType;

pub(crate) const FUNCTIONS: &[Function] = &[
    values(&["isnum"], (1, 1), |call| check("isnum", call, |value| value.number().is_some())),
    values(&["isint"], (1, 1), |call| {
        check("isint", call, |value| value.number().is_some_and(|number| number.fract() == 0.0))
    }),
    values(&["isstr"], (1, 1), |call| {
        check("isstr", call, |value| match value {
            Value::Text(_) => value.number().is_none(),
            Value::Multi(_) => true,
            _ => false,
        })
    }),
    values(&["isbool"], (1, 1), |call| {
        check("isbool", call, |value| matches!(value, Value::Boolean(_)))
    }),
    values(&["ismv"], (1, 1), |call| check("ismv", call, |value| value.count() > 1)),
    values(&["typeof"], (1, 1), type_of),
];

/// Null is of no type, so a check of it is false.
fn check(
    name: &'static str,
    call: Invocation<'_>,
    holds: fn(Value<'_>) -> bool,
) -> Result<Typed, Error> {
    if call.arguments.iter().all(|value| value.kind == ValueType::Null) {
        return Ok(Typed::truth(false));
    }
    Ok(truth(name, move |row| Some(holds(row.value(0)))).call(call.arguments))
}

fn type_of(call: Invocation<'_>) -> Result<Typed, Error> {
    if call.arguments.iter().all(|value| value.kind == ValueType::Null) {
        return Ok(Typed::text("Invalid"));
    }
    let function = text("typeof", |row, out| {
        let value = row.value(0);
        out.push_str(match value {
            Value::Null => "Invalid",
            Value::Boolean(_) => "Boolean",
            Value::Text(_) if value.number().is_none() => "String",
            Value::Multi(_) => "String",
            _ => "Number",
        });
        Some(())
    });
    Ok(function.call(call.arguments))
}
