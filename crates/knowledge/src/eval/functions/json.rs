//! `spath`, `json_extract`, `json_valid`, `json`, `json_object`, `json_array`, `json_keys`,
//! `json_array_to_mv`, `mv_to_json_array`.
//!
//! Guarantees: a path that is a literal is parsed once; text that is no JSON gives null.

use serde_json::{Map, Value as Json};

use super::{Function, Prepared, ResultKind, prepared, values};
use crate::eval::node::{Arguments, Kind};
use crate::eval::value::Value;

pub(super) const FUNCTIONS: &[Function] = &[
    prepared(
        &["spath", "json_extract", "json_extract_exact"],
        ResultKind::Always(Kind::Text),
        |arguments| {
            let literal = arguments.get(1).and_then(|node| node.literal_text());
            Ok(literal.map_or(Prepared::Nothing, |path| Prepared::Path(JsonPath::new(path))))
        },
        extract,
    ),
    values(&["json_valid"], Kind::Truth, |arguments| {
        let text = arguments.text(0);
        Value::optional_truth(text.map(|text| serde_json::from_str::<Json>(&text).is_ok()))
    }),
    values(&["json"], Kind::Text, |arguments| match parse(arguments.value(0)) {
        Some(_) => arguments.value(0).clone(),
        None => Value::Null,
    }),
    values(&["json_object"], Kind::Text, object),
    values(&["json_array"], Kind::Text, |arguments| {
        Value::owned_text(Json::Array(arguments.values.iter().map(to_json).collect()).to_string())
    }),
    values(&["json_keys"], Kind::Text, keys),
    values(&["json_array_to_mv"], Kind::Multi, array_to_mv),
    values(&["mv_to_json_array"], Kind::Text, mv_to_array),
];

/// A place in a JSON document: `a.b{0}.c`, `items{}.id`, and keys in single quotes.
#[derive(Debug)]
pub(crate) struct JsonPath {
    steps: Vec<Step>,
}

#[derive(Debug)]
enum Step {
    Key(String),
    Item(usize),
    EveryItem,
}

impl JsonPath {
    /// Parses a path; every text is one, for keys may hold anything.
    fn new(text: &str) -> Self {
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

    fn is_several(&self) -> bool {
        self.steps.iter().any(|step| matches!(step, Step::EveryItem))
    }

    fn visit<'j>(&self, json: &'j Json, visit: &mut dyn FnMut(&'j Json)) {
        walk(&self.steps, json, visit);
    }
}

fn walk<'j>(steps: &[Step], json: &'j Json, visit: &mut dyn FnMut(&'j Json)) {
    let Some((step, rest)) = steps.split_first() else {
        visit(json);
        return;
    };
    match (step, json) {
        (Step::Key(key), Json::Object(object)) => match object.get(key) {
            Some(inner) => walk(rest, inner, visit),
            None => walk_dotted(key, rest, object, visit),
        },
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
fn json_text(json: &Json) -> Option<String> {
    match json {
        Json::Null => None,
        Json::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    }
}

fn parse(value: &Value<'_>) -> Option<Json> {
    serde_json::from_str(&value.text()?).ok()
}

/// `json_extract(json, path...)`: one path gives what is there, several give a JSON array.
fn extract<'a>(arguments: &Arguments<'a, '_>) -> Value<'a> {
    let Some(json) = parse(arguments.value(0)) else { return Value::Null };
    match arguments.values.len() {
        1 => Value::owned_text(json.to_string()),
        2 => match arguments.prepared {
            Prepared::Path(path) => at_path(&json, path),
            _ => match arguments.text(1) {
                Some(path) => at_path(&json, &JsonPath::new(&path)),
                None => Value::Null,
            },
        },
        _ => {
            let mut all = Vec::new();
            for path in arguments.values.iter().skip(1).filter_map(Value::text) {
                JsonPath::new(&path).visit(&json, &mut |found| all.push(found.clone()));
            }
            Value::owned_text(Json::Array(all).to_string())
        }
    }
}

fn at_path(json: &Json, path: &JsonPath) -> Value<'static> {
    let mut found = Vec::new();
    path.visit(json, &mut |value| found.push(value));
    if path.is_several() {
        return Value::multi(found.into_iter().filter_map(json_text).collect());
    }
    found.pop().and_then(json_text).map_or(Value::Null, Value::owned_text)
}

/// A value as JSON: numbers and JSON texts as they are, other texts quoted.
fn to_json(value: &Value<'_>) -> Json {
    match value {
        Value::Null => Json::Null,
        Value::Truth(truth) => Json::Bool(*truth),
        Value::Multi(texts) => {
            Json::Array(texts.iter().map(|text| to_json(&Value::text_of(text))).collect())
        }
        Value::Text(text) => match serde_json::from_str(text) {
            Ok(parsed @ (Json::Number(_) | Json::Object(_) | Json::Array(_))) => parsed,
            _ => Json::String(text.clone().into_owned()),
        },
        number => {
            let text = number.text().unwrap_or_default();
            serde_json::from_str(&text).unwrap_or_else(|_| Json::String(text.into_owned()))
        }
    }
}

fn object<'a>(arguments: &Arguments<'a, '_>) -> Value<'a> {
    let mut object = Map::new();
    for pair in arguments.values.chunks_exact(2) {
        let Some(key) = pair[0].text() else { return Value::Null };
        object.insert(key.into_owned(), to_json(&pair[1]));
    }
    Value::owned_text(Json::Object(object).to_string())
}

fn keys<'a>(arguments: &Arguments<'a, '_>) -> Value<'a> {
    let Some(Json::Object(object)) = parse(arguments.value(0)) else { return Value::Null };
    let keys = object.keys().map(|key| Json::String(key.clone())).collect();
    Value::owned_text(Json::Array(keys).to_string())
}

fn array_to_mv<'a>(arguments: &Arguments<'a, '_>) -> Value<'a> {
    let Some(Json::Array(items)) = parse(arguments.value(0)) else { return Value::Null };
    let quoted = arguments.value(1).truth() == Some(true);
    let text = |item: &Json| if quoted { Some(item.to_string()) } else { json_text(item) };
    Value::multi(items.iter().filter_map(text).collect())
}

/// With a true second argument, values that are JSON are taken as such; otherwise all are texts.
fn mv_to_array<'a>(arguments: &Arguments<'a, '_>) -> Value<'a> {
    if arguments.value(0).is_null() {
        return Value::Null;
    }
    let infer = arguments.value(1).truth() == Some(true);
    let item = |text: std::borrow::Cow<'_, str>| {
        let inferred = if infer { serde_json::from_str(&text).ok() } else { None };
        inferred.unwrap_or_else(|| Json::String(text.into_owned()))
    };
    let items = arguments.value(0).texts().into_iter().map(item).collect();
    Value::owned_text(Json::Array(items).to_string())
}
