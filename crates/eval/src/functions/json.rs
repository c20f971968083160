//! `spath` (of XML, too), `json_extract`, `json_extract_exact`, `json_valid`, `json`, `json_keys`,
//! `json_entries`, `json_has_key`, `json_has_key_exact`, and the paths into JSON that they and the
//! `spath` command use.
//!
//! Guarantees: a literal path is parsed once, when planning; a text that is not valid JSON gives null. Values
//! at one path are found without a tree of the whole text (`seek`).

mod seek;

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::{Map, Value as Json};

use super::{Call, Function, Preparation, multi, plain, text, truth};
use crate::json_scan::{Stop, is_valid};
use crate::value::{NumberText, Value};
use crate::xml::{self, XmlPath};
use crate::{Cached, JsonTree, Row};

pub(super) const FUNCTIONS: &[Function] = &[
    plain("spath", spath),
    plain("json_extract", extract),
    plain("json_extract_exact", |_| Ok(text(extract_exact))),
    plain("json_valid", |_| Ok(truth(valid))),
    plain("json", |_| Ok(text(json))),
    plain("json_keys", |_| Ok(text(keys))),
    plain("json_entries", |_| Ok(text(entries))),
    plain("json_has_key", has_path),
    plain("json_has_key_exact", |_| Ok(truth(has_key))),
];

/// The message of a search whose values are not found for this reason. The limit is that of [`JsonTree`].
pub const TOO_DEEP: &str = "values nested deeper than 127 levels of JSON are not read; extract an \
    outer value with spath or json_extract() first, and read its result";

/// A place in a JSON document: `a.b{0}.c`, `items{}.id`, and keys in single quotes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct JsonPath {
    pub(super) steps: Vec<Step>,
}

/// A step of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    Key(String),
    Item(usize),
    EveryItem,
}

impl JsonPath {
    /// Parses a path. Every text is a valid path, since keys may contain any characters.
    pub(super) fn new(text: &str) -> Self {
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

    /// Returns whether the path can match several places.
    fn is_many(&self) -> bool {
        self.steps.contains(&Step::EveryItem)
    }

    /// Returns the values at the path; `None` if the text is not valid JSON. If an object repeats a name,
    /// `repeated` selects all its values instead of the last one.
    fn find<'t>(&self, text: &'t str, repeated: bool) -> Option<Places<'t>> {
        match seek::find(&self.steps, text, repeated) {
            Ok(values) => Some(Places { values, is_whole: true }),
            Err(Stop::Invalid) => None,
            Err(Stop::Unsure) => Some(self.find_in(&JsonTree::parse(text)?, repeated)),
        }
    }

    /// Returns the values at the path in a parsed text.
    fn find_in<'t>(&self, json: &JsonTree<'t>, repeated: bool) -> Places<'t> {
        let mut values = Vec::new();
        let mut visit = |value: &JsonTree<'t>| values.push(value.clone());
        let is_whole = walk(&self.steps, json, repeated, &mut visit);
        Places { values, is_whole }
    }
}

/// The values at a path.
#[derive(Debug, PartialEq, Eq)]
struct Places<'t> {
    values: Vec<JsonTree<'t>>,
    /// Whether no part of the document on the way is nested too deeply.
    is_whole: bool,
}

fn walk<'j, 't>(
    steps: &[Step],
    json: &'j JsonTree<'t>,
    repeated: bool,
    visit: &mut dyn FnMut(&'j JsonTree<'t>),
) -> bool {
    let Some((step, rest)) = steps.split_first() else {
        visit(json);
        return true;
    };
    match (step, json) {
        (_, JsonTree::Deep(_)) => false,
        (Step::Key(key), JsonTree::Object(members)) => {
            // A key may contain dots. If the first step is not a key, the key is assembled from several
            // steps.
            match walk_key(key, rest, members, repeated, visit) {
                Some(is_whole) => is_whole,
                None => walk_dotted(key, rest, members, repeated, visit),
            }
        }
        (Step::Item(at), JsonTree::Array(items)) => match items.get(*at) {
            Some(item) => walk(rest, item, repeated, visit),
            None => true,
        },
        (Step::EveryItem, JsonTree::Array(items)) => {
            let mut is_whole = true;
            for item in items {
                is_whole &= walk(rest, item, repeated, visit);
            }
            is_whole
        }
        _ => true,
    }
}

