//! `isnum`, `isint`, `isdouble`, `isstr`, `isbool`, `ismv`, `isarray`, `isobject`, `typeof`.

use serde_json::Value as Json;

use super::{Function, Preparation, plain, shown, text, truth};
use crate::value::{Value, decimals_in};

pub(super) const FUNCTIONS: &[Function] = &[
    plain("isnum", |_| check(|value| value.number().is_some())),
    plain("isint", |_| check(|value| value.number().is_some_and(|number| number.fract() == 0.0))),
    shown("isdouble", |_| check(is_double)),
    plain("isarray", |_| check(|value| matches!(json(value), Some(Json::Array(_))))),
    plain("isobject", |_| check(|value| matches!(json(value), Some(Json::Object(_))))),
    plain("isstr", |_| {
        check(|value| match value {
            Value::Text(_) => value.number().is_none(),
            Value::Multi(_) => true,
            _ => false,
        })
    }),
    plain("isbool", |_| check(|value| matches!(value, Value::Boolean(_)))),
    plain("ismv", |_| check(|value| value.count() > 1)),
    plain("typeof", |_| {
        Ok(text(|row, out| {
            out.push_str(type_of(row.value(0).single_as_text()));
            Some(())
        }))
    }),
];

/// Returns whether a number has decimals, or is written with a decimal point.
fn is_double(value: Value<'_>) -> bool {
    let has_point = value.text().is_some_and(|text| decimals_in(&text).is_some());
    value.number().is_some_and(|number| has_point || number.fract() != 0.0)
}

/// Parses a single text as JSON; values of other types are neither arrays nor objects.
fn json(value: Value<'_>) -> Option<Json> {
    match value {
        Value::Text(text) => serde_json::from_str(text).ok(),
        _ => None,
    }
}

/// Prepares a type check. Null has no type, so the result is false.
fn check(holds: fn(Value<'_>) -> bool) -> Preparation {
    Ok(truth(move |row| Some(holds(row.value(0).single_as_text()))))
}

fn type_of(value: Value<'_>) -> &'static str {
    match value {
        Value::Null => "Invalid",
        Value::Boolean(_) => "Boolean",
        Value::Text(_) if value.number().is_none() => "String",
        Value::Multi(_) => "String",
        _ => "Number",
    }
}
