//! Regular expressions in PCRE's syntax, on the fastest engine that can run them.
//!
//! Most patterns run on the `regex` crate (linear time), and simple ones on our own matcher ([`sequence`]);
//! patterns with look-around, back-references or other features that only PCRE has run on PCRE2, with a limit
//! on the effort per search. A search that reaches this limit counts as no match. `\d`, `\w`, `\s` and `\b`
//! match ASCII only, as in PCRE.

mod backtracking;
mod linear;
mod literal;
mod sequence;

use std::fmt;

use backtracking::Backtracking;
use linear::Linear;
use sequence::{Outcome, Spans};

/// A regular expression that has been validated; its first search compiles it for an engine.
#[derive(Clone)]
pub struct Pattern {
    engine: Engine,
    names: Vec<Option<String>>,
    text: String,
}

#[derive(Clone)]
enum Engine {
    Linear(Linear),
    Backtracking(Box<Backtracking>),
}

impl fmt::Debug for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Pattern").field(&self.text).finish()
    }
}

impl Pattern {
    /// Compiles a pattern.
    ///
    /// # Errors
    /// The message of PCRE2, with the offset.
    pub fn compile(text: &str) -> Result<Self, String> {
        if let Some(pattern) = Self::linear(text) {
            return Ok(pattern);
        }
        let pattern = Backtracking::new(text)?;
        let names = pattern.names().to_vec();
        Ok(Self { engine: Engine::Backtracking(Box::new(pattern)), names, text: text.to_owned() })
    }

    fn linear(text: &str) -> Option<Self> {
        // `(?R)` is a recursion in PCRE, but a flag in `regex`.
        if text.contains("(?R)") {
            return None;
        }
        let (linear, names) = Linear::new(translate(text))?;
        Some(Self { engine: Engine::Linear(linear), names, text: text.to_owned() })
    }

    /// Returns the pattern as it was written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns the names of the groups; the first entry is the whole match.
    #[must_use]
    pub fn names(&self) -> &[Option<String>] {
        &self.names
    }

    /// Returns whether the pattern runs in linear time.
    #[must_use]
    pub fn is_linear(&self) -> bool {
        matches!(self.engine, Engine::Linear(_))
    }

    /// Returns the longest literal that every match contains.
    #[must_use]
    pub fn required_literal(&self) -> Option<Vec<u8>> {
        match &self.engine {
            Engine::Linear(linear) => literal::required_literal(linear.translated()),
            Engine::Backtracking(_) => None,
        }
    }

    /// Returns whether the pattern matches anywhere in the text.
    #[must_use]
    pub fn is_match(&self, text: &str) -> bool {
        match &self.engine {
            Engine::Linear(linear) => match linear.search(text, 0) {
                Outcome::Match(_) => true,
                Outcome::None => false,
                Outcome::GaveUp => linear.regex().is_match(text),
            },
            Engine::Backtracking(pattern) => pattern.find_at(text, 0).is_some(),
        }
    }

    /// Returns begin and end of the first match that begins at or after `from`, which must be a character
    /// boundary.
    #[must_use]
    pub fn find_at(&self, text: &str, from: usize) -> Option<(usize, usize)> {
        match &self.engine {
            Engine::Linear(linear) => match linear.search(text, from) {
                Outcome::Match(spans) => spans.get(0),
                Outcome::None => None,
                Outcome::GaveUp => linear.regex().find_at(text, from).map(|m| (m.start(), m.end())),
            },
            Engine::Backtracking(pattern) => pattern.find_at(text, from),
        }
    }

    /// Visits the groups of all matches in order, until the visitor returns `false`.
    pub fn each_match<'t>(&self, text: &'t str, mut visit: impl FnMut(&Groups<'t>) -> bool) {
        match &self.engine {
            // After an empty match, the search would find the same position again; `captures_iter` handles
            // this.
            Engine::Linear(linear)
                if linear.sequence().is_some_and(|sequence| !sequence.can_be_empty()) =>
            {
                let mut from = 0;
                while let Some(groups) = self.groups_at(text, from) {
                    from = groups.span(0).map_or(text.len(), |(_, end)| end);
                    if !visit(&groups) {
                        return;
                    }
                }
            }
            Engine::Linear(linear) => {
                for groups in linear.regex().captures_iter(text) {
                    if !visit(&Groups(Found::Linear(groups))) {
                        return;
                    }
                }
            }
            Engine::Backtracking(pattern) => pattern
                .each_match(text, |spans| visit(&Groups(Found::Backtracking { text, spans }))),
        }
    }