type Members<'t> = [(Cow<'t, str>, JsonTree<'t>)];

/// Follows the remaining steps from the last value of a key, or from all its values if `repeated`. Returns
/// `None` if the object does not have the key.
fn walk_key<'j, 't>(
    key: &str,
    steps: &[Step],
    members: &'j Members<'t>,
    repeated: bool,
    visit: &mut dyn FnMut(&'j JsonTree<'t>),
) -> Option<bool> {
    let mut found = members.iter().filter(|(known, _)| known == key).map(|(_, value)| value);
    if !repeated {
        return found.next_back().map(|value| walk(steps, value, repeated, visit));
    }
    let mut is_whole = None;
    for value in found {
        is_whole = Some(walk(steps, value, repeated, visit) && is_whole.unwrap_or(true));
    }
    is_whole
}

/// Matches keys that contain dots: they were split into several steps, which are joined again here.
fn walk_dotted<'j, 't>(
    key: &str,
    steps: &[Step],
    members: &'j Members<'t>,
    repeated: bool,
    visit: &mut dyn FnMut(&'j JsonTree<'t>),
) -> bool {
    let mut joined = key.to_owned();
    for (at, step) in steps.iter().enumerate() {
        let Step::Key(next) = step else { return true };
        joined.push('.');
        joined.push_str(next);
        let after = &steps[at + 1..];
        if let Some(is_whole) = walk_key(&joined, after, members, repeated, visit) {
            return is_whole;
        }
    }
    true
}

/// Returns a JSON value as a field value: texts without quotes, other values as JSON. Null gives `None`.
#[must_use]
pub fn json_text(json: &Json) -> Option<Cow<'_, str>> {
    match json {
        Json::Null => None,
        Json::String(text) => Some(text.into()),
        Json::Number(number) if number.is_f64() => {
            number.as_f64().map(|number| NumberText::float(number).to_string().into())
        }
        other => Some(other.to_string().into()),
    }
}

/// A path into a text that is JSON or XML, as `spath` takes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocumentPath {
    json: JsonPath,
    xml: XmlPath,
}

impl DocumentPath {
    /// Parses a path: keys or element names separated by dots, `{0}` for an array item, `{1}` for an XML
    /// element, `{}` for all of them, `{@name}` for an attribute.
    #[must_use]
    pub fn new(text: &str) -> Self {
        Self { json: JsonPath::new(text), xml: XmlPath::new(text) }
    }

    /// Visits the values at the path, including all values of a name that a JSON object repeats. A text that
    /// is neither JSON nor XML has none. Returns false if a part of the JSON on the way is nested too deeply
    /// ([`TOO_DEEP`]).
    pub fn visit(&self, text: &str, visit: &mut dyn FnMut(&str)) -> bool {
        if xml::begins(text) {
            self.xml.visit(text, visit);
            return true;
        }
        let Some(found) = self.json.find(text, true) else { return true };
        found.values.iter().filter_map(JsonTree::text).for_each(|text| visit(&text));
        found.is_whole
    }
}

/// Returns an upper bound of the memory of a text as parsed JSON, in bytes. Many small parts take far more
/// memory than their text.
#[must_use]
pub fn parsed_bytes(text: &str) -> usize {
    // The minimum size of an array and of an object; the size of an item includes the spare capacity of
    // vectors.
    const OPENED: usize = 4 * size_of::<Json>() + 64;
    const ITEM: usize = 2 * (size_of::<Json>() + 32);
    let parts = text.bytes().fold((0, 0), |(opened, items), byte| match byte {
        b'[' | b'{' => (opened + 1, items),
        b',' => (opened, items + 1),
        _ => (opened, items),
    });
    text.len() + parts.0 * OPENED + parts.1 * ITEM
}

/// Parses an argument as JSON.
pub(super) fn parse(row: Row<'_>, argument: usize) -> Option<Json> {
    let text = row.text(argument)?;
    let json = serde_json::from_str(&text).ok();
    if json.is_none() && JsonTree::parse(&text).is_some_and(|json| json.has_deep()) {
        row.environment().note(TOO_DEEP);
    }
    json
}

