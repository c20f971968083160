//! Extraction from events that are JSON objects.
//!
//! Names are paths: `a.b`, `a{}` for the elements of an array, `a{}.b` for fields of objects in it. Scalars
//! keep their exact text; strings lose quotes and escapes; `null` becomes the text `null`. Empty objects and
//! arrays give no field. A name that an object repeats gives each of its values.

use std::borrow::Cow;
use std::ops::ControlFlow;

use sonic_rs::{JsonType, JsonValueTrait, LazyValue};

/// Objects and arrays nested deeper than this are returned as text.
pub(super) const DEPTH: usize = 64;

type Visit<'v, 'a> = &'v mut dyn FnMut(&str, Cow<'a, str>) -> ControlFlow<()>;

/// Parses an event that consists of exactly one object.
pub(super) fn parse(raw: &str) -> Option<LazyValue<'_>> {
    if !raw.trim_start().starts_with('{') {
        return None;
    }
    sonic_rs::from_str::<LazyValue<'_>>(raw).ok()
}

/// Called with the name of each value that is nested too deeply to be parsed.
type Deeper<'d> = &'d mut dyn FnMut(&str);

/// Returns whether the value with this name, or a value inside of it, is wanted; others are skipped.
type Wants<'w> = &'w dyn Fn(&str) -> bool;

/// Visits all wanted scalars, in order. In a malformed object, values before the error are visited before it
/// is found, so callers pass only objects that [`parse`] accepted.
pub(super) fn walk<'a>(
    object: LazyValue<'a>,
    visit: Visit<'_, 'a>,
    deeper: Deeper<'_>,
    wants: Wants<'_>,
) -> ControlFlow<()> {
    let mut path = String::new();
    value(object, &mut path, 0, visit, deeper, wants)
}

fn value<'a>(
    value: LazyValue<'a>,
    path: &mut String,
    depth: usize,
    visit: Visit<'_, 'a>,
    deeper: Deeper<'_>,
    wants: Wants<'_>,
) -> ControlFlow<()> {
    match value.get_type() {
        JsonType::Object if depth < DEPTH => object(value, path, depth, visit, deeper, wants),
        JsonType::Array if depth < DEPTH => array(value, path, depth, visit, deeper, wants),
        JsonType::Object | JsonType::Array => {
            deeper(path);
            visit(path, trimmed(value.as_raw_cow()))
        }
        JsonType::String => visit(path, string(value.as_raw_cow())),
        _ => visit(path, trimmed(value.as_raw_cow())),
    }
}

fn object<'a>(
    object: LazyValue<'a>,
    path: &mut String,
    depth: usize,
    visit: Visit<'_, 'a>,
    deeper: Deeper<'_>,
    wants: Wants<'_>,
) -> ControlFlow<()> {
    let Some(entries) = object.into_object_iter() else { return ControlFlow::Continue(()) };
    for entry in entries {
        let Ok((key, inner)) = entry else { break };
        let length = path.len();
        if depth > 0 {
            path.push('.');
        }
        path.push_str(&key);
        let flow = match wants(path) {
            true => value(inner, path, depth + 1, visit, deeper, wants),
            false => ControlFlow::Continue(()),
        };
        path.truncate(length);
        flow?;
    }
    ControlFlow::Continue(())
}

fn array<'a>(
    array: LazyValue<'a>,
    path: &mut String,
    depth: usize,
    visit: Visit<'_, 'a>,
    deeper: Deeper<'_>,
    wants: Wants<'_>,
) -> ControlFlow<()> {
    let length = path.len();
    path.push_str("{}");
    let elements = if wants(path) { array.into_array_iter() } else { None };
    let mut flow = ControlFlow::Continue(());
    for element in elements.into_iter().flatten() {
        let Ok(inner) = element else { break };
        flow = value(inner, path, depth + 1, visit, deeper, wants);
        if flow.is_break() {
            break;
        }
    }
    path.truncate(length);
    flow
}

