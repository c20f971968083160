//! Placeholders in the text of a saved search: `$name$` and `$args.name$`.
//!
//! Guarantees: a text without a placeholder is returned unchanged; `$` in regular expressions is not a
//! placeholder (`"\$$"`), and comments are copied as they are. It leaves to callers where values come from,
//! and to `map` the placeholders of its own search, unless a value of that name is given.

use std::ops::Range;

/// Begins and ends a comment.
const COMMENT: &str = "```";

/// Replaces `$name$` and `$args.name$` with the value of `name`, and `$$name$$` with `$name$`. In the search
/// of `map`, which replaces `$$` itself, `$$name$$` is left as it is, except if there is a value: then it is
/// `$name$`, the field.
///
/// # Errors
///
/// The first name that has no value.
pub fn fill_placeholders(
    text: &str,
    value: impl Fn(&str) -> Option<String>,
) -> Result<String, String> {
    let parts = Parts::of(text);
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    while let Some(length) = text[at..].find('$') {
        let start = at + length;
        out.push_str(&text[at..start]);
        if let Some(comment) = containing(&parts.comments, start) {
            out.push_str(&text[start..comment.end]);
            at = comment.end;
            continue;
        }
        let rest = &text[start..];
        let in_map = containing(&parts.maps, start).is_some();
        if let Some(name) = rest.strip_prefix("$$").and_then(name_before_dollar)
            && rest[name.len() + 3..].starts_with('$')
        {
            // `map` shortens those of its own search. A field with the name of an argument has no other form.
            let is_left = in_map && value(without_prefix(name)).is_none();
            let literal = if is_left { 0..name.len() + 4 } else { 1..name.len() + 3 };
            out.push_str(&rest[literal]);
            at = start + name.len() + 4;
            continue;
        }
        let Some(name) = name_before_dollar(&rest[1..]) else {
            out.push('$');
            at = start + 1;
            continue;
        };
        let end = start + name.len() + 2;
        let name = without_prefix(name);
        match value(name) {
            Some(value) => out.push_str(&value),
            None if in_map => out.push_str(&text[start..end]),
            None => return Err(name.to_owned()),
        }
        at = end;
    }
    out.push_str(&text[at..]);
    Ok(out)
}

/// The name of the argument of `$name$` and `$args.name$`.
fn without_prefix(name: &str) -> &str {
    name.strip_prefix("args.").unwrap_or(name)
}

/// Returns the name that a text begins with, if `$` follows it.
fn name_before_dollar(text: &str) -> Option<&str> {
    text.find('$').map(|end| &text[..end]).filter(|name| is_name(name))
}

/// Whether the text between two `$` is a name.
pub fn is_name(text: &str) -> bool {
    let inside = |c: char| c.is_alphanumeric() || "_.:{}@-".contains(c);
    text.starts_with(|c: char| c.is_alphabetic() || c == '_') && text.chars().all(inside)
}

/// The parts of a text in which `$name$` has another meaning.
#[derive(Default)]
struct Parts {
    /// The `map` commands: each until the next pipe that is neither in quotes nor in its brackets. In the
    /// search of `map`, `$name$` is a field.
    maps: Vec<Range<usize>>,
    comments: Vec<Range<usize>>,
}

impl Parts {
    fn of(text: &str) -> Self {
        let mut parts = Self::default();
        // The start of a `map`, and the depth of the brackets around it.
        let mut open: Option<(usize, usize)> = None;
        let (mut quoted, mut escaped, mut depth) = (false, false, 0_usize);
        let mut behind_comment = 0;
        for (at, c) in text.char_indices() {
            if at < behind_comment {
                continue;
            }
            if escaped || c == '\\' {
                escaped = !escaped;
                continue;
            }
            if !quoted && text[at..].starts_with(COMMENT) {
                behind_comment = comment_end(text, at);
                parts.comments.push(at..behind_comment);
                continue;
            }
            match c {
                '"' => quoted = !quoted,
                _ if quoted => {}
                '[' => depth += 1,
                ']' => depth = depth.saturating_sub(1),
                _ => {}
            }
            // A bracket that closes the search around a `map` ends it, too.
            let ends = open.is_some_and(|(_, outside)| {
                !quoted && ((c == '|' && depth == outside) || depth < outside)
            });
            if ends && let Some((start, _)) = open.take() {
                parts.maps.push(start..at);
            }
            let begins = !quoted && open.is_none() && (c == '|' || c == '[');
            if begins && begins_with_map(&text[at + 1..]) {
                open = Some((at, depth));
            }
        }
        if let Some((start, _)) = open {
            parts.maps.push(start..text.len());
        }
        parts
    }
}

