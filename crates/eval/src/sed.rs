//! Scripts of `rex mode=sed` and `SEDCMD-*`: substitutions in a text, in Splunk's subset of sed
//! (docs/decisions/0020).
//!
//! A script is one or more of `s/regex/replacement/flags` (flags: `g`, `i`, and a number for the
//! match to replace, with `g` the first one to replace) and `y/abc/xyz/`, separated by blanks. Any
//! character may be the delimiter. `\1` to `\9` are groups, `\0` is the whole match.

use crate::{Groups, Pattern};

/// A compiled script.
#[derive(Debug)]
pub struct Sed(Vec<Command>);

#[derive(Debug)]
enum Command {
    Substitute { pattern: Box<Pattern>, replacement: Vec<Part>, global: bool, nth: usize },
    Translate(Vec<(char, char)>),
}

#[derive(Debug, PartialEq, Eq)]
enum Part {
    Text(String),
    Group(usize),
}

impl Sed {
    /// Compiles a script.
    ///
    /// # Errors
    /// A message that says why the script is invalid.
    pub fn compile(script: &str) -> Result<Self, String> {
        let mut commands = Vec::new();
        let mut rest = script.trim();
        while !rest.is_empty() {
            let (command, after) = command(rest)?;
            commands.push(command);
            rest = after.trim_start();
        }
        if commands.is_empty() {
            return Err("it is empty; write s/regex/replacement/flags or y/abc/xyz/".to_owned());
        }
        Ok(Self(commands))
    }

    /// Returns the edited text; `None` if nothing matches, or if the text is longer than `longest` bytes to
    /// begin with. Editing stops once the result exceeds `longest`, so that a caller with a limit can reject
    /// it.
    #[must_use]
    pub fn apply(&self, text: &str, longest: usize) -> Option<String> {
        let mut edited: Option<String> = None;
        for command in &self.0 {
            let current = edited.as_deref().unwrap_or(text);
            if current.len() > longest {
                break;
            }
            if let Some(next) = command.apply(current, longest) {
                edited = Some(next);
            }
        }
        edited
    }
}

impl Command {
    /// Returns the edited text; `None` if nothing matches.
    fn apply(&self, text: &str, longest: usize) -> Option<String> {
        match self {
            Self::Translate(pairs) => {
                let mapped = |c: char| pairs.iter().find(|(from, _)| *from == c).map(|(_, to)| *to);
                text.contains(|c| mapped(c).is_some())
                    .then(|| text.chars().map(|c| mapped(c).unwrap_or(c)).collect())
            }
            Self::Substitute { pattern, replacement, global, nth } => {
                let mut out = String::new();
                let (mut done, mut count) = (0, 0);
                pattern.each_match(text, |groups| {
                    count += 1;
                    if count < *nth {
                        return true;
                    }
                    let (start, end) = groups.span(0).unwrap_or((done, done));
                    out.push_str(&text[done..start]);
                    expand(replacement, groups, &mut out);
                    done = end;
                    *global && out.len() <= longest
                });
                if count < *nth {
                    return None;
                }
                out.push_str(&text[done..]);
                Some(out)
            }
        }
    }
}

fn expand(parts: &[Part], groups: &Groups<'_>, out: &mut String) {
    for part in parts {
        match part {
            Part::Text(text) => out.push_str(text),
            Part::Group(group) => out.push_str(groups.get(*group).unwrap_or_default()),
        }
    }
}

/// Reads one command, and returns it with the text after it.
fn command(text: &str) -> Result<(Command, &str), String> {
    let mut characters = text.chars();
    let (Some(kind @ ('s' | 'y')), Some(delimiter)) = (characters.next(), characters.next()) else {
        return Err(format!("\"{text}\" is neither s/regex/replacement/flags nor y/abc/xyz/"));
    };
    if delimiter.is_alphanumeric() || delimiter.is_whitespace() || delimiter == '\\' {
        return Err(format!("'{delimiter}' cannot separate the parts of \"{text}\""));
    }
    let unfinished = || {
        format!(
            "\"{text}\" needs three {delimiter}, as in {kind}{delimiter}a{delimiter}b{delimiter}"
        )
    };
    let (from, rest) = part(characters.as_str(), delimiter).ok_or_else(unfinished)?;
    let (to, rest) = part(rest, delimiter).ok_or_else(unfinished)?;
    let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
    let (flags, rest) = rest.split_at(end);
    if kind == 'y' {
        if from.chars().count() != to.chars().count() {
            return Err("y needs the same number of characters on both sides".to_owned());
        }
        if !flags.is_empty() {
            return Err(format!("y takes no flags, found \"{flags}\""));
        }
        return Ok((Command::Translate(from.chars().zip(to.chars()).collect()), rest));
    }
    let (mut global, mut insensitive, mut number) = (false, "", String::new());
    for flag in flags.chars() {
        match flag {
            'g' => global = true,
            'i' | 'I' => insensitive = "(?i)",
            digit if digit.is_ascii_digit() => number.push(digit),
            other => {
                return Err(format!("flag '{other}' is not known; known are g, i and a number"));
            }
        }
    }
    let nth = if number.is_empty() { 1 } else { number.parse().unwrap_or(usize::MAX) };
    let pattern = Box::new(Pattern::compile(&format!("{insensitive}{from}"))?);
    Ok((
        Command::Substitute { pattern, replacement: replacement(&to), global, nth: nth.max(1) },
        rest,
    ))
}

