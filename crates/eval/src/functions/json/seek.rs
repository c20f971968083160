//! Values at a path of a text, found in one pass that skips the values beside the path.
//!
//! Guarantee: the values are those that a walk through the tree of the text finds; a property test compares
//! both.

use super::Step;
use crate::JsonTree;
use crate::json_scan::{Scanned, Scanner, Stop};
use crate::json_tree::LEVELS;

/// Finds the values at a path. If an object repeats a name, `repeated` selects all its values instead of the
/// last one.
pub(super) fn find<'t>(
    steps: &[Step],
    text: &'t str,
    repeated: bool,
) -> Scanned<Vec<JsonTree<'t>>> {
    // Each step enters at most one level, so the walk cannot reach values that the tree keeps as text.
    if steps.len() >= LEVELS {
        return Err(Stop::Unsure);
    }
    let mut seek = Seek { scanner: Scanner::new(text), repeated, found: Vec::new() };
    seek.value(steps, LEVELS)?;
    seek.scanner.end()?;
    let parsed = |(text, levels)| JsonTree::of_valid(text, levels).ok_or(Stop::Unsure);
    seek.found.into_iter().map(parsed).collect()
}

struct Seek<'t> {
    scanner: Scanner<'t>,
    repeated: bool,
    /// The texts of the values, and the levels of nesting that are parsed of each.
    found: Vec<(&'t str, usize)>,
}

impl Seek<'_> {
    /// Reads the value that begins here, and keeps the values that the steps lead to.
    fn value(&mut self, steps: &[Step], levels: usize) -> Scanned<()> {
        let Some((step, rest)) = steps.split_first() else {
            let text = self.scanner.value()?;
            self.found.push((text, levels));
            return Ok(());
        };
        match (step, self.scanner.peek()?) {
            (Step::Key(key), b'{') => self.members(key, rest, levels - 1),
            (Step::Item(at), b'[') => self.items(Some(*at), rest, levels - 1),
            (Step::EveryItem, b'[') => self.items(None, rest, levels - 1),
            _ => self.scanner.skip(),
        }
    }

    /// Reads the object that begins here. Its key may contain dots, and then takes several steps; of the keys
    /// that the object has, the one of the fewest steps is followed.
    fn members(&mut self, key: &str, rest: &[Step], levels: usize) -> Scanned<()> {
        let begin = self.found.len();
        let mut fewest = usize::MAX;
        self.scanner.consume(b'{')?;
        if self.scanner.takes(b'}')? {
            return Ok(());
        }
        loop {
            let name = self.scanner.name()?;
            match steps_joined(&name, key, rest) {
                Some(joined) if joined <= fewest => {
                    if joined < fewest || !self.repeated {
                        self.found.truncate(begin);
                    }
                    fewest = joined;
                    self.value(&rest[joined..], levels)?;
                }
                _ => self.scanner.skip()?,
            }
            if self.scanner.takes(b'}')? {
                return Ok(());
            }
            self.scanner.consume(b',')?;
        }
    }

    /// Reads the array that begins here, and follows the item with this number, or all items.
    fn items(&mut self, wanted: Option<usize>, rest: &[Step], levels: usize) -> Scanned<()> {
        self.scanner.consume(b'[')?;
        if self.scanner.takes(b']')? {
            return Ok(());
        }
        let mut at = 0;
        loop {
            if wanted.is_none_or(|number| number == at) {
                self.value(rest, levels)?;
            } else {
                self.scanner.skip()?;
            }
            at += 1;
            if self.scanner.takes(b']')? {
                return Ok(());
            }
            self.scanner.consume(b',')?;
        }
    }
}