/// Returns the path in an argument; a literal path is parsed once.
pub(super) fn paths(
    call: &Call<'_>,
    argument: usize,
) -> impl Fn(Row<'_>) -> Option<Arc<JsonPath>> + Send + Sync + use<> {
    let literal = call.text(argument).map(|path| Arc::new(JsonPath::new(path)));
    let cache = Cached::new(|path| Some(JsonPath::new(path)));
    move |row: Row<'_>| match &literal {
        Some(path) => Some(Arc::clone(path)),
        None => cache.get(&row.text(argument)?),
    }
}

/// `spath(text, path)`: all values at the path. Whether there are several depends on the text, not on the
/// path: XML elements can repeat.
fn spath(call: &Call<'_>) -> Preparation {
    let literal = call.text(1).map(|path| Arc::new(DocumentPath::new(path)));
    let cache = Cached::new(|path| Some(DocumentPath::new(path)));
    Ok(multi(move |row, out| {
        let path = match &literal {
            Some(path) => Arc::clone(path),
            None => cache.get(&row.text(1)?)?,
        };
        if !path.visit(&row.text(0)?, &mut |text| out.append_value(text)) {
            row.environment().note(TOO_DEEP);
        }
        Some(())
    }))
}

/// `json_extract(json, path...)`: with one path, the value at the path, or an array if the path matches
/// several places; with several paths, an array with the value at each.
fn extract(call: &Call<'_>) -> Preparation {
    let paths: Vec<_> = (1..call.len()).map(|at| paths(call, at)).collect();
    Ok(text(move |row, out| {
        let document = row.text(0)?;
        let found = match paths.as_slice() {
            [] => JsonTree::parse(&document)?,
            [path] => {
                let path = path(row)?;
                match path.steps.as_slice() {
                    // Of an object, `{}` is the object itself.
                    [Step::EveryItem] => at_path(row, &JsonTree::parse(&document)?, &path)?,
                    _ => value_of(row, path.find(&document, false)?, &path)?,
                }
            }
            several => {
                let json = JsonTree::parse(&document)?;
                let at_each = several.iter().map(|path| {
                    let path = path(row)?;
                    at_path(row, &json, &path)
                });
                JsonTree::Array(at_each.map(|found| found.unwrap_or(JsonTree::Null)).collect())
            }
        };
        out.push_str(&found.text()?);
        Some(())
    }))
}

fn at_path<'t>(row: Row<'_>, json: &JsonTree<'t>, path: &JsonPath) -> Option<JsonTree<'t>> {
    if path.steps == [Step::EveryItem] && matches!(json, JsonTree::Object(_)) {
        return Some(json.clone());
    }
    value_of(row, path.find_in(json, false), path)
}

/// Returns the value at a path, or an array if the path can match several places.
fn value_of<'t>(row: Row<'_>, found: Places<'t>, path: &JsonPath) -> Option<JsonTree<'t>> {
    let Places { mut values, is_whole } = found;
    if !is_whole {
        row.environment().note(TOO_DEEP);
    }
    if path.is_many() {
        return (!values.is_empty()).then_some(JsonTree::Array(values));
    }
    values.pop()
}

/// Like `extract`, but takes key names, which may contain dots and braces, instead of paths.
fn extract_exact(row: Row<'_>, out: &mut String) -> Option<()> {
    let document = row.text(0)?;
    let found = match row.len() {
        1 => JsonTree::parse(&document)?,
        2 => {
            let path = JsonPath { steps: vec![Step::Key(String::from(&*row.text(1)?))] };
            path.find(&document, false)?.values.pop()?
        }
        _ => {
            let json = JsonTree::parse(&document)?;
            let at = |key: Value<'_>| json.get(&key.text()?).cloned();
            let values = row.values().skip(1);
            JsonTree::Array(values.map(|key| at(key).unwrap_or(JsonTree::Null)).collect())
        }
    };
    out.push_str(&found.text()?);
    Some(())
}

fn valid(row: Row<'_>) -> Option<bool> {
    Some(is_valid(&row.text(0)?))
}

