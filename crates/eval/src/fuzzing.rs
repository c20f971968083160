//! What a fuzzer needs of the insides.

use serde_json::Value;

use crate::JsonTree;

/// Reads a text as a tree of JSON and as a value of `serde_json`.
///
/// # Panics
/// If the two are different, or the tree is another one after it was written and read.
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
        // A tree has the text of a number; a value has no place for 1e999.
        Err(error) if is_whole => {
            assert!(error.to_string().contains("number out of range"), "{error}");
        }
        Err(_) => {}
    }
}

/// Compiles a pattern and searches a text with it, on the matcher of our own and on `regex`.
///
/// # Panics
/// If the two find different matches or groups.
pub fn pattern(pattern: &str, text: &str) {
    crate::pattern::compare(pattern, text);
}
