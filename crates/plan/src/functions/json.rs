//! `spath`, `json_extract`, `json_valid`, `json_object`, `json_array`, `json_keys`,
//! `json_array_to_mv`, `mv_to_json_array`, and the paths into JSON that they and the `spath` command
//! use.
//!
//! Guarantees: a path that is a literal is parsed once, when planning; text that is no JSON gives
//! null.

use std::sync::Arc;

use arrow::array::StringViewBuilder;
use serde_json::{Map, Value as Json};

use crate::Error;
use crate::expr::Typed;
use crate::expr::cached::Cached;
use crate::expr::column::{Row, Value};
use crate::expr::kernel::{multi, text, truth};
use crate::functions::{ANY, Function, Invocation, values};
use crate::types::ValueType;

pub(crate) const FUNCTIONS: &[Function] = &[
    values(&["spath", "json_extract", "json_extract_exact"], (1, ANY), extract),
    values(&["json_valid"], (1, 1), valid),
    values(&["json_object"], (0, ANY), object),
    values(&["json_array"], (0, ANY), |call| Ok(text("json_array", array).call(call.arguments))),
    values(&["json_keys"], (1, 1), |call| Ok(text("json_keys", keys).call(call.arguments))),
    values(&["json_array_to_mv"], (1, 2), array_to_mv),
    values(&["mv_to_json_array"], (1, 2), mv_to_array),
];

/// A place in a JSON document: `a.b{0}.c`, `items{}.id`, and keys in single quotes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct JsonPath {
    steps: Vec<Step>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Step {
    Key(String),
    Item(usize),
    EveryItem,
}

impl JsonPath {
    /// Parses a path; every text is one, for keys may hold anything.
    pub(crate) fn new(text: &str) -> Self {
        let mut steps = Vec::new();
        for part in text.split('.') {
            let (key, mut rest) = part.split_at(part.find('{').unwrap_or(part.len()));
            if !key.is_empty() {
                steps.push(Step::Key(key.trim_matches('\'').to_owned()));
            }
            while let Some(inner) = rest.strip_prefix('{') {
                let (item, after) = inner.split_once('}').unwrap_or((inner, ""));
                match item.trim().parse() {
                    Ok(at) => steps.push(Step::Item(at)),
                    Err(_) => steps.push(Step::EveryItem),
                }
                rest = after;
            }
        }
        Self { steps }
    }

    /// Calls `visit` with everything at the path.
    pub(crate) fn visit<'j>(&self, json: &'j Json, visit: &mut dyn FnMut(&'j Json)) {
        walk(&self.steps, json, visit);
    }
}

fn walk<'j>(steps: &[Step], json: &'j Json, visit: &mut dyn FnMut(&'j Json)) {
    let Some((step, rest)) = steps.split_first() else {
        visit(json);
        return;
    };
    match (step, json) {
        (Step::Key(key), Json::Object(object)) => {
            // A key may itself hold dots: the longest run of steps that is a key wins last.
            match object.get(key) {
                Some(inner) => walk(rest, inner, visit),
                None => walk_dotted(key, rest, object, visit),
            }
        }
        (Step::Item(at), Json::Array(items)) => {
            if let Some(item) = items.get(*at) {
                walk(rest, item, visit);
            }
        }
        (Step::EveryItem, Json::Array(items)) => {
            items.iter().for_each(|item| walk(rest, item, visit));
        }
        _ => {}
    }
}

/// Keys that hold dots were split into several steps: put them together again.
fn walk_dotted<'j>(
    key: &str,
    steps: &[Step],
    object: &'j Map<String, Json>,
    visit: &mut dyn FnMut(&'j Json),
) {
    let mut joined = key.to_owned();
    for (at, step) in steps.iter().enumerate() {
        let Step::Key(next) = step else { return };
        joined.push('.');
        joined.push_str(next);
        if let Some(inner) = object.get(&joined) {
            walk(&steps[at + 1..], inner, visit);
            return;
        }
    }
}

/// A JSON value as a field value: texts without quotes, the rest as JSON. Null is none.
pub(crate) fn json_text(json: &Json) -> Option<std::borrow::Cow<'_, str>> {
    match json {
        Json::Null => None,
        Json::String(text) => Some(text.into()),
        other => Some(other.to_string().into()),
    }
}

fn parse(value: Value<'_>) -> Option<Json> {
    serde_json::from_str(&value.text()?).ok()
}

/// `json_extract(json, path...)`: one path gives what is there, several give a JSON array.
fn extract(call: Invocation<'_>) -> Result<Typed, Error> {
    if call.arguments.len() == 1 {
        return Ok(text("json_extract", |row, out| {
            out.push_str(&parse(row.value(0))?.to_string());
            Some(())
        })
        .call(call.arguments));
    }
    if call.arguments.len() > 2 {
        return Ok(text("json_extract", extract_several).call(call.arguments));
    }
    let literal = call.literal(1).map(|path| Arc::new(JsonPath::new(path)));
    let cache = Cached::new(|path| Some(JsonPath::new(path)));
    let several = call.literal(1).is_none_or(|path| path.contains("{}"));
    let path = move |row: Row<'_>| match &literal {
        Some(path) => Some(Arc::clone(path)),
        None => cache.get(&row.text(1)?),
    };
    if several {
        let function = multi("json_extract", move |row, out| {
            let json = parse(row.value(0))?;
            path(row)?.visit(&json, &mut |found| append(found, out));
            Some(())
        });
        return Ok(function.call(call.arguments));
    }
    let function = text("json_extract", move |row, out| {
        let json = parse(row.value(0))?;
        let mut found = None;
        path(row)?.visit(&json, &mut |value| found = Some(value));
        out.push_str(&json_text(found?)?);
        Some(())
    });
    Ok(function.call(call.arguments))
}