/// Returns a number without the trailing blanks that the parser includes.
fn trimmed(literal: Cow<'_, str>) -> Cow<'_, str> {
    match literal {
        Cow::Borrowed(text) => Cow::Borrowed(text.trim_ascii_end()),
        Cow::Owned(text) => Cow::Owned(text.trim_ascii_end().to_owned()),
    }
}

/// Returns the text of a string literal.
fn string(literal: Cow<'_, str>) -> Cow<'_, str> {
    match literal {
        Cow::Borrowed(text) if text.len() >= 2 && !text.contains('\\') => {
            Cow::Borrowed(&text[1..text.len() - 1])
        }
        escaped => {
            let decoded = sonic_rs::from_str::<String>(&escaped);
            Cow::Owned(decoded.unwrap_or_else(|_| escaped.trim_matches('"').to_owned()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn found(raw: &str) -> Option<Vec<(String, String)>> {
        let mut out = Vec::new();
        let mut visit = |name: &str, value: Cow<'_, str>| {
            out.push((name.to_owned(), value.into_owned()));
            ControlFlow::Continue(())
        };
        let _ = walk(parse(raw)?, &mut visit, &mut |_| {}, &|_| true);
        Some(out)
    }

    fn check(raw: &str, expected: &[(&str, &str)]) {
        let expected: Vec<_> =
            expected.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        assert_eq!(found(raw), Some(expected), "{raw}");
    }

    #[test]
    fn scalars_keep_their_text() {
        check(
            r#"{"a":1.50e3,"b":true,"c":null,"d":"x\n\"é\u0041","e":-9214364837600034816}"#,
            &[
                ("a", "1.50e3"),
                ("b", "true"),
                ("c", "null"),
                ("d", "x\n\"éA"),
                ("e", "-9214364837600034816"),
            ],
        );
        check(
            "{\"a\": 1 , \"b\": [ 2\n, true\t], \"c\": null\n, \"d\": \"x \" }",
            &[("a", "1"), ("b{}", "2"), ("b{}", "true"), ("c", "null"), ("d", "x ")],
        );
    }

    #[test]
    fn nested_values_are_named_by_path() {
        check(
            r#" {"a":{"b":1,"c":{"d":2}},"t":["x","y"],"o":[{"k":1},{"k":2,"l":[3]}],"n":[[1]],"e":{},"f":[]} "#,
            &[
                ("a.b", "1"),
                ("a.c.d", "2"),
                ("t{}", "x"),
                ("t{}", "y"),
                ("o{}.k", "1"),
                ("o{}.k", "2"),
                ("o{}.l{}", "3"),
                ("n{}{}", "1"),
            ],
        );
    }

    #[test]
    fn values_that_are_not_wanted_are_not_taken_apart() {
        let raw = r#"{"a":{"b":1,"c":{"d":2}},"ab":3,"o":[{"k":1},{"k":2}],"a":{"c":4},"t":[5]}"#;
        let mut out = Vec::new();
        let mut visit = |name: &str, value: Cow<'_, str>| {
            out.push(format!("{name}={value}"));
            ControlFlow::Continue(())
        };
        let wants = |path: &str| ["a", "a.c", "a.c.d", "o"].contains(&path);
        let object = parse(raw).expect("it is JSON");
        let _ = walk(object, &mut visit, &mut |_| {}, &wants);
        assert_eq!(out, ["a.c.d=2", "a.c=4"]);
    }

    #[test]
    fn what_is_not_wholly_an_object_is_not_json() {
        for raw in [
            "[1]",
            "x {\"a\":1}",
            "{\"a\":1} x",
            "{\"a\":1",
            "{\"a\":",
            "{a:1}",
            "{\"a\":{\"b\":}}",
            "",
        ] {
            assert_eq!(found(raw), None, "{raw}");
        }
    }

    #[test]
    fn deep_nesting_ends_in_text() {
        let raw = format!("{}1{}", "{\"a\":".repeat(5000), "}".repeat(5000));
        let found = found(&raw);
        assert!(found.is_none_or(|fields| fields.len() == 1));
    }

    proptest! {
        #[test]
        fn any_text_is_survived(raw in "\\{[\\[\\]{}:,\"a1\\\\]{0,30}|\\{\\PC{0,40}") {
            let _ = found(&raw);
        }
    }
}
