//! Searches in YAML: the scalars of `search:`, `query:` and `spl:`, at any depth.

use anyhow::{Result, anyhow};
use saphyr_parser::{Event, Parser, ScalarStyle, Span};

use super::{Found, search};

const KEYS: [&str; 3] = ["search", "query", "spl"];

/// A collection that is being read.
enum Open {
    Sequence,
    /// A mapping, with the key of the next value.
    Mapping(Option<String>),
}

/// The searches of all documents of a file.
pub(super) fn searches(text: &str) -> Result<Vec<Found>> {
    let mut found = Vec::new();
    let mut open = Vec::new();
    let mut name = String::new();
    for event in Parser::new_from_str(text) {
        let (event, span) = event.map_err(|error| {
            let line = error.marker().line();
            anyhow!("line {line}: invalid YAML: {}", error.info())
        })?;
        match event {
            Event::DocumentStart(_) => name.clear(),
            Event::SequenceStart(..) => {
                key(&mut open);
                open.push(Open::Sequence);
            }
            Event::MappingStart(..) => {
                key(&mut open);
                open.push(Open::Mapping(None));
            }
            Event::SequenceEnd | Event::MappingEnd => {
                open.pop();
            }
            Event::Alias(_) => {
                key(&mut open);
            }
            Event::Scalar(value, style, ..) => {
                if let Some(Open::Mapping(key @ None)) = open.last_mut() {
                    *key = Some(value.into_owned());
                    continue;
                }
                match key(&mut open).as_deref() {
                    Some("name") if open.len() == 1 => name = value.into_owned(),
                    Some(key) if KEYS.contains(&key) => {
                        found.push(of_scalar(&name, &value, style, span));
                    }
                    _ => {}
                }
            }
            _ => {}
        }
    }
    Ok(found)
}

/// Takes the key of the next value.
fn key(open: &mut [Open]) -> Option<String> {
    match open.last_mut() {
        Some(Open::Mapping(key)) => key.take(),
        _ => None,
    }
}

fn of_scalar(name: &str, text: &str, style: ScalarStyle, span: Span) -> Found {
    let lines_match = style == ScalarStyle::Literal;
    Found { lines_match, ..search(span.start.line(), name, text.trim_end()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_style_of_scalar_is_read() {
        let text = "name: n\nsearch: |-\n  index=a\n  | head\nquery: >\n  index=b\n  | tail\n\
                    drilldown:\n- name: d\n  search: 'x=''1''\n    | stats count'\n  other: y\n\
                    rules:\n  - search: index=c # why\n  - spl: \"a=\\\"1\\\"\"\nsearch:\n  a: b\n";
        let found = searches(text).expect("valid YAML");
        let shown: Vec<_> = found.iter().map(|s| (s.line, s.text.as_str())).collect();
        let wanted = [
            (3, "index=a\n| head"),
            (6, "index=b | tail"),
            (10, "x='1' | stats count"),
            (14, "index=c"),
            (15, "a=\"1\""),
        ];
        assert_eq!(shown, wanted);
        assert_eq!(found[0].name, "n");
    }

    #[test]
    fn indicators_flow_mappings_and_escapes_are_read() {
        let text = "a: &x\n  search: |2\n     index=a\n    | head\n  rules: [{query: \"index=\\x62\"}]\nb: *x\n";
        let found = searches(text).expect("valid YAML");
        let shown: Vec<_> = found.iter().map(|s| (s.line, s.text.as_str())).collect();
        assert_eq!(shown, [(3, " index=a\n| head"), (5, "index=b")]);
    }

    #[test]
    fn invalid_yaml_is_an_error_with_its_line() {
        let error = searches("search: index=a\nx: [1\ny: }\n").expect_err("a bracket is open");
        assert!(error.to_string().starts_with("line 3: invalid YAML: "), "{error}");
    }
}
