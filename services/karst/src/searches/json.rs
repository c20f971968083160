//! Searches in JSON: strings, or values of `search`, `query` and `spl` anywhere in objects.

use serde_json::Value;

use super::{Found, search};

const KEYS: [&str; 3] = ["search", "query", "spl"];
/// Keys that contain the name of an object.
const NAMES: [&str; 4] = ["name", "title", "id", "label"];

/// The searches in one JSON value; none if the text is not JSON.
pub(super) fn searches(text: &str) -> Vec<Found> {
    let Ok(value) = serde_json::from_str::<Value>(text) else { return lines(text) };
    let mut place = Place { text, from: 0 };
    let mut found = Vec::new();
    collect(&value, "", true, &mut place, &mut found);
    found
}

/// The searches in a JSON value per line.
pub(super) fn lines(text: &str) -> Vec<Found> {
    let mut found = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let Ok(value) = serde_json::from_str::<Value>(line) else { continue };
        let first = found.len();
        collect(&value, "", true, &mut Place { text: line, from: 0 }, &mut found);
        found[first..].iter_mut().for_each(|search: &mut Found| search.line = number);
    }
    found
}

/// `bare`: a string is itself a search.
fn collect(value: &Value, name: &str, bare: bool, place: &mut Place<'_>, found: &mut Vec<Found>) {
    match value {
        Value::String(text) if bare => {
            let line = place.line(text);
            found.push(Found { lines_match: false, ..search(line, name, text.as_str()) });
        }
        Value::Array(members) => {
            members.iter().for_each(|member| collect(member, name, bare, place, found));
        }
        Value::Object(members) => {
            let own = NAMES.iter().find_map(|key| members.get(*key)?.as_str()).unwrap_or(name);
            for (key, member) in members {
                let is_search = KEYS.contains(&key.as_str()) && member.is_string();
                collect(member, own, is_search, place, found);
            }
        }
        _ => {}
    }
}

/// The position in a text, for line numbers, which the parser does not keep.
struct Place<'t> {
    text: &'t str,
    from: usize,
}

impl Place<'_> {
    fn line(&mut self, value: &str) -> usize {
        let written = Value::String(value.to_owned()).to_string();
        if let Some(at) = self.text[self.from..].find(&written) {
            self.from += at;
        }
        self.text[..self.from].matches('\n').count() + 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_and_keys_of_objects_are_searches() {
        let found = searches(
            "[\n\"a\",\n{\"name\": \"n\", \"search\": \"b\", \"x\": \"c\",\n\
                              \"in\": {\"query\": \"d\", \"spl\": 1}}]",
        );
        let shown: Vec<_> =
            found.iter().map(|s| (s.line, s.name.as_str(), s.text.as_str())).collect();
        assert_eq!(shown, [(2, "", "a"), (3, "n", "b"), (4, "n", "d")]);
    }

    #[test]
    fn every_line_may_be_a_value() {
        let found = searches("\"a\"\n\nnothing\n{\"spl\": \"b\"}");
        let shown: Vec<_> = found.iter().map(|s| (s.line, s.text.as_str())).collect();
        assert_eq!(shown, [(1, "a"), (4, "b")]);
    }
}