fn append(json: &Json, out: &mut StringViewBuilder) {
    if let Some(text) = json_text(json) {
        out.append_value(text);
    }
}

fn extract_several(row: Row<'_>, out: &mut String) -> Option<()> {
    let json = parse(row.value(0))?;
    let mut all = Vec::new();
    for path in row.values().skip(1) {
        JsonPath::new(&path.text()?).visit(&json, &mut |found| all.push(found.clone()));
    }
    out.push_str(&Json::Array(all).to_string());
    Some(())
}

fn valid(call: Invocation<'_>) -> Result<Typed, Error> {
    let function = truth("json_valid", |row| {
        let text = row.text(0)?;
        Some(serde_json::from_str::<Json>(&text).is_ok())
    });
    Ok(function.call(call.arguments))
}

/// A value as JSON: numbers and JSON texts as they are, other texts quoted.
fn to_json(value: Value<'_>) -> Json {
    match value {
        Value::Null => Json::Null,
        Value::Boolean(truth) => Json::Bool(truth),
        Value::Multi(values) => {
            Json::Array(values.iter().map(|text| to_json(Value::Text(text))).collect())
        }
        Value::Text(text) => match serde_json::from_str(text) {
            Ok(parsed @ (Json::Number(_) | Json::Object(_) | Json::Array(_))) => parsed,
            _ => Json::String(text.to_owned()),
        },
        number => {
            let text = number.text().map(|text| text.to_string()).unwrap_or_default();
            serde_json::from_str(&text).unwrap_or(Json::String(text))
        }
    }
}

fn object(call: Invocation<'_>) -> Result<Typed, Error> {
    if call.arguments.len() % 2 == 1 {
        let last = call.arguments.len() - 1;
        return Err(call
            .error(last, "json_object() takes pairs of a key and a value; this key has no value"));
    }
    let function = text("json_object", |row, out| {
        let all: Vec<_> = row.values().collect();
        let mut object = Map::new();
        for pair in all.chunks_exact(2) {
            object.insert(pair[0].text()?.to_string(), to_json(pair[1]));
        }
        out.push_str(&Json::Object(object).to_string());
        Some(())
    });
    Ok(function.call(call.arguments))
}

fn array(row: Row<'_>, out: &mut String) -> Option<()> {
    out.push_str(&Json::Array(row.values().map(to_json).collect()).to_string());
    Some(())
}

fn keys(row: Row<'_>, out: &mut String) -> Option<()> {
    let Json::Object(object) = parse(row.value(0))? else { return None };
    let keys = object.keys().map(|key| Json::String(key.clone())).collect();
    out.push_str(&Json::Array(keys).to_string());
    Some(())
}

fn array_to_mv(call: Invocation<'_>) -> Result<Typed, Error> {
    let function = multi("json_array_to_mv", |row, out| {
        let Json::Array(items) = parse(row.value(0))? else { return None };
        let quoted = row.value(1).truth() == Some(true);
        for item in &items {
            match (quoted, item) {
                (true, item) => out.append_value(item.to_string()),
                (false, item) => append(item, out),
            }
        }
        Some(())
    });
    Ok(function.call(call.arguments))
}

/// With a true second argument, values that are JSON are taken as such; otherwise all are texts.
fn mv_to_array(call: Invocation<'_>) -> Result<Typed, Error> {
    if call.arguments[0].kind == ValueType::Null {
        return Ok(Typed::null(ValueType::Text));
    }
    let function = text("mv_to_json_array", |row, out| {
        let infer = row.value(1).truth() == Some(true);
        let mut items = Vec::new();
        row.value(0).each_text(|text| {
            let inferred = if infer { serde_json::from_str(text).ok() } else { None };
            items.push(inferred.unwrap_or_else(|| Json::String(text.to_owned())));
        });
        out.push_str(&Json::Array(items).to_string());
        Some(())
    });
    Ok(function.call(call.arguments))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn found(path: &str) -> Vec<String> {
        let json: Json = serde_json::from_str(
            r#"{"a":{"b":[{"c":1},{"c":"x"}],"n":null},"d.e":{"f":true},"list":[[1,2],[3]]}"#,
        )
        .unwrap();
        let mut all = Vec::new();
        JsonPath::new(path).visit(&json, &mut |json| all.extend(json_text(json).map(String::from)));
        all
    }

    #[test]
    fn paths_lead_into_objects_and_lists() {
        assert_eq!(found("a.b{}.c"), ["1", "x"]);
        assert_eq!(found("a.b{1}.c"), ["x"]);
        assert_eq!(found("a.b{7}.c"), Vec::<String>::new());
        assert_eq!(found("d.e.f"), ["true"]);
        assert_eq!(found("list{}{0}"), ["1", "3"]);
        assert_eq!(found("a.n"), Vec::<String>::new());
        assert_eq!(found("a.b{0}"), [r#"{"c":1}"#]);
        assert_eq!(found("nothing"), Vec::<String>::new());
    }
}