    /// Returns the groups of the first match that begins at or after `from`, which must be a character
    /// boundary.
    #[must_use]
    pub fn groups_at<'t>(&self, text: &'t str, from: usize) -> Option<Groups<'t>> {
        match &self.engine {
            Engine::Linear(linear) => {
                let found = match linear.sequence() {
                    Some(sequence) if !sequence.finds_beginnings() => {
                        // `regex` finds a match quickly, but often needs its slow backtracker to find the
                        // groups.
                        let begin = linear.regex().find_at(text, from)?.start();
                        sequence.match_at(text, begin)
                    }
                    _ => linear.search(text, from),
                };
                match found {
                    Outcome::Match(spans) => Some(Groups(Found::Sequence { text, spans })),
                    Outcome::None => None,
                    Outcome::GaveUp => {
                        linear.regex().captures_at(text, from).map(Found::Linear).map(Groups)
                    }
                }
            }
            Engine::Backtracking(pattern) => {
                let spans = pattern.groups_at(text, from)?;
                Some(Groups(Found::Backtracking { text, spans }))
            }
        }
    }
}

/// Finds all matches on the chosen engine and, if that is our own matcher, also on `regex`.
///
/// # Panics
/// If the matches differ.
pub(crate) fn compare(pattern: &str, text: &str) {
    let Ok(pattern) = Pattern::compile(pattern) else { return };
    let mut found: Vec<Vec<_>> = Vec::new();
    pattern.each_match(text, |groups| {
        found.push((0..pattern.names.len()).map(|group| groups.span(group)).collect());
        true
    });
    assert_eq!(pattern.is_match(text), !found.is_empty(), "a match");
    let Engine::Linear(linear) = &pattern.engine else { return };
    if linear.sequence().is_none() {
        return;
    }
    let span = |found: regex::Match<'_>| (found.start(), found.end());
    let expected: Vec<Vec<_>> = linear
        .regex()
        .captures_iter(text)
        .map(|groups| groups.iter().map(|group| group.map(span)).collect())
        .collect();
    assert_eq!(found, expected, "matches");
    let first = expected.first().and_then(|groups| groups.first().copied().flatten());
    assert_eq!(pattern.find_at(text, 0), first, "the first match");
    if let Some(literal) = pattern.required_literal().filter(|_| first.is_some()) {
        let held = memchr::memmem::find(text.as_bytes(), &literal).is_some();
        assert!(held, "the literal is not in the text");
    }
}

/// The groups of a match.
#[derive(Debug)]
pub struct Groups<'t>(Found<'t>);

