//! JSON texts as SPL fields, `a.b` for nested objects and `a{}` for arrays, and values of fields as JSON.

use eval::JsonTree;
use eval::value::parse_number;
use serde_json::Value;
use spl::ast::JsonKind;

/// Maximum nesting depth; deeper values are returned as JSON text.
const DEPTH: usize = 64;

/// Calls `found` with path and text of every leaf, in text order. A text that is not a JSON object or array
/// has no leaves. Returns false if values are nested too deep.
pub(crate) fn flatten(text: &str, found: &mut dyn FnMut(&str, &str)) -> bool {
    let trimmed = text.trim_start();
    if !trimmed.starts_with(['{', '[']) {
        return true;
    }
    let Some(value) = JsonTree::parse(trimmed) else { return true };
    walk(&value, &mut String::new(), DEPTH, found)
}

fn walk(
    value: &JsonTree<'_>,
    path: &mut String,
    depth: usize,
    found: &mut dyn FnMut(&str, &str),
) -> bool {
    let mut is_whole = true;
    match value {
        JsonTree::Null => found(path, "null"),
        JsonTree::Bool(truth) => found(path, if *truth { "true" } else { "false" }),
        JsonTree::Number(number) => found(path, number),
        JsonTree::Text(text) => found(path, text),
        JsonTree::Deep(text) => {
            found(path, text);
            is_whole = false;
        }
        nested if depth == 0 => {
            found(path, &nested.to_string());
            is_whole = false;
        }
        JsonTree::Array(items) => {
            let length = path.len();
            path.push_str("{}");
            for item in items {
                is_whole &= walk(item, path, depth - 1, found);
            }
            path.truncate(length);
        }
        JsonTree::Object(members) => {
            let length = path.len();
            for (name, member) in members {
                if !path.is_empty() {
                    path.push('.');
                }
                path.push_str(name);
                is_whole &= walk(member, path, depth - 1, found);
                path.truncate(length);
            }
        }
    }
    is_whole
}

/// Returns a field as JSON: several values become an array. A value that does not fit the kind is omitted, or
/// `null` with `fill_null`; `None` if no value is left.
#[must_use]
pub fn of_value(value: eval::Value<'_>, kind: JsonKind, fill_null: bool) -> Option<String> {
    let mut texts = Vec::new();
    value.each_text(|text| {
        let json = of_text(text, kind);
        texts.extend(json.or_else(|| fill_null.then(|| "null".to_owned())));
    });
    match (value.count(), texts.len()) {
        (_, 0) => None,
        (1, _) => texts.pop(),
        _ => Some(format!("[{}]", texts.join(","))),
    }
}

/// Returns one value as JSON; `None` if it does not fit the kind.
fn of_text(text: &str, kind: JsonKind) -> Option<String> {
    match kind {
        JsonKind::Str => Some(quoted(text)),
        JsonKind::Num => number(text),
        JsonKind::None => Some(number(text).unwrap_or_else(|| quoted(text))),
        JsonKind::Bool => truth(text).map(|truth| truth.to_string()),
        JsonKind::Json => whole(text),
        JsonKind::Auto => {
            let lower = text.to_ascii_lowercase();
            if matches!(lower.as_str(), "true" | "false" | "null") {
                return Some(lower);
            }
            let found =
                number(text).or_else(|| whole(text).filter(|_| text.starts_with(['{', '['])));
            Some(found.unwrap_or_else(|| quoted(text)))
        }
    }
}

/// Returns a text as a JSON string.
#[must_use]
pub fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

/// Returns the text itself if it is a JSON number.
fn number(text: &str) -> Option<String> {
    let text = text.trim();
    let begins = text.starts_with(|c: char| c == '-' || c.is_ascii_digit());
    let is_number = begins && serde_json::from_str::<serde_json::Number>(text).is_ok();
    is_number.then(|| text.to_owned())
}

/// A value of an event as a Boolean of JSON. Its words are those of `tojson`, which also takes every number;
/// the words of options and configuration files (`on`, `enabled`) are ordinary texts in events.
fn truth(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "true" | "t" | "yes" => Some(true),
        "false" | "f" | "no" => Some(false),
        _ => parse_number(text).map(|number| number != 0.0),
    }
}

/// Returns a JSON text without whitespace.
fn whole(text: &str) -> Option<String> {
    serde_json::from_str::<Value>(text).ok().map(|json| json.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leaves_are_named_by_their_path() {
        let mut leaves = Vec::new();
        let text = r#"{"a":{"b":1},"c":[{"d":"x"},{"d":"y"}],"e":[true,null]}"#;
        assert!(flatten(text, &mut |path, value| leaves.push(format!("{path}={value}"))));
        assert_eq!(leaves, ["a.b=1", "c{}.d=x", "c{}.d=y", "e{}=true", "e{}=null"]);
    }

    #[test]
    fn values_that_are_nested_too_deep_are_text() {
        for levels in [DEPTH + 1, 1_000] {
            let mut leaves = Vec::new();
            let text = format!("{}7{}", r#"{"a":"#.repeat(levels), "}".repeat(levels));
            assert!(!flatten(&text, &mut |path, value| leaves.push(format!("{path}={value}"))));
            let below = levels - DEPTH;
            let value = format!("{}7{}", r#"{"a":"#.repeat(below), "}".repeat(below));
            assert_eq!(leaves, [format!("{}={value}", ["a"; DEPTH].join("."))]);
        }
    }
}
