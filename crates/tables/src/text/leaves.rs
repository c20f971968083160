//! What `spath` finds in a text without a path: the leaves of JSON and of XML.

use std::ops::ControlFlow;

use eval::xml;

use super::json;

/// What searches say if values are not taken apart for this reason.
pub const TOO_DEEP: &str = "values of JSON that are nested deeper than 64 levels are extracted as JSON \
    text by spath without a path; name a path with path=";

/// Calls `found` with path and text of every leaf, in the order of the text. A text that is neither has none.
/// False if JSON is nested too deep ([`TOO_DEEP`]).
pub fn leaves(text: &str, found: &mut dyn FnMut(&str, &str)) -> bool {
    if xml::begins(text) {
        let _ = xml::walk(text, &mut |path, value| {
            found(path, &value);
            ControlFlow::Continue(())
        });
        true
    } else {
        json::flatten(text, found)
    }
}