#[derive(Debug)]
enum Found<'t> {
    Sequence { text: &'t str, spans: Spans },
    Linear(regex::Captures<'t>),
    Backtracking { text: &'t str, spans: Vec<Option<(usize, usize)>> },
}

impl<'t> Groups<'t> {
    /// Returns the text of a group that took part in the match; group 0 is the whole match.
    #[must_use]
    pub fn get(&self, group: usize) -> Option<&'t str> {
        match &self.0 {
            Found::Sequence { text, spans } => spans.get(group).map(|(from, to)| &text[from..to]),
            Found::Linear(groups) => groups.get(group).map(|m| m.as_str()),
            Found::Backtracking { text, spans } => {
                let (from, to) = spans.get(group).copied().flatten()?;
                text.get(from..to)
            }
        }
    }

    /// Returns begin and end of a group that took part in the match.
    #[must_use]
    pub fn span(&self, group: usize) -> Option<(usize, usize)> {
        match &self.0 {
            Found::Sequence { spans, .. } => spans.get(group),
            Found::Linear(groups) => groups.get(group).map(|m| (m.start(), m.end())),
            Found::Backtracking { spans, .. } => spans.get(group).copied().flatten(),
        }
    }
}

/// Translates PCRE syntax that `regex` rejects or reads differently: an opening bracket inside a class, a
/// brace that is not a repetition, `\<` and `\>`, `\Z`, and ASCII classes and word boundaries.
fn translate(pattern: &str) -> String {
    let mut out = String::with_capacity(pattern.len() + 8);
    let mut chars = pattern.char_indices().peekable();
    let mut in_class = false;
    let mut class_start = 0;
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some((_, escaped @ ('<' | '>'))) => out.push(escaped),
                Some((_, 'Z')) if !in_class => out.push_str(r"(?:\n?\z)"),
                Some((_, 'h')) if in_class => out.push_str(r"\t\x20"),
                Some((_, 'h')) => out.push_str(r"[\t\x20]"),
                Some((_, 'd')) if in_class => out.push_str("[:digit:]"),
                Some((_, 'D')) if in_class => out.push_str("[:^digit:]"),
                Some((_, 'w')) if in_class => out.push_str("[:word:]"),
                Some((_, 'W')) if in_class => out.push_str("[:^word:]"),
                Some((_, 's')) if in_class => out.push_str("[:space:]"),
                Some((_, 'S')) if in_class => out.push_str("[:^space:]"),
                Some((_, 'd')) => out.push_str("[0-9]"),
                Some((_, 'D')) => out.push_str("[^0-9]"),
                Some((_, 'w')) => out.push_str("[0-9A-Za-z_]"),
                Some((_, 'W')) => out.push_str("[^0-9A-Za-z_]"),
                Some((_, 's')) => out.push_str("[[:space:]]"),
                Some((_, 'S')) => out.push_str("[^[:space:]]"),
                Some((_, 'b')) if in_class => out.push_str(r"\x08"),
                Some((_, 'b')) => out.push_str(r"(?-u:\b)"),
                Some((_, 'B')) => out.push_str(r"(?-u:\B)"),
                Some((_, 'R')) if !in_class => out.push_str(r"(?:\r\n|\n|\r)"),
                Some((next, escaped)) => {
                    out.push('\\');
                    out.push(escaped);
                    // The braces of \x{..}, \p{..}, \k{..} belong to the escape.
                    if matches!(escaped, 'x' | 'p' | 'P' | 'k' | 'g' | 'u')
                        && pattern[next + 1..].starts_with('{')
                        && let Some(end) = pattern[next..].find('}')
                    {
                        while let Some(&(inside, c)) = chars.peek() {
                            if inside > next + end {
                                break;
                            }
                            out.push(c);
                            chars.next();
                        }
                    }
                }
                None => out.push('\\'),
            },
            '[' if in_class => {
                if !pattern[at + 1..].starts_with(':') {
                    out.push('\\');
                }
                out.push('[');
                if pattern[at + 1..].starts_with(':')
                    && let Some(end) = pattern[at..].find(":]")
                {
                    while let Some(&(inside, c)) = chars.peek() {
                        if inside > at + end + 1 {
                            break;
                        }
                        out.push(c);
                        chars.next();
                    }
                }
            }
            '[' => {
                in_class = true;
                out.push('[');
                if chars.peek().is_some_and(|(_, c)| *c == '^') {
                    out.push('^');
                    chars.next();
                }
                class_start = chars.peek().map_or(pattern.len(), |(at, _)| *at);
            }
            ']' if in_class && at == class_start => out.push_str(r"\]"),
            ']' => {
                if !in_class {
                    out.push('\\');
                }
                in_class = false;
                out.push(']');
            }
            // Before a character class, `-` is not a range, as in `[a-\d]`.
            '-' if in_class && before_class(&pattern[at + 1..]) => out.push_str(r"\-"),
            '&' | '~' if in_class => {
                out.push('\\');
                out.push(c);
            }
            '{' if !in_class && !is_repetition(&pattern[at..]) => out.push_str(r"\{"),
            '}' if !in_class && !closes_repetition(&pattern[..at]) => out.push_str(r"\}"),
            _ => out.push(c),
        }
    }
    out
}

fn before_class(text: &str) -> bool {
    let mut chars = text.chars();
    chars.next() == Some('\\') && chars.next().is_some_and(|c| "dDsSwWhHvVpP".contains(c))
}

