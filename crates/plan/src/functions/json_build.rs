//! `json_object`, `json_array`, `json_array_to_mv`, `mv_to_json_array`, `toarray`, `toobject`, `tomv`,
//! `object_to_array`, `array_to_object`, `tojson`.
//!
//! Guarantees: a text in the search itself stays a text; a field whose text is a JSON number, object
//! or array is taken as that.

use serde_json::{Map, Number, Value as Json};

use crate::Error;
use crate::expr::Typed;
use crate::expr::column::{Row, Value};
use crate::expr::kernel::{multi, text};
use crate::functions::json::{entries_of, json_text, parse};
use crate::functions::{ANY, Function, Invocation, values};
use crate::types::ValueType;

pub(crate) const FUNCTIONS: &[Function] = &[
    values(&["json_object"], (0, ANY), object),
    values(&["json_array"], (0, ANY), array),
    values(&["json_array_to_mv"], (1, 2), |call| array_to_mv("json_array_to_mv", call, false)),
    values(&["mv_to_json_array"], (1, 2), mv_to_array),
    values(&["tomv"], (1, 1), to_mv),
    values(&["toarray"], (1, 1), to_array),
    values(&["toobject"], (1, 1), to_object),
    values(&["object_to_array"], (3, 3), object_to_array),
    values(&["array_to_object"], (3, 3), array_to_object),
    values(&["tojson"], (0, 1), to_json),
];

/// A value as JSON; what stands in quotes in the search is `literal`.
pub(super) fn json_of(value: Value<'_>, literal: bool) -> Json {
    match value {
        Value::Null => Json::Null,
        Value::Boolean(truth) => Json::Bool(truth),
        Value::Multi(values) => {
            Json::Array(values.iter().map(|text| json_of(Value::Text(text), literal)).collect())
        }
        Value::Text(text) => match serde_json::from_str(text) {
            Ok(Json::Number(number)) if !literal => Json::Number(number),
            Ok(parsed @ (Json::Object(_) | Json::Array(_))) => parsed,
            _ => Json::String(text.to_owned()),
        },
        number => {
            let text = number.text().map(|text| text.to_string()).unwrap_or_default();
            serde_json::from_str(&text).unwrap_or(Json::String(text))
        }
    }
}

/// Which arguments are texts of the search itself.
pub(super) fn literals(call: &Invocation<'_>) -> Vec<bool> {
    (0..call.arguments.len()).map(|at| call.literal(at).is_some()).collect()
}

fn parameters(literals: &[bool]) -> String {
    literals.iter().map(|literal| if *literal { 'l' } else { 'v' }).collect()
}

fn object(call: Invocation<'_>) -> Result<Typed, Error> {
    if call.arguments.len() % 2 == 1 {
        let last = call.arguments.len() - 1;
        return Err(call
            .error(last, "json_object() takes pairs of a key and a value; this key has no value"));
    }
    if call.arguments.is_empty() {
        return Ok(Typed::text("{}"));
    }
    let literals = literals(&call);
    let name = parameters(&literals);
    let function = text("json_object", move |row, out| {
        let mut object = Map::new();
        for at in (0..row.arguments.len()).step_by(2) {
            let value = json_of(row.value(at + 1), literals[at + 1]);
            object.insert(row.text(at)?.to_string(), value);
        }
        out.push_str(&Json::Object(object).to_string());
        Some(())
    });
    Ok(function.with(name).call(call.arguments))
}

fn array(call: Invocation<'_>) -> Result<Typed, Error> {
    if call.arguments.is_empty() {
        return Ok(Typed::text("[]"));
    }
    let literals = literals(&call);
    let name = parameters(&literals);
    let function = text("json_array", move |row, out| {
        let items = row.values().zip(&literals).map(|(value, literal)| json_of(value, *literal));
        out.push_str(&Json::Array(items.collect()).to_string());
        Some(())
    });
    Ok(function.with(name).call(call.arguments))
}

fn array_to_mv(name: &'static str, call: Invocation<'_>, quoted: bool) -> Result<Typed, Error> {
    let function = multi(name, move |row, out| {
        let Json::Array(items) = parse(row.value(0))? else { return None };
        let quoted = quoted || row.value(1).truth() == Some(true);
        for item in &items {
            if quoted {
                out.append_value(item.to_string());
            } else if let Some(text) = json_text(item) {
                out.append_value(text);
            }
        }
        Some(())
    });
    Ok(function.call(call.arguments))
}

