//! `json_object`, `json_array`, `json_array_to_mv`, `mv_to_json_array`, `toarray`, `toobject`, `tomv`,
//! `object_to_array`, `array_to_object`.
//!
//! Guarantees: a text literal stays a text; a field whose text is a JSON number, object or array is treated
//! as that value.

use serde_json::{Map, Number, Value as Json};

use super::json::{entries_of, json_text, parse};
use super::{Call, Function, Preparation, multi, plain, text};
use crate::value::Value;
use crate::{Row, Several};

pub(super) const FUNCTIONS: &[Function] = &[
    plain("json_object", object),
    plain("json_array", array),
    plain("json_array_to_mv", |_| {
        Ok(multi(|row, out| array_to_mv(row, out, row.value(1).truth() == Some(true))))
    }),
    plain("mv_to_json_array", |_| Ok(text(mv_to_array))),
    plain("tomv", |_| Ok(multi(to_mv))),
    plain("toarray", |_| Ok(text(to_array))),
    plain("toobject", |_| Ok(text(to_object))),
    plain("object_to_array", |_| Ok(text(object_to_array))),
    plain("array_to_object", |_| Ok(text(array_to_object))),
];

/// Converts a value to JSON; `literal` is whether the search contains it as a quoted text.
#[must_use]
pub fn json_of(value: Value<'_>, literal: bool) -> Json {
    match value.single_as_text() {
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

fn parameters(literals: &[bool]) -> String {
    literals.iter().map(|literal| if *literal { 'l' } else { 'v' }).collect()
}

fn object(call: &Call<'_>) -> Preparation {
    let literals = call.literals();
    let name = parameters(&literals);
    let kernel = text(move |row, out| {
        let mut object = Map::new();
        for at in (0..row.len()).step_by(2) {
            let value = json_of(row.value(at + 1), literals[at + 1]);
            object.insert(row.text(at)?.to_string(), value);
        }
        out.push_str(&Json::Object(object).to_string());
        Some(())
    });
    Ok(kernel.with(name))
}

fn array(call: &Call<'_>) -> Preparation {
    let literals = call.literals();
    let name = parameters(&literals);
    let kernel = text(move |row, out| {
        let items = row.values().zip(&literals).map(|(value, literal)| json_of(value, *literal));
        out.push_str(&Json::Array(items.collect()).to_string());
        Some(())
    });
    Ok(kernel.with(name))
}

fn array_to_mv(row: Row<'_>, out: &mut Several<'_>, quoted: bool) -> Option<()> {
    let Json::Array(items) = parse(row, 0)? else { return None };
    for item in &items {
        if quoted {
            out.append_value(item.to_string());
        } else if let Some(text) = json_text(item) {
            out.append_value(text);
        }
    }
    Some(())
}

/// `mv_to_json_array`: if the second argument is true, values that are valid JSON are converted to it and
/// others become null; otherwise all values become texts.
fn mv_to_array(row: Row<'_>, out: &mut String) -> Option<()> {
    if row.value(0).is_null() {
        return None;
    }
    out.push_str(&items_of(row.value(0), row.value(1).truth() == Some(true)).to_string());
    Some(())
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

/// `tomv`: keeps several values as they are, and splits an array into its items with their quotes.
fn to_mv(row: Row<'_>, out: &mut Several<'_>) -> Option<()> {
    match row.value(0) {
        Value::Multi(several) => {
            several.iter().for_each(|text| out.append_value(text));
            Some(())
        }
        _ => array_to_mv(row, out, true),
    }
}

fn to_array(row: Row<'_>, out: &mut String) -> Option<()> {
    let array = match row.value(0) {
        several @ Value::Multi(_) => items_of(several, true),
        _ => parse(row, 0).filter(Json::is_array)?,
    };
    out.push_str(&plain_numbers(array).to_string());
    Some(())
}

fn to_object(row: Row<'_>, out: &mut String) -> Option<()> {
    let object = parse(row, 0).filter(Json::is_object)?;
    out.push_str(&plain_numbers(object).to_string());
    Some(())
}

/// Writes whole numbers without decimals, also those inside of the value.
#[allow(clippy::cast_possible_truncation)]
fn plain_numbers(json: Json) -> Json {
    match json {
        Json::Array(items) => Json::Array(items.into_iter().map(plain_numbers).collect()),
        Json::Object(object) => Json::Object(
            object.into_iter().map(|(key, value)| (key, plain_numbers(value))).collect(),
        ),
        Json::Number(number) => match number.as_f64() {
            Some(value) if number.is_f64() && value.fract() == 0.0 && value.abs() < 1e15 => {
                Json::Number(Number::from(value as i64))
            }
            _ => Json::Number(number),
        },
        other => other,
    }
}

fn object_to_array(row: Row<'_>, out: &mut String) -> Option<()> {
    let Json::Object(object) = parse(row, 0)? else { return None };
    out.push_str(&entries_of(object, &row.text(1)?, &row.text(2)?).to_string());
    Some(())
}

/// `array_to_object`: items that are not objects with both names are left out.
fn array_to_object(row: Row<'_>, out: &mut String) -> Option<()> {
    let Json::Array(items) = parse(row, 0)? else { return None };
    let (key, value) = (row.text(1)?, row.text(2)?);
    let mut object = Map::new();
    for item in items {
        if let (Some(name), Some(content)) = (item.get(&*key), item.get(&*value)) {
            object.insert(json_text(name)?.into_owned(), content.clone());
        }
    }
    out.push_str(&Json::Object(object).to_string());
    Some(())
}
