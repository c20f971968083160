//! JSON texts as SPL fields: `a.b` for nested objects, `a{}` for arrays.

use serde_json::Value;

/// How deep nesting is followed; deeper values are given as JSON text.
const DEPTH: usize = 64;

/// Calls `found` with path and text of every leaf, in the order of the text. A text that is not a
/// JSON object or array has none.
pub(crate) fn flatten(text: &str, found: &mut dyn FnMut(&str, &str)) {
    let trimmed = text.trim_start();
    if !trimmed.starts_with(['{', '[']) {
        return;
    }
    if let Ok(value) = serde_json::from_str::<Value>(trimmed) {
        let mut path = String::new();
        walk(&value, &mut path, DEPTH, found);
    }
}

fn walk(value: &Value, path: &mut String, depth: usize, found: &mut dyn FnMut(&str, &str)) {
    match value {
        Value::Null => found(path, "null"),
        Value::Bool(truth) => found(path, if *truth { "true" } else { "false" }),
        Value::Number(number) => found(path, &number.to_string()),
        Value::String(text) => found(path, text),
        nested if depth == 0 => found(path, &nested.to_string()),
        Value::Array(items) => {
            let length = path.len();
            path.push_str("{}");
            for item in items {
                walk(item, path, depth - 1, found);
            }
            path.truncate(length);
        }
        Value::Object(members) => {
            let length = path.len();
            for (name, member) in members {
                if !path.is_empty() {
                    path.push('.');
                }
                path.push_str(name);
                walk(member, path, depth - 1, found);
                path.truncate(length);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leaves_are_named_by_their_path() {
        let mut leaves = Vec::new();
        let text = r#"{"a":{"b":1},"c":[{"d":"x"},{"d":"y"}],"e":[true,null]}"#;
        flatten(text, &mut |path, value| leaves.push(format!("{path}={value}")));
        assert_eq!(leaves, ["a.b=1", "c{}.d=x", "c{}.d=y", "e{}=true", "e{}=null"]);
    }
}
