//! `isnum`, `isint`, `isdouble`, `isstr`, `isbool`, `ismv`, `isarray`, `isobject`, `typeof`.

use serde_json::Value as Json;

use crate::Error;
use crate::expr::Typed;
use crate::expr::column::Value;
use crate::expr::kernel::{text, truth};
use crate::expr::precision::decimals_in;
use crate::functions::{Function, Invocation, shown_values, values};
use crate::types::ValueType;

pub(crate) const FUNCTIONS: &[Function] = &[
    values(&["isnum"], (1, 1), |call| check("isnum", call, |value| value.number().is_some())),
    values(&["isint"], (1, 1), |call| {
        check("isint", call, |value| value.number().is_some_and(|number| number.fract() == 0.0))
    }),
    shown_values(&["isdouble"], (1, 1), |call| {
        let call = Invocation { arguments: vec![call.arguments[0].clone().shown()], ..call };
        check("isdouble", call, is_double)
    }),
    values(&["isarray"], (1, 1), |call| {
        check("isarray", call, |value| matches!(json(value), Some(Json::Array(_))))
    }),
    values(&["isobject"], (1, 1), |call| {
        check("isobject", call, |value| matches!(json(value), Some(Json::Object(_))))
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

/// A number that has decimals, or is written with a point.
fn is_double(value: Value<'_>) -> bool {
    let has_point = value.text().is_some_and(|text| decimals_in(&text).is_some());
    value.number().is_some_and(|number| has_point || number.fract() != 0.0)
}

/// A single text as JSON; numbers and the like are none that would matter here.
fn json(value: Value<'_>) -> Option<Json> {
    match value {
        Value::Text(text) => serde_json::from_str(text).ok(),
        _ => None,
    }
}

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
