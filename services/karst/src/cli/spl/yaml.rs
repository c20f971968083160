//! Searches in YAML, read line by line: the scalars of `search:` and `query:` in any of YAML's styles.
//!
//! This is not a YAML parser: it supports block and flow scalars, which are what rule sets use.

use super::sources::{Found, search};

const KEYS: [&str; 3] = ["search", "query", "spl"];

/// The searches of a YAML document.
pub(super) fn searches(text: &str) -> Vec<Found> {
    let lines: Vec<&str> = text.lines().collect();
    let mut found = Vec::new();
    let mut name = String::new();
    let mut at = 0;
    while at < lines.len() {
        let line = lines[at];
        at += 1;
        let Some((indent, key, value)) = pair(line) else { continue };
        if key == "name" && indent == 0 {
            name = value.trim_matches(['\'', '"']).to_owned();
        }
        if !KEYS.contains(&key) {
            continue;
        }
        let inside = |line: &&str| line.trim().is_empty() || indentation(line) > indent;
        let rest = lines[at..].iter().take_while(|line| inside(line)).count();
        let body = &lines[at..at + rest];
        let Some(scalar) = scalar(value, body) else { continue };
        let begins = if scalar.block { at + 1 } else { at };
        found.push(Found { lines_match: scalar.literal, ..search(begins, &name, scalar.text) });
        at += scalar.lines;
    }
    found
}

/// The column of a line's key (after list dashes), the key, and the rest of the line.
fn pair(line: &str) -> Option<(usize, &str, &str)> {
    let mut content = line.trim_start();
    while let Some(rest) = content.strip_prefix("- ") {
        content = rest.trim_start();
    }
    let indent = line.len() - content.len();
    let (key, value) = content.split_once(':')?;
    let is_key = key.chars().all(|c| c.is_alphanumeric() || "_-".contains(c));
    let apart = value.is_empty() || value.starts_with([' ', '\t']);
    (is_key && apart).then(|| (indent, key, value.trim()))
}

fn indentation(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

struct Scalar {
    text: String,
    /// Lines read after that of the key.
    lines: usize,
    /// Whether the text begins on the next line.
    block: bool,
    /// Whether line breaks are as in the file.
    literal: bool,
}

fn scalar(value: &str, body: &[&str]) -> Option<Scalar> {
    match value.chars().next() {
        Some(style @ ('|' | '>')) if is_header(&value[1..]) => {
            let indent =
                body.iter().filter(|line| !line.trim().is_empty()).map(|line| indentation(line));
            let indent = indent.min().unwrap_or(0);
            let cut = body.iter().map(|line| line.get(indent..).unwrap_or_default());
            let literal = style == '|';
            let text = if literal { cut.collect::<Vec<_>>().join("\n") } else { folded(cut) };
            let text = text.trim_end().to_owned();
            Some(Scalar { text, lines: body.len(), block: true, literal })
        }
        Some(quote @ ('\'' | '"')) => Some(quoted(quote, value, body)),
        // A mapping, or empty.
        None if body.first().is_none_or(|line| pair(line).is_some()) => None,
        _ => {
            let plain = |line: &&str| line.split(" #").next().unwrap_or_default().trim().to_owned();
            let all: Vec<String> = [value].iter().chain(body).map(plain).collect();
            let text = folded(all.iter().map(String::as_str)).trim().to_owned();
            Some(Scalar { text, lines: body.len(), block: false, literal: false })
        }
    }
}

/// What may follow `|` and `>`: indentation, chomping, a comment.
fn is_header(rest: &str) -> bool {
    let rest = rest.trim_start_matches(['+', '-']).trim_start_matches(|c: char| c.is_ascii_digit());
    let rest = rest.trim_start_matches(['+', '-']).trim();
    rest.is_empty() || rest.starts_with('#')
}

/// Folds lines as YAML does: a line break becomes a space, an empty line a line break.
fn folded<'l>(lines: impl Iterator<Item = &'l str>) -> String {
    let mut text = String::new();
    for line in lines {
        if line.trim().is_empty() {
            text.push('\n');
            continue;
        }
        if !text.is_empty() && !text.ends_with('\n') {
            text.push(' ');
        }
        text.push_str(line);
    }
    text
}

fn quoted(quote: char, value: &str, body: &[&str]) -> Scalar {
    let lines = [value].into_iter().chain(body.iter().map(|line| line.trim()));
    let whole = folded(lines);
    let mut text = String::new();
    let mut characters = whole[1..].chars().peekable();
    let mut read = 1;
    while let Some(c) = characters.next() {
        read += c.len_utf8();
        match c {
            '\'' if quote == '\'' && characters.peek() == Some(&'\'') => {
                read += 1;
                text.extend(characters.next());
            }
            '\\' if quote == '"' => {
                let Some(escaped) = characters.next() else { break };
                read += escaped.len_utf8();
                text.push(match escaped {
                    'n' => '\n',
                    't' => '\t',
                    'r' => '\r',
                    other => other,
                });
            }
            c if c == quote => break,
            c => text.push(c),
        }
    }
    // The number of lines of the text.
    let mut length = value.len();
    let mut lines = 0;
    while length < read && lines < body.len() {
        length += body[lines].trim().len() + 1;
        lines += 1;
    }
    Scalar { text, lines, block: false, literal: false }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_style_of_scalar_is_read() {
        let text = "name: n\nsearch: |-\n  index=a\n  | head\nquery: >\n  index=b\n  | tail\n\
                    drilldown:\n- name: d\n  search: 'x=''1''\n    | stats count'\n  other: y\n\
                    rules:\n  - search: index=c # why\n  - spl: \"a=\\\"1\\\"\"\nsearch:\n  a: b\n";
        let found = searches(text);
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
}