fn is_repetition(text: &str) -> bool {
    let Some(body) = text[1..].split('}').next().filter(|body| body.len() + 1 < text.len()) else {
        return false;
    };
    let (least, most) = body.split_once(',').unwrap_or((body, ""));
    let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    !least.is_empty() && digits(least) && digits(most)
}

fn closes_repetition(before: &str) -> bool {
    before.rfind('{').is_some_and(|open| is_repetition(&format!("{}}}", &before[open..])))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    fn check(pattern: &str, text: &str, expected: Option<&str>, linear: bool) {
        let compiled = Pattern::compile(pattern).unwrap();
        let found = compiled.groups_at(text, 0);
        assert_eq!(
            found.as_ref().and_then(|g| g.get(g.span(1).map_or(0, |_| 1))),
            expected,
            "{pattern}"
        );
        assert_eq!(compiled.is_linear(), linear, "{pattern}");
    }

    #[test]
    fn pcre_spellings_are_understood() {
        check(r"(?<user>\w+)@", "a bob@x", Some("bob"), true);
        check(r"[^[]+\[(\d+)\]", "sshd[12]:", Some("12"), true);
        check(r"([]a]+)", "x]a", Some("]a"), true);
        check(r"\<(\d{1,3})\>", "<34>1", Some("34"), true);
        check(r"{(\w+)}", "{abc}", Some("abc"), true);
        check(r"([[:alpha:]]+)", "12ab", Some("ab"), true);
        check(r"\x{41}(.)", "Ab", Some("b"), true);
        check(r"(a)\Z", "a\n", Some("a"), true);
        check(r"x\{(\d)", "x{1", Some("1"), true);
    }

    #[test]
    fn look_around_and_back_references_run_on_the_other_engine() {
        check(r"(?<=id=)(\d+)(?!\d)", "id=12", Some("12"), false);
        check(r"(.)\1", "abb", Some("b"), false);
        check(r"(?>a+)b", "aab", Some("aab"), false);
        check(r"(?|a(b)|c(d))", "cd", Some("d"), false);
        check(r"(\Qa.b\E)", "a.b", Some("a.b"), false);
        check(r"([a-\d]+)", "a-1", Some("a-1"), true);
        check(r"(?<x>a)(b)\2", "abb", Some("a"), false);
        check(r"(\N+)", "ab\nc", Some("ab"), false);
        check(r"\((?:[^()]|(?R))*\)", "x(a(b)c)", Some("(a(b)c)"), false);
        check(r"a\Kb", "ab", Some("b"), false);
    }

    #[test]
    fn a_search_that_does_not_end_counts_as_no_match() {
        let pattern = Pattern::compile(r"^(a|a|b\1)*$").unwrap();
        assert!(!pattern.is_linear());
        assert!(!pattern.is_match(&format!("{}!", "a".repeat(100))));
    }

    #[test]
    fn a_mistake_is_named_with_its_place() {
        assert_eq!(
            Pattern::compile("(?<=a)(b").unwrap_err(),
            "missing closing parenthesis at offset 8"
        );
    }

    #[test]
    fn classes_and_borders_of_words_are_about_ascii() {
        check(r"(\w+)", "é1x", Some("1x"), true);
        check(r"([^\W\d]+)", "12ab\u{660}", Some("ab"), true);
        check(r"(\S+)", "\u{a0}a b", Some("\u{a0}a"), true);
        check(r"([\w-.]+)", "<a-b.c>", Some("a-b.c"), true);
        check(r"(\bb)", "éb", Some("b"), true);
    }

    #[test]
    fn a_bad_pattern_says_why() {
        assert!(!Pattern::compile("(a").unwrap_err().is_empty());
    }

    proptest! {
        #[test]
        fn compiling_never_panics(pattern in "\\PC{0,30}|[\\[\\]{}()\\\\^a0-9,:?<>|*+.&~-]{0,30}") {
            if let Ok(compiled) = Pattern::compile(&pattern) {
                let _ = compiled.groups_at("abc [1] {x}", 0).map(|groups| groups.get(1));
            }
        }
    }
}