/// Returns the value if it is valid JSON.
fn json(row: Row<'_>, out: &mut String) -> Option<()> {
    let text = row.text(0)?;
    serde_json::from_str::<&serde_json::value::RawValue>(&text).ok()?;
    out.push_str(&text);
    Some(())
}

fn keys(row: Row<'_>, out: &mut String) -> Option<()> {
    let Json::Object(object) = parse(row, 0)? else { return None };
    let keys = object.keys().map(|key| Json::String(key.clone())).collect();
    out.push_str(&Json::Array(keys).to_string());
    Some(())
}

fn entries(row: Row<'_>, out: &mut String) -> Option<()> {
    let Json::Object(object) = parse(row, 0)? else { return None };
    out.push_str(&entries_of(object, "key", "value").to_string());
    Some(())
}

/// Returns the members of an object as objects with the key and the value under the two given names.
pub(super) fn entries_of(object: Map<String, Json>, key: &str, value: &str) -> Json {
    let entry = |(name, content): (String, Json)| {
        let mut entry = Map::new();
        entry.insert(key.to_owned(), Json::String(name));
        entry.insert(value.to_owned(), content);
        Json::Object(entry)
    };
    Json::Array(object.into_iter().map(entry).collect())
}

/// `json_has_key(json, path)`: whether there is a value at the path, including null.
fn has_path(call: &Call<'_>) -> Preparation {
    let path = paths(call, 1);
    Ok(truth(move |row: Row<'_>| {
        let document = row.text(0)?;
        let path = path(row)?;
        let found = path.find(&document, false)?;
        if !found.is_whole {
            row.environment().note(TOO_DEEP);
        }
        Some(!found.values.is_empty())
    }))
}

fn has_key(row: Row<'_>) -> Option<bool> {
    let Json::Object(object) = parse(row, 0)? else { return None };
    Some(object.contains_key(&*row.text(1)?))
}

/// Finds the values at a path in a text and in the tree of the text.
///
/// # Panics
/// If they differ, or if only one of both is found to be valid JSON.
pub(crate) fn compare(path: &str, text: &str) {
    let path = JsonPath::new(path);
    let tree = JsonTree::parse(text);
    assert_eq!(is_valid(text), tree.is_some(), "{text} is valid");
    for repeated in [false, true] {
        let expected = tree.as_ref().map(|json| path.find_in(json, repeated));
        assert_eq!(path.find(text, repeated), expected, "{path:?} in {text}");
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn found(path: &str) -> Vec<String> {
        let json = JsonTree::parse(
            r#"{"a":{"b":[{"c":1},{"c":"x"}],"n":null},"d.e":{"f":true},"list":[[1,2],[3]]}"#,
        )
        .unwrap();
        let places = JsonPath::new(path).find_in(&json, false);
        places.values.iter().filter_map(JsonTree::text).map(String::from).collect()
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

    #[test]
    fn of_a_name_that_is_repeated_each_value_is_at_a_path_of_spath() {
        let text = r#"{"a":{"b":1,"b":2},"a":{"b":3},"c.d":4,"c.d":5}"#;
        for (path, last, each) in [("a.b", "3", vec!["1", "2", "3"]), ("c.d", "5", vec!["4", "5"])]
        {
            let mut repeated = Vec::new();
            DocumentPath::new(path).visit(text, &mut |text| repeated.push(text.to_owned()));
            let found = JsonPath::new(path).find(text, false).unwrap();
            assert_eq!(found.values, [JsonTree::Number(last)]);
            assert_eq!(repeated, each);
        }
    }

    #[test]
    fn paths_lead_into_documents_that_are_nested_too_deep_as_far_as_they_are_read() {
        let text = format!("{}7{}", r#"{"a":"#.repeat(200), "}".repeat(200));
        let at = |levels: usize, text: &str| {
            let mut all = Vec::new();
            let path = DocumentPath::new(&vec!["a"; levels].join("."));
            let is_whole = path.visit(text, &mut |found| all.push(found.to_owned()));
            (all, is_whole)
        };
        let (outer, is_whole) = at(100, &text);
        assert!(is_whole);
        assert_eq!(at(100, &outer[0]), (vec!["7".to_owned()], true));
        assert_eq!(at(200, &text), (Vec::new(), false));
        assert!(TOO_DEEP.contains("127"));
    }
}
