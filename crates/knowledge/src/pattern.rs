//! Regular expressions in PCRE's syntax, on the fastest engine that can run them.
//!
//! Most patterns run on the `regex` crate (linear time); those with look-around, back-references or
//! other PCRE-only parts on `fancy-regex`, whose effort per search is bounded. A search that hits
//! that bound counts as no match.

use std::fmt;

/// Steps of backtracking per search of a PCRE-only pattern.
const BACKTRACK_LIMIT: usize = 1_000_000;
/// Bytes of a compiled pattern.
const SIZE_LIMIT: usize = 64 << 20;

/// A compiled regular expression.
#[derive(Clone)]
pub struct Pattern {
    engine: Engine,
    names: Vec<Option<String>>,
    text: String,
}

#[derive(Clone)]
enum Engine {
    Linear(regex::Regex),
    Backtracking(fancy_regex::Regex),
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
    /// The last line of the compiler's complaint.
    pub fn compile(text: &str) -> Result<Self, String> {
        let translated = translate(text);
        let linear = regex::RegexBuilder::new(&translated).size_limit(SIZE_LIMIT).build();
        if let Ok(regex) = linear {
            let names = regex.capture_names().map(|name| name.map(str::to_owned)).collect();
            return Ok(Self { engine: Engine::Linear(regex), names, text: text.to_owned() });
        }
        let built = fancy_regex::RegexBuilder::new(&translated)
            .backtrack_limit(BACKTRACK_LIMIT)
            .delegate_size_limit(SIZE_LIMIT)
            .build();
        let regex = built.map_err(|error| {
            let text = error.to_string();
            text.lines().last().unwrap_or_default().trim().to_owned()
        })?;
        let names = regex.capture_names().map(|name| name.map(str::to_owned)).collect();
        Ok(Self { engine: Engine::Backtracking(regex), names, text: text.to_owned() })
    }

    /// The pattern as it was written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Names of the groups; the whole match is the first.
    #[must_use]
    pub fn names(&self) -> &[Option<String>] {
        &self.names
    }

    /// Whether it runs in linear time.
    #[must_use]
    pub fn is_linear(&self) -> bool {
        matches!(self.engine, Engine::Linear(_))
    }

    /// Whether it matches anywhere.
    #[must_use]
    pub fn is_match(&self, text: &str) -> bool {
        match &self.engine {
            Engine::Linear(regex) => regex.is_match(text),
            Engine::Backtracking(regex) => regex.is_match(text).unwrap_or(false),
        }
    }

    /// The first match that begins at or after a character boundary: its begin and end.
    #[must_use]
    pub fn find_at(&self, text: &str, from: usize) -> Option<(usize, usize)> {
        match &self.engine {
            Engine::Linear(regex) => regex.find_at(text, from).map(|m| (m.start(), m.end())),
            Engine::Backtracking(regex) => {
                let found = regex.find_from_pos(text, from).ok().flatten();
                found.map(|m| (m.start(), m.end()))
            }
        }
    }

    /// Visits the groups of every match, one after the other, until the visitor has enough.
    pub fn each_match<'t>(&self, text: &'t str, mut visit: impl FnMut(&Groups<'t>) -> bool) {
        match &self.engine {
            Engine::Linear(regex) => {
                for groups in regex.captures_iter(text) {
                    if !visit(&Groups::Linear(groups)) {
                        return;
                    }
                }
            }
            Engine::Backtracking(regex) => {
                for groups in regex.captures_iter(text).map_while(Result::ok) {
                    if !visit(&Groups::Backtracking(groups)) {
                        return;
                    }
                }
            }
        }
    }

    /// The groups of the first match that begins at or after a character boundary.
    #[must_use]
    pub fn groups_at<'t>(&self, text: &'t str, from: usize) -> Option<Groups<'t>> {
        match &self.engine {
            Engine::Linear(regex) => regex.captures_at(text, from).map(Groups::Linear),
            Engine::Backtracking(regex) => {
                regex.captures_from_pos(text, from).ok().flatten().map(Groups::Backtracking)
            }
        }
    }
}

/// The groups of a match.
#[derive(Debug)]
pub enum Groups<'t> {
    /// Of a linear pattern.
    Linear(regex::Captures<'t>),
    /// Of a PCRE-only pattern.
    Backtracking(fancy_regex::Captures<'t>),
}

impl<'t> Groups<'t> {
    /// The text of a group that took part; 0 is the whole match.
    #[must_use]
    pub fn get(&self, group: usize) -> Option<&'t str> {
        match self {
            Self::Linear(groups) => groups.get(group).map(|m| m.as_str()),
            Self::Backtracking(groups) => groups.get(group).map(|m| m.as_str()),
        }
    }

    /// Begin and end of a group that took part.
    #[must_use]
    pub fn span(&self, group: usize) -> Option<(usize, usize)> {
        match self {
            Self::Linear(groups) => groups.get(group).map(|m| (m.start(), m.end())),
            Self::Backtracking(groups) => groups.get(group).map(|m| (m.start(), m.end())),
        }
    }
}

/// Spells what PCRE allows and the engines refuse or read differently in their own way: an opening
/// bracket inside a class, a brace that is no repetition, `\<` and `\>`, and `\Z`.
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
                Some((_, 'h')) if in_class => out.push_str(r"\t "),
                Some((_, 'h')) => out.push_str(r"[\t ]"),
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