/// Returns the text up to an unescaped delimiter, and the text after it. An escaped delimiter stands for
/// itself; other escapes are kept.
fn part(text: &str, delimiter: char) -> Option<(String, &str)> {
    let mut out = String::new();
    let mut characters = text.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '\\' => match characters.next() {
                Some((_, escaped)) => {
                    if escaped != delimiter {
                        out.push('\\');
                    }
                    out.push(escaped);
                }
                None => out.push('\\'),
            },
            found if found == delimiter => {
                return Some((out, &text[at + delimiter.len_utf8()..]));
            }
            other => out.push(other),
        }
    }
    None
}

fn replacement(text: &str) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut literal = String::new();
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => match characters.next() {
                Some(digit) if digit.is_ascii_digit() => {
                    parts.push(Part::Text(std::mem::take(&mut literal)));
                    parts.push(Part::Group(digit.to_digit(10).unwrap_or(0) as usize));
                }
                Some('n') => literal.push('\n'),
                Some('t') => literal.push('\t'),
                Some('r') => literal.push('\r'),
                Some(other) => literal.push(other),
                None => {}
            },
            other => literal.push(other),
        }
    }
    parts.push(Part::Text(literal));
    parts.retain(|part| *part != Part::Text(String::new()));
    parts
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    fn check(script: &str, text: &str, expected: &str) {
        let sed = Sed::compile(script).unwrap();
        let edited = sed.apply(text, usize::MAX).unwrap_or_else(|| text.to_owned());
        assert_eq!(edited, expected, "{script}");
    }

    #[test]
    fn substitutions_replace_one_all_or_a_numbered_match() {
        check("s/a/x/", "banana", "bxnana");
        check("s/a/x/g", "banana", "bxnxnx");
        check("s/a/x/2", "banana", "banxna");
        check("s/a/x/2g", "banana", "banxnx");
        check("s/A/x/gi", "banana", "bxnxnx");
        check("s/a/x/9", "banana", "banana");
        check("s/$/!/", "end", "end!");
    }

    #[test]
    fn groups_delimiters_and_escapes_are_understood() {
        check(r"s/(\d{4})-(\d{4})/\1-xxxx/g", "1234-5678 1111-2222", "1234-xxxx 1111-xxxx");
        check(r"s#/(\w+)/#\0\1#", "a/b/c", "a/b/bc");
        check(r"s/a\/b/$1\n/", "a/b", "$1\n");
        check(r"s/(?<=id=)\w+/#/", "id=abc", "id=#");
        check("s/a//g", "banana", "bnn");
    }

    #[test]
    fn characters_are_exchanged_and_scripts_may_have_several_commands() {
        check("y/abc/xyz/", "aabbcc", "xxyyzz");
        check("s/a b/c d/g  y/cd/xy/", "a b", "x y");
    }

    #[test]
    fn editing_ends_where_the_text_is_too_long() {
        let sed = Sed::compile("s/a/bbbb/g s/b/cccc/g").unwrap();
        let edited = sed.apply(&"a".repeat(100), 150).unwrap();
        assert!(edited.len() > 150 && edited.len() < 400, "{}", edited.len());
        assert!(!edited.contains('c'));
        // A text that is too long from the start is not edited.
        assert_eq!(sed.apply(&"a".repeat(151), 150), None);
    }

    #[test]
    fn mistakes_are_named() {
        for (script, part) in [
            ("", "is empty"),
            ("d/x/", "neither s/"),
            ("s/a/b", "three /"),
            ("s/a/b/q", "flag 'q'"),
            ("y/ab/c/", "the same number of characters"),
        ] {
            let message = Sed::compile(script).unwrap_err();
            assert!(message.contains(part), "{script}: {message}");
        }
        assert!(Sed::compile("s/(/b/").is_err());
    }

    proptest! {
        #[test]
        fn any_script_and_text_are_survived(script in "[sy/#ab()\\\\g0-9 ]{0,20}", text in "\\PC{0,20}") {
            if let Ok(sed) = Sed::compile(&script) {
                let _ = sed.apply(&text, usize::MAX);
            }
        }
    }
}