/// Returns the part that contains a position. The parts are in order; there may be as many as placeholders.
fn containing(parts: &[Range<usize>], at: usize) -> Option<&Range<usize>> {
    let next = parts.partition_point(|part| part.end <= at);
    parts.get(next).filter(|part| part.contains(&at))
}

/// Returns the end of the comment that begins at a position.
fn comment_end(text: &str, at: usize) -> usize {
    let inside = at + COMMENT.len();
    text[inside..].find(COMMENT).map_or(text.len(), |length| inside + length + COMMENT.len())
}

fn begins_with_map(text: &str) -> bool {
    let mut text = text.trim_start();
    while text.starts_with(COMMENT) {
        text = text[comment_end(text, 0)..].trim_start();
    }
    let word = text.get(..3).is_some_and(|word| word.eq_ignore_ascii_case("map"));
    word && text[3..].starts_with(|c: char| c.is_whitespace() || "[\"`".contains(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(text: &str) -> Result<String, String> {
        fill_placeholders(text, |name| (name == "a").then(|| "1".to_owned()))
    }

    fn is(text: &str, expected: &str) {
        assert_eq!(filled(text), Ok(expected.to_owned()), "{text}");
    }

    #[test]
    fn names_between_dollars_are_replaced() {
        is("x=$a$ y=\"$a$\"", "x=1 y=\"1\"");
        is("x=$args.a$ $a$$a$", "x=1 11");
        is("é=$a$é", "é=1é");
        assert_eq!(filled("x=$a$ $b$"), Err("b".to_owned()));
        assert_eq!(filled("x=$args.b$"), Err("b".to_owned()));
    }

    #[test]
    fn other_dollars_are_left() {
        is("$$a$$ ^x$ | y$", "$a$ ^x$ | y$");
        is("$$b$$", "$b$");
        for text in [
            "user=\"*$\" src=\"*$\"",
            "where match(user, \"\\$$\") OR match(a, \"b$\")",
            "rex \"^(\\d+|$)(?<b>$)\"",
            "a$",
            "$",
            "$$",
            "$$$",
            "",
            "index=a ``` $b$ is set by the caller ``` | stats count",
            "``` $a$ ``` index=a",
            "index=a ``` $b$ and $a$",
        ] {
            is(text, text);
        }
    }

    #[test]
    fn the_work_does_not_grow_with_the_square_of_the_comments_and_maps() {
        // Compared one by one, these take minutes.
        let comments = "```$a$```".repeat(1_000_000);
        is(&format!("{comments}$a$"), &format!("{comments}1"));
        let maps = "|map $b$ $$b$$".repeat(1_000_000);
        is(&maps, &maps);
    }

    #[test]
    fn fields_of_map_are_left() {
        for text in [
            "index=a | map search=\"search u=$u$ | stats count\" | head",
            "| makeresults | MAP [search u=$u$ | append [search v=$v$]]",
            "index=a [search b | map search=\"search u=$u$\"]",
            "| map search=\"a=\\\"$u$\\\" b=$v$\"",
            "index=a ``` 5\" disks ``` | map search=\"search u=$u$\"",
            "index=a | ``` one ``` ``` | two ``` map```three```[search u=$u$]",
            "| map search=\"cost=\\\"$$u$$\\\"\"",
        ] {
            is(text, text);
        }
        is("| map search=\"u=$u$ $a$\"", "| map search=\"u=$u$ 1\"");
        // Fields with the name of an argument.
        is("| map search=\"$$a$$ $a$\"", "| map search=\"$a$ 1\"");
        is("| map search=\"$$args.a$$\" | search $$a$$", "| map search=\"$args.a$\" | search $a$");
        for text in [
            "| map search=\"u=$u$\" | search x=$b$",
            "index=a [search b | map [search u=$u$]] x=$b$",
            "index=map $b$",
            "| mapped search=\"$b$\"",
            "\"| map $b$\"",
            "index=a ``` | map ``` x=$b$",
            "x=\"```\" y=$b$ z=\"```\"",
        ] {
            assert_eq!(filled(text), Err("b".to_owned()), "{text}");
        }
    }
}
