//! Access to internals for fuzzers.

use serde_json::Value;

use crate::JsonTree;

/// Parses a text as a [`JsonTree`] and as a value of `serde_json`.
///
/// # Panics
/// If the results differ, or if the tree differs after it is written and parsed again.
pub fn json(text: &str) {
    let tree = JsonTree::parse(text);
    let written = tree.as_ref().map(ToString::to_string);
    if let Some(written) = &written {
        assert_eq!(JsonTree::parse(written), tree, "it is written as {written}");
    }
    let is_whole = tree.is_some_and(|tree| !tree.has_deep());
    match serde_json::from_str::<Value>(text) {
        Ok(value) => {
            assert!(is_whole, "serde_json reads {value}");
            let again = written.and_then(|written| serde_json::from_str::<Value>(&written).ok());
            assert_eq!(again, Some(value));
        }
        // A tree keeps the text of a number, but a value cannot represent 1e999.
        Err(error) if is_whole => {
            assert!(error.to_string().contains("number out of range"), "{error}");
        }
        Err(_) => {}
    }
}

/// Finds the values at a path in a text, with and without a tree of the text.
///
/// # Panics
/// If the results differ.
pub fn json_at(path: &str, text: &str) {
    crate::json::compare(path, text);
}

/// Compiles a pattern and searches a text with it, with our own matcher and with `regex`.
///
/// # Panics
/// If matches or groups differ.
pub fn pattern(pattern: &str, text: &str) {
    crate::pattern::compare(pattern, text);
}
