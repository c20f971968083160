//! `json_set`, `json_set_exact`, `json_append`, `json_extend`, `json_delete`.
//!
//! Guarantees: pairs of a path and a value are applied from left to right; a pair whose path does not fit the
//! document is skipped; a text that is not valid JSON gives null; numbers stay as they are written.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use serde_json::Value as Json;

use super::json::{JsonPath, Step, TOO_DEEP, paths};
use super::{Call, Function, Preparation, Refusal, plain, refuse, text};
use crate::value::{TextValue, Value};
use crate::{JsonTree, Row};

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
                JsonTree::Array(more) => items(place).extend(more),
                one => items(place).push(one),
            });
        })
    }),
    plain("json_set_exact", set_exact),
    plain("json_delete", |_| Ok(text(delete))),
];

/// Maximum number of steps of a path. More would create a value that is nested too deeply to be read, and
/// whose recursion has no bound.
const STEPS: usize = 127;

type Change = for<'t> fn(&[Step], &mut JsonTree<'t>, JsonTree<'t>);

/// Prepares a function of a document and pairs of a path and a value.
fn edit(call: &Call<'_>, change: Change) -> Preparation {
    check_pairs(call)?;
    let literals = call.literals();
    let paths: Vec<_> = (1..call.len()).step_by(2).map(|at| paths(call, at)).collect();
    let parameters = format!("{literals:?}");
    let kernel = text(move |row, out| {
        let (written, numbers) = (row.text(0)?, numbers(row));
        let mut json = document(&written, row)?;
        for (pair, path) in paths.iter().enumerate() {
            let at = 2 * pair + 2;
            let path: Arc<JsonPath> = path(row)?;
            if path.steps.len() > STEPS {
                row.environment().note(TOO_DEEP);
                return None;
            }
            let value = value_of(row.value(at), numbers[at].as_deref(), literals[at]);
            change(&path.steps, &mut json, value);
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

/// Parses the document, unless it is nested too deeply to be changed.
fn document<'t>(text: &'t str, row: Row<'_>) -> Option<JsonTree<'t>> {
    let json = JsonTree::parse(text)?;
    if json.has_deep() {
        row.environment().note(TOO_DEEP);
        return None;
    }
    Some(json)
}

/// Returns the texts of the arguments that have none by themselves.
fn numbers(row: Row<'_>) -> Vec<Option<TextValue<'_>>> {
    let numbers = row.values().map(|value| match value {
        Value::Text(_) | Value::Multi(_) => None,
        other => other.text(),
    });
    numbers.collect()
}

/// Converts a value to JSON as [`json_of`](super::json_of) does, with numbers as they are written; `number`
/// is the text of a number.
fn value_of<'t>(value: Value<'t>, number: Option<&'t str>, literal: bool) -> JsonTree<'t> {
    match value.single_as_text() {
        Value::Null => JsonTree::Null,
        Value::Boolean(truth) => JsonTree::Bool(truth),
        Value::Multi(values) => {
            JsonTree::Array(values.iter().map(|text| text_of(text, literal)).collect())
        }
        Value::Text(text) => text_of(text, literal),
        _ => {
            let text = number.unwrap_or_default();
            JsonTree::parse(text).unwrap_or(JsonTree::Text(Cow::Borrowed(text)))
        }
    }
}

/// Objects and arrays are inserted as such, except those that no function could read afterwards.
fn text_of(text: &str, literal: bool) -> JsonTree<'_> {
    match JsonTree::parse(text) {
        Some(number @ JsonTree::Number(_)) if !literal => number,
        Some(parsed @ (JsonTree::Object(_) | JsonTree::Array(_))) if !parsed.has_deep() => parsed,
        _ => JsonTree::Text(Cow::Borrowed(text)),
    }
}

/// Sets the value at a path. Missing keys on the way are created.
fn set<'t>(steps: &[Step], json: &mut JsonTree<'t>, value: JsonTree<'t>) {
    let Some((step, rest)) = steps.split_first() else {
        *json = value;
        return;
    };
    match (step, json) {
        (Step::Key(key), JsonTree::Object(members)) => match place(members, key) {
            Some(at) => set(rest, &mut members[at].1, value),
            None if matches!(rest.first(), None | Some(Step::Key(_))) => {
                let mut made = JsonTree::Object(Vec::new());
                set(rest, &mut made, value);
                members.push((Cow::Owned(key.clone()), made));
            }
            None => {}
        },
        (Step::Item(at), JsonTree::Array(items)) => {
            if let Some(item) = items.get_mut(*at) {
                set(rest, item, value);
            }
        }
        (Step::EveryItem, JsonTree::Array(items)) => {
            items.iter_mut().for_each(|item| set(rest, item, value.clone()));
        }
        _ => {}
    }
}

/// Returns the position of the last member with a name, which counts if the name is repeated.
fn place(members: &[(Cow<'_, str>, JsonTree<'_>)], name: &str) -> Option<usize> {
    members.iter().rposition(|(known, _)| known == name)
}

/// Calls `change` with each place that a path matches.
fn each<'t>(steps: &[Step], json: &mut JsonTree<'t>, change: &mut dyn FnMut(&mut JsonTree<'t>)) {
    let Some((step, rest)) = steps.split_first() else { return change(json) };
    match (step, json) {
        (Step::Key(key), JsonTree::Object(members)) => {
            if let Some(at) = place(members, key) {
                each(rest, &mut members[at].1, change);
            }
        }
        (Step::Item(at), JsonTree::Array(items)) => {
            if let Some(item) = items.get_mut(*at) {
                each(rest, item, change);
            }
        }
        (Step::EveryItem, JsonTree::Array(items)) => {
            items.iter_mut().for_each(|item| each(rest, item, change));
        }
        _ => {}
    }
}

/// Returns the items of an array; any other value is first replaced with an array that contains it.
fn items<'j, 't>(json: &'j mut JsonTree<'t>) -> &'j mut Vec<JsonTree<'t>> {
    if !matches!(json, JsonTree::Array(_)) {
        let one = std::mem::replace(json, JsonTree::Null);
        *json = JsonTree::Array(vec![one]);
    }
    match json {
        JsonTree::Array(items) => items,
        _ => unreachable!("it was made an array"),
    }
}

/// Sets keys given by name instead of by path; names may contain dots.
fn set_exact(call: &Call<'_>) -> Preparation {
    check_pairs(call)?;
    let literals = call.literals();
    let parameters = format!("{literals:?}");
    let kernel = text(move |row, out| {
        let (written, numbers) = (row.text(0)?, numbers(row));
        let JsonTree::Object(mut members) = document(&written, row)? else { return None };
        for at in (1..row.len()).step_by(2) {
            let number = numbers[at + 1].as_deref();
            let value = value_of(row.value(at + 1), number, literals[at + 1]);
            let name = row.text(at)?.to_string();
            match place(&members, &name) {
                Some(known) => members[known].1 = value,
                None => members.push((Cow::Owned(name), value)),
            }
        }
        out.push_str(&JsonTree::Object(members).to_string());
        Some(())
    });
    Ok(kernel.with(parameters))
}

/// Removes keys, nested ones by path; an argument may be a JSON array of keys.
fn delete(row: Row<'_>, out: &mut String) -> Option<()> {
    let written = row.text(0)?;
    let mut json = document(&written, row)?;
    if !matches!(json, JsonTree::Object(_)) {
        return None;
    }
    for argument in row.values().skip(1) {
        let text = argument.text()?;
        match serde_json::from_str(&text) {
            Ok(Json::Array(keys)) => {
                let keys: Vec<&str> = keys.iter().filter_map(Json::as_str).collect();
                remove(&keys, &mut json);
            }
            _ => remove(&[&*text], &mut json),
        }
    }
    out.push_str(&json.to_string());
    Some(())
}

/// Removes the members at these paths. Each member is visited once, whatever the number of paths.
fn remove(paths: &[&str], json: &mut JsonTree<'_>) {
    let JsonTree::Object(members) = json else { return };
    let mut whole: HashSet<&str> = HashSet::new();
    let mut nested: HashMap<&str, Vec<&str>> = HashMap::new();
    for path in paths {
        match path.split_once('.') {
            Some((key, rest)) => nested.entry(key).or_default().push(rest),
            None => {
                whole.insert(path);
            }
        }
    }
    // The last member counts if a name is repeated.
    for (name, value) in members.iter_mut().rev() {
        if let Some(rest) = nested.remove(&**name) {
            remove(&rest, value);
        }
    }
    members.retain(|(name, _)| !whole.contains(&**name));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_keys_are_removed_from_many_members_in_one_pass() {
        const MEMBERS: usize = 400_000;
        let member = |number: usize| (Cow::Owned(format!("k{number}")), JsonTree::Null);
        let mut json = JsonTree::Object((0..MEMBERS).map(member).collect());
        // Compared one by one, these take minutes.
        let other = |number: usize| match number % 2 {
            0 => format!("x{number}"),
            _ => format!("x{number}.y"),
        };
        let mut keys: Vec<String> = (0..MEMBERS).map(other).collect();
        keys.push("k7".to_owned());
        remove(&keys.iter().map(String::as_str).collect::<Vec<_>>(), &mut json);
        let JsonTree::Object(members) = json else { panic!("it is an object") };
        assert_eq!(members.len(), MEMBERS - 1);
    }

    #[test]
    fn the_last_member_of_a_repeated_name_is_changed_and_all_are_removed() {
        let of = |paths: &[&str]| {
            let text = r#"{"a":{"b":1,"c":2},"d":3,"a":{"b":4,"c":5,"e":{"f":6}}}"#;
            let mut json = JsonTree::parse(text).expect("it is JSON");
            remove(paths, &mut json);
            json.to_string()
        };
        let changed = r#"{"a":{"b":1,"c":2},"d":3,"a":{"c":5,"e":{}}}"#;
        assert_eq!(of(&["a.b", "a.e.f", "b", "d.x"]), changed);
        assert_eq!(of(&["a", "a.b"]), r#"{"d":3}"#);
    }

    #[test]
    fn a_value_that_is_nested_too_deeply_is_a_string() {
        let nested = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        assert!(matches!(text_of(&nested(127), false), JsonTree::Array(_)));
        assert!(matches!(text_of(&nested(128), false), JsonTree::Text(_)));
    }
}