/// Returns how many of the steps after a key have to be joined to it with dots to give a name: 0 if the key
/// is the name. `None` if the steps do not give it.
fn steps_joined(name: &str, key: &str, rest: &[Step]) -> Option<usize> {
    let mut left = name.strip_prefix(key)?;
    let mut joined = 0;
    while !left.is_empty() {
        let Some(Step::Key(next)) = rest.get(joined) else { return None };
        left = left.strip_prefix('.')?.strip_prefix(next.as_str())?;
        joined += 1;
    }
    Some(joined)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use proptest::prelude::*;

    use super::super::{JsonPath, compare};
    use super::*;

    /// Returns the values that are found without a tree of the whole text.
    fn found(path: &str, text: &str, repeated: bool) -> Scanned<Vec<String>> {
        let values = find(&JsonPath::new(path).steps, text, repeated)?;
        Ok(values.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn values_are_found_without_a_tree() {
        let text =
            r#"{"s":{"b":"]}\\\""},"a":[{"b": 1.50},{"b":[ 2 ]}, 3],"a.b":4,"\u0061":{"b":5}}"#;
        for (path, last, each) in [
            ("a{}.b", vec![], vec!["1.50", "[2]"]),
            ("a{1}.b{0}", vec![], vec!["2"]),
            ("a.b", vec!["5"], vec!["5"]),
            ("s.b", vec![r#""]}\\\"""#], vec![r#""]}\\\"""#]),
            ("a{7}", vec![], vec![]),
            ("x", vec![], vec![]),
        ] {
            assert_eq!(found(path, text, false).unwrap(), last, "{path}");
            assert_eq!(found(path, text, true).unwrap(), each, "{path}");
            compare(path, text);
        }
        assert_eq!(found("a", &text[..text.len() - 1], true), Err(Stop::Invalid));
        assert_eq!(found("a", &format!("{text},"), true), Err(Stop::Invalid));
    }

    #[test]
    fn values_beside_pairs_of_escaped_surrogates_are_found_without_a_tree() {
        let text = r#"{"m":"\ud83d\ude00","\ud83d\ude00":"\uD83D\uDE00!"}"#;
        for (path, expected) in [("m", "\"\u{1f600}\""), ("\u{1f600}", "\"\u{1f600}!\"")] {
            assert_eq!(found(path, text, true).unwrap(), [expected], "{path}");
            compare(path, text);
        }
        assert_eq!(found("m", r#"{"m":1,"n":"\ud83d"}"#, true), Err(Stop::Unsure));
    }

    #[test]
    fn of_keys_with_dots_the_one_of_the_fewest_steps_is_followed() {
        for (text, expected) in [
            (r#"{"a.b.c":1,"a.b":{"c":2}}"#, vec!["2"]),
            (r#"{"a.b":{"c":2},"a.b.c":1}"#, vec!["2"]),
            (r#"{"a.b":{"c":1},"a.b":{"c":2}}"#, vec!["1", "2"]),
            (r#"{"a.b.c":1,"a":{}}"#, vec![]),
            (r#"{"a":0,"a.b.c":1}"#, vec![]),
            (r#"{"a.b.":1,"a.b.cd":2,"a.b.c":3}"#, vec!["3"]),
        ] {
            assert_eq!(found("a.b.c", text, true).unwrap(), expected, "{text}");
            compare("a.b.c", text);
        }
    }

    #[test]
    fn values_are_parsed_as_deep_as_in_the_tree_of_the_whole_text() {
        let nested =
            |levels: usize| format!("{}[ 7 ]{}", r#"{"a": "#.repeat(levels), "}".repeat(levels));
        for levels in [125, 126, 127, 128, 200] {
            for steps in [0, 1, 100, 125, 126, 127, 128, 199, 200] {
                compare(&vec!["a"; steps].join("."), &nested(levels));
            }
        }
        assert_eq!(found("a", &nested(200), true).unwrap().len(), 1);
        assert_eq!(found(&vec!["a"; 200].join("."), &nested(200), true), Err(Stop::Unsure));
    }

    /// Generates a JSON text.
    fn document() -> impl Strategy<Value = String> {
        let scalar = prop_oneof![
            Just("null"),
            Just("true"),
            Just("-0.50"),
            Just("1e5"),
            Just("\"\""),
            Just("\"x]}\""),
            Just("\"a\\\"\\\\\""),
            Just("\"\\u00e9\""),
            Just("\"\\ud83d\\ude00\""),
            Just("\"\\ud83d\""),
            Just("\"\\ude00\\ud83d\""),
            Just("\"\\ud83d\\ud83d\\ude00\""),
            Just("\"\\ud83d\\u0041\""),
        ];
        let name = prop_oneof![
            Just("a"),
            Just("b"),
            Just("a.b"),
            Just("b.a.b"),
            Just("\\u0061"),
            Just(""),
            Just("a."),
            Just("\\uD83D\\uDE00"),
        ];
        scalar.prop_map(str::to_owned).prop_recursive(4, 32, 4, move |inner| {
            let member = (name.clone(), inner.clone(), "[ \n]?")
                .prop_map(|(name, value, blank)| format!("{blank}\"{name}\"{blank}:{value}"));
            prop_oneof![
                prop::collection::vec(inner, 0..4)
                    .prop_map(|items| format!("[{}]", items.join(", "))),
                prop::collection::vec(member, 0..4)
                    .prop_map(|members| format!("{{{}}}", members.join(","))),
            ]
        })
    }

    fn path() -> impl Strategy<Value = String> {
        let part = prop_oneof!["[ab]", "[ab][{][}]", "[{][01]?[}]", Just("''".to_owned())];
        prop::collection::vec(part, 0..5).prop_map(|parts| parts.join("."))
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]
        #[test]
        fn a_walk_through_the_text_finds_what_a_walk_through_the_tree_finds(
            text in document(),
            path in path(),
        ) {
            compare(&path, &text);
        }

        #[test]
        fn broken_texts_are_refused_as_by_the_tree(
            text in document(),
            path in path(),
            place in any::<prop::sample::Index>(),
            removed in 0..3_usize,
            added in "[\\]\\[{}:,\"\\\\ \\n\\x00u0-9.eE+-]{0,2}|nul|true",
        ) {
            // All texts are ASCII.
            let from = place.index(text.len() + 1);
            let after = text.get(from + removed..).unwrap_or_default();
            compare(&path, &format!("{}{added}{after}", &text[..from]));
        }
    }
}