/// With a true second argument, values that are JSON are taken as such and others are null;
/// otherwise all are texts.
fn mv_to_array(call: Invocation<'_>) -> Result<Typed, Error> {
    if call.arguments[0].kind == ValueType::Null {
        return Ok(Typed::null(ValueType::Text));
    }
    let function = text("mv_to_json_array", |row, out| {
        if row.value(0).is_null() {
            return None;
        }
        out.push_str(&items_of(row.value(0), row.value(1).truth() == Some(true)).to_string());
        Some(())
    });
    Ok(function.call(call.arguments))
}

fn items_of(value: Value<'_>, infer: bool) -> Json {
    let mut items = Vec::new();
    value.each_text(|text| {
        items.push(match infer {
            true => serde_json::from_str(text).unwrap_or(Json::Null),
            false => Json::String(text.to_owned()),
        });
    });
    Json::Array(items)
}

/// Several values as they are, an array as its items with their quotes.
fn to_mv(call: Invocation<'_>) -> Result<Typed, Error> {
    match call.arguments[0].kind {
        ValueType::Multi => Ok(call.arguments[0].clone()),
        _ => array_to_mv("tomv", call, true),
    }
}

fn to_array(call: Invocation<'_>) -> Result<Typed, Error> {
    let function = text("toarray", |row, out| {
        let array = match row.value(0) {
            several @ Value::Multi(_) => items_of(several, true),
            single => parse(single).filter(Json::is_array)?,
        };
        out.push_str(&plain(array).to_string());
        Some(())
    });
    Ok(function.call(call.arguments))
}

fn to_object(call: Invocation<'_>) -> Result<Typed, Error> {
    let function = text("toobject", |row, out| {
        let object = parse(row.value(0)).filter(Json::is_object)?;
        out.push_str(&plain(object).to_string());
        Some(())
    });
    Ok(function.call(call.arguments))
}

/// The same with whole numbers written without decimals.
#[allow(clippy::cast_possible_truncation)]
fn plain(json: Json) -> Json {
    match json {
        Json::Array(items) => Json::Array(items.into_iter().map(plain).collect()),
        Json::Object(object) => {
            Json::Object(object.into_iter().map(|(key, value)| (key, plain(value))).collect())
        }
        Json::Number(number) => match number.as_f64() {
            Some(value) if number.is_f64() && value.fract() == 0.0 && value.abs() < 1e15 => {
                Json::Number(Number::from(value as i64))
            }
            _ => Json::Number(number),
        },
        other => other,
    }
}

fn object_to_array(call: Invocation<'_>) -> Result<Typed, Error> {
    let function = text("object_to_array", |row, out| {
        let Json::Object(object) = parse(row.value(0))? else { return None };
        out.push_str(&entries_of(object, &row.text(1)?, &row.text(2)?).to_string());
        Some(())
    });
    Ok(function.call(call.arguments))
}

/// Items that are no objects with both names are left out.
fn array_to_object(call: Invocation<'_>) -> Result<Typed, Error> {
    let function = text("array_to_object", |row, out| {
        let Json::Array(items) = parse(row.value(0))? else { return None };
        let (key, value) = (row.text(1)?, row.text(2)?);
        let mut object = Map::new();
        for item in items {
            if let (Some(name), Some(content)) = (item.get(&*key), item.get(&*value)) {
                object.insert(json_text(name)?.into_owned(), content.clone());
            }
        }
        out.push_str(&Json::Object(object).to_string());
        Some(())
    });
    Ok(function.call(call.arguments))
}

/// The fields of the row that have values; with a true argument also those that begin with `_`.
fn to_json(call: Invocation<'_>) -> Result<Typed, Error> {
    let internal = call.arguments.first().is_some_and(|value| *value == Typed::truth(true));
    let mut names = call.scope.fields();
    names.retain(|name| !name.starts_with("__") && (internal || !name.starts_with('_')));
    let columns = names.iter().map(|name| {
        let kind = call.scope.field(name).unwrap_or(ValueType::Null);
        Typed::column(name, kind)
    });
    let columns: Vec<Typed> = columns.collect();
    if columns.is_empty() {
        return Ok(Typed::text("{}"));
    }
    let parameters = names.join("\n");
    let function = text("tojson", move |row: Row<'_>, out| {
        let fields = names.iter().zip(row.values()).filter(|(_, value)| !value.is_null());
        let object: Map<String, Json> =
            fields.map(|(name, value)| (name.clone(), json_of(value, false))).collect();
        out.push_str(&Json::Object(object).to_string());
        Some(())
    });
    Ok(function.with(parameters).call(columns))
}
