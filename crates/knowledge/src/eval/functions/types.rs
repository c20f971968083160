//! `isnull`, `isnotnull`, `isnum`, `isint`, `isstr`, `isbool`, `ismv`, `typeof`.

use super::{Function, values};
use crate::eval::node::Kind;
use crate::eval::value::Value;

pub(super) const FUNCTIONS: &[Function] = &[
    values(&["isnull"], Kind::Truth, |arguments| Value::Truth(arguments.value(0).is_null())),
    values(&["isnotnull"], Kind::Truth, |arguments| Value::Truth(!arguments.value(0).is_null())),
    values(&["isnum"], Kind::Truth, |arguments| {
        Value::Truth(arguments.value(0).number().is_some())
    }),
    values(&["isint"], Kind::Truth, |arguments| {
        let number = arguments.value(0).number();
        Value::Truth(number.is_some_and(|number| number.fract() == 0.0))
    }),
    values(&["isstr"], Kind::Truth, |arguments| {
        let value = arguments.value(0);
        Value::Truth(match value {
            Value::Text(_) => value.number().is_none(),
            Value::Multi(_) => true,
            _ => false,
        })
    }),
    values(&["isbool"], Kind::Truth, |arguments| {
        Value::Truth(matches!(arguments.value(0), Value::Truth(_)))
    }),
    values(&["ismv"], Kind::Truth, |arguments| Value::Truth(arguments.value(0).count() > 1)),
    values(&["typeof"], Kind::Text, |arguments| {
        let value = arguments.value(0);
        Value::text_of(match value {
            Value::Null => "Invalid",
            Value::Truth(_) => "Boolean",
            Value::Text(_) if value.number().is_none() => "String",
            Value::Multi(_) => "String",
            _ => "Number",
        })
    }),
];
