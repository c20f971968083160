//! What `spath` finds in a text without a path: the leaves of JSON and of XML.

use std::ops::ControlFlow;

use eval::xml;

use super::json;

/// Calls `found` with path and text of every leaf, in the order of the text. A text that is neither has none.
pub fn leaves(text: &str, found: &mut dyn FnMut(&str, &str)) {
    if xml::begins(text) {
        let _ = xml::walk(text, &mut |path, value| {
            found(path, &value);
            ControlFlow::Continue(())
        });
    } else {
        json::flatten(text, found);
    }
}
