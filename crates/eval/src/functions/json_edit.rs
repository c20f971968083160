//! `json_set`, `json_set_exact`, `json_append`, `json_extend`, `json_delete`.
//!
//! Guarantees: pairs of a path and a value are applied from left to right; a pair whose path does not fit the
//! document is skipped; a text that is not valid JSON gives null.

use std::sync::Arc;

use serde_json::{Map, Value as Json};

use super::json::{JsonPath, Step, parse, paths};
use super::json_build::json_of;
use super::{Call, Function, Preparation, Refusal, plain, refuse, text};
use crate::Row;

pub(super) const FUNCTIONS: &[Function] = &[
    plain("json_set", |call| edit(call, set)),
    plain("json_append", |call| {
        edit(call, |steps, json, value| {
            each(steps, json, &mut |place| items(place).push(value.clone()));
        })
    }),
    plain("json_extend", |call| {
        edit(call, |steps, json, value| {
            each(steps, json, &mut |place| match value.clone() {
                Json::Array(more) => items(place).extend(more),
                one => items(place).push(one),
            });
        })
    }),
    plain("json_set_exact", set_exact),
    plain("json_delete", |_| Ok(text(delete))),
];

type Change = fn(&[Step], &mut Json, Json);

/// Prepares a function of a document and pairs of a path and a value.
fn edit(call: &Call<'_>, change: Change) -> Preparation {
    check_pairs(call)?;
    let literals = call.literals();
    let paths: Vec<_> = (1..call.len()).step_by(2).map(|at| paths(call, at)).collect();
    let parameters = format!("{literals:?}");
    let kernel = text(move |row, out| {
        let mut json = parse(row, 0)?;
        for (pair, path) in paths.iter().enumerate() {
            let at = 2 * pair + 2;
            let path: Arc<JsonPath> = path(row)?;
            change(&path.steps, &mut json, json_of(row.value(at), literals[at]));
        }
        out.push_str(&json.to_string());
        Some(())
    });
    Ok(kernel.with(parameters))
}

fn check_pairs(call: &Call<'_>) -> Result<(), Refusal> {
    if call.len() % 2 == 1 {
        return Ok(());
    }
    let name = call.name;
    let message = format!("{name}() takes pairs of a path and a value; this path has no value");
    refuse(call.len() - 1, message)
}

/// Sets the value at a path. Missing keys on the way are created.
fn set(steps: &[Step], json: &mut Json, value: Json) {
    let Some((step, rest)) = steps.split_first() else {
        *json = value;
        return;
    };
    match (step, json) {
        (Step::Key(key), Json::Object(object))
            if object.contains_key(key) || matches!(rest.first(), None | Some(Step::Key(_))) =>
        {
            let empty = || Json::Object(Map::new());
            set(rest, object.entry(key.clone()).or_insert_with(empty), value);
        }
        (Step::Item(at), Json::Array(items)) => {
            if let Some(item) = items.get_mut(*at) {
                set(rest, item, value);
            }
        }
        (Step::EveryItem, Json::Array(items)) => {
            items.iter_mut().for_each(|item| set(rest, item, value.clone()));
        }
        _ => {}
    }
}

/// Calls `change` with each place that a path matches.
fn each(steps: &[Step], json: &mut Json, change: &mut dyn FnMut(&mut Json)) {
    let Some((step, rest)) = steps.split_first() else { return change(json) };
    match (step, json) {
        (Step::Key(key), Json::Object(object)) => {
            if let Some(inner) = object.get_mut(key) {
                each(rest, inner, change);
            }
        }
        (Step::Item(at), Json::Array(items)) => {
            if let Some(item) = items.get_mut(*at) {
                each(rest, item, change);
            }
        }
        (Step::EveryItem, Json::Array(items)) => {
            items.iter_mut().for_each(|item| each(rest, item, change));
        }
        _ => {}
    }
}

/// Returns the items of an array; any other value is first replaced with an array that contains it.
fn items(json: &mut Json) -> &mut Vec<Json> {
    if !json.is_array() {
        *json = Json::Array(vec![json.take()]);
    }
    json.as_array_mut().expect("it was made an array")
}

/// Sets keys given by name instead of by path; names may contain dots.
fn set_exact(call: &Call<'_>) -> Preparation {
    check_pairs(call)?;
    let literals = call.literals();
    let parameters = format!("{literals:?}");
    let kernel = text(move |row, out| {
        let Json::Object(mut object) = parse(row, 0)? else { return None };
        for at in (1..row.len()).step_by(2) {
            let value = json_of(row.value(at + 1), literals[at + 1]);
            object.insert(row.text(at)?.to_string(), value);
        }
        out.push_str(&Json::Object(object).to_string());
        Some(())
    });
    Ok(kernel.with(parameters))
}

/// Removes keys, nested ones by path; an argument may be a JSON array of keys.
fn delete(row: Row<'_>, out: &mut String) -> Option<()> {
    let mut json = parse(row, 0).filter(Json::is_object)?;
    for argument in row.values().skip(1) {
        let text = argument.text()?;
        match serde_json::from_str(&text) {
            Ok(Json::Array(keys)) => {
                keys.iter().filter_map(Json::as_str).for_each(|key| remove(key, &mut json));
            }
            _ => remove(&text, &mut json),
        }
    }
    out.push_str(&json.to_string());
    Some(())
}

fn remove(path: &str, json: &mut Json) {
    let Json::Object(object) = json else { return };
    match path.split_once('.') {
        Some((key, rest)) => {
            if let Some(inner) = object.get_mut(key) {
                remove(rest, inner);
            }
        }
        None => {
            object.shift_remove(path);
        }
    }
}
