//! The values that `spath` without a path extracts: the leaves of JSON and XML.

use std::ops::ControlFlow;

use eval::xml;

use super::json;

/// The message if values are not extracted because of their nesting depth.
pub const TOO_DEEP: &str = "values of JSON that are nested deeper than 64 levels are extracted as JSON \
    text by spath without a path; name a path with path=";

/// Calls `found` with path and text of every leaf, in text order. A text that is neither JSON nor XML has no
/// leaves. Returns false if JSON is nested too deep ([`TOO_DEEP`]).
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
